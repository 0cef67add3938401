//! Turns of work that few may do at once: some work, more wait, further ones are refused.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Those that may wait for each one that works.
const WAITING_FOR_EACH: usize = 16;

/// The turns of one kind of work.
#[derive(Debug)]
pub(crate) struct Turns {
    asked: Arc<Semaphore>,
    working: Arc<Semaphore>,
}

/// Permission to work, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permits: [OwnedSemaphorePermit; 2],
}

/// Why there is no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// Too many wait already.
    Busy,
    /// It was not its turn in time.
    Late,
}

impl Turns {
    /// Turns of `concurrency` at once.
    pub(crate) fn new(concurrency: usize) -> Self {
        let asked = concurrency.saturating_mul(1 + WAITING_FOR_EACH);
        Self {
            asked: Arc::new(Semaphore::new(asked.min(Semaphore::MAX_PERMITS))),
            working: Arc::new(Semaphore::new(concurrency.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Waits for a turn.
    pub(crate) async fn take(&self, timeout: Duration) -> Result<Turn, NoTurn> {
        let asked = Arc::clone(&self.asked).try_acquire_owned();
        let asked = asked.map_err(|_| NoTurn::Busy)?;
        let working = Arc::clone(&self.working).acquire_owned();
        match tokio::time::timeout(timeout, working).await {
            Ok(Ok(working)) => Ok(Turn {
                _permits: [asked, working],
            }),
            // Semaphores are never closed.
            Ok(Err(_)) | Err(_) => Err(NoTurn::Late),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_beyond_the_waiting_ones_are_refused_and_waits_end() {
        let turns = Turns::new(2);
        let hour = Duration::from_hours(1);
        let first = turns.take(hour).await.unwrap();
        let _other = turns.take(hour).await.unwrap();
        assert_eq!(turns.take(Duration::ZERO).await.unwrap_err(), NoTurn::Late);
        let waiting = (0..2 * WAITING_FOR_EACH).map(|_| Box::pin(turns.take(hour)));
        let mut waiting: Vec<_> = waiting.collect();
        for wait in &mut waiting {
            assert!(is_pending(wait).await);
        }
        assert_eq!(turns.take(hour).await.unwrap_err(), NoTurn::Busy);
        drop(first);
        assert!(waiting.remove(0).await.is_ok());
    }

    async fn is_pending(future: &mut (impl Future + Unpin)) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
