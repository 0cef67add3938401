//! The files of one probe on the records' way to where they must arrive: written, and read again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{
    BacklogRow, FORMAT, WriteError,
    hlog::Place,
    names::{ARRIVAL_DELAY, BACKLOG, DELIVERY_DELAY, probe_folder},
    trial_files::Out,
};

/// What an intermediate probe has on disk next to its delivery accounting. Delays are in microseconds.
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
    pub(crate) backlog: Out,
    /// Opened where there is one.
    delivery_delay: Option<Out>,
    arrival_delay: Option<Out>,
}

impl ProbeFiles {
    pub(crate) fn open(
        partial: &Path,
        (place, name): (usize, &str),
        started_unix_s: f64,
    ) -> Result<Self, WriteError> {
        let folder = partial.join(probe_folder(place, name, FORMAT));
        fs::create_dir_all(&folder).map_err(WriteError::io("create", &folder))?;
        Ok(Self {
            backlog: Out::create(&folder, BACKLOG)?,
            folder,
            started_unix_s,
            delivery_delay: None,
            arrival_delay: None,
        })
    }

    pub(crate) fn outs(&mut self) -> impl Iterator<Item = &mut Out> {
        [&mut self.backlog]
            .into_iter()
            .chain(&mut self.delivery_delay)
            .chain(&mut self.arrival_delay)
    }

    /// Until visible, and until the store had it.
    pub(crate) fn delays(
        &mut self,
        serializer: &mut V2DeflateSerializer,
        at: Place<'_>,
        (visible, arrival): (&Histogram<u64>, Option<&Histogram<u64>>),
    ) -> Result<(), WriteError> {
        let open = |name| Out::log(&self.folder, name, self.started_unix_s);
        let out = self.delivery_delay.insert(open(DELIVERY_DELAY)?);
        out.histogram(serializer, at, visible)?;
        if let Some(arrival) = arrival {
            let out = self.arrival_delay.insert(open(ARRIVAL_DELAY)?);
            out.histogram(serializer, at, arrival)?;
        }
        Ok(())
    }
}
