//! Every trial over time, drawn and as tables.

use crate::{
    document::{Block, Fold, Folded, Section},
    tables, text, words,
};
use waggle_analysis::{Model, TrialModel};
use waggle_results::parallel_map;

pub(super) fn section(model: &Model) -> Section {
    let mut blocks = vec![
        Block::choice("time-choice"),
        Block::wide(
            "time-rate",
            format!(
                "Goodput and failures, {}/s",
                words::counted_word(model.counted)
            ),
        ),
        Block::wide(
            "time-latency",
            "Response time, p50 and p99 of each interval",
        ),
        Block::wide("time-cpu", "CPU of each component and of waggle, cores"),
        Block::wide(
            "time-backlog",
            "Backlog: accepted and not yet visible, records",
        ),
    ];
    let watches = model.info.watches.iter().enumerate();
    blocks.extend(watches.map(|(place, watch)| {
        let label = format!("{}: {}", watch.name, watch.summary);
        Block::wide(format!("time-watch-{place}"), label)
    }));
    // A thousand trials are a thousand tables.
    let trials = parallel_map(&model.trials, |trial| over_time(model, trial));
    blocks.push(Block::PageOnly(vec![Block::Folded(Folded {
        what: Fold::Series,
        summary: "The same as tables, trial by trial".to_owned(),
        blocks: trials.into_iter().flatten().collect(),
    })]));
    Section {
        lead: "Seconds count from the start of the load. Warm-up is left out of every number; it is shown so that one can see why.",
        blocks,
        ..Section::new("time", "Time", "Over time")
    }
}

/// Nothing where nothing was seen.
fn over_time(model: &Model, trial: &TrialModel) -> Option<Block> {
    let title = format!(
        "{}, repetition {} ({})",
        text::levels(&trial.levels),
        trial.key.repetition,
        words::verdict(trial.verdict)
    );
    let table = tables::over_time(trial, model.counted, &title)?;
    Some(Block::Folded(Folded {
        what: Fold::Trial,
        summary: title,
        blocks: vec![Block::Note(phases(trial)), Block::Table(table)],
    }))
}

fn phases(trial: &TrialModel) -> String {
    let spans = trial.phases.iter().map(|phase| {
        format!(
            "{} {} to {} s",
            words::phase(phase.phase),
            text::three_digits(phase.start_s),
            text::three_digits(phase.end_s)
        )
    });
    spans.collect::<Vec<_>>().join(" · ")
}
