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
    compare_html, compare_html_beside, compare_json, compare_junit, compare_markdown,
    compare_schema, compare_terminal,
};
pub use history::{
    history_html, history_html_beside, history_json, history_junit, history_markdown,
    history_schema, history_terminal,
};
pub use layout::{
    html::{STYLE, THEME, hash_source},
    site::Site,
};
pub use metric_columns::csv;
pub use parts::factors::{
    effects::csv::effects as effects_csv, level_ratios::csv::ratios as ratios_csv,
};
pub use run::{
    checks::{junit, summary},
    json::{report_json, report_schema},
    pages::{html, html_beside, markdown, terminal},
    write::{ReportError, Written, write_all},
};

/// Sentences, labels and formatted numbers, the same on the terminal as in reports.
pub mod wording {
    pub use crate::{
        compare::words as compare,
        history::words as history,
        parts::{
            capacity::{operating_points::words as operating_points, search::words as search},
            cells::left_out::words as left_out,
            factors::{
                ab_comparisons::words as comparisons, effects::words as effects,
                growth::words as growth, laws::words as laws,
            },
            method::network,
            opening::{power, warnings, words as answer},
            reliability::{drift::words as drift, verdicts::causes},
            system::{delivery::words as delivery, limits::words as limits},
        },
        words::{cell, conditions, findings, format, labels},
    };
}
