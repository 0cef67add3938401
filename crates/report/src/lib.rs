//! Results → one self-contained page, Markdown, CSV, and the terminal's tables.
//!
//! This crate lays out the results of `waggle-analysis`. It judges nothing, and computes no value twice.
//!
//! A module imports only from those before it: `words` (formatting, labels), `layout` (documents and tables, whatever they say),
//! `metric_columns` (every metric of a trial), `parts` (a folder for each subject), `run` (the report of a run), `compare` (two
//! sides), `history` (many runs).

mod compare;
mod history;
mod layout;
mod metric_columns;
mod parts;
mod run;
mod words;

pub use compare::{
    compare_html, compare_json, compare_junit, compare_markdown, compare_schema, compare_terminal,
};
pub use history::{
    history_html, history_json, history_junit, history_markdown, history_schema, history_terminal,
};
pub use metric_columns::csv;
pub use parts::factors::effects::csv::effects as effects_csv;
pub use run::checks::{junit, summary};
pub use run::json::{report_json, report_schema};
pub use run::pages::{html, markdown, terminal};
pub use run::write::{ReportError, Written, write_all};

/// Sentences, labels and formatted numbers, the same on the terminal as in reports.
pub mod wording {
    pub use crate::compare::words as compare;
    pub use crate::history::words as history;
    pub use crate::parts::capacity::operating_points::words as operating_points;
    pub use crate::parts::capacity::search::words as search;
    pub use crate::parts::cells::left_out::words as left_out;
    pub use crate::parts::factors::ab_comparisons::words as comparisons;
    pub use crate::parts::factors::effects::words as effects;
    pub use crate::parts::factors::growth::words as growth;
    pub use crate::parts::factors::laws::words as laws;
    pub use crate::parts::method::network;
    pub use crate::parts::opening::power;
    pub use crate::parts::opening::warnings;
    pub use crate::parts::opening::words as answer;
    pub use crate::parts::reliability::drift::words as drift;
    pub use crate::parts::reliability::verdicts::causes;
    pub use crate::parts::system::delivery::words as delivery;
    pub use crate::parts::system::limits::words as limits;
    pub use crate::words::cell;
    pub use crate::words::conditions;
    pub use crate::words::findings;
    pub use crate::words::format;
    pub use crate::words::labels;
}
