//! Turns the records of a body into entries of a chunk.

use waggle_record::line_protocol::{Line, measurement_text};

use super::chunk::{Chunk, measurement_bit};
use crate::{answers::problem::Problem, ingest::Intake};

/// Adds records to a chunk.
pub(crate) struct Entering<'a, 'chunk> {
    chunk: &'chunk mut Chunk,
    /// The last measurement and its bit: consecutive records often share it.
    measurement: &'a str,
    bit: u64,
}

impl<'chunk> Entering<'_, 'chunk> {
    pub(crate) fn new(chunk: &'chunk mut Chunk) -> Self {
        Self {
            chunk,
            measurement: "",
            bit: 0,
        }
    }
}

impl<'a> Intake<'a> for Entering<'a, '_> {
    fn add(&mut self, line: &Line<'a>, time_ns: i64) -> Result<(), Problem> {
        if self.bit == 0 || line.measurement() != self.measurement {
            self.measurement = line.measurement();
            self.bit = measurement_bit(&measurement_text(self.measurement));
        }
        self.chunk
            .push(time_ns, self.bit, line.series(), line.fields_raw());
        Ok(())
    }
}
