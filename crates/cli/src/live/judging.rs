//! How often a load is judged while it runs.

use std::time::{Duration, Instant};

/// The load so far is judged so often at most,
const JUDGE_EVERY: Duration = Duration::from_secs(1);
/// and so seldom that judging takes no more than this part of the time of the thread that follows the load.
const JUDGE_AT_MOST_ONE_IN: u32 = 200;
/// When the load is judged next.
#[derive(Debug)]
pub(crate) struct JudgePace {
    next: Instant,
}

impl JudgePace {
    /// From now on.
    pub(crate) fn new() -> Self {
        Self {
            next: Instant::now(),
        }
    }

    /// Judges, where it is time to.
    pub(crate) fn judge(&mut self, judge: impl FnOnce()) {
        let begin = Instant::now();
        if begin >= self.next {
            judge();
            let pause = (begin.elapsed() * JUDGE_AT_MOST_ONE_IN).max(JUDGE_EVERY);
            self.next = begin + pause;
        }
    }
}
