//! The content of requests: records and bodies are read from their files once, and made into the bytes of requests for each
//! trial, with the rows of feeds in them.

mod error;
mod mistakes;
mod table;
mod text;
pub(crate) mod unpack;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use error::PREPARED_MAX_BYTES;
pub use error::RecordsError;
pub use table::{RecordsFound, look_at_records};
use table::{columns_of, format_of};
pub use text::RECORDS_FILE_MAX_BYTES;
use text::read_text;
use waggle_load::{Prepared, Template};
use waggle_record::{Precision, Record};
use waggle_spec::RecordsFormat;
use waggle_study::{BODY_MAX_BYTES, Body, RecordsBody, Request, Study, Table, Texts, What};

use crate::load::{
    feeds::{Turn, first_multiple_of_both},
    message::{Message, content_type, template},
    random::words,
};

/// The content of every file of records or of a body that a study or a request names.
#[derive(Debug, Default)]
pub struct RecordFiles {
    folder: PathBuf,
    files: BTreeMap<FileKey, Vec<Record>>,
    bodies: BTreeMap<String, Vec<u8>>,
    /// Seed of random bodies.
    seed: u64,
}

/// What decides how a file is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FileKey {
    from: String,
    format: RecordsFormat,
    table: Table,
}

impl FileKey {
    fn new(body: &RecordsBody) -> Self {
        Self {
            from: body.file.clone(),
            format: body.format,
            table: body.table.clone(),
        }
    }
}

impl RecordFiles {
    /// Reads the files of a study and checks that every record can be sent, before anything is started.
    ///
    /// # Errors
    /// A file cannot be read, or something in it cannot be sent.
    pub fn read(study: &Study, study_file: &Path) -> Result<Self, RecordsError> {
        let folder = study_file
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        let mut files = Self {
            folder,
            seed: study.seed,
            ..Self::default()
        };
        for cell in &study.cells {
            if let What::Request(request) = &cell.what {
                files.add(request)?;
                if let Texts::Templates(_) = request.texts {
                    // Checks that a request for each row fits.
                    files.prepare(request, "run", "host")?;
                }
            }
        }
        Ok(files)
    }

    /// Reads the file of one request outside a study; its path is relative to the current folder.
    ///
    /// # Errors
    /// The file cannot be read, or one of its records cannot be sent.
    pub fn read_request(request: &Request) -> Result<Self, RecordsError> {
        let mut files = Self::default();
        files.add(request)?;
        Ok(files)
    }

    fn add(&mut self, request: &Request) -> Result<(), RecordsError> {
        let body = match &request.body {
            Body::Records(body) => body,
            Body::File(name) => {
                if !self.bodies.contains_key(name) {
                    let bytes = body_in(&self.folder.join(name))?;
                    self.bodies.insert(name.clone(), bytes);
                }
                return Ok(());
            }
            Body::None | Body::Text(_) | Body::Random(_) => return Ok(()),
        };
        let key = FileKey::new(body);
        if !self.files.contains_key(&key) {
            let records = self.read_file(body)?;
            self.files.insert(key, records);
        }
        Ok(())
    }

    /// How many records a body can choose from.
    #[must_use]
    pub fn count(&self, body: &RecordsBody) -> usize {
        self.files.get(&FileKey::new(body)).map_or(0, Vec::len)
    }

    fn read_file(&self, body: &RecordsBody) -> Result<Vec<Record>, RecordsError> {
        let file = self.folder.join(&body.file);
        let text = read_text(&file, body.table.encoding.as_deref())?;
        let columns = columns_of(&body.table, &file)?;
        let read = format_of(body.format).read(&text, columns.as_ref(), Precision::default());
        let records = read.map_err(|mistakes| RecordsError::Mistakes {
            file: file.clone(),
            mistakes,
        })?;
        if records.is_empty() {
            return Err(RecordsError::Empty { file });
        }
        for record in &records {
            waggle_record::stamp(record, "run", format_of(body.send_as)).map_err(|problem| {
                RecordsError::Unwritable {
                    file: file.clone(),
                    problem,
                }
            })?;
        }
        Ok(records)
    }

    /// The requests of a trial; `run` marks its records, `host` goes into the head.
    ///
    /// # Errors
    /// A record cannot be sent in the format asked for.
    pub fn prepare(
        &self,
        request: &Request,
        run: &str,
        host: &str,
    ) -> Result<Vec<Prepared>, RecordsError> {
        let content = match &request.body {
            Body::None => Content::Bytes(Cow::default()),
            Body::Text(text) => Content::Text(template(request, text)),
            Body::File(name) => {
                let bytes = self.bodies.get(name).map_or(&[][..], Vec::as_slice);
                Content::Bytes(bytes.into())
            }
            Body::Random(bytes) => Content::Bytes(random_bytes(self.seed, *bytes).into()),
            Body::Records(body) => Content::Records(body, self.records(body)),
        };
        let turn = Turn::new(request, run, self.seed, content.turn());
        let message = Message::new(request, host);
        let mut prepared = Vec::new();
        let mut bytes = 0;
        for index in 0..turn.length {
            let value = |name: &str| turn.value(index, name);
            let item = match &content {
                Content::Bytes(body) => message.with_bytes(body, &value),
                Content::Text(body) => message.with_text(body, &value),
                Content::Records(body, records) => {
                    let stamped = self.stamped_body(body, records, index, run)?;
                    message.with_records(content_type(body.send_as), &stamped, &value)
                }
            };
            bytes += item.bytes.len();
            prepared.push(item);
            if bytes > PREPARED_MAX_BYTES {
                break;
            }
        }
        match turn.incomplete_feed(prepared.len()) {
            Some(feed) => Err(RecordsError::LongFeed {
                feed: feed.name.clone(),
                rows: feed.rows.count(),
            }),
            None => Ok(prepared),
        }
    }

    fn records(&self, body: &RecordsBody) -> &[Record] {
        let records = self.files.get(&FileKey::new(body));
        records.map_or(&[], Vec::as_slice)
    }

    /// The body of the request with this number.
    fn stamped_body(
        &self,
        body: &RecordsBody,
        records: &[Record],
        index: usize,
        run: &str,
    ) -> Result<waggle_record::Body, RecordsError> {
        let per_request = (body.per_request as usize).max(1);
        let chosen: Vec<Record> = (0..per_request)
            .map(|record| records[(index * per_request + record) % records.len()].clone())
            .collect();
        waggle_record::body(&chosen, run, format_of(body.send_as)).map_err(|problem| {
            RecordsError::Unwritable {
                file: self.folder.join(&body.file),
                problem,
            }
        })
    }
}

/// The content of a trial's requests.
enum Content<'a> {
    Bytes(Cow<'a, [u8]>),
    Text(Template),
    /// Never empty: a file without a record is refused when it is read.
    Records(&'a RecordsBody, &'a [Record]),
}

impl Content<'_> {
    /// Requests after which the first one comes again.
    fn turn(&self) -> usize {
        match self {
            Self::Bytes(_) | Self::Text(_) => 1,
            Self::Records(body, records) => {
                requests_per_turn(records.len(), (body.per_request as usize).max(1))
            }
        }
    }
}

fn body_in(file: &Path) -> Result<Vec<u8>, RecordsError> {
    let problem = |problem| RecordsError::Body {
        file: file.to_path_buf(),
        problem,
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(problem)?;
    let mut bounded = opened.take(BODY_MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(problem)?;
    if bytes.len() as u64 > BODY_MAX_BYTES {
        return Err(RecordsError::LongBody {
            file: file.to_path_buf(),
        });
    }
    Ok(bytes)
}

/// Bytes that cannot be compressed; the same for the same seed.
fn random_bytes(seed: u64, count: u64) -> Vec<u8> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let bytes = words(seed).flat_map(u64::to_le_bytes);
    bytes.take(count).collect()
}

/// After this many requests the file's first record is first in a request again: every record is sent equally often.
fn requests_per_turn(records: usize, per_request: usize) -> usize {
    first_multiple_of_both(records, per_request) / per_request.max(1)
}

#[cfg(test)]
mod tests {
    use super::{random_bytes, requests_per_turn};

    #[test]
    fn every_record_is_sent_equally_often() {
        let check = |records, per_request, expected| {
            assert_eq!(requests_per_turn(records, per_request), expected);
        };
        check(1, 1, 1);
        check(10, 1, 10);
        check(10, 5, 2);
        check(10, 4, 5);
        check(3, 7, 3);
        check(3, 9, 1);
    }

    #[test]
    fn random_bytes_follow_from_the_seed() {
        // The first words of SplitMix64 from seed 0, as published by its authors.
        let expected = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4].map(u64::to_le_bytes);
        assert_eq!(random_bytes(0, 16), expected.concat());
        assert_eq!(random_bytes(0, 3), expected.concat()[..3]);
        assert_ne!(random_bytes(1, 16), random_bytes(2, 16));
    }
}
