//! Why records cannot be sent.

use std::{io, path::PathBuf};

use waggle_record::{Mistake, Unwritable};
use waggle_study::BODY_MAX_BYTES;

use super::{mistakes::mistakes_text, text::RECORDS_FILE_MAX_BYTES};

/// Limit on the bytes of all requests made ahead; if a file needs more, the requests repeat before its end.
pub(super) const PREPARED_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Why records cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error("cannot read the records in {}: {problem}", file.display())]
    Io { file: PathBuf, problem: io::Error },
    #[error("{} is longer than {RECORDS_FILE_MAX_BYTES} bytes", file.display())]
    TooLong { file: PathBuf },
    #[error("{} is not valid {compression}: {problem}", file.display())]
    Compressed {
        file: PathBuf,
        compression: &'static str,
        problem: io::Error,
    },
    #[error("the encoding of {}: {problem}; records.encoding names it", file.display())]
    Encoding { file: PathBuf, problem: String },
    #[error(
        "line {line} of {} has bytes that are not UTF-8, and more of its text is UTF-8 than not; correct them in the file, or convert all of it",
        file.display()
    )]
    Damaged { file: PathBuf, line: usize },
    #[error("records.{key} of {}: {problem}", file.display())]
    Table {
        file: PathBuf,
        key: &'static str,
        problem: String,
    },
    #[error("{} holds no record", file.display())]
    Empty { file: PathBuf },
    #[error("{}", mistakes_text(file, mistakes))]
    Mistakes {
        file: PathBuf,
        mistakes: Vec<Mistake>,
    },
    #[error("a record of {} cannot be sent: {problem}", file.display())]
    Unwritable { file: PathBuf, problem: Unwritable },
    #[error("cannot read the body in {}: {problem}", file.display())]
    Body { file: PathBuf, problem: io::Error },
    #[error("the body in {} is longer than {BODY_MAX_BYTES} bytes", file.display())]
    LongBody { file: PathBuf },
    #[error(
        "feed {feed} has {rows} rows, and a request for each of them takes more than {} MiB; \
         a scenario makes its requests as it sends them",
        PREPARED_MAX_BYTES >> 20
    )]
    LongFeed { feed: String, rows: usize },
}
