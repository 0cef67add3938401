//! What varied in a run, and what its goodput counts.

use waggle_results::RunInfo;

/// What goodput counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Records,
    Requests,
}

/// Something that varied, with its values in the order of their first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

/// Records where the load sends any, else requests.
pub(crate) fn counted_unit(info: &RunInfo) -> Counted {
    if info.records_file.is_some() {
        Counted::Records
    } else {
        Counted::Requests
    }
}

/// The factors of a run, in the order of their first use.
pub(crate) fn factors(info: &RunInfo) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for (name, level) in info.cells.iter().flat_map(|cell| &cell.levels) {
        match factors.iter_mut().find(|factor| factor.name == *name) {
            Some(factor) if factor.levels.contains(level) => {}
            Some(factor) => factor.levels.push(level.clone()),
            None => factors.push(Factor {
                name: name.clone(),
                levels: vec![level.clone()],
            }),
        }
    }
    factors
}

/// The factors that tell the cells apart: one of them if no two cells have the same level of it, else all that vary. A study that
/// lists its cells often numbers them; everything else then follows from the number.
pub(crate) fn telling_factors(factors: &[Factor], info: &RunInfo) -> Vec<Factor> {
    let is_key = |factor: &&Factor| factor.levels.len() == info.cells.len();
    let varying = || factors.iter().filter(|factor| factor.levels.len() > 1);
    match varying().find(is_key) {
        Some(key) => vec![key.clone()],
        None if varying().count() == 0 => factors.to_vec(),
        None => varying().cloned().collect(),
    }
}
