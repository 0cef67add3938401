//! A load that drops after the measured phase, and cells that recover from it sooner, later or not at all.

use waggle_results::{ControlInfo, LoadDropInfo, PhaseInfo, PhaseName, RecoveryInfo, TrialKey};
use waggle_spec::RampUp;

use super::{Seeded, Wrong};

/// Intervals after the drop.
pub(super) const INTERVALS: usize = 12;
pub(super) const RATE_PER_S: f64 = 100.0;
pub(super) const RECOVERY: RecoveryInfo = RecoveryInfo {
    level: RATE_PER_S,
    p99_us: 20e3,
    duration_s: 3.0,
    control: None,
};
/// Five intervals of the warm-up.
const CONTROL: ControlInfo = ControlInfo {
    start_s: 0.25,
    end_s: 1.5,
};

/// It ends when the control begins.
pub(super) fn ramp_up(recovery: RecoveryInfo) -> RampUp {
    RampUp {
        level: 20.0,
        duration: std::time::Duration::from_secs_f64(
            recovery.control.map_or(1.0, |control| control.start_s),
        ),
    }
}

impl Seeded {
    /// A load that drops: the first cell is well at once, the second after a while, the third not in every trial, the fourth
    /// in none.
    pub(crate) fn overload() -> Self {
        Self {
            question: "How soon is it well again when the load has fallen?".to_owned(),
            thresholds: vec!["recovery_time".to_owned()],
            wrong: [2, 3, 4].map(|cell| (cell, Wrong::FallsBehind)).to_vec(),
            recovery: Some(RECOVERY),
            ..Self::plain(&[("rate", &["50", "100", "150", "200"])], 3)
        }
    }

    /// The same with a control: one of its intervals is bad in the first cell, and most of them in the second and in a trial of the
    /// third.
    pub(crate) fn overload_with_control() -> Self {
        let control = Some(CONTROL);
        Self {
            recovery: Some(RecoveryInfo {
                control,
                ..RECOVERY
            }),
            ..Self::overload()
        }
    }
}

/// How long an answer takes in an interval of the control.
pub(super) fn control_us(key: TrialKey, interval: usize) -> f64 {
    let is_bad = match (key.cell, key.repetition) {
        (1, _) => interval == 3,
        (2, _) | (3, 1) => interval != 3,
        _ => false,
    };
    if is_bad { 80e3 } else { 5e3 }
}

/// How long an answer takes in an interval after the drop.
pub(super) fn typical_us(key: TrialKey, interval: usize) -> f64 {
    let bad = match (key.cell, key.repetition) {
        (1, _) => 0,
        (2, repetition) => 2 + repetition as usize,
        (3, 1 | 3) => 6,
        _ => INTERVALS,
    };
    if interval < bad { 80e3 } else { 5e3 }
}

/// The phase after the measured one, and what the trial says of the drop.
pub(super) fn load_drop_info(
    recovery: RecoveryInfo,
    dropped_at_s: f64,
    end_s: f64,
) -> (PhaseInfo, LoadDropInfo) {
    let phase = PhaseInfo {
        phase: PhaseName::Recovery,
        start_s: dropped_at_s,
        end_s,
    };
    let load_drop = LoadDropInfo {
        at_s: dropped_at_s,
        recovery,
    };
    (phase, load_drop)
}
