//! How many agents are asked at the same time: many, so that a thousand have their turn soon, and few enough that one's reading does not
//! wait behind those of others, which would widen its bound.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Most agents that are asked at the same time.
pub(super) const AT_ONCE_MAX: usize = 32;
/// All readings that go on at a time get one answer in so long, on average: several times what the runner's thread needs for one. So
/// agents that are near are read one after the other, and those that are far away beside each other.
const ANSWER_INTERVAL: Duration = Duration::from_micros(200);

/// The turns of close readings.
pub(super) struct Turns(Semaphore);

impl Turns {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(AT_ONCE_MAX))
    }

    /// Waits for the turn of an agent with this round trip; `None`: it is not known. The turn ends when it is dropped.
    pub(super) async fn take(&self, round_trip: Option<Duration>) -> SemaphorePermit<'_> {
        let turn = self.0.acquire_many(weight(round_trip)).await;
        turn.expect("nobody closes it")
    }
}

/// How much of all turns the readings of an agent take.
fn weight(round_trip: Option<Duration>) -> u32 {
    let most = u32::try_from(AT_ONCE_MAX).unwrap_or(u32::MAX);
    let round_trip = round_trip.unwrap_or_default().as_nanos().max(1);
    let weight = (ANSWER_INTERVAL * most).as_nanos().div_ceil(round_trip);
    u32::try_from(weight).map_or(most, |weight| weight.min(most))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::{runtime, sync::Barrier, task::yield_now};

    use super::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        let runtime = runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn the_farther_an_agent_is_the_more_are_read_beside_it() {
        let check = |round_trip_us: u64, expected: u32| {
            let round_trip = Some(Duration::from_micros(round_trip_us));
            assert_eq!(weight(round_trip), expected, "{round_trip_us} us");
        };
        check(0, 32);
        check(200, 32);
        check(201, 32);
        check(400, 16);
        check(1_000, 7);
        check(6_400, 1);
        check(1_000_000, 1);
        assert_eq!(weight(None), 32);
    }

    #[test]
    fn far_agents_have_their_turns_at_once_and_near_ones_one_after_the_other() {
        let turns = Turns::new();
        let far = Some(Duration::from_millis(10));
        let all = Barrier::new(AT_ONCE_MAX);
        // Nobody's turn ends before all have one.
        wait(join_all((0..AT_ONCE_MAX).map(|_| async {
            let _turn = turns.take(far).await;
            all.wait().await;
        })));

        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let count = |round_trip| {
            let (turns, now, most) = (&turns, &now, &most);
            async move {
                let _turn = turns.take(round_trip).await;
                let others = now.fetch_add(1, Ordering::Relaxed);
                most.fetch_max(others + 1, Ordering::Relaxed);
                yield_now().await;
                now.fetch_sub(1, Ordering::Relaxed);
            }
        };
        let check = |round_trip, expected: usize| {
            most.store(0, Ordering::Relaxed);
            wait(join_all((0..100).map(|_| count(round_trip))));
            assert_eq!(most.load(Ordering::Relaxed), expected);
        };
        check(None, 1);
        check(Some(Duration::from_micros(100)), 1);
        check(Some(Duration::from_micros(400)), 2);
        check(far, AT_ONCE_MAX);
    }
}
