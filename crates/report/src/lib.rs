//! Results → one self-contained page, Markdown, CSV, and the terminal's tables.
//!
//! This crate lays out the results of `waggle-analysis`. It judges nothing, and computes no value twice.

mod charts;
mod checks;
mod compare;
mod csv;
mod document;
mod history;
mod html;
mod json;
mod junit;
mod markdown;
mod pages;
mod sections;
mod table;
mod tables;
mod terminal;
mod timeline;
pub mod wording;
mod write;

use wording::{format, labels};

pub use checks::{junit, summary};
pub use compare::{
    compare_html, compare_json, compare_junit, compare_markdown, compare_schema, compare_terminal,
};
pub use csv::{csv, effects as effects_csv};
pub use history::{
    history_html, history_json, history_junit, history_markdown, history_schema, history_terminal,
};
pub use json::{report_json, report_schema};
pub use pages::{html, markdown, terminal};
pub use write::{ReportError, Written, write_all};
