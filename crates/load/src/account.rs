//! The fate of every request of one worker, in two bits each.

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

/// The account of one worker; request `n` is the worker's n-th sent request, counted from 0.
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

    /// Notes the fate of request `index`, which must have been sent.
    pub fn note(&mut self, index: u64, state: State) {
        let bits = match state {
            State::Unknown => 0,
            State::Accepted => 1,
            State::Rejected => 2,
        };
        let shift = 2 * (index % PER_WORD);
        let word = &mut self.words[usize::try_from(index / PER_WORD).unwrap_or(usize::MAX)];
        *word = (*word & !(3 << shift)) | (bits << shift);
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
    pub fn sent(&self) -> u64 {
        self.sent
    }
}
