//! Grids whose factors' effects are known, and levels that have no place on a log axis.

use super::{Seeded, Wrong};

impl Seeded {
    /// A grid of three factors: one that matters, one that matters with it, one that does not.
    pub(crate) fn writers() -> Self {
        Self {
            question: "Which of writer, flush interval and partitions matters for the delay?"
                .to_owned(),
            asks: vec![["delivery", "delay", "p99"].map(str::to_owned).to_vec()],
            wrong: vec![(5, Wrong::Slows), (10, Wrong::Fails)],
            has_broker: true,
            ..Self::plain(
                &[
                    ("writer", &["telegraf", "sink"]),
                    ("flush_interval", &["10 ms", "100 ms", "1000 ms"]),
                    ("partitions", &["1", "8"]),
                ],
                3,
            )
        }
    }

    /// A factor with a level of nothing.
    pub(crate) fn with_zero_level() -> Self {
        Self {
            question: "What does waiting for more cost?".to_owned(),
            ..Self::plain(&[("linger", &["1s", "0", "1ms", "100ms"])], 3)
        }
    }
}
