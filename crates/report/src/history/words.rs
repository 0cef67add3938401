//! Sentences of a history: what it comes to, each change with what else changed, what a reader must know.

use waggle_analysis::{
    compare::{CompareError, Condition, ConditionChange},
    history::{
        ChangeDoubt, ChangeJudgement, HistoryChange, HistoryError, HistoryModel, HistoryOutcome,
        HistoryRunFacts, HistorySeries, HostScope, MetricHistory,
    },
};
use waggle_results::Note;

use crate::{
    compare,
    parts::{cells::left_out, opening::notes},
    words::format,
};

/// Changes that have a sentence; the table has all.
const MAX_SENTENCES: usize = 8;
/// Runs and cells that a sentence names.
const MAX_NAMES: usize = 3;

/// One change with where it is.
pub(crate) type PlacedChange<'a> = (&'a MetricHistory, &'a HistorySeries, &'a HistoryChange);

/// `better`, `worse`, `different`, `undecided`.
#[must_use]
pub fn judgement_label(judgement: ChangeJudgement) -> &'static str {
    match judgement {
        ChangeJudgement::Better => "better",
        ChangeJudgement::Worse => "worse",
        ChangeJudgement::Different => "different",
        ChangeJudgement::Undecided(_) => "undecided",
    }
}

/// The same of the whole history.
#[must_use]
pub fn outcome_label(outcome: HistoryOutcome) -> &'static str {
    match outcome {
        HistoryOutcome::NoChange => "no change",
        HistoryOutcome::Better => "better",
        HistoryOutcome::Worse => "worse",
        HistoryOutcome::Undecided => "undecided",
    }
}

/// Why a change is undecided, or that it is accepted or over.
#[must_use]
pub fn change_remark(change: &HistoryChange) -> Option<&'static str> {
    match change.judgement {
        _ if change.is_accepted => Some("accepted as the new level"),
        ChangeJudgement::Undecided(ChangeDoubt::Conditions) => {
            Some("the way of measuring changed, too")
        }
        ChangeJudgement::Undecided(ChangeDoubt::Values) => {
            Some("values are doubtful, see the reports of the runs")
        }
        ChangeJudgement::Worse if change.is_recovered => Some("a later level is as good as before"),
        _ => None,
    }
}

/// Every change, the newest first.
pub(crate) fn newest_changes(model: &HistoryModel) -> Vec<PlacedChange<'_>> {
    let mut all: Vec<PlacedChange<'_>> = model
        .series()
        .flat_map(|(metric, series)| {
            let changes = series.changes.iter();
            changes.map(move |change| (metric, series, change))
        })
        .collect();
    all.sort_by_key(|(_, series, change)| std::cmp::Reverse(series.points[change.at].run));
    all
}

/// What the history comes to, a sentence each; the first one is the answer.
#[must_use]
pub fn sentences(model: &HistoryModel) -> Vec<String> {
    let changes = newest_changes(model);
    let runs = model.runs.len();
    let answer = match model.outcome() {
        HistoryOutcome::NoChange if changes.is_empty() => {
            format!("No change is shown over {runs} runs.")
        }
        HistoryOutcome::NoChange => format!("Nothing is worse than before, over {runs} runs."),
        HistoryOutcome::Better => {
            "Something became better, and nothing is worse than before.".to_owned()
        }
        HistoryOutcome::Worse => "Something became worse, and has not come back.".to_owned(),
        HistoryOutcome::Undecided => "It is undecided whether something became worse.".to_owned(),
    };
    let mut all = vec![answer];
    let mut ordered: Vec<&PlacedChange<'_>> = changes.iter().collect();
    ordered.sort_by_key(|(.., change)| !change.is_open());
    let shown = ordered.into_iter().take(MAX_SENTENCES);
    all.extend(shown.map(|change| change_sentence(model, *change)));
    match changes.len().saturating_sub(MAX_SENTENCES) {
        0 => {}
        1 => all.push("The table has one more change.".to_owned()),
        more => all.push(format!("The table has {more} more changes.")),
    }
    all
}

fn change_sentence(model: &HistoryModel, (metric, series, change): PlacedChange<'_>) -> String {
    let [before, after] = runs_of(model, series, change);
    let direction = match change.ratio.point > 1.0 {
        true => "higher",
        false => "lower",
    };
    let name = &metric.name;
    let location = place(model, series).map_or_else(String::new, |place| format!(" at {place}"));
    let levels = [change.before, change.after].map(|level| format::in_unit(level, metric.unit));
    let mut text = format!(
        "{name}{location} is {direction} since {} ({}): {} → {}, {}; the run before is {}",
        after.name,
        moment(&after.started_utc),
        levels[0],
        levels[1],
        format::ratio(&change.ratio),
        before.name,
    );
    if !change.conditions.is_empty() {
        let conditions: Vec<String> = change.conditions.iter().map(condition).collect();
        text += &format!("; at the same time {}", conditions.join(", "));
    }
    let is_undecided =
        matches!(change.judgement, ChangeJudgement::Undecided(_)) && !change.is_accepted;
    match change_remark(change) {
        Some(remark) if is_undecided => format!("{text}. Undecided: {remark}."),
        Some(remark) => format!("{text}; {remark}."),
        None => format!("{text}."),
    }
}

/// The last run of the old level and the first one of the new level.
pub(crate) fn runs_of<'a>(
    model: &'a HistoryModel,
    series: &HistorySeries,
    change: &HistoryChange,
) -> [&'a HistoryRunFacts; 2] {
    [change.at - 1, change.at].map(|index| &model.runs[series.points[index].run])
}

/// The cell and the host, as far as there are several.
pub(crate) fn place(model: &HistoryModel, series: &HistorySeries) -> Option<String> {
    let cell = (model.cells.len() > 1).then(|| model.cells[series.cell].name.clone());
    match (cell, host_name(model, series)) {
        (Some(cell), Some(host)) => Some(format!("{cell} on {host}")),
        (Some(cell), None) => Some(cell),
        (None, Some(host)) => Some(host.to_owned()),
        (None, None) => None,
    }
}

/// The host of a series, if there are several.
pub(crate) fn host_name<'a>(model: &'a HistoryModel, series: &HistorySeries) -> Option<&'a str> {
    let host = series.host.filter(|_| model.host_names.len() > 1)?;
    model.host_names.get(host).map(String::as_str)
}

/// `the kernel changed from 6.1 to 6.2`; the texts of files are shown elsewhere.
fn condition(change: &ConditionChange) -> String {
    let (name, meaning) = compare::words::change(change);
    match (&change.what, meaning.split_once(" → ")) {
        (Condition::Study | Condition::SystemText, _) | (_, None) => format!("the {name} changed"),
        (_, Some((first, second))) => format!("the {name} changed from {first} to {second}"),
    }
}

/// The same of several changes.
pub(crate) fn conditions(changes: &[ConditionChange]) -> String {
    let conditions: Vec<String> = changes.iter().map(condition).collect();
    conditions.join("; ")
}

/// The notes on a run, in one line.
pub(crate) fn notes(run: &HistoryRunFacts) -> String {
    let notes: Vec<String> = run.notes.iter().map(notes::line).collect();
    notes.join("; ")
}

/// The notes on the first run of a change that are about it, in one line.
pub(crate) fn change_notes(model: &HistoryModel, row: PlacedChange<'_>) -> String {
    let [_, after] = runs_of(model, row.1, row.2);
    let notes = after.notes.iter();
    // Its row names the metric.
    let notes = notes
        .filter(|note| note.is_about(&row.0.column))
        .map(|note| Note {
            metric: None,
            ..note.clone()
        });
    let lines: Vec<String> = notes.map(|note| notes::line(&note)).collect();
    lines.join("; ")
}

/// `2026-01-02 03:04` of `2026-01-02T03:04:05Z`.
pub(crate) fn moment(started_utc: &str) -> String {
    let minutes = started_utc.get(..16).unwrap_or(started_utc);
    minutes.replace('T', " ")
}

/// What a reader must know before believing the levels.
#[must_use]
pub fn warnings(model: &HistoryModel) -> Vec<String> {
    let mut all = Vec::new();
    for (is_being_written, why) in [(false, "interrupted"), (true, "still being written")] {
        let partial = model
            .runs
            .iter()
            .filter(|run| run.trials < run.planned && run.is_being_written == is_being_written);
        let partial: Vec<&str> = partial.map(|run| run.name.as_str()).collect();
        if !partial.is_empty() {
            all.push(format!(
                "Not all trials of {} have results: {why}. Their values rest on the trials that there are.",
                names(&partial)
            ));
        }
    }
    for run in &model.unreadable {
        all.push(format!("{} is left out: {}.", run.name, run.why));
    }
    let mut short: Vec<&str> = Vec::new();
    for (_, series) in model
        .series()
        .filter(|(_, candidate)| !candidate.is_long_enough())
    {
        let name = host_name(model, series).unwrap_or(&model.cells[series.cell].name);
        if !short.contains(&name) {
            short.push(name);
        }
    }
    if !short.is_empty() {
        all.push(format!(
            "Fewer than {} runs, too few for a change: {}.",
            waggle_stats::MIN_HISTORY,
            names(&short)
        ));
    }
    if !model.former_cells.is_empty() {
        let former: Vec<&str> = model.former_cells.iter().map(String::as_str).collect();
        all.push(format!(
            "Left out, because the newest run does not have them: {}.",
            names(&former)
        ));
    }
    let left_out = model.left_out_cells.iter();
    all.extend(
        left_out.map(|group| format!("The newest run left out {}.", left_out::words::line(group))),
    );
    let moves = model.host_moves().into_iter().rev().take(MAX_NAMES);
    for (before, index) in moves {
        let run = &model.runs[index];
        all.push(format!(
            "At {} ({}) the host changed from {} to {}: their levels are not compared.",
            run.name,
            moment(&run.started_utc),
            model.host_names[before],
            model.host_names[run.host]
        ));
    }
    if model.hosts == HostScope::Together && model.host_names.len() > 1 {
        all.push(format!(
            "The {} hosts count as alike: how they differ is part of the scatter, and may be a change.",
            model.host_names.len()
        ));
    }
    all
}

fn names(all: &[&str]) -> String {
    let shown: Vec<&str> = all.iter().take(MAX_NAMES).copied().collect();
    match all.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// How the table of two levels is read.
pub(crate) const OVER_RUNS: &str = "Over runs, since the last change: the geometric mean of the runs' values, with the 95 % interval of \
     Student's t over runs. That of one run is of this run only. The scatter of runs is the standard deviation of their values; by trials is \
     the part that the scatter within each run explains, and that more trials in a run would make smaller; the rest of the variance lies \
     between runs, and only more runs average it out (Kalibera and Jones, 2013).";

/// How the changes were found.
#[must_use]
pub fn method(model: &HistoryModel) -> Vec<String> {
    let series = match model.hosts {
        HostScope::Each => {
            "A series is one metric in one cell on one host; hosts are never compared with each other."
        }
        HostScope::Together => "A series is one metric in one cell, over all hosts.",
    };
    vec![
        format!("{series} Each run is one value, the estimate over its trials."),
        "Change points are searched for on logarithms, in windows of many lengths, by t tests that account for all windows and splits. \
         All series together show a change that is none in one of a hundred histories."
            .to_owned(),
        format!(
            "A level has two runs at least, so that a single disturbed run is no change. Changes below {} are left out.",
            format::set_share(model.min_change)
        ),
        "The smallest change is one that four of five histories with this scatter and so many runs would show, half-way through the runs \
         since the last change; one with fewer runs on one side must be larger."
            .to_owned(),
        "Worse counts until a later level is as good as the one before, or a note on a run accepts the new level. If the host, kernel, CPUs, idle polling, waggle or the study \
         changed within two runs of it, a change is undecided. Versions and parameters of the system are named and are no doubt."
            .to_owned(),
        "Intervals are of the ratio of both levels, at 95 %. As a change is placed where it is largest, they contain the true ratio a \
         little less often."
            .to_owned(),
    ]
}

/// Why there is no history, and what can be done.
#[must_use]
pub fn error(error: &HistoryError) -> String {
    match error {
        HistoryError::Runs(CompareError::Search(study)) => format!(
            "{study} searches for a level, and its answer is a bracket: a history needs runs at fixed levels"
        ),
        HistoryError::Runs(error) => compare::words::error(error),
        HistoryError::TooFewRuns { runs, all, needed } if all >= needed => format!(
            "a history needs {needed} runs of a cell on one host, and there are {runs}: run the study more often, or give --all-hosts \
             if the hosts of the {all} runs are alike"
        ),
        HistoryError::TooFewRuns { runs, needed, .. } => format!(
            "a history needs {needed} runs of a cell, and there are {runs}: run the study more often; waggle compare compares two runs"
        ),
    }
}
