//! One file of a trial while it is written: rows of JSON or histograms.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    WriteError,
    files::disk::unreadable,
    histograms::{hlog, hlog::LineHead},
    private_file,
};

/// A file being written, with its path for messages.
#[derive(Debug)]
pub(crate) struct OutputFile {
    pub(crate) path: PathBuf,
    file: BufWriter<File>,
}

impl OutputFile {
    pub(crate) fn create(folder: &Path, name: &str) -> Result<Self, WriteError> {
        let path = folder.join(name);
        let file = private_file::create_file(&path).map_err(WriteError::io("create", &path))?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
        })
    }

    /// Writes one row, after making sure that it can be read again.
    pub(crate) fn row<T: Serialize + DeserializeOwned>(
        &mut self,
        row: &T,
    ) -> Result<(), WriteError> {
        let mut line =
            serde_json::to_string(row).map_err(|error| unreadable(&self.path, &error))?;
        serde_json::from_str::<T>(&line).map_err(|error| unreadable(&self.path, &error))?;
        line.push('\n');
        self.file
            .write_all(line.as_bytes())
            .map_err(WriteError::io("write", &self.path))
    }

    /// A log of histograms, begun.
    pub(crate) fn log(folder: &Path, name: &str, started_unix_s: f64) -> Result<Self, WriteError> {
        let mut out = Self::create(folder, name)?;
        hlog::write_head(&mut out.file, started_unix_s)
            .map_err(WriteError::io("write", &out.path))?;
        Ok(out)
    }

    /// One histogram of a log.
    pub(crate) fn histogram(
        &mut self,
        serializer: &mut V2DeflateSerializer,
        head: LineHead<'_>,
        histogram: &Histogram<u64>,
    ) -> Result<(), WriteError> {
        hlog::write_line(&mut self.file, serializer, head, histogram)
            .map_err(WriteError::io("write", &self.path))
    }

    pub(crate) fn sync(&mut self) -> Result<(), WriteError> {
        self.file
            .flush()
            .map_err(WriteError::io("write", &self.path))?;
        self.file
            .get_ref()
            .sync_all()
            .map_err(WriteError::io("sync", &self.path))
    }
}
