//! Why requests, handshakes and inspections of answers failed.

use serde::{Deserialize, Serialize};

/// Why a request, or the opening of a connection, failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Failure {
    /// The connection was refused.
    Refused,
    /// The connection could not be opened before the timeout, or for another reason.
    ConnectFailed,
    /// This machine had no local port left for the connection, or no route to the target.
    NoPort,
    /// The connection was reset or closed before the answer was complete.
    Reset,
    /// The answer was not complete before the timeout.
    TimedOut,
    /// The answer was complete, with an unexpected status.
    Status(u16),
    /// The answer was not HTTP, or exceeded a limit.
    Malformed,
    /// The answer had the expected status and an unexpected body.
    WrongBody,
    /// The connection was established, but the TLS handshake failed, or the protocol was not negotiated.
    Handshake(HandshakeFailure),
    /// A protocol error of HTTP/2, by either side.
    Protocol,
    /// A connection, not a request: bytes arrived on it while no request was in flight. A 408 is none: it is the server's word for the
    /// end of an idle connection (RFC 9110, section 15.5.9).
    UnsolicitedAnswer,
    /// A step of a scenario: a check of the answer failed.
    CheckFailed,
    /// A step of a scenario: a captured value was not in the answer.
    NotCaptured,
    /// A step of a scenario: checks or captures need a body that is longer than [`crate::Limits::body_kept_max_bytes`].
    BodyNotKept,
    /// A session, not a request: a loop of its scenario had as many rounds as it may have, and would have gone on.
    TooManyRounds,
    /// Its client ended before the answer was complete, because another request of it failed.
    ClientEnded,
    /// The answer was as expected, and its body could not be inspected.
    Inspection(InspectionFailure),
}

impl Failure {
    /// Whether the answer was complete.
    #[must_use]
    pub fn is_answer(self) -> bool {
        match self {
            Self::Status(_)
            | Self::WrongBody
            | Self::CheckFailed
            | Self::NotCaptured
            | Self::BodyNotKept
            | Self::Inspection(_) => true,
            Self::Refused
            | Self::ConnectFailed
            | Self::NoPort
            | Self::Reset
            | Self::TimedOut
            | Self::Malformed
            | Self::Handshake(_)
            | Self::Protocol
            | Self::UnsolicitedAnswer
            | Self::TooManyRounds
            | Self::ClientEnded => false,
        }
    }
}

/// Why a TLS handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HandshakeFailure {
    /// The server's certificate is from no trusted authority.
    UnknownIssuer,
    /// The server's certificate is no longer valid.
    Expired,
    NotYetValid,
    /// The server's certificate is for other names.
    WrongName,
    /// The server's certificate is that of an authority.
    CaCertificate,
    /// The server's certificate, or one above it, has a key or a signature that cannot be verified here.
    Algorithm,
    /// The server's certificate is rejected for another reason.
    Certificate,
    /// The server wants a certificate of the client that it has not got, or that it does not accept.
    ClientCertificate,
    /// The two sides have no version of TLS in common.
    NoVersion,
    /// The two sides have no cipher suite, key exchange or signature algorithm in common.
    NoCipher,
    /// The server does not support the protocol.
    NoProtocol,
    /// The server refused, with an alert.
    Refused,
    /// The connection ended in the middle.
    Cut,
    /// It was not complete before the connect timeout.
    TimedOut,
    /// The server's messages are not TLS.
    Malformed,
}

/// Why the body of a complete answer could not be inspected ([`crate::Inspect`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum InspectionFailure {
    /// Its compression or its JSON ends early.
    Truncated,
    /// It is not compressed as its `Content-Encoding` says.
    InvalidEncoding,
    /// Its `Content-Encoding` is neither gzip nor deflate, or has several codings.
    UnknownEncoding,
    /// It is not JSON, or is nested too deeply.
    NotJson,
    /// It is JSON without the array whose elements are counted.
    NoArray,
}

/// Failures by kind; few kinds, so a sorted list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures(pub Vec<(Failure, u64)>);

impl Failures {
    /// Adds failures of another worker or a later interval.
    pub fn join(&mut self, other: &Self) {
        for &(failure, count) in &other.0 {
            self.add(failure, count);
        }
    }

    /// Adds `count` failures of one kind.
    pub fn add(&mut self, failure: Failure, count: u64) {
        match self.0.binary_search_by_key(&failure, |(kind, _)| *kind) {
            Ok(index) => self.0[index].1 += count,
            Err(index) => self.0.insert(index, (failure, count)),
        }
    }
}
