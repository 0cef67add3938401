//! The outcome of what was handed to the log: a batch has one ticket, which every task that waits for the batch polls.

use std::sync::{
    Arc,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

/// Outcome of a batch, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pending,
    /// Durable in the log.
    Durable,
    /// Not known to be in the log.
    Failed,
    /// Not in the log, also after a crash.
    Absent,
}

/// Gives the outcome of a batch to the requests in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ticket(Arc<Outcome>);

#[derive(Debug, Default)]
struct Outcome {
    state: AtomicU8,
    /// The parts that failed; valid once the state is settled.
    failed: AtomicU64,
}

/// Every part of a batch.
pub(crate) const ALL_PARTS: u64 = u64::MAX;

const PENDING: u8 = 0;
/// A thread is settling it.
const CLAIMED: u8 = 1;
const SETTLED: u8 = 2;
/// Settled, and nothing of the batch is in the log.
const ABSENT: u8 = 3;

impl Ticket {
    /// Outcome of the whole batch.
    pub(crate) fn fate(&self) -> Fate {
        self.fate_of(ALL_PARTS)
    }

    /// Outcome of the parts whose bits are set: failed if one of them failed.
    pub(crate) fn fate_of(&self, parts: u64) -> Fate {
        match self.0.state.load(Ordering::Acquire) {
            SETTLED => {}
            ABSENT => return Fate::Absent,
            _ => return Fate::Pending,
        }
        if self.0.failed.load(Ordering::Relaxed) & parts == 0 {
            Fate::Durable
        } else {
            Fate::Failed
        }
    }

    /// Settles the whole batch, if it is not settled yet.
    pub(crate) fn settle(&self, fate: Fate) {
        let (failed, state) = match fate {
            Fate::Pending => return,
            Fate::Durable => (0, SETTLED),
            Fate::Failed => (ALL_PARTS, SETTLED),
            Fate::Absent => (ALL_PARTS, ABSENT),
        };
        self.settle_as(failed, state);
    }

    /// Settles it, if it is not settled yet; returns whether this call did. `failed` has the bits of the parts that failed.
    pub(crate) fn settle_parts(&self, failed: u64) -> bool {
        self.settle_as(failed, SETTLED)
    }

    fn settle_as(&self, failed: u64, state: u8) -> bool {
        let claimed =
            self.0
                .state
                .compare_exchange(PENDING, CLAIMED, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_ok() {
            self.0.failed.store(failed, Ordering::Relaxed);
            self.0.state.store(state, Ordering::Release);
        }
        claimed.is_ok()
    }
}

#[cfg(test)]
impl Ticket {
    /// Whether both belong to the same batch.
    pub(crate) fn is_same_batch(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_fails_only_for_its_waiting_requests_and_its_first_outcome_is_final() {
        let ticket = Ticket::default();
        assert_eq!(ticket.fate_of(1), Fate::Pending);
        assert!(ticket.settle_parts(0b100));
        assert!(!ticket.settle_parts(0));
        for (parts, fate) in [
            (0b001, Fate::Durable),
            (0b100, Fate::Failed),
            (0b101, Fate::Failed),
            (ALL_PARTS, Fate::Failed),
        ] {
            assert_eq!(ticket.fate_of(parts), fate, "{parts:b}");
        }
        let durable = Ticket::default();
        durable.settle(Fate::Durable);
        assert_eq!(durable.fate(), Fate::Durable);
        let absent = Ticket::default();
        absent.settle(Fate::Absent);
        absent.settle(Fate::Durable);
        assert_eq!(absent.fate_of(1), Fate::Absent);
    }
}
