//! Records of a request, as written.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::RecordsFormat;

use super::{Measurement, Time};

/// Records from a file, each stamped with a key and a time of its own as it is sent. A file may be compressed by gzip or zstd.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    /// The file, relative to the study's folder.
    #[schemars(required)]
    pub file: Option<String>,
    /// How to read the file; by default from its ending: .lp, .ndjson, .json, .csv, .tsv, also with .gz or .zst.
    pub format: Option<RecordsFormat>,
    /// How to write the body; line-protocol by default.
    pub send_as: Option<RecordsFormat>,
    /// Records in one request; 1 by default.
    #[schemars(range(min = 1, max = 100_000))]
    pub per_request: Option<u32>,
    /// The measurement of records from CSV, JSON or NDJSON: a name, or `{column: NAME}`.
    pub measurement: Option<Measurement>,
    /// The column with the time, in CSV, JSON or NDJSON; or its columns, format and zone.
    pub time: Option<Time>,
    /// The columns that are tags, in CSV, JSON or NDJSON. The columns of an object are its keys, those within it by their path:
    /// `device.id`, `samples.0`.
    pub tags: Option<Vec<String>>,
    /// The columns that are fields, in CSV, JSON or NDJSON; all without another role by default.
    pub fields: Option<Vec<String>>,
    /// The columns that are not used, in CSV, JSON or NDJSON.
    pub leave_out: Option<Vec<String>>,
    /// Texts of cells without a value, such as `NAN`, in CSV, JSON or NDJSON; an empty cell never has one.
    pub missing: Option<Vec<String>>,
    /// Whether rows without the value of any field are left out, in CSV, JSON or NDJSON; they are mistakes by default.
    pub skip_empty: Option<bool>,
    /// What separates cells in CSV: `,`, `;`, a tab (`"\t"`) or `|`; by default what the header row has most of.
    pub delimiter: Option<String>,
    /// What separates the fraction of a number in CSV; point by default.
    pub decimal: Option<Decimal>,
    /// Lines before the header row of CSV; 0 by default.
    #[schemars(range(max = 10_000))]
    pub skip_lines: Option<u32>,
    /// Lines after the header row of CSV that are no rows, such as units; 0 by default.
    #[schemars(range(max = 10_000))]
    pub skip_after_header: Option<u32>,
    /// The names of the columns of CSV without a header row.
    pub header: Option<Vec<String>>,
    /// Lines of CSV that begin with this text are left out.
    pub comment: Option<String>,
    /// The character encoding, such as windows-1252 or utf-16le; UTF-8 by default.
    pub encoding: Option<String>,
}

/// What separates the integer part of a number from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decimal {
    Point,
    Comma,
}
