//! The numbers that a run names somewhere, in one cell.

use waggle_results::RunInfo;

use crate::{
    info::metric_path::{paths, resolve_in_run},
    metric::{
        aggregate::over_trials,
        number::Number,
        windows::{Hidden, hidden_value},
    },
    trial::trial_model::TrialModel,
};

/// A number that the run names somewhere, in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellNumber {
    /// As the study writes it.
    pub path: Vec<String>,
    pub number: Number,
    /// The trials do not show it, because it is that of a few windows of a sample.
    pub hidden: Option<Hidden>,
}

/// Every number that the run names, in a cell of these trials; the unit is that in which conditions are written.
pub(crate) fn of_cell(info: &RunInfo, trials: &[&TrialModel]) -> Vec<CellNumber> {
    let mut numbers: Vec<CellNumber> = Vec::new();
    for path in paths(info) {
        if numbers.iter().any(|known| known.path == *path) {
            continue;
        }
        let Some(named) = resolve_in_run(path, &info.metrics) else {
            continue;
        };
        numbers.extend(over_trials(&named, trials).map(|number| CellNumber {
            path: path.clone(),
            number,
            hidden: hidden_value(&named, trials),
        }));
    }
    numbers
}
