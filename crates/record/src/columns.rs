//! What the columns of a table mean.

/// What the columns of a CSV file, or the keys of flat NDJSON objects, mean; those not named are fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The measurement of every record.
    pub measurement: String,
    /// The column with the time.
    pub time: Option<String>,
    /// The columns that are tags.
    pub tags: Vec<String>,
}
