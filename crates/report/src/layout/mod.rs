//! How reports look, whatever they say: a document of sections and tables, laid out as a page, Markdown, CSV, JUnit XML and on
//! the terminal.
//!
//! In reading order: `document`, `table`, `timeline`; then what lays them out.

pub(crate) mod chart_numbers;
pub(crate) mod csv;
pub(crate) mod document;
pub(crate) mod html;
pub(crate) mod json_values;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod site;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod timeline;
