//! How often a running load is checked.

use std::time::{Duration, Instant};

/// Minimum time between two checks of the load so far.
const JUDGE_INTERVAL: Duration = Duration::from_secs(1);
/// Checks take at most this part (1/N) of the time of the thread that follows the load.
const JUDGE_TIME_DIVISOR: u32 = 200;

/// When the load is checked next.
#[derive(Debug)]
pub(crate) struct JudgePace {
    next: Instant,
}

impl JudgePace {
    /// The first check is due now.
    pub(crate) fn new() -> Self {
        Self {
            next: Instant::now(),
        }
    }

    /// Calls `judge` if a check is due.
    pub(crate) fn judge(&mut self, judge: impl FnOnce()) {
        let begin = Instant::now();
        if begin >= self.next {
            judge();
            let pause = (begin.elapsed() * JUDGE_TIME_DIVISOR).max(JUDGE_INTERVAL);
            self.next = begin + pause;
        }
    }
}
