//! The files of one place on the records' way to where they must arrive: written, and read again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{
    BacklogRow, WriteError,
    hlog::Place,
    names::{ARRIVAL_DELAY, BACKLOG, DELIVERY_DELAY, place_folder},
    out::Out,
};

/// What a place on the way has on disk beside its account. Delays are in microseconds.
#[derive(Debug, Clone)]
pub struct PlaceLogs {
    pub backlog: Vec<BacklogRow>,
    /// From sent until visible there.
    pub delivery_delay: Option<Histogram<u64>>,
    /// From sent until the place itself had it; `None` where the probe does not know that.
    pub arrival_delay: Option<Histogram<u64>>,
}

/// The files of one place while they are written.
#[derive(Debug)]
pub(crate) struct PlaceOut {
    folder: PathBuf,
    started_unix_s: f64,
    pub(crate) backlog: Out,
    /// Opened where there is one.
    delivery_delay: Option<Out>,
    arrival_delay: Option<Out>,
}

impl PlaceOut {
    pub(crate) fn open(
        partial: &Path,
        (place, name): (usize, &str),
        started_unix_s: f64,
    ) -> Result<Self, WriteError> {
        let folder = partial.join(place_folder(place, name));
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

    /// Until visible, and until the place itself had it.
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
