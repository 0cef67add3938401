//! Host drift: repetitions against each other, and the sentinel over time.

use super::words;
use crate::{
    layout::{
        document::{Block, Section},
        table::{Column, Field, Table},
    },
    words::format,
};
use waggle_analysis::{DriftModel, Model, SentinelPoint};

/// `None` if nothing shows it.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let drift = model.drift.as_ref()?;
    let sentences = words::sentences(drift);
    let table = sentinel_table(drift);
    if sentences.is_empty() && table.is_none() {
        return None;
    }
    let mut blocks = vec![Block::Sentences(sentences)];
    blocks.extend(Block::tables(table));
    Some(Section {
        link: None,
        lead: "Each repetition has a trial of every cell, so repetitions are compared cell by cell; the intervals of all pairs hold \
               together. A sentinel is one cell, run again every so many trials; it is in no other result.",
        blocks,
        ..Section::new("drift", "Host drift")
    })
}

fn sentinel_table(drift: &DriftModel) -> Option<Table> {
    let sentinel = drift.sentinel.as_ref()?;
    let first = sentinel.points.first()?.value;
    let columns = vec![
        Column::numbers("position", |point: &SentinelPoint| {
            Field::plain(point.position.to_string())
        }),
        Column::numbers(&drift.metric, |point: &SentinelPoint| {
            Field::plain(format::in_unit(point.value, drift.unit))
        }),
        Column::numbers("÷ first", move |point: &SentinelPoint| {
            Field::plain(format::times(point.value / first))
        }),
    ];
    let points = sentinel.points.iter().copied();
    Table::new("sentinel", "Trials of the sentinel", columns, points).unless_empty()
}
