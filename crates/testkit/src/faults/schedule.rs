//! Which program is killed when and for how long: random, by a seed.

use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

/// From a recovery to the next kill.
const AFTER_MS: std::ops::Range<u64> = 300..3_000;
/// From a kill to the restart.
const DOWN_MS: std::ops::Range<u64> = 1_000..5_000;

/// A program that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    Gateway,
    Sink,
    Telegraf,
    Kafka,
    Influxdb,
}

/// One kill -9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    pub target: Target,
    /// Since the recovery from the previous kill.
    pub after: Duration,
    /// Until it is started again.
    pub down: Duration,
}

const ALL: [Target; 5] = [
    Target::Gateway,
    Target::Sink,
    Target::Telegraf,
    Target::Kafka,
    Target::Influxdb,
];

/// So many kills, of all targets in turn, in an order and at moments that the seed decides.
pub fn schedule(seed: u64, kills: usize) -> Vec<Kill> {
    let mut chance = StdRng::seed_from_u64(seed);
    let mut targets: Vec<Target> = ALL.into_iter().cycle().take(kills).collect();
    targets.shuffle(&mut chance);
    targets
        .into_iter()
        .map(|target| Kill {
            target,
            after: Duration::from_millis(chance.random_range(AFTER_MS)),
            down: Duration::from_millis(chance.random_range(DOWN_MS)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_and_every_target_has_its_turn() {
        assert_eq!(schedule(7, 50), schedule(7, 50));
        assert_ne!(schedule(7, 50), schedule(8, 50));
        for target in ALL {
            let kills = schedule(7, 50);
            let hits = kills.iter().filter(|kill| kill.target == target);
            assert_eq!(hits.count(), 10);
        }
        let downs = schedule(7, 50).into_iter().map(|kill| kill.down);
        let range = Duration::from_secs(1)..=Duration::from_secs(5);
        assert!({ downs }.all(|down| range.contains(&down)));
    }
}
