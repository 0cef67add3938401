//! Sentences about the machine's drift.

use waggle_analysis::{DriftModel, RepetitionDrift, SentinelModel};

use crate::words::{format, sentence::uncapitalise};

/// What is shown of it; empty: no drift is shown.
#[must_use]
pub fn shown_sentences(drift: &DriftModel) -> Vec<String> {
    let repetitions = drift.repetitions.iter().filter(|entry| entry.is_shown);
    let repetitions = repetitions.map(|entry| repetition_sentence(drift, entry));
    let sentinel = drift.sentinel.iter().filter(|entry| entry.is_shown);
    let sentinel = sentinel.filter_map(|entry| sentinel_sentence(drift, entry));
    repetitions.chain(sentinel).collect()
}

/// What is shown, and what is not.
#[must_use]
pub fn sentences(drift: &DriftModel) -> Vec<String> {
    let repetitions = drift.repetitions.iter();
    let repetitions = repetitions.map(|entry| repetition_sentence(drift, entry));
    let sentinel = drift.sentinel.iter();
    let sentinel = sentinel.filter_map(|entry| sentinel_sentence(drift, entry));
    repetitions.chain(sentinel).collect()
}

fn repetition_sentence(drift: &DriftModel, shift: &RepetitionDrift) -> String {
    let metric = uncapitalise(&drift.metric);
    let ratio = format::ratio(&shift.ratio);
    let (first, second) = (shift.first, shift.second);
    if shift.is_shown {
        return format!(
            "The machine changed while the study ran: over {} cells, {metric} in repetition {second} is {ratio} of that in repetition \
             {first}. Comparisons repetition by repetition are not affected; intervals of single cells are wider.",
            shift.cells
        );
    }
    let excluded = match shift.not_excluded {
        Some(change) => format!(
            "a change of up to {} cannot be excluded",
            format::times(change)
        ),
        None => "no change can be excluded".to_owned(),
    };
    format!(
        "No change of the machine is shown between {} repetitions: {metric} differs most between repetitions {first} and {second}, \
         {ratio} over {} cells; {excluded}.",
        shift.repetitions, shift.cells
    )
}

fn sentinel_sentence(drift: &DriftModel, sentinel: &SentinelModel) -> Option<String> {
    let metric = uncapitalise(&drift.metric);
    let ratio = format::ratio(sentinel.trend.as_ref()?);
    let trials = sentinel.points.len();
    Some(if sentinel.is_shown {
        format!(
            "The machine drifted: over {trials} trials of the sentinel, {metric} went to {ratio} of its first level."
        )
    } else {
        format!(
            "No drift of the machine is shown by {trials} trials of the sentinel: {metric} went to {ratio} of its first level."
        )
    })
}
