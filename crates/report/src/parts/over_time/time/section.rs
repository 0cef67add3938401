//! Time series of every trial, as charts and as tables.

use super::table;
use crate::{
    layout::document::{Block, Fold, Folded, Section},
    words::{format, imported, labels, names::name_of},
};
use waggle_analysis::{Model, TrialModel};
use waggle_results::parallel_map;

pub(crate) fn section(model: &Model) -> Section {
    let note = imported::missing_lines(&model.info);
    let mut blocks: Vec<Block> = note
        .map(|text| Block::Note(text.to_owned()))
        .into_iter()
        .collect();
    blocks.extend([
        Block::choice("time-choice"),
        Block::wide(
            "time-rate",
            format!(
                "Goodput and failures, {}/s",
                labels::counted_word(model.counted)
            ),
        ),
        Block::wide(
            "time-latency",
            "Response time, p50 and p99 of each interval",
        ),
        Block::wide(
            "time-cpu",
            "CPU of each component and of the load generator (waggle), cores",
        ),
        Block::wide(
            "time-backlog",
            "Backlog: records accepted but not yet visible",
        ),
    ]);
    let metrics = model.info.metrics.iter().enumerate();
    blocks.extend(metrics.map(|(place, metric)| {
        let label = format!("{}: {}", metric.name, metric.summary);
        Block::wide(format!("time-metric-{place}"), label)
    }));
    // A thousand trials are a thousand tables.
    let trials = parallel_map(&model.trials, |trial| over_time(model, trial));
    blocks.push(Block::PageOnly(vec![Block::Folded(Folded {
        what: Fold::Series,
        summary: "As tables, trial by trial".to_owned(),
        blocks: trials.into_iter().flatten().collect(),
    })]));
    Section {
        lead: "Seconds count from the start of the load. The warm-up is part of the charts but of no metric.",
        blocks,
        ..Section::new("time", "Time series")
    }
}

/// `None` if the trial has no series.
fn over_time(model: &Model, trial: &TrialModel) -> Option<Block> {
    let title = format!(
        "{}, repetition {} ({})",
        name_of(model, trial.info.key.cell),
        trial.info.key.repetition,
        labels::verdict(trial.verdict)
    );
    let table = table::over_time(model, trial, &title)?;
    Some(Block::Folded(Folded {
        what: Fold::Trial,
        summary: title,
        blocks: vec![Block::Note(phases(trial)), Block::Table(table)],
    }))
}

fn phases(trial: &TrialModel) -> String {
    let spans = trial.info.phases.iter().map(|phase| {
        format!(
            "{} {} to {} s",
            labels::phase(phase.phase),
            format::three_digits(phase.start_s),
            format::three_digits(phase.end_s)
        )
    });
    spans.collect::<Vec<_>>().join(" · ")
}
