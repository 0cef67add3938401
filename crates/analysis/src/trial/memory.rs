//! Memory of a trial over its measured phase: of each component, and of all of the system.

use crate::{
    info::instrument::{INSTRUMENT, component_of},
    recording::{histogram::as_f64, samples::Samples},
};

/// Resident memory of several processes together, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// The sum of their means.
    pub mean_bytes: f64,
    /// The largest sum at one instant.
    pub max_bytes: f64,
}

/// Memory of a trial.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TrialMemory {
    /// Of all components together; `None` where nothing was sampled.
    pub(crate) system: Option<Memory>,
    /// Of each component, its replicas together, in the order in which they were first sampled.
    pub(crate) components: Vec<(String, Memory)>,
}

/// Over a stretch of time.
pub(crate) fn of_trial(samples: &Samples<'_>, within: (f64, f64)) -> TrialMemory {
    let mut processes: Vec<Process<'_>> = Vec::new();
    let mut components: Vec<(&str, Together)> = Vec::new();
    let mut system = Together::default();
    let rows = samples.samples_within(within).iter();
    for row in rows.filter(|row| row.component != INSTRUMENT) {
        let known = processes
            .iter()
            .position(|process| process.name == row.component);
        let place = known.unwrap_or(processes.len());
        if known.is_none() {
            processes.push(Process {
                name: &row.component,
                component: place_of(component_of(&row.component), &mut components),
                last: 0,
                sum: 0.0,
                samples: 0.0,
            });
        }
        let process = &mut processes[place];
        for together in [&mut components[process.component].1, &mut system] {
            together.note(process.last, row.rss_bytes);
        }
        process.note(row.rss_bytes);
    }
    let memory = |selector: &dyn Fn(&Process<'_>) -> bool, together: &Together| Memory {
        mean_bytes: processes
            .iter()
            .filter(|process| selector(process))
            .map(|process| process.sum / process.samples)
            .sum(),
        max_bytes: as_f64(together.highest),
    };
    let of_component = |(place, (name, together)): (usize, &(&str, Together))| {
        let component_filter = |process: &Process<'_>| process.component == place;
        ((*name).to_owned(), memory(&component_filter, together))
    };
    TrialMemory {
        system: (!processes.is_empty()).then(|| memory(&|_| true, &system)),
        components: components.iter().enumerate().map(of_component).collect(),
    }
}

/// Where a component stands; it is added where it is new.
fn place_of<'a>(name: &'a str, components: &mut Vec<(&'a str, Together)>) -> usize {
    let known = components.iter().position(|(other, _)| *other == name);
    known.unwrap_or_else(|| {
        components.push((name, Together::default()));
        components.len() - 1
    })
}

/// What was sampled of one process so far, in bytes.
struct Process<'a> {
    name: &'a str,
    /// Place of its component.
    component: usize,
    last: u64,
    sum: f64,
    samples: f64,
}

impl Process<'_> {
    fn note(&mut self, bytes: u64) {
        self.last = bytes;
        self.sum += as_f64(bytes);
        self.samples += 1.0;
    }
}

/// What several processes have together, in bytes. They are sampled one after another, so each is carried at its last value.
#[derive(Default)]
struct Together {
    now: u64,
    highest: u64,
}

impl Together {
    fn note(&mut self, before: u64, bytes: u64) {
        self.now = self.now - before + bytes;
        self.highest = self.highest.max(self.now);
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::ResourceRow;

    use super::*;

    #[test]
    fn each_process_is_carried_at_its_last_value() {
        let rows = [
            ("a-0", 1.0, 10),
            ("a-1", 1.1, 20),
            ("b-0", 1.2, 5),
            ("waggle", 1.3, 1_000),
            ("a-0", 2.0, 30),
            ("a-1", 2.1, 10),
            ("b-0", 2.2, 15),
        ];
        let rows = rows.map(|(component, at_s, rss_bytes)| ResourceRow {
            at_s,
            component: component.to_owned(),
            cpu_cores: 0.0,
            rss_bytes,
            threads: 1,
        });
        let memory = |mean_bytes: f64, max_bytes: f64| Memory {
            mean_bytes,
            max_bytes,
        };
        let trial_memory = of_trial(&Samples::from_rows(&rows), (0.0, 3.0));
        let expected = TrialMemory {
            system: Some(memory(45.0, 55.0)),
            components: vec![
                ("a".to_owned(), memory(35.0, 50.0)),
                ("b".to_owned(), memory(10.0, 15.0)),
            ],
        };
        assert_eq!(trial_memory, expected);
        let none = of_trial(&Samples::from_rows(&rows), (5.0, 6.0));
        assert_eq!(none, TrialMemory::default());
    }
}
