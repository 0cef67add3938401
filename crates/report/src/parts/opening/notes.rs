//! What people have noted on a run: in the report below its answer, in a history beside its run.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::Model;
use waggle_results as results;

use crate::layout::{
    document::{Block, Section},
    table::{Column, Field, Table},
};

/// A note for other programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Note<'a> {
    /// RFC 3339, UTC.
    written: &'a str,
    text: &'a str,
    /// Whether it accepts the level of this run and of those after it.
    accepts: bool,
    /// The column in `tables.csv` of the one metric that it is about; absent: the run as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    metric: Option<&'a str>,
}

impl<'a> Note<'a> {
    pub(crate) fn new(note: &'a results::Note) -> Self {
        Self {
            written: &note.written_utc,
            text: &note.text,
            accepts: note.accepts,
            metric: note.metric.as_deref(),
        }
    }
}

/// The text of a note, what it is about if that is one metric, and whether it accepts a level.
pub(crate) fn line(note: &results::Note) -> String {
    match (note.accepts, &note.metric) {
        (true, None) => format!("{} (accepted as the new level)", note.text),
        (true, Some(metric)) => {
            format!("{} (accepted as the new level of {metric})", note.text)
        }
        (false, Some(metric)) => format!("{} (about {metric})", note.text),
        (false, None) => note.text.clone(),
    }
}

/// `None` without a note.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let columns: Vec<Column<'_, &results::Note>> = vec![
        Column::words("written, UTC", |note: &&results::Note| {
            Field::plain(moment(&note.written_utc))
        }),
        Column::words("note", |note: &&results::Note| Field::plain(line(note))),
    ];
    let caption = "Notes on this run, the oldest first";
    let table = Table::new("notes", caption, columns, &model.notes).unless_empty()?;
    Some(Section {
        blocks: vec![Block::Table(table)],
        ..Section::new("notes", "Notes")
    })
}

/// `2026-01-02 03:04` of `2026-01-02T03:04:05Z`.
fn moment(written_utc: &str) -> String {
    let minutes = written_utc.get(..16).unwrap_or(written_utc);
    minutes.replace('T', " ")
}
