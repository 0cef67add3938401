//! Sentences about the machine's drift.

use waggle_analysis::{DriftModel, RepetitionDrift, SentinelModel};

use crate::words::{format, sentence::uncapitalise};

/// What is shown of it; empty: no drift is shown.
#[must_use]
pub fn shown_sentences(drift: &DriftModel) -> Vec<String> {
    let repetitions = drift.repetitions.iter().filter(|one| one.is_shown);
    let repetitions = repetitions.map(|one| repetition_sentence(drift, one));
    let sentinel = drift.sentinel.iter().filter(|one| one.is_shown);
    let sentinel = sentinel.filter_map(|one| sentinel_sentence(drift, one));
    repetitions.chain(sentinel).collect()
}

/// What is shown, and what is not.
#[must_use]
pub fn sentences(drift: &DriftModel) -> Vec<String> {
    let repetitions = drift.repetitions.iter();
    let repetitions = repetitions.map(|one| repetition_sentence(drift, one));
    let sentinel = drift.sentinel.iter();
    let sentinel = sentinel.filter_map(|one| sentinel_sentence(drift, one));
    repetitions.chain(sentinel).collect()
}

fn repetition_sentence(drift: &DriftModel, one: &RepetitionDrift) -> String {
    let metric = uncapitalise(&drift.metric);
    let ratio = format::ratio(&one.ratio);
    let (first, second) = (one.first, one.second);
    if one.is_shown {
        return format!(
            "The machine changed while the study ran: over {} cells, {metric} in repetition {second} is {ratio} of that in repetition \
             {first}. Comparisons repetition by repetition are not affected; intervals of single cells are wider.",
            one.cells
        );
    }
    let excluded = match one.not_excluded {
        Some(change) => format!(
            "a change of up to {} cannot be excluded",
            format::times(change)
        ),
        None => "no change can be excluded".to_owned(),
    };
    format!(
        "No change of the machine is shown between {} repetitions: {metric} differs most between repetitions {first} and {second}, \
         {ratio} over {} cells; {excluded}.",
        one.repetitions, one.cells
    )
}

fn sentinel_sentence(drift: &DriftModel, one: &SentinelModel) -> Option<String> {
    let metric = uncapitalise(&drift.metric);
    let ratio = format::ratio(one.trend.as_ref()?);
    let trials = one.points.len();
    Some(if one.is_shown {
        format!(
            "The machine drifted: over {trials} trials of the sentinel, {metric} went to {ratio} of its first level."
        )
    } else {
        format!(
            "No drift of the machine is shown by {trials} trials of the sentinel: {metric} went to {ratio} of its first level."
        )
    })
}
