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
            let lines = headers(head);
            let lines = lines.filter(|(name, _)| name.eq_ignore_ascii_case(b"content-encoding"));
            let coding = ContentCoding::parse(lines.map(|(_, value)| value));
            inspection.begin_body(status, coding);
        }
        inspection.take_body(inspector, piece);
    }
}

/// The header lines of a head: name and value.
pub(crate) fn headers(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
}
