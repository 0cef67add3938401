//! `tables.csv`: one row a trial that has run, the unit at the end of each column's name, numbers in full.
//!
//! Each number of the catalogue of metrics has its column; what is no number (verdict, kinds of failure, names) is a text of this
//! module. Those that say which trial it is stand first, the other texts last.

mod text;

use text::Text;
use waggle_analysis::{Model, TrialModel, in_trial, range_in_trial, unit_of_metric};
use waggle_metrics::{CATALOGUE, Metric, NamedMetric, OverTrials, Subject};

use crate::layout::{
    csv::{number::number, to_csv},
    document::Document,
    table::{self, Field, Table},
};

/// The name of the table in the document.
const EVERY: &str = "every";

/// The table of trials, by cell and repetition.
#[must_use]
pub fn csv(model: &Model) -> String {
    to_csv(&table(model))
}

/// The same of a document that was made before.
pub(crate) fn of_document(document: &Document) -> String {
    let table = document.table(EVERY);
    to_csv(table.expect("every report has the table of all numbers"))
}

/// The same as a value, also for the page, where every number must stand without scripts.
pub(crate) fn table(model: &Model) -> Table {
    let columns = columns(model).into_iter().map(|column| {
        table::Column::numbers(column.head.clone(), move |trial: &&TrialModel| {
            Field::plain(column.field(model, trial))
        })
    });
    Table::new(
        EVERY,
        "All metrics of every trial, as in tables.csv",
        columns.collect(),
        &model.trials,
    )
}

struct Column<'a> {
    head: String,
    holds: Holds<'a>,
}

/// What a column holds for a trial; empty where there is nothing.
enum Holds<'a> {
    Text(Text<'a>),
    Number(NamedMetric<'a>),
    /// The lowest that it may be.
    Least(NamedMetric<'a>),
    /// Of each cell that has it, the same in all of its trials.
    OfCell(Vec<(u32, f64)>),
}

impl<'a> Column<'a> {
    fn of_text(head: String, text: Text<'a>) -> Self {
        Self {
            head,
            holds: Holds::Text(text),
        }
    }

    fn of_number(model: &Model, named: NamedMetric<'a>) -> Self {
        let of_cell = |cell: u32| Some((cell, model.number_of_cell(&named, cell)?.point()));
        let cells = model.cells.iter().map(|cell| cell.cell);
        Self {
            head: named.column(),
            holds: match named.over_trials() {
                OverTrials::StandardDeviation => Holds::OfCell(
                    cells
                        .filter_map(of_cell)
                        .map(|(cell, value)| (cell, named.row.in_column(value)))
                        .collect(),
                ),
                _ => Holds::Number(named),
            },
        }
    }

    /// The lowest that a delay may be: `delivery_delay_p99_earliest_us`.
    fn of_earliest(named: NamedMetric<'a>) -> Self {
        Self {
            head: earliest_of(&named.column()),
            holds: Holds::Least(named),
        }
    }

    fn field(&self, model: &Model, trial: &TrialModel) -> String {
        match &self.holds {
            Holds::Text(text) => text.field(model, trial),
            Holds::Number(named) => in_trial(named, trial)
                .map(|value| number(named.row.in_column(value)))
                .unwrap_or_default(),
            Holds::Least(named) => range_in_trial(named, trial)
                .map(|range| number(named.row.in_column(range.low)))
                .unwrap_or_default(),
            Holds::OfCell(cells) => cells
                .iter()
                .find(|(cell, _)| *cell == trial.info.key.cell)
                .map(|(_, value)| number(*value))
                .unwrap_or_default(),
        }
    }

    /// Whether any trial has it.
    fn is_known(&self, model: &Model) -> bool {
        match &self.holds {
            Holds::Text(_) => true,
            Holds::Number(named) | Holds::Least(named) => {
                let mut trials = model.trials.iter();
                trials.any(|trial| in_trial(named, trial).is_some())
            }
            Holds::OfCell(cells) => !cells.is_empty(),
        }
    }
}

/// Which trial it is, every number that some trial has in the order of the catalogue, and what else is said of it.
fn columns(model: &Model) -> Vec<Column<'_>> {
    let numbers = numbers(model).into_iter().flat_map(|named| {
        let earliest = is_range(&named).then(|| Column::of_earliest(named));
        [Some(Column::of_number(model, named)), earliest]
    });
    let numbers = numbers.flatten().filter(|column| column.is_known(model));
    let before = text::before_numbers(model).into_iter();
    let before = before.map(|(head, text)| Column::of_text(head, text));
    let after = text::after_numbers(model).into_iter();
    let after = after.map(|(head, text)| Column::of_text(head, text));
    before.chain(numbers).chain(after).collect()
}

/// Whether a probe knows it only to within a range.
fn is_range(named: &NamedMetric<'_>) -> bool {
    matches!(named.row.metric, Metric::Delay | Metric::EndToEndDelay)
}

fn earliest_of(head: &str) -> String {
    let stem = head.strip_suffix("_us").unwrap_or(head);
    format!("{stem}_earliest_us")
}

/// Every number of the catalogue, of everything that the run has.
pub(crate) fn numbers(model: &Model) -> Vec<NamedMetric<'_>> {
    let mut all = Vec::new();
    for row in CATALOGUE {
        for owner in names(model, row.subject) {
            let unit = owner.map(|name| unit_of_metric(&model.info.metrics, name));
            let named = row.all_statistics().map(|statistic| NamedMetric {
                row,
                statistic,
                of: owner,
            });
            all.extend(named.map(|named| unit.map_or(named, |unit| named.in_own_unit(unit))));
        }
    }
    all
}

/// What of a subject a run has numbers of; `None` stands for the whole, or where there is only one.
fn names(model: &Model, subject: Subject) -> Vec<Option<&str>> {
    let whole = std::iter::once(None);
    match subject {
        Subject::Load => whole
            .chain(step_names(model).into_iter().map(Some))
            .collect(),
        Subject::Probe => {
            let before = model.info.intermediate_probes.iter();
            whole
                .chain(before.map(|name| Some(name.as_str())))
                .collect()
        }
        Subject::SideLoad(role) => {
            let trials = model.trials.iter();
            let loads = trials.flat_map(|trial| trial.loads_of(role));
            let names = different(loads.map(|load| load.info.name.as_str()));
            names.into_iter().map(Some).collect()
        }
        Subject::Component => component_names(model).into_iter().map(Some).collect(),
        Subject::SystemMetric => {
            let metrics = model.info.metrics.iter();
            metrics.map(|metric| Some(metric.name.as_str())).collect()
        }
        Subject::WholeLoad
        | Subject::Answers
        | Subject::Sessions
        | Subject::Clients
        | Subject::Delivery
        | Subject::Generator
        | Subject::Machine
        | Subject::Network
        | Subject::System
        | Subject::Recovery
        | Subject::Fault => whole.collect(),
    }
}

/// Every step of any trial, in their order; none without a scenario.
fn step_names(model: &Model) -> Vec<&str> {
    let numbers = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    different(numbers.flat_map(|numbers| numbers.steps.iter().map(|step| step.name.as_str())))
}

/// Every component of the system that was sampled in any trial.
fn component_names(model: &Model) -> Vec<&str> {
    let numbers = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    different(
        numbers.flat_map(|numbers| numbers.component_rss.iter().map(|(name, _)| name.as_str())),
    )
}

fn different<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
