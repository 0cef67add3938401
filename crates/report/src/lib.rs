//! Results → one self-contained page, Markdown, CSV, and the rows of the terminal's table.
//!
//! It lays out what `waggle-analysis` found; it judges nothing, and two writers never compute the same number twice.

mod charts;
mod csv;
mod document;
mod facts;
mod html;
mod markdown;
mod rows;
mod sections;
mod tables;
pub mod wording;
mod write;

use wording::{text, words};

pub use csv::{csv, effects as effects_csv};
pub use html::html;
pub use markdown::markdown;
pub use rows::{
    CellRow, SEARCH_COLUMNS, STEP_COLUMNS, SearchRow, StepRow, cell_columns, cell_rows,
    search_rows, step_rows,
};
pub use write::{ReportError, Written, write_all};
