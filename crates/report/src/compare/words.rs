//! Sentences of a comparison of two sides: what it comes to, what is undecided and why, what else differs.

use waggle_analysis::compare::{
    CompareError, CompareModel, Condition, ConditionChange, Judgement, LeftOut, MetricComparison,
    MetricPair, OpenReason, Outcomes, SampleUnit,
};
use waggle_metrics::Wish;
use waggle_stats::MAX_TRIALS_NEEDED;

use crate::{
    parts::cells::left_out,
    words::{format, sentence::uncapitalise, trials_needed},
};

/// Cells that a sentence names.
const NAMED_CELLS: usize = 3;

/// `same`, `better`, `worse`, `different`, `undecided`.
#[must_use]
pub fn judgement_label(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Same => "same",
        Judgement::Better => "better",
        Judgement::Worse => "worse",
        Judgement::Different => "different",
        Judgement::Undecided(_) => "undecided",
    }
}

/// The same of the whole comparison.
#[must_use]
pub fn outcome_label(outcome: Outcomes) -> &'static str {
    match outcome {
        Outcomes::Same => "same",
        Outcomes::Better => "better",
        Outcomes::Worse => "worse",
        Outcomes::Undecided => "undecided",
    }
}

/// Why a metric is undecided in a cell; `None` if it is decided.
#[must_use]
pub fn open_reason(pair: &MetricPair, unit: SampleUnit) -> Option<String> {
    let Judgement::Undecided(open) = pair.judgement else {
        return None;
    };
    Some(match (open.why, open.trials_needed) {
        (OpenReason::NoRatio, _) => "a side has no value above 0".to_owned(),
        (OpenReason::NoInterval, _) => format!("a side has one {}", unit_word(unit)),
        (OpenReason::Interval, Some(needed)) => format!(
            "{} of each side would decide if the true ratio is the observed one",
            trials_needed::count(needed, unit_word(unit))
        ),
        (OpenReason::Interval, None) => {
            format!(
                "more than {MAX_TRIALS_NEEDED} {}s would be needed",
                unit_word(unit)
            )
        }
        (OpenReason::Range, _) => {
            "its values are known only to within a range, see the reports; more trials do not decide it"
                .to_owned()
        }
        (OpenReason::Doubtful, _) => "values of a side are doubtful, see its report".to_owned(),
        (OpenReason::Chance, _) => "among so many cells it may be chance".to_owned(),
    })
}

/// Why no difference is shown, without numbers; `None`: one is.
pub(super) fn even_reason(model: &CompareModel, pair: &MetricPair) -> Option<String> {
    let open = match pair.judgement {
        Judgement::Same => {
            return Some(format!(
                "the same within {}",
                format::set_share(model.margin)
            ));
        }
        Judgement::Undecided(open) => open,
        Judgement::Better | Judgement::Worse | Judgement::Different => return None,
    };
    let unit = unit_word(model.unit);
    Some(match open.why {
        OpenReason::NoRatio => "a side has no value above 0".to_owned(),
        OpenReason::NoInterval => format!("a side has one {unit}"),
        OpenReason::Interval => format!("too few {unit}s to decide"),
        OpenReason::Range => "values are known only to within a range".to_owned(),
        OpenReason::Doubtful => "values of a side are doubtful".to_owned(),
        OpenReason::Chance => "among so many cells it may be chance".to_owned(),
    })
}

/// The reasons of some pairs, each once.
pub(super) fn even_reasons<'a>(
    model: &CompareModel,
    pairs: impl IntoIterator<Item = &'a MetricPair>,
) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for pair in pairs {
        let reason = even_reason(model, pair);
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
    }
    reasons.join("; ")
}

fn unit_word(unit: SampleUnit) -> &'static str {
    match unit {
        SampleUnit::PairedTrials | SampleUnit::Trials => "trial",
        SampleUnit::PairedRuns | SampleUnit::Runs => "run",
    }
}

/// What the comparison comes to, a sentence each; the first one is the answer.
#[must_use]
pub fn sentences(model: &CompareModel) -> Vec<String> {
    let [first, second] = model.sides.each_ref().map(|side| side.name.as_str());
    let margin = format::set_share(model.margin);
    let mut all = vec![match model.outcome() {
        Outcomes::Worse => format!("{second} is worse than {first}."),
        Outcomes::Better => {
            format!(
                "{second} is better than {first}, and nothing that the study asks about is worse."
            )
        }
        Outcomes::Same => format!("{second} is the same as {first}, within {margin}."),
        Outcomes::Undecided => match model.trials_needed() {
            Some(needed) => format!(
                "It is undecided whether {second} is the same as {first}: {} of each side would decide if the true ratios are the \
                 observed ones. It is a range because these {}s know their own scatter only roughly.",
                trials_needed::count(needed, unit_word(model.unit)),
                unit_word(model.unit)
            ),
            None => format!("It is undecided whether {second} is the same as {first}."),
        },
    }];
    for metric in model.asked_metrics() {
        all.extend(metric_sentences(model, metric));
    }
    if all.len() == 1 {
        all.push("No metric that the study asks about has a value on both sides.".to_owned());
    }
    all.extend(lost_records(model));
    all.extend(unmatched_cells(model));
    all.extend(left_out_cells(model));
    all
}

fn metric_sentences(model: &CompareModel, metric: &MetricComparison) -> Vec<String> {
    if let Some(LeftOut::LoadModels) = metric.left_out {
        return vec![format!(
            "{} is not compared: the load models differ, and times depend on the model.",
            metric.name
        )];
    }
    let count = metric.cells.len();
    let kinds = [
        Judgement::Worse,
        Judgement::Different,
        Judgement::Better,
        Judgement::Same,
    ];
    let mut all = Vec::new();
    for kind in kinds {
        let mut pairs: Vec<(&MetricPair, &str)> = metric
            .cells
            .iter()
            .zip(&model.cells)
            .filter(|(pair, _)| pair.judgement == kind)
            .map(|(pair, cell)| (pair, cell.name.as_str()))
            .collect();
        if pairs.is_empty() {
            continue;
        }
        pairs.sort_by(|a, b| distance(b.0).total_cmp(&distance(a.0)));
        all.push(kind_sentence(metric, kind, &pairs, count));
    }
    let open = metric.cells.iter();
    let open = open.filter(|pair| matches!(pair.judgement, Judgement::Undecided(_)));
    let open: Vec<&MetricPair> = open.collect();
    if !open.is_empty() {
        all.push(format!(
            "{} is undecided in {}: {}.",
            metric.name,
            of_cells(open.len(), count),
            even_reasons(model, open)
        ));
    }
    all
}

fn distance(pair: &MetricPair) -> f64 {
    pair.ratio.map_or(0.0, |ratio| ratio.point.ln().abs())
}

/// `3 of 12 cells`; `the only cell`.
fn of_cells(some: usize, count: usize) -> String {
    match (some, count) {
        (_, 1) => "the only cell".to_owned(),
        (some, count) if some == count => format!("all {count} cells"),
        (some, count) => format!("{some} of {count} cells"),
    }
}

fn kind_sentence(
    metric: &MetricComparison,
    kind: Judgement,
    pairs: &[(&MetricPair, &str)],
    count: usize,
) -> String {
    let cells = of_cells(pairs.len(), count);
    let name = &metric.name;
    let is_higher = matches!(
        (kind, metric.wish),
        (Judgement::Worse, Wish::Less) | (Judgement::Better, Wish::More)
    );
    let what = match kind {
        Judgement::Same => return format!("{name} is the same in {cells}."),
        Judgement::Different => "different",
        _ if is_higher => "higher",
        _ => "lower",
    };
    let ratio = |pair: &MetricPair| pair.ratio.as_ref().map_or_else(String::new, format::ratio);
    let named = pairs.iter().take(NAMED_CELLS);
    let named = named.map(|(pair, cell)| match count {
        1 => ratio(pair),
        _ => format!("{} at {cell}", ratio(pair)),
    });
    let most = match pairs.len() > 1 {
        true => "most ",
        false => "",
    };
    let named: Vec<String> = named.collect();
    format!("{name} is {what} in {cells}: {most}{}.", named.join("; "))
}

fn lost_records(model: &CompareModel) -> Option<String> {
    let [first, second] = model.sides.each_ref().map(|side| side.name.as_str());
    let mut cells = model.cells.iter().filter(|cell| cell.loses_records());
    let cell = cells.next()?;
    let others = match cells.count() {
        0 => String::new(),
        more => format!(", and at {more} others"),
    };
    let missing = format::count(cell.missing[1].unwrap_or_default());
    Some(format!(
        "{second} misses {missing} accepted records at {}{others}; {first} misses none there.",
        cell.name
    ))
}

fn unmatched_cells(model: &CompareModel) -> Vec<String> {
    let each = model.sides.iter().zip(&model.unmatched);
    let mut sentences = Vec::new();
    for (side, cells) in each.filter(|(_, cells)| !cells.is_empty()) {
        let shown: Vec<&str> = cells.iter().take(NAMED_CELLS).map(String::as_str).collect();
        let more = match cells.len().saturating_sub(NAMED_CELLS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        sentences.push(format!(
            "Only {} has {}{more}.",
            side.name,
            shown.join("; ")
        ));
    }
    sentences
}

fn left_out_cells(model: &CompareModel) -> Vec<String> {
    let sides = model.sides.iter().zip(&model.left_out_cells);
    let sentences = sides.flat_map(|(side, groups)| {
        let groups = groups.iter();
        groups.map(|group| format!("{} left out {}.", side.name, left_out::words::line(group)))
    });
    sentences.collect()
}

/// What a reader must know before believing the ratios.
#[must_use]
pub fn warnings(model: &CompareModel) -> Vec<String> {
    let names = model.sides.iter().filter_map(|side| {
        let path = side.path.as_ref()?;
        Some(format!("{} is {path}", side.name))
    });
    let names: Vec<String> = names.collect();
    let mut all = Vec::new();
    if !names.is_empty() {
        all.push(format!("{}.", names.join(", ")));
    }
    match model.unit {
        SampleUnit::Trials => all.push(
            "The sides ran one after the other: whatever else the machine did in between is part of the difference. `waggle run \
             --against` runs both in turn."
                .to_owned(),
        ),
        SampleUnit::Runs => all.push(
            "The runs of the two sides do not alternate: whatever else the machine did in between is part of the difference."
                .to_owned(),
        ),
        SampleUnit::PairedTrials | SampleUnit::PairedRuns => {}
    }
    for side in &model.sides {
        if side.trials < side.planned {
            let why = match side.is_being_written {
                true => "it is being written",
                false => "it was interrupted",
            };
            all.push(format!(
                "{} has results of {} of {} trials: {why}.",
                side.name, side.trials, side.planned
            ));
        }
    }
    all
}

/// How the ratios were made.
#[must_use]
pub fn method(model: &CompareModel) -> Vec<String> {
    let margin = format::set_share(model.margin);
    let [first, second] = model.sides.each_ref().map(|side| side.name.as_str());
    let unit = match model.unit {
        SampleUnit::PairedTrials => {
            "Each repetition ran both versions; ratios are of the trials of a repetition, with Student's t over repetitions."
        }
        SampleUnit::Trials => {
            "Ratios are of the geometric means over trials, with the variance of each side (Welch, Satterthwaite)."
        }
        SampleUnit::PairedRuns => {
            "Each run is one value; the runs of the sides alternate, and ratios are of one run of each, with Student's t over pairs."
        }
        SampleUnit::Runs => {
            "Each run is one value, with the variance of each side (Welch, Satterthwaite)."
        }
    };
    vec![
        format!(
            "A ratio is {second} ÷ {first}, with its 95 % interval. Same: all of the interval lies within {margin} of 1. Better, worse: \
             all of it lies outside. Undecided: neither."
        ),
        unit.to_owned(),
        "Better and worse hold together: in 95 of 100 comparisons of equal sides, no cell is called different in any metric that the \
         study asks about (Holm). Each other metric is tested over its cells alone, and does not count for the answer."
            .to_owned(),
    ]
}

/// What differs, with both values; texts of files as a difference of lines.
#[must_use]
pub fn change(change: &ConditionChange) -> (String, String) {
    let name = match &change.what {
        Condition::Host => "host".to_owned(),
        Condition::Kernel => "kernel".to_owned(),
        Condition::CpuModel => "CPU model".to_owned(),
        Condition::Cpus => "CPUs".to_owned(),
        Condition::Memory => "memory".to_owned(),
        Condition::IdlePoll => "idle polling".to_owned(),
        Condition::CpuSets => "pinned CPUs".to_owned(),
        Condition::AgentHosts => "hosts of agents".to_owned(),
        Condition::AgentHardware => "hardware of agents".to_owned(),
        Condition::WaggleVersion => "waggle".to_owned(),
        Condition::System => "system".to_owned(),
        Condition::SystemPods => "components".to_owned(),
        Condition::SystemNodes => "nodes of the system".to_owned(),
        Condition::SystemImage => "image of the system".to_owned(),
        Condition::Component(component) => format!("version of {component}"),
        Condition::LoadModel => "load model".to_owned(),
        Condition::Study => "text of the study".to_owned(),
        Condition::SystemText => "text of the system".to_owned(),
    };
    let shown = |text: &str| match change.what {
        Condition::Memory => text.parse().map_or_else(|_| text.to_owned(), format::bytes),
        _ if text.is_empty() => "none".to_owned(),
        _ => text.to_owned(),
    };
    let meaning = format!("{} → {}", shown(&change.first), shown(&change.second));
    (name, meaning)
}

/// Why two sides cannot be compared, and what can be done.
#[must_use]
pub fn error(error: &CompareError) -> String {
    match error {
        CompareError::Studies { first, second } => format!(
            "the runs are of different studies, {first} and {second}: give runs of one study"
        ),
        CompareError::NoCommonCell { first, second } => format!(
            "the two sides have no cell in common ({first} on one, {second} on the other): give runs with the same factors and levels"
        ),
        CompareError::NoFactor(factor) => {
            format!("the run has no factor {factor} with two levels")
        }
        CompareError::NoMetric(path) => format!(
            "the runs have no metric {path}: docs/reference/metrics.md lists them, for example response_time.p99"
        ),
        CompareError::Search(study) => format!(
            "{study} searches for a level, and its answer is a bracket: compare the brackets in the two reports, or run the study at one level"
        ),
        CompareError::NoTrials {
            side,
            is_being_written: true,
        } => format!("no trial of {side} has a result yet, it is being written: wait for its end"),
        CompareError::NoTrials { side, .. } => format!(
            "no trial of {side} has a result: finish it with waggle run STUDY --resume, or give another run"
        ),
    }
}

/// `Goodput` in the middle of a sentence.
#[must_use]
pub fn metric_in_sentence(metric: &MetricComparison) -> String {
    in_sentence(&metric.name)
}

pub(crate) fn in_sentence(name: &str) -> String {
    uncapitalise(name)
}
