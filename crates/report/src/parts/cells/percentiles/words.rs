//! Which percentile is meant where a cell has two: that of a typical trial (the mean over trials, with an interval), and that of all
//! trials together.

use waggle_analysis::{CellModel, Distribution, Pooled, TrialPercentiles};

use crate::words::format::Unit;

/// A smaller difference between the two is not told.
const TOLD_FROM: f64 = 0.05;

/// A distribution of a cell over its trials, and of its trials together.
pub(crate) struct Both {
    over_trials: fn(&CellModel) -> &Distribution,
    pooled: fn(&Pooled) -> Option<&TrialPercentiles>,
}

pub(crate) const RESPONSE: Both = Both {
    over_trials: |cell| &cell.response,
    pooled: |pooled| pooled.response.as_ref(),
};

pub(crate) const DELAY: Both = Both {
    over_trials: |cell| &cell.delay,
    pooled: |pooled| pooled.delay.as_ref(),
};

/// Behind the p99 over trials: ` in a typical trial (of all requests together: 8.19 ms)`; empty of a single trial.
pub(crate) fn beside_typical(cell: &CellModel, what: &str, both: Both) -> String {
    let typical = match (both.over_trials)(cell).p99.estimate {
        Some(estimate) if cell.counted > 1 => estimate.point,
        _ => return String::new(),
    };
    let pooled = (both.pooled)(&cell.pooled).and_then(|all| all.p99.as_ref());
    let differs = |us: f64| (us / typical).ln().abs() > TOLD_FROM.ln_1p();
    match pooled.filter(|pooled| differs(pooled.us)) {
        Some(pooled) => format!(
            " in a typical trial (of all {what} together: {})",
            Unit::Time.show(pooled.us)
        ),
        None => " in a typical trial".to_owned(),
    }
}
