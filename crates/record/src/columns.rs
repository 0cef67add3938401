//! Roles of the columns of a table.

/// Roles of the columns of a CSV file, or of the keys of flat NDJSON objects; columns without a role are fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The measurement of every record.
    pub measurement: String,
    /// The column with the time.
    pub time: Option<String>,
    /// The columns that are tags.
    pub tags: Vec<String>,
}
