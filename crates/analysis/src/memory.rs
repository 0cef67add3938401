//! Memory of a trial over its measured phase: of each component, and of all of the system.

use waggle_results::{ResourceRow, Trial};

use crate::{INSTRUMENT, distribution::as_f64, instrument::component_of};

/// Resident memory of several processes together, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// The sum of their means.
    pub mean_bytes: f64,
    /// The largest sum at one instant.
    pub max_bytes: f64,
}

/// Of all components; `None` where nothing was sampled.
pub(crate) fn of_system(trial: &Trial, within: (f64, f64)) -> Option<Memory> {
    of(sampled(trial, within))
}

/// Of each component, its replicas together, in the order in which they were first sampled.
pub(crate) fn of_components(trial: &Trial, within: (f64, f64)) -> Vec<(String, Memory)> {
    let mut names: Vec<&str> = Vec::new();
    for row in sampled(trial, within) {
        let name = component_of(&row.component);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let memory = |name: &str| {
        let own = |row: &&ResourceRow| component_of(&row.component) == name;
        Some((name.to_owned(), of(sampled(trial, within).filter(own))?))
    };
    names.into_iter().filter_map(memory).collect()
}

fn sampled(trial: &Trial, (from, to): (f64, f64)) -> impl Iterator<Item = &ResourceRow> {
    let rows = trial.resources.iter();
    rows.filter(move |row| row.at_s > from && row.at_s <= to && row.component != INSTRUMENT)
}

fn of<'a>(rows: impl Iterator<Item = &'a ResourceRow>) -> Option<Memory> {
    let mut rows: Vec<&ResourceRow> = rows.collect();
    // Processes are sampled one after another, so each is carried at its last value.
    rows.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut processes: Vec<Process<'_>> = Vec::new();
    let mut highest = None;
    for row in rows {
        let known = processes
            .iter_mut()
            .find(|process| process.name == row.component);
        match known {
            Some(process) => process.note(row.rss_bytes),
            None => processes.push(Process {
                name: &row.component,
                last: row.rss_bytes,
                sum: as_f64(row.rss_bytes),
                samples: 1.0,
            }),
        }
        let together: u64 = processes.iter().map(|process| process.last).sum();
        highest = highest.max(Some(together));
    }
    Some(Memory {
        mean_bytes: processes
            .iter()
            .map(|process| process.sum / process.samples)
            .sum(),
        max_bytes: as_f64(highest?),
    })
}

/// What was sampled of one process so far, in bytes.
struct Process<'a> {
    name: &'a str,
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
