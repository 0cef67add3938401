//! Reads requests out of what was received, one after the other, within limits: a larger body is refused (413).

use super::{
    chunked::Chunked,
    head::{self, Framing, Head, Slots},
};

/// Limits on requests.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Request line and header fields together, in bytes.
    pub head_max_bytes: usize,
    /// One body, decoded, in bytes.
    pub body_max_bytes: usize,
}

/// One complete request, borrowed from the input.
#[derive(Debug)]
pub struct Request<'a, 'slots> {
    pub head: Head<'a, 'slots>,
    /// Without its transfer coding.
    pub body: &'a [u8],
}

/// State of the input.
#[derive(Debug)]
pub enum Step<'a, 'slots> {
    /// Nothing has arrived since the last complete request.
    Idle,
    /// A request has started and its head is incomplete.
    Head,
    /// The head is complete and the body is not.
    Body {
        /// The head, in the first such step of a request and in no further one.
        head: Option<Head<'a, 'slots>>,
        /// Bytes of the body that have arrived.
        received: usize,
        /// The client waits for `100 Continue` before it sends the body.
        expects_continue: bool,
    },
    /// A request, and its length in the input.
    Whole {
        request: Request<'a, 'slots>,
        length: usize,
    },
    /// The client speaks HTTP/2 with prior knowledge.
    Http2,
}

/// A request that is refused. The connection must close after it, because its end is uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {problem}")]
pub struct Refusal {
    pub status: u16,
    pub problem: &'static str,
}

pub(super) const fn refuse(status: u16, problem: &'static str) -> Refusal {
    Refusal { status, problem }
}

/// Reads one connection's requests, one after another.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    scan: head::Scan,
    /// Start and framing of the body, once the head is complete.
    body: Option<(usize, Framing)>,
    chunked: Chunked,
    expects_continue: bool,
    /// The last call returned a request, so the next one starts a new request.
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

    /// Parses `input`, which starts at the end of the last complete request and grows between calls.
    ///
    /// # Errors
    /// A [`Refusal`] if this is not a request, or one above a limit. Do not call it again after that.
    #[inline]
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
            return self.parse_new(input, slots);
        };
        if !self.body_is_whole(input, start, framing)? {
            return Ok(self.incomplete_step(input, start, framing, None));
        }
        // Parsed a second time, now that it is complete: borrowing across calls would cost more.
        let head = head::read(&input[self.scan.start..start], slots)?.0;
        Ok(self.complete(input, start, framing, head))
    }

    /// Whether the request at the start of `input` is a HEAD, to whose answer no body belongs (RFC 9110, section 9.3.2).
    pub fn is_head(&self, input: &[u8]) -> bool {
        input[self.scan.start..].starts_with(b"HEAD ")
    }

    /// Inlined, as what it calls: a head is moved by a copy for each call that returns it.
    #[inline(always)]
    fn parse_new<'a, 'slots>(
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
            return Err(refuse(413, "the body is larger than this gateway allows"));
        }
        self.body = Some((start, framing));
        self.expects_continue = head.expects_continue;
        if self.body_is_whole(input, start, framing)? {
            return Ok(self.complete(input, start, framing, head));
        }
        Ok(self.incomplete_step(input, start, framing, Some(head)))
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

    #[inline(always)]
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

    fn incomplete_step<'a, 'slots>(
        &self,
        input: &[u8],
        start: usize,
        framing: Framing,
        head: Option<Head<'a, 'slots>>,
    ) -> Step<'a, 'slots> {
        let received = match framing {
            Framing::Length(_) => input.len() - start,
            Framing::Chunked => self.chunked.body().len() + (input.len() - start),
        };
        let nothing_of_the_body_yet = input.len() == start;
        Step::Body {
            head,
            received,
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
