//! The fate of every request of one worker, in two bits each.

use crate::Failure;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Sent, and no whole answer came: the server may or may not have it.
    Unknown,
    /// Answered as expected.
    Accepted,
    /// Answered, but not as expected: the server said that it does not have it.
    Rejected,
}

impl State {
    /// What an answer, or none, says of the request's records. A check or a capture comes after what is expected: by then
    /// the server has said that it has them, whatever else it says.
    #[must_use]
    pub fn from_result(judged: Result<(), Failure>) -> Self {
        match judged {
            Ok(()) | Err(Failure::CheckFailed | Failure::NotCaptured | Failure::BodyNotKept) => {
                Self::Accepted
            }
            Err(Failure::Status(_)) => Self::Rejected,
            // No whole answer, or one that said yes in other words: the server may have them.
            Err(_) => Self::Unknown,
        }
    }
}

/// In place of the number of a request that carries no record and is not in the account.
pub(crate) const NO_RECORD: u64 = u64::MAX;

/// The account of one worker; request `n` is the worker's n-th sent request, counted from 0; of a scenario's, the n-th that
/// carries a record.
#[derive(Debug, Clone, Default)]
pub struct Account {
    words: Vec<u64>,
    sent: u64,
}

const PER_WORD: u64 = 32;

impl Account {
    /// An account that starts with room for `requests` requests.
    #[must_use]
    pub fn with_capacity(requests: u64) -> Self {
        Self {
            words: Vec::with_capacity(usize::try_from(requests.div_ceil(PER_WORD)).unwrap_or(0)),
            sent: 0,
        }
    }

    /// Notes that one more request was sent; its state is unknown until [`Account::note`] says otherwise.
    pub fn send(&mut self) -> u64 {
        let index = self.sent;
        if index.is_multiple_of(PER_WORD) {
            self.words.push(0);
        }
        self.sent += 1;
        index
    }

    /// Notes the fate of request `index`; of one that was never sent nothing is noted.
    pub fn note(&mut self, index: u64, state: State) {
        let bits = match state {
            State::Unknown => 0,
            State::Accepted => 1,
            State::Rejected => 2,
        };
        let shift = 2 * (index % PER_WORD);
        let place = usize::try_from(index / PER_WORD).unwrap_or(usize::MAX);
        if let Some(word) = self.words.get_mut(place) {
            *word = (*word & !(3 << shift)) | (bits << shift);
        }
    }

    /// The fate of request `index`; `None` if it was never sent.
    #[must_use]
    pub fn state(&self, index: u64) -> Option<State> {
        if index >= self.sent {
            return None;
        }
        let word = self.words[usize::try_from(index / PER_WORD).ok()?];
        Some(match (word >> (2 * (index % PER_WORD))) & 3 {
            1 => State::Accepted,
            2 => State::Rejected,
            _ => State::Unknown,
        })
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
    fn what_carries_no_record_is_not_in_the_account() {
        let mut account = Account::with_capacity(1);
        account.note(NO_RECORD, State::Accepted);
        assert_eq!((account.sent_count(), account.state(NO_RECORD)), (0, None));
        let first = account.send();
        account.note(NO_RECORD, State::Accepted);
        assert_eq!(account.state(first), Some(State::Unknown));
        account.note(first, State::Rejected);
        account.note(NO_RECORD, State::Accepted);
        assert_eq!(
            (account.sent_count(), account.state(first)),
            (1, Some(State::Rejected))
        );
    }

    #[test]
    fn what_was_expected_decides_whether_records_are_accepted() {
        let check =
            |judged, expected| assert_eq!(State::from_result(judged), expected, "{judged:?}");
        check(Ok(()), State::Accepted);
        for after in [
            Failure::CheckFailed,
            Failure::NotCaptured,
            Failure::BodyNotKept,
        ] {
            check(Err(after), State::Accepted);
        }
        check(Err(Failure::Status(500)), State::Rejected);
        for none in [
            Failure::Reset,
            Failure::TimedOut,
            Failure::Malformed,
            Failure::WrongBody,
        ] {
            check(Err(none), State::Unknown);
        }
    }
}
