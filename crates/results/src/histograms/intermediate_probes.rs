//! The files of one probe on the records' way to where they must arrive: written, and read again.

use std::path::{Path, PathBuf};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{
    BacklogRow, DelayHistograms, WriteError,
    files::{
        names::{BACKLOG, DELIVERY_DELAY, probe_folder},
        trial_files::OutputFile,
    },
    histograms::hlog::LineHead,
    private_file,
};

/// The files of an intermediate probe, next to its delivery accounting. Delays are in microseconds.
#[derive(Debug, Clone)]
pub struct ProbeLogs {
    pub backlog: Vec<BacklogRow>,
    /// From sent until visible there.
    pub delivery_delay: Option<Histogram<u64>>,
    /// From sent until it may have been visible there.
    pub earliest_delay: Option<Histogram<u64>>,
    /// From due until visible there; `None` if requests fall due when they are sent.
    pub end_to_end_delay: Option<Histogram<u64>>,
    /// From due until it may have been visible there.
    pub earliest_end_to_end_delay: Option<Histogram<u64>>,
    /// From sent until its store had it; `None` if the probe does not know that.
    pub arrival_delay: Option<Histogram<u64>>,
}

/// The files of one probe while they are written.
#[derive(Debug)]
pub(crate) struct ProbeFiles {
    folder: PathBuf,
    started_unix_s: f64,
    pub(crate) backlog: OutputFile,
    /// Opened if there is one.
    delays: Vec<OutputFile>,
}

impl ProbeFiles {
    pub(crate) fn open(
        partial: &Path,
        index: usize,
        name: &str,
        started_unix_s: f64,
    ) -> Result<Self, WriteError> {
        let folder = partial.join(probe_folder(index, name));
        private_file::create_folder(&folder).map_err(WriteError::io("create", &folder))?;
        Ok(Self {
            backlog: OutputFile::create(&folder, BACKLOG)?,
            folder,
            started_unix_s,
            delays: Vec::new(),
        })
    }

    pub(crate) fn outs(&mut self) -> impl Iterator<Item = &mut OutputFile> {
        [&mut self.backlog].into_iter().chain(&mut self.delays)
    }

    /// Writes all delays; once.
    pub(crate) fn write_delays(
        &mut self,
        serializer: &mut V2DeflateSerializer,
        head: LineHead<'_>,
        delays: &DelayHistograms<'_>,
    ) -> Result<(), WriteError> {
        self.delays = delays.write_optional(&self.folder, self.started_unix_s, serializer, head)?;
        let mut out = OutputFile::log(&self.folder, DELIVERY_DELAY, self.started_unix_s)?;
        out.histogram(serializer, head, delays.delivery)?;
        self.delays.push(out);
        Ok(())
    }
}
