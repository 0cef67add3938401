//! Columns of `tables.csv` that hold no number of a trial: names, words, and what the study or a search says.

use waggle_analysis::{
    CellSearch, Model, SearchStep, TrialFaults, TrialModel, bottleneck_of_trial, cpus_of_system,
};
use waggle_results::FailureCount;
use waggle_stats::{Control, FittedLevel, Recovery};

use crate::{
    layout::csv::number::number,
    words::{findings, labels},
};

/// What a column of text holds for a trial.
pub(super) enum Text<'a> {
    Of(OfTrial),
    /// The level of this factor.
    Level(&'a str),
    /// The derived level of this name.
    Derived(&'a str),
    /// Failures of this step by kind.
    Failures(&'a str),
}

/// Empty where there is nothing.
type OfTrial = fn(&Model, &TrialModel) -> String;

/// A column's name with what it holds.
type Named = (&'static str, OfTrial);

impl Text<'_> {
    pub(super) fn field(&self, model: &Model, trial: &TrialModel) -> String {
        match self {
            Self::Of(text) => text(model, trial),
            Self::Level(factor) => {
                let level = trial.levels.iter().find(|(name, _)| name == factor);
                level.map(|(_, level)| level.clone()).unwrap_or_default()
            }
            Self::Derived(name) => {
                let levels = model.cell(trial.info.key.cell).map(|cell| &cell.derived);
                let level = levels
                    .into_iter()
                    .flatten()
                    .find(|(level_name, _)| level_name == name);
                level.map(|(_, level)| level.clone()).unwrap_or_default()
            }
            Self::Failures(step_name) => {
                let numbers = trial.numbers.iter();
                let step = numbers
                    .flat_map(|numbers| &numbers.steps)
                    .find(|step| step.name == *step_name);
                step.map(|step| kinds(&step.counts.failures))
                    .unwrap_or_default()
            }
        }
    }
}

/// Texts with the names of their columns.
pub(super) type Columns<'a> = Vec<(String, Text<'a>)>;

/// Which trial it is, and its verdict.
pub(super) fn before_numbers(model: &Model) -> Columns<'_> {
    let mut all = text_columns(&PLAN);
    // A factor may be called like a column of ours.
    all.extend(model.factors.iter().map(|factor| {
        let head = format!("factor_{}", factor.name);
        (head, Text::Level(&factor.name))
    }));
    all.extend(model.info.derived.iter().map(|derived| {
        let head = format!("derived_{}", derived.name);
        (head, Text::Derived(&derived.name))
    }));
    all.extend(text_columns(&VERDICT));
    if model.best_and_worst.is_some() {
        all.extend(text_columns(&BEST_AND_WORST));
    }
    all
}

/// What else there is to say of a trial, as far as the run has it.
pub(super) fn after_numbers(model: &Model) -> Columns<'_> {
    let mut all = text_columns(&TOLD);
    let steps = super::step_names(model).into_iter();
    all.extend(steps.map(|name| (format!("{name}.failures"), Text::Failures(name))));
    let numbers = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    if numbers.filter_map(bottleneck_of_trial).next().is_some() {
        all.extend(text_columns(&BUSIEST));
    }
    if !model.faults.is_empty() {
        all.extend(text_columns(&FAULTS));
    }
    if let Some(recovery) = model.info.schedule.recovery {
        all.extend(text_columns(&RECOVERED));
        all.extend(recovery.control.iter().flat_map(|_| text_columns(&CONTROL)));
    }
    if model.search.is_some() {
        all.extend(text_columns(&SEARCH));
    }
    if !model.operating_points.is_empty() {
        all.extend(text_columns(&OPERATING_POINT));
    }
    all
}

fn text_columns<'a>(all: &'static [Named]) -> Columns<'a> {
    let columns = all.iter();
    columns
        .map(|(head, text)| ((*head).to_owned(), Text::Of(*text)))
        .collect()
}

const PLAN: [Named; 4] = [
    ("cell", |_, trial| trial.info.key.cell.to_string()),
    ("repetition", |_, trial| {
        trial.info.key.repetition.to_string()
    }),
    ("position", |_, trial| trial.info.position.to_string()),
    ("started_utc", |_, trial| trial.info.started_utc.clone()),
];

const VERDICT: [Named; 1] = [("verdict", |_, trial| {
    labels::verdict(trial.verdict).to_owned()
})];

/// `best`, `worst`, or both of a trial without another one; empty of all others.
const BEST_AND_WORST: [Named; 1] = [("best_and_worst", best_and_worst)];

fn best_and_worst(model: &Model, trial: &TrialModel) -> String {
    let cells = model.best_and_worst.iter().flat_map(|metric| &metric.cells);
    let same = cells.filter(|cell| cell.cell == trial.info.key.cell);
    let ends = same.flat_map(|cell| [("best", &cell.best), ("worst", &cell.worst)]);
    let ends = ends.filter(|(_, end)| {
        let end = end.as_ref();
        end.is_some_and(|end| end.repetition == trial.info.key.repetition)
    });
    ends.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

const TOLD: [Named; 4] = [
    ("failures", |_, trial| {
        let numbers = trial.numbers.as_ref();
        kinds(numbers.map_or(&[], |numbers| &numbers.counts.failures))
    }),
    ("other_failures", |_, trial| {
        let numbers = trial.numbers.as_ref();
        kinds(numbers.map_or(&[], |numbers| &numbers.counts.other_failures))
    }),
    ("level", |_, trial| {
        trial.info.level.map(number).unwrap_or_default()
    }),
    ("reasons", |_, trial| {
        let reasons = trial.reasons.iter();
        let texts: Vec<String> = reasons.map(findings::reason).collect();
        texts.join("; ")
    }),
];

/// The component that used most CPU.
const BUSIEST: [Named; 3] = [
    ("busiest_component", |_, trial| {
        busiest(trial).map(|(name, _)| name).unwrap_or_default()
    }),
    ("busiest_component_cores", |_, trial| {
        busiest(trial)
            .map(|(_, cores)| number(cores))
            .unwrap_or_default()
    }),
    ("busiest_component_utilization", busiest_utilization),
];

/// Of the CPUs that the system could use; empty: how many these are is not known.
fn busiest_utilization(model: &Model, trial: &TrialModel) -> String {
    let cpus = cpus_of_system(&model.info).map(f64::from);
    let used = busiest(trial).zip(cpus);
    let utilization = used.map(|((_, cores), cpus)| number(cores / cpus));
    utilization.unwrap_or_default()
}

fn busiest(trial: &TrialModel) -> Option<(String, f64)> {
    bottleneck_of_trial(trial.numbers.as_ref()?)
}

/// What was done to components on purpose and when, and what failed in the whole load.
const FAULTS: [Named; 4] = [
    ("faults", |_, trial| {
        faults_text(trial, |faults| {
            let each = faults.each.iter();
            let each = each.map(|fault| labels::fault(fault.kind.name(), &fault.name()));
            each.collect::<Vec<_>>().join("; ")
        })
    }),
    ("faults_s", |_, trial| {
        faults_text(trial, |faults| {
            let instants = faults.each.iter();
            let instants = instants.map(|fault| number(fault.begun_s));
            instants.collect::<Vec<_>>().join(" ")
        })
    }),
    ("failures_whole_load", |_, trial| {
        faults_text(trial, |faults| kinds(&faults.failures))
    }),
    ("other_failures_whole_load", |_, trial| {
        faults_text(trial, |faults| kinds(&faults.other_failures))
    }),
];

fn faults_text(trial: &TrialModel, text: fn(&TrialFaults) -> String) -> String {
    trial.faults.as_ref().map(text).unwrap_or_default()
}

/// A time that is not known is no number: how long it was looked for stands in a column of its own.
const RECOVERED: [Named; 2] = [
    ("recovered", |_, trial| {
        match trial.recovery.as_ref().map(|recovery| recovery.outcome) {
            Some(Recovery::After(_)) => true.to_string(),
            Some(Recovery::NotWithin(_)) => false.to_string(),
            Some(Recovery::NoReference) | None => String::new(),
        }
    }),
    ("recovery_observed_s", |_, trial| {
        let recovery = trial.recovery.as_ref();
        let observed_s = recovery.map(|recovery| recovery.load_drop.recovery.duration_s);
        observed_s.map(number).unwrap_or_default()
    }),
];

const CONTROL: [Named; 2] = [
    ("recovery_control_bad", |_, trial| {
        control_text(trial, |control| control.bad)
    }),
    ("recovery_control_intervals", |_, trial| {
        control_text(trial, |control| control.intervals)
    }),
];

fn control_text(trial: &TrialModel, count: fn(Control) -> usize) -> String {
    let control = trial.recovery.and_then(|recovery| recovery.control);
    control
        .map(|control| count(control).to_string())
        .unwrap_or_default()
}

/// What a trial of a search showed, and the answer of its cell.
const SEARCH: [Named; 9] = [
    ("evidence", |model, trial| {
        let step = step(model, trial);
        step.map(|step| labels::evidence(step.evidence).to_owned())
            .unwrap_or_default()
    }),
    ("cell_holds_at", |model, trial| {
        let held = search(model, trial).and_then(|search| search.answer.holds);
        held.map(|held| number(held.level)).unwrap_or_default()
    }),
    ("cell_holds_trials", |model, trial| {
        let held = search(model, trial).and_then(|search| search.answer.holds);
        held.map(|held| held.trials.to_string()).unwrap_or_default()
    }),
    ("cell_fails_at", |model, trial| {
        let fails = search(model, trial).and_then(|search| search.answer.fails);
        fails.map(number).unwrap_or_default()
    }),
    ("cell_holds_is_lower_bound", |model, trial| {
        let held = search(model, trial).filter(|search| search.answer.holds.is_some());
        held.map(|search| search.answer.is_lower_bound().to_string())
            .unwrap_or_default()
    }),
    ("cell_fitted_at", |model, trial| {
        fitted_level(model, trial, |fitted| fitted.level)
    }),
    ("cell_fitted_low", |model, trial| {
        fitted_level(model, trial, |fitted| fitted.low)
    }),
    ("cell_fitted_high", |model, trial| {
        fitted_level(model, trial, |fitted| fitted.high)
    }),
    ("cell_search_ended", |model, trial| {
        search(model, trial)
            .map(|search| search.answer.end.name().to_owned())
            .unwrap_or_default()
    }),
];

/// The share of its cell's capacity that a trial had as its load; empty of the steps of a search.
const OPERATING_POINT: [Named; 1] = [("operating_share", |model, trial| {
    let search = model.search.as_ref();
    let share = search.and_then(|search| search.info.operating_share(trial.info.key.repetition));
    share.map(number).unwrap_or_default()
})];

fn search<'a>(model: &'a Model, trial: &TrialModel) -> Option<&'a CellSearch> {
    model.search.as_ref()?.of_cell(trial.info.key.cell)
}

fn fitted_level(model: &Model, trial: &TrialModel, part: fn(FittedLevel) -> f64) -> String {
    let fitted = search(model, trial).and_then(|search| search.answer.fitted_level());
    fitted
        .map(|fitted| number(part(fitted)))
        .unwrap_or_default()
}

fn step<'a>(model: &'a Model, trial: &TrialModel) -> Option<&'a SearchStep> {
    let mut steps = search(model, trial)?.steps.iter();
    steps.find(|step| step.key == trial.info.key)
}

fn kinds(failures: &[FailureCount]) -> String {
    let entry = |failure: &FailureCount| format!("{}={}", failure.kind, failure.count);
    failures.iter().map(entry).collect::<Vec<_>>().join(" ")
}
