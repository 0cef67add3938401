//! Time series of every trial as charts. Their tables are in the pages of the trials.

use crate::{
    layout::document::{Block, Section},
    words::{imported, labels},
};
use waggle_analysis::Model;

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
    Section {
        lead: "Seconds count from the start of the load. The warm-up is part of the charts but of no metric. Each trial’s page has its numbers \
               over time as a table.",
        blocks,
        ..Section::new("time", "Time series")
    }
}
