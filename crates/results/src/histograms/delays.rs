//! The delays of one probe over the whole load: written, and read again.

use std::path::Path;

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{
    WriteError,
    files::{
        names::{ARRIVAL_DELAY, EARLIEST_DELAY, EARLIEST_END_TO_END_DELAY, END_TO_END_DELAY},
        trial_files::OutputFile,
    },
    histograms::hlog::LineHead,
};

/// The delays of the records that were sent in the measured phase, at one probe, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct DelayHistograms<'a> {
    /// From sent until seen: at the latest.
    pub delivery: &'a Histogram<u64>,
    /// From sent until the record may have been visible: the start of the last poll that did not show it, or when the store had it.
    pub earliest: Option<&'a Histogram<u64>>,
    /// From due until seen; `None`: requests fall due when they are sent.
    pub end_to_end: Option<&'a Histogram<u64>>,
    /// From due until it may have been visible.
    pub earliest_end_to_end: Option<&'a Histogram<u64>>,
    /// From sent until the store had the record; `None`: the probe does not know that.
    pub arrival: Option<&'a Histogram<u64>>,
}

impl DelayHistograms<'_> {
    /// Writes those that not every probe has, each into a file of its own. Returns the files.
    pub(crate) fn write_optional(
        &self,
        folder: &Path,
        started_unix_s: f64,
        serializer: &mut V2DeflateSerializer,
        head: LineHead<'_>,
    ) -> Result<Vec<OutputFile>, WriteError> {
        let mut files = Vec::new();
        for (name, histogram) in [
            (EARLIEST_DELAY, self.earliest),
            (END_TO_END_DELAY, self.end_to_end),
            (EARLIEST_END_TO_END_DELAY, self.earliest_end_to_end),
            (ARRIVAL_DELAY, self.arrival),
        ] {
            let Some(histogram) = histogram else { continue };
            let mut file = OutputFile::log(folder, name, started_unix_s)?;
            file.histogram(serializer, head, histogram)?;
            files.push(file);
        }
        Ok(files)
    }
}
