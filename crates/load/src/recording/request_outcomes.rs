//! The outcome of every request of one worker, in two bits each.

use crate::failure::Failure;

/// How a request ended, as far as its records are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// Sent, but no complete answer arrived: the server may or may not have the records.
    Unknown,
    /// Answered as expected.
    Accepted,
    /// Answered, but not as expected: the server reported that it does not have the records.
    Rejected,
}

impl RequestOutcome {
    /// From the result of a request. A failed check or capture counts as accepted: the answer was as expected, so the server has
    /// the records.
    #[must_use]
    pub fn from_result(judged: Result<(), Failure>) -> Self {
        match judged {
            Ok(()) | Err(Failure::CheckFailed | Failure::NotCaptured | Failure::BodyNotKept) => {
                Self::Accepted
            }
            Err(Failure::Status(_)) => Self::Rejected,
            // No complete answer, or an accepting one with an unexpected body: the server may have the records.
            Err(_) => Self::Unknown,
        }
    }
}

/// Used as the number of a request that carries no record and is not tracked.
pub(crate) const NO_RECORD: u64 = u64::MAX;

/// The outcomes of one worker; request `n` is the worker's n-th sent request, counted from 0; in a scenario, the n-th that
/// carries a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOutcomes {
    words: Vec<u64>,
    sent: u64,
}

const PER_WORD: u64 = 32;

impl RequestOutcomes {
    /// With initial capacity for `requests` requests.
    #[must_use]
    pub fn with_capacity(requests: u64) -> Self {
        Self {
            words: Vec::with_capacity(usize::try_from(requests.div_ceil(PER_WORD)).unwrap_or(0)),
            sent: 0,
        }
    }

    /// Adds a sent request and returns its number; its outcome is unknown until [`RequestOutcomes::note`].
    pub fn send(&mut self) -> u64 {
        let index = self.sent;
        if index.is_multiple_of(PER_WORD) {
            self.words.push(0);
        }
        self.sent += 1;
        index
    }

    /// Records the outcome of request `index`; ignored if that was never sent.
    pub fn note(&mut self, index: u64, state: RequestOutcome) {
        let bits = match state {
            RequestOutcome::Unknown => 0,
            RequestOutcome::Accepted => 1,
            RequestOutcome::Rejected => 2,
        };
        let shift = 2 * (index % PER_WORD);
        let index = usize::try_from(index / PER_WORD).unwrap_or(usize::MAX);
        if let Some(word) = self.words.get_mut(index) {
            *word = (*word & !(3 << shift)) | (bits << shift);
        }
    }

    /// The outcome of request `index`; `None` if it was never sent.
    #[must_use]
    pub fn state(&self, index: u64) -> Option<RequestOutcome> {
        if index >= self.sent {
            return None;
        }
        let word = self.words[usize::try_from(index / PER_WORD).ok()?];
        Some(match (word >> (2 * (index % PER_WORD))) & 3 {
            1 => RequestOutcome::Accepted,
            2 => RequestOutcome::Rejected,
            _ => RequestOutcome::Unknown,
        })
    }

    /// The outcomes of [`PER_WORD`] requests each, for another process.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The reverse of [`Self::words`] and [`Self::sent_count`]; `None` if they do not belong together.
    pub(crate) fn from_words(words: Vec<u64>, sent: u64) -> Option<Self> {
        let needed = usize::try_from(sent.div_ceil(PER_WORD)).ok()?;
        (words.len() == needed).then_some(Self { words, sent })
    }

    /// How many requests were sent.
    #[must_use]
    pub fn sent_count(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_a_record_are_not_tracked() {
        let mut outcomes = RequestOutcomes::with_capacity(1);
        outcomes.note(NO_RECORD, RequestOutcome::Accepted);
        assert_eq!(
            (outcomes.sent_count(), outcomes.state(NO_RECORD)),
            (0, None)
        );
        let first = outcomes.send();
        outcomes.note(NO_RECORD, RequestOutcome::Accepted);
        assert_eq!(outcomes.state(first), Some(RequestOutcome::Unknown));
        outcomes.note(first, RequestOutcome::Rejected);
        outcomes.note(NO_RECORD, RequestOutcome::Accepted);
        assert_eq!(
            (outcomes.sent_count(), outcomes.state(first)),
            (1, Some(RequestOutcome::Rejected))
        );
    }

    #[test]
    fn expectations_decide_whether_records_are_accepted() {
        let check = |judged, expected| {
            assert_eq!(RequestOutcome::from_result(judged), expected, "{judged:?}")
        };
        check(Ok(()), RequestOutcome::Accepted);
        for after in [
            Failure::CheckFailed,
            Failure::NotCaptured,
            Failure::BodyNotKept,
        ] {
            check(Err(after), RequestOutcome::Accepted);
        }
        check(Err(Failure::Status(500)), RequestOutcome::Rejected);
        for none in [
            Failure::Reset,
            Failure::TimedOut,
            Failure::Malformed,
            Failure::WrongBody,
        ] {
            check(Err(none), RequestOutcome::Unknown);
        }
    }
}
