//! What was sampled of processes, in the order of time: the CPU that they used over a stretch of it.

use std::collections::BTreeMap;

use waggle_results::ResourceRow;

use crate::info::instrument::INSTRUMENT;

/// The samples of one trial.
#[derive(Debug)]
pub(crate) struct Samples<'a>(Vec<&'a ResourceRow>);

impl<'a> Samples<'a> {
    pub(crate) fn from_rows(rows: &'a [ResourceRow]) -> Self {
        let mut rows: Vec<&ResourceRow> = rows.iter().collect();
        // Processes are sampled one after another.
        rows.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        Self(rows)
    }

    /// Those that ended within a stretch of time, without the one at its very start, which tells of what was before.
    pub(crate) fn samples_within(&self, (from_s, to_s): (f64, f64)) -> &[&'a ResourceRow] {
        let by = |at_s: f64| self.0.partition_point(|row| row.at_s <= at_s);
        self.0.get(by(from_s)..by(to_s)).unwrap_or_default()
    }

    /// Mean cores of each replica, and of the instrument, in the order in which they were first sampled.
    pub(crate) fn cores(&self, within: (f64, f64)) -> Vec<(&'a str, f64)> {
        let mut sums: Vec<(&str, f64, f64)> = Vec::new();
        for row in self.samples_within(within) {
            let known = sums.iter_mut().find(|(name, ..)| *name == row.component);
            match known {
                Some((_, cores, samples)) => {
                    *cores += row.cpu_cores;
                    *samples += 1.0;
                }
                None => sums.push((&row.component, row.cpu_cores, 1.0)),
            }
        }
        let mean = |(name, cores, samples)| (name, cores / samples);
        sums.into_iter().map(mean).collect()
    }
}

impl Samples<'_> {
    /// The shortest and the longest time between two readings of one replica of the system, in seconds; `None`: none was read twice.
    pub(crate) fn readings_apart_s(&self) -> Option<(f64, f64)> {
        let mut last: BTreeMap<&str, f64> = BTreeMap::new();
        let of_system = self.0.iter().filter(|row| row.component != INSTRUMENT);
        let gaps = of_system.filter_map(|row| {
            let before = last.insert(&row.component, row.at_s)?;
            Some(row.at_s - before)
        });
        gaps.fold(None, |all, gap| match all {
            None => Some((gap, gap)),
            Some((shortest, longest)) => Some((gap.min(shortest), gap.max(longest))),
        })
    }
}

/// Of all components together; `None` where none was sampled.
pub(crate) fn of_system(cores: &[(&str, f64)]) -> Option<f64> {
    let system = cores.iter().filter(|(name, _)| *name != INSTRUMENT);
    system
        .map(|(_, cores)| *cores)
        .reduce(|sum, component_cores| sum + component_cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_replicas_are_added_up() {
        let rows = [
            ("a-0", 1.0, 0.5),
            ("waggle", 1.1, 3.0),
            ("a-0", 2.0, 1.0),
            ("b-0", 2.1, 0.25),
            ("waggle", 2.2, 1.0),
            ("a-0", 1.5, 2.0),
        ];
        let rows = rows.map(|(component, at_s, cpu_cores)| ResourceRow {
            at_s,
            component: component.to_owned(),
            cpu_cores,
            rss_bytes: 0,
            threads: 1,
        });
        let samples = Samples::from_rows(&rows);
        assert_eq!(samples.readings_apart_s(), Some((0.5, 0.5)));
        assert_eq!(Samples::from_rows(&rows[..2]).readings_apart_s(), None);
        let check = |within: (f64, f64), cores: &[(&str, f64)], system: Option<f64>| {
            let means = samples.cores(within);
            assert_eq!(means, cores, "{within:?}");
            assert_eq!(of_system(&means), system, "{within:?}");
        };
        check((0.0, 1.0), &[("a-0", 0.5)], Some(0.5));
        check(
            (1.0, 2.2),
            &[("waggle", 2.0), ("a-0", 1.5), ("b-0", 0.25)],
            Some(1.75),
        );
        check((1.0, 1.2), &[("waggle", 3.0)], None);
        check((3.0, 4.0), &[], None);
        check((2.0, 1.0), &[], None);
    }
}
