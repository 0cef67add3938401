//! HTTP/1.1 requests out of bytes: a pure reader, without sockets, clocks or routing, so that it can be fuzzed.
//!
//! Give [`Reader::next`] everything received and not yet consumed; it says that more is needed, hands out one whole
//! request, or refuses. Where RFC 9112 lets a server choose between leniency and refusal and the choice could make
//! two parties on the way see different requests, this reader refuses.

mod chunked;
mod head;

pub use head::{Head, SLOTS, Slots};

use chunked::Chunked;
use head::Framing;

/// What a client may send at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Request line and header fields together, in bytes.
    pub head_max_bytes: usize,
    /// One body, decoded, in bytes.
    pub body_max_bytes: usize,
}

/// One whole request, borrowed from what was received.
#[derive(Debug)]
pub struct Request<'a, 'slots> {
    pub head: Head<'a, 'slots>,
    /// Without its transfer coding.
    pub body: &'a [u8],
}

/// What the bytes so far amount to.
#[derive(Debug)]
pub enum Step<'a, 'slots> {
    /// Nothing has come since the last whole request.
    Idle,
    /// A request has begun and its head is not whole.
    Head,
    /// The head is whole and the body is not.
    Body {
        /// Bytes of body known to come or already held.
        announced: usize,
        /// The client waits for `100 Continue` before it sends the body.
        expects_continue: bool,
    },
    /// A request, and how many bytes of the input it took.
    Whole {
        request: Request<'a, 'slots>,
        length: usize,
    },
    /// The client speaks HTTP/2 with prior knowledge.
    Http2,
}

/// A request that is not served; the connection cannot go on after it, as its end is not known for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {problem}")]
pub struct Refusal {
    pub status: u16,
    pub problem: &'static str,
}

const fn refuse(status: u16, problem: &'static str) -> Refusal {
    Refusal { status, problem }
}

/// Reads one connection's requests, one after another.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    scan: head::Scan,
    /// Where the body starts and how it ends, once the head is whole.
    body: Option<(usize, Framing)>,
    chunked: Chunked,
    expects_continue: bool,
    /// The last call handed out a request, so the next one starts afresh.
    handed_out: bool,
}

/// How every HTTP/2 connection with prior knowledge starts (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

impl Reader {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            scan: head::Scan::default(),
            body: None,
            chunked: Chunked::default(),
            expects_continue: false,
            handed_out: false,
        }
    }

    /// Looks at `input`, which starts where the last whole request ended and grows between calls.
    ///
    /// # Errors
    /// A [`Refusal`] when this is no request or one beyond a limit; call no more after it.
    pub fn next<'a, 'slots>(
        &'a mut self,
        input: &'a [u8],
        slots: &'slots mut Slots<'a>,
    ) -> Result<Step<'a, 'slots>, Refusal> {
        if self.handed_out {
            self.start_afresh();
        }
        if input.is_empty() {
            return Ok(Step::Idle);
        }
        let Some((start, framing)) = self.body else {
            return self.first_look(input, slots);
        };
        if !self.body_is_whole(input, start, framing)? {
            return Ok(self.incomplete_step(input, start, framing));
        }
        // Read once more, now that nothing will be added: borrowing across calls would cost more than this.
        let head = head::read(&input[self.scan.start..start], slots)?.0;
        Ok(self.complete(input, start, framing, head))
    }

    fn first_look<'a, 'slots>(
        &'a mut self,
        input: &'a [u8],
        slots: &'slots mut Slots<'a>,
    ) -> Result<Step<'a, 'slots>, Refusal> {
        if input.starts_with(HTTP2_PREFACE) {
            return Ok(Step::Http2);
        }
        let Some(start) = self.scan.head_end(input, self.limits.head_max_bytes)? else {
            return Ok(Step::Head);
        };
        let (head, framing) = head::read(&input[self.scan.start..start], slots)?;
        if let Framing::Length(length) = framing
            && length > self.limits.body_max_bytes
        {
            return Err(refuse(413, "the body is larger than this gateway takes"));
        }
        self.body = Some((start, framing));
        self.expects_continue = head.expects_continue;
        if self.body_is_whole(input, start, framing)? {
            return Ok(self.complete(input, start, framing, head));
        }
        Ok(self.incomplete_step(input, start, framing))
    }

    fn body_is_whole(
        &mut self,
        input: &[u8],
        start: usize,
        framing: Framing,
    ) -> Result<bool, Refusal> {
        match framing {
            Framing::Length(length) => Ok(input.len() - start >= length),
            Framing::Chunked => self.chunked.advance(&input[start..], &self.limits),
        }
    }

    fn complete<'a, 'slots>(
        &'a mut self,
        input: &'a [u8],
        start: usize,
        framing: Framing,
        head: Head<'a, 'slots>,
    ) -> Step<'a, 'slots> {
        self.handed_out = true;
        let (body, end) = match framing {
            Framing::Length(length) => (&input[start..start + length], start + length),
            Framing::Chunked => (self.chunked.body(), start + self.chunked.consumed_bytes()),
        };
        Step::Whole {
            request: Request { head, body },
            length: end,
        }
    }

    fn incomplete_step(
        &self,
        input: &[u8],
        start: usize,
        framing: Framing,
    ) -> Step<'static, 'static> {
        let announced = match framing {
            Framing::Length(length) => length,
            Framing::Chunked => self.chunked.body().len() + (input.len() - start),
        };
        let nothing_of_the_body_yet = input.len() == start;
        Step::Body {
            announced,
            expects_continue: self.expects_continue && nothing_of_the_body_yet,
        }
    }

    fn start_afresh(&mut self) {
        self.scan = head::Scan::default();
        if let Some((_, Framing::Chunked)) = self.body.take() {
            self.chunked.start_afresh();
        }
        self.handed_out = false;
    }
}

#[cfg(test)]
mod tests;
