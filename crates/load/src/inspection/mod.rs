//! Measures answers while they stream: first byte, bytes before and after decompression, elements of a JSON array.
//!
//! Nothing of a body is kept: an answer needs the window of its decompression and a few bytes of state, however long it is.

pub(crate) mod content_coding;
mod json;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, InspectionFailure};
use content_coding::{ContentCoding, Inflation};
use json::JsonScanner;

/// Room for decompressed bytes, one for each worker.
const DECODED_BYTES: usize = 64 * 1024;

/// What is measured of each answer with a status of 2xx; other answers are not inspected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspect {
    /// The JSON array whose elements are counted, by the names of the members that lead to it from the top of the document; no
    /// name: the document is the array. A name is compared as it is in the answer, so that an escape in it never agrees.
    /// `None`: bodies need not be JSON.
    pub count: Option<Vec<String>>,
}

/// What inspections of one worker share.
#[derive(Debug)]
pub(crate) struct Inspector {
    path: Option<Vec<Vec<u8>>>,
    decoded: Box<[u8]>,
}

impl Inspector {
    pub(crate) fn new(inspect: &Inspect) -> Self {
        let path = inspect.count.clone();
        Self {
            path: path.map(|names| names.into_iter().map(String::into_bytes).collect()),
            decoded: vec![0; DECODED_BYTES].into_boxed_slice(),
        }
    }
}

/// What was measured of a complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inspected {
    /// When its first byte had arrived.
    pub(crate) first_byte: u64,
    /// Without the framing of HTTP.
    pub(crate) body_bytes: u64,
    pub(crate) decoded_bytes: u64,
    /// `None`: no array is counted.
    pub(crate) items: Option<u64>,
}

/// The inspection of the current answer of a connection or stream.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    first_byte: Option<u64>,
    body: Body,
    body_bytes: u64,
    decoded_bytes: u64,
    json: JsonScanner,
    /// Of an earlier answer, for the next one.
    spare: Option<Inflation>,
}

#[derive(Debug, Default)]
enum Body {
    /// The head is not known yet.
    #[default]
    Awaited,
    /// Its status is not 2xx.
    Ignored,
    Plain,
    /// Compressed, and nothing of it has arrived.
    Compressed(ContentCoding),
    Inflating(Inflation),
    Failed(InspectionFailure),
}

impl Inspection {
    /// Bytes of the answer have arrived.
    #[inline]
    pub(crate) fn note_arrival(&mut self, now: u64) {
        self.first_byte.get_or_insert(now);
    }

    /// Whether [`Self::begin_body`] is due.
    #[inline]
    pub(crate) fn awaits_head(&self) -> bool {
        matches!(self.body, Body::Awaited)
    }

    /// Takes what the head says of the body; `coding`: `None` if it is not known here.
    pub(crate) fn begin_body(&mut self, status: u16, coding: Option<ContentCoding>) {
        self.body = match coding {
            _ if !is_inspected(status) => Body::Ignored,
            None => Body::Failed(InspectionFailure::UnknownEncoding),
            Some(ContentCoding::Identity) => Body::Plain,
            Some(coding) => Body::Compressed(coding),
        };
    }

    /// Takes the next piece of the body.
    pub(crate) fn take_body(&mut self, inspector: &mut Inspector, piece: &[u8]) {
        self.body_bytes += piece.len() as u64;
        let Some(first) = piece.first() else {
            return;
        };
        if let Body::Compressed(coding) = self.body {
            self.body = Body::Inflating(Inflation::begin(coding, *first, self.spare.take()));
        }
        let path = inspector.path.as_deref();
        let (json, decoded_bytes) = (&mut self.json, &mut self.decoded_bytes);
        let mut take_decoded = |bytes: &[u8]| {
            *decoded_bytes += bytes.len() as u64;
            path.map_or(Ok(()), |path| json.push(path, bytes))
        };
        let taken = match &mut self.body {
            Body::Plain => take_decoded(piece),
            Body::Inflating(inflation) => {
                inflation.push(piece, &mut inspector.decoded, take_decoded)
            }
            Body::Awaited | Body::Ignored | Body::Compressed(_) | Body::Failed(_) => Ok(()),
        };
        if let Err(failure) = taken {
            self.body = Body::Failed(failure);
        }
    }

    /// The answer is complete, and as `judged` without its inspection: what was measured of it, if its status is inspected.
    pub(crate) fn finish(
        &mut self,
        inspector: &Inspector,
        status: u16,
        judged: Result<(), Failure>,
    ) -> Result<Option<Inspected>, Failure> {
        let mut ended = std::mem::take(self);
        let is_whole = match ended.body {
            Body::Failed(failure) => Err(failure),
            Body::Inflating(inflation) => {
                let is_whole = inflation.check_end();
                self.spare = Some(inflation);
                is_whole
            }
            _ => {
                self.spare = ended.spare.take();
                Ok(())
            }
        };
        judged?;
        if !is_inspected(status) {
            return Ok(None);
        }
        is_whole.map_err(Failure::Inspection)?;
        let items = inspector.path.as_ref().map(|_| ended.json.finish());
        let items = items.transpose().map_err(Failure::Inspection)?;
        Ok(Some(Inspected {
            first_byte: ended.first_byte.unwrap_or_default(),
            body_bytes: ended.body_bytes,
            decoded_bytes: ended.decoded_bytes,
            items,
        }))
    }
}

fn is_inspected(status: u16) -> bool {
    (200..300).contains(&status)
}

#[cfg(test)]
mod tests;
