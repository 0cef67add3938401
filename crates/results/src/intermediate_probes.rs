//! The files of one probe on the records' way to where they must arrive: written, and read again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{
    BacklogRow, FORMAT, WriteError,
    hlog::LineHead,
    names::{ARRIVAL_DELAY, BACKLOG, DELIVERY_DELAY, probe_folder},
    trial_files::OutputFile,
};

/// The files of an intermediate probe, next to its delivery accounting. Delays are in microseconds.
#[derive(Debug, Clone)]
pub struct ProbeLogs {
    pub backlog: Vec<BacklogRow>,
    /// From sent until visible there.
    pub delivery_delay: Option<Histogram<u64>>,
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
    delivery_delay: Option<OutputFile>,
    arrival_delay: Option<OutputFile>,
}

impl ProbeFiles {
    pub(crate) fn open(
        partial: &Path,
        (index, name): (usize, &str),
        started_unix_s: f64,
    ) -> Result<Self, WriteError> {
        let folder = partial.join(probe_folder(index, name, FORMAT));
        fs::create_dir_all(&folder).map_err(WriteError::io("create", &folder))?;
        Ok(Self {
            backlog: OutputFile::create(&folder, BACKLOG)?,
            folder,
            started_unix_s,
            delivery_delay: None,
            arrival_delay: None,
        })
    }

    pub(crate) fn outs(&mut self) -> impl Iterator<Item = &mut OutputFile> {
        [&mut self.backlog]
            .into_iter()
            .chain(&mut self.delivery_delay)
            .chain(&mut self.arrival_delay)
    }

    /// Until visible, and until the store had it.
    pub(crate) fn delays(
        &mut self,
        serializer: &mut V2DeflateSerializer,
        at: LineHead<'_>,
        (visible, arrival): (&Histogram<u64>, Option<&Histogram<u64>>),
    ) -> Result<(), WriteError> {
        let open = |name| OutputFile::log(&self.folder, name, self.started_unix_s);
        let out = self.delivery_delay.insert(open(DELIVERY_DELAY)?);
        out.histogram(serializer, at, visible)?;
        if let Some(arrival) = arrival {
            let out = self.arrival_delay.insert(open(ARRIVAL_DELAY)?);
            out.histogram(serializer, at, arrival)?;
        }
        Ok(())
    }
}
