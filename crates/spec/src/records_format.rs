//! Text formats of records.

use serde::{Deserialize, Serialize};

/// A text format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RecordsFormat {
    LineProtocol,
    Ndjson,
    Json,
    Csv,
}

impl RecordsFormat {
    /// What the end of a file's name must be, so that it says the format.
    pub const ENDINGS: &'static str = ".lp, .ndjson, .json, .csv or .tsv, also with .gz or .zst";

    /// The format that the end of a file's name says: `.lp`, `.line`, `.influx`, `.ndjson`, `.jsonl`, `.json`, `.csv`, `.tsv`; an
    /// ending `.gz` or `.zst` comes after it.
    #[must_use]
    pub fn of_file_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let (_, ending) = without_compression(&name).rsplit_once('.')?;
        match ending {
            "lp" | "line" | "influx" => Some(Self::LineProtocol),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            "csv" | "tsv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// Whether the end of a file's name says nothing of its format: `.dat`, `.txt`, `.log`, or none, also with `.gz` or `.zst`.
    #[must_use]
    pub fn is_open_in(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let name = without_compression(&name);
        let (_, file) = name.rsplit_once(['/', '\\']).unwrap_or(("", name));
        match file.rsplit_once('.') {
            None | Some(("", _)) => !file.is_empty(),
            Some((_, ending)) => matches!(ending, "dat" | "txt" | "log"),
        }
    }

    /// The word of a study.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LineProtocol => "line-protocol",
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }
}

fn without_compression(name: &str) -> &str {
    let mut endings = [".gz", ".zst"].iter();
    let plain = endings.find_map(|ending| name.strip_suffix(ending));
    plain.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::RecordsFormat;

    #[test]
    fn formats_by_file_name() {
        let check =
            |name, expected| assert_eq!(RecordsFormat::of_file_name(name), expected, "{name}");
        check("data/host-metrics.lp", Some(RecordsFormat::LineProtocol));
        check("a.b.JSONL", Some(RecordsFormat::Ndjson));
        check("a.ndjson.zst", Some(RecordsFormat::Ndjson));
        check("a.json", Some(RecordsFormat::Json));
        check("plant.CSV.GZ", Some(RecordsFormat::Csv));
        check("plant.tsv", Some(RecordsFormat::Csv));
        check("csv", None);
        check("a.gz", None);
        check("a.txt", None);
        check("", None);
        let check_open =
            |name, expected| assert_eq!(RecordsFormat::is_open_in(name), expected, "{name}");
        for name in ["a.txt", "b/a.DAT.gz", "a.b.log", "b.c/readings", "a.zst"] {
            check_open(name, true);
        }
        for name in ["a.csv", "a.xlsx", "a.csv.1", ""] {
            check_open(name, false);
        }
    }
}
