//! What the instants are that a store shows with its records: how fine, and whether a record is visible from then on.

use waggle_results::InstantsInfo;

/// Broker and client know the append time of Kafka in whole milliseconds.
const MS_NS: u64 = 1_000_000;
/// The coarsest resolution that is looked for, and the step to the next finer one.
const COARSEST_NS: u64 = 1_000_000_000;
const FINER: u64 = 1_000;

/// Finds the resolution of instants from the instants.
#[derive(Debug)]
pub(crate) struct Instants {
    is_known: bool,
    resolution_ns: u64,
    ends_delay: bool,
}

impl Instants {
    /// Since when the store has shown records, by the lines that it shows.
    pub(crate) fn shown_instant() -> Self {
        Self {
            is_known: false,
            resolution_ns: COARSEST_NS,
            ends_delay: true,
        }
    }

    /// When a broker appended records.
    pub(crate) fn append_instant() -> Self {
        Self {
            is_known: false,
            resolution_ns: MS_NS,
            ends_delay: false,
        }
    }

    pub(crate) fn note(&mut self, at_ns: u64) {
        self.is_known = true;
        // That of append times is known, and the end of their millisecond is noted.
        while self.ends_delay && !at_ns.is_multiple_of(self.resolution_ns) {
            self.resolution_ns /= FINER;
        }
    }

    /// `None`: there was none.
    pub(crate) fn info(&self) -> Option<InstantsInfo> {
        self.is_known.then_some(InstantsInfo {
            resolution_ns: self.resolution_ns,
            ends_delay: self.ends_delay,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolution_is_that_of_the_finest_instant() {
        let check = |mut instants: Instants, all: &[u64], expected: Option<u64>| {
            all.iter().for_each(|at_ns| instants.note(*at_ns));
            let resolution = instants.info().map(|info| info.resolution_ns);
            assert_eq!(resolution, expected, "{all:?}");
        };
        check(Instants::shown_instant(), &[], None);
        check(
            Instants::shown_instant(),
            &[5_000_000_000],
            Some(COARSEST_NS),
        );
        check(
            Instants::shown_instant(),
            &[5_000_000_000, 5_001_000_000, 5_002_000_000],
            Some(MS_NS),
        );
        check(
            Instants::shown_instant(),
            &[5_001_000_000, 5_000_007_000],
            Some(1_000),
        );
        check(
            Instants::shown_instant(),
            &[5_001_000_007, 5_000_000_000],
            Some(1),
        );
        check(Instants::append_instant(), &[5_000_999_999], Some(MS_NS));
    }
}
