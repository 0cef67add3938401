//! Results → one self-contained page, Markdown, CSV, and the terminal's tables.
//!
//! It lays out what `waggle-analysis` found; it judges nothing, and two writers never compute the same number twice.

mod charts;
mod csv;
mod document;
mod html;
mod markdown;
mod sections;
mod table;
mod tables;
mod terminal;
pub mod wording;
mod write;

use wording::{text, words};

pub use csv::{csv, effects as effects_csv};
pub use html::html;
pub use markdown::markdown;
pub use terminal::terminal;
pub use write::{ReportError, Written, write_all};
