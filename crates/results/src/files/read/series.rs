//! The series of one trial: files of rows or histograms. What they mean together is for `read`.

use std::{io::Read, path::Path};

use hdrhistogram::Histogram;

use crate::{
    HistogramLog, ProbeLogs, ReadError, TextError,
    files::{
        names::{
            ARRIVAL_DELAY, BACKLOG, DELIVERY_DELAY, EARLIEST_DELAY, EARLIEST_END_TO_END_DELAY,
            END_TO_END_DELAY, INTERVALS,
        },
        parse,
    },
    histograms::hlog,
    private_file,
};

/// The files of one trial, which all have the same limit.
pub(super) struct Series<'a> {
    pub(super) folder: &'a Path,
    pub(super) max_bytes: u64,
}

impl Series<'_> {
    /// A file that is not there is empty: a trial that failed early never opened it.
    pub(super) fn read<T>(
        &self,
        name: &str,
        reader: fn(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, ReadError> {
        let file = self.folder.join(name);
        let bytes = if file.exists() {
            for folder in file.ancestors().skip(1) {
                if folder == self.folder {
                    break;
                }
                refuse_link(folder)?;
            }
            bytes(&file, self.max_bytes)?
        } else {
            Vec::new()
        };
        reader(&bytes).map_err(in_file(&file))
    }

    /// A log that must have this many intervals.
    pub(super) fn histograms(
        &self,
        name: &str,
        intervals: usize,
    ) -> Result<HistogramLog, ReadError> {
        let log = self.read(name, hlog::read_histograms)?;
        if log.len() == intervals {
            return Ok(log);
        }
        let histograms = log.len();
        Err(ReadError::Folder {
            path: self.folder.join(name),
            problem: format!("{histograms} histograms, but {intervals} rows in {INTERVALS}"),
        })
    }

    /// The sum of a log; `None` if it is empty.
    pub(super) fn delay(&self, name: &str) -> Result<Option<Histogram<u64>>, ReadError> {
        let log = self.read(name, hlog::read_histograms)?;
        if log.is_empty() {
            return Ok(None);
        }
        let mut sum = hlog::empty_histogram();
        for entry in log.iter() {
            sum.add(entry.histogram)
                .expect("the sum grows to the range it needs");
        }
        Ok(Some(sum))
    }

    /// The files of a probe on the records' way, in a folder of their own.
    pub(super) fn probe_logs(&self, folder: &str) -> Result<ProbeLogs, ReadError> {
        let delay = |name: &str| self.delay(&format!("{folder}/{name}"));
        Ok(ProbeLogs {
            backlog: self.read(&format!("{folder}/{BACKLOG}"), parse::read_backlog)?,
            delivery_delay: delay(DELIVERY_DELAY)?,
            earliest_delay: delay(EARLIEST_DELAY)?,
            end_to_end_delay: delay(END_TO_END_DELAY)?,
            earliest_end_to_end_delay: delay(EARLIEST_END_TO_END_DELAY)?,
            arrival_delay: delay(ARRIVAL_DELAY)?,
        })
    }
}

pub(super) fn in_file(path: &Path) -> impl FnOnce(TextError) -> ReadError + use<> {
    let path = path.to_owned();
    move |problem| ReadError::Text { path, problem }
}

/// Refuses a link in place of a folder of a run, which may lead anywhere.
pub(super) fn refuse_link(folder: &Path) -> Result<(), ReadError> {
    match folder.is_symlink() {
        true => Err(ReadError::Folder {
            path: folder.to_owned(),
            problem: "it is a link, and a run has none".to_owned(),
        }),
        false => Ok(()),
    }
}

/// A whole file, unless it is longer than the limit.
pub(super) fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let failed = |problem| ReadError::Io {
        path: path.to_owned(),
        problem,
    };
    let mut bytes = Vec::new();
    private_file::open_file(path)
        .map_err(failed)?
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(bytes)
}
