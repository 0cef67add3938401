//! What is kept of the answer being read: of a connection, or of a stream.

use super::answer_matcher::BodyMatch;
use crate::{
    inspection::{Inspection, Inspector, content_coding::ContentCoding},
    recording::examples::FailedBody,
};

#[derive(Debug, Default)]
pub(crate) struct AnswerState {
    pub(crate) body_match: BodyMatch,
    pub(crate) failed_body: FailedBody,
    /// `None`: answers are not inspected.
    pub(crate) inspection: Option<Box<Inspection>>,
}

impl AnswerState {
    /// With or without an inspection.
    pub(crate) fn new(is_inspected: bool) -> Self {
        Self {
            inspection: is_inspected.then(Box::default),
            ..Self::default()
        }
    }

    /// Forgets the answer.
    pub(crate) fn reset(&mut self) {
        self.body_match = BodyMatch::default();
        self.failed_body.clear();
        if let Some(inspection) = &mut self.inspection {
            **inspection = Inspection::default();
        }
    }

    /// Inspects the next piece of a body; `head` is its head.
    pub(crate) fn inspect(
        &mut self,
        inspector: &mut Inspector,
        status: u16,
        head: &[u8],
        piece: &[u8],
    ) {
        let Some(inspection) = &mut self.inspection else {
            return;
        };
        if inspection.awaits_head() {
            let coding = ContentCoding::parse(values_of(head, b"content-encoding"));
            inspection.begin_body(status, coding);
        }
        inspection.take_body(inspector, piece);
    }
}

/// The values of the header lines of a head that have this name, in any case.
#[inline]
pub(crate) fn values_of<'h>(head: &'h [u8], name: &[u8]) -> impl Iterator<Item = &'h [u8]> {
    let mut rest = head;
    let lines = std::iter::from_fn(move || {
        rest = &rest[memchr::memchr(b'\n', rest)? + 1..];
        Some(rest)
    });
    lines.filter_map(move |line| value_of(line, name))
}

/// The value of the line with which a text begins, if the line has this name.
#[inline]
fn value_of<'h>(text: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    let (start, value) = text.split_at_checked(name.len())?;
    let value = value.strip_prefix(b":")?;
    if !start.eq_ignore_ascii_case(name) {
        return None;
    }
    let end = memchr::memchr(b'\n', value).unwrap_or(value.len());
    Some(value[..end].trim_ascii())
}
