//! Kinds of failures, by their words on disk.

use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The word before the number of a status.
const STATUS: &str = "status_";

/// One table of kinds and words, so that every kind that is written can be read.
macro_rules! kinds {
    ($($name:ident $word:literal,)*) => {
        /// Why requests, or attempts to connect, failed. Kinds are ordered as their words are.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum FailureKind {
            /// The answer had this status, which was not expected.
            Status(u16),
            $(#[doc = concat!("`", $word, "`")] $name,)*
        }

        impl FailureKind {
            fn word(self) -> &'static str {
                match self {
                    Self::Status(_) => STATUS,
                    $(Self::$name => $word,)*
                }
            }

            fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Refused "refused",
    ConnectFailed "connect_failed",
    NoPort "no_port",
    Reset "reset",
    TimedOut "timed_out",
    Malformed "malformed",
    WrongBody "wrong_body",
    Protocol "protocol",
    UnsolicitedAnswer "unsolicited_answer",
    CheckFailed "check_failed",
    NotCaptured "not_captured",
    BodyNotKept "body_not_kept",
    TooManyRounds "too_many_rounds",
    ClientEnded "client_ended",
    AnswerTruncated "answer_truncated",
    InvalidEncoding "invalid_encoding",
    UnknownEncoding "unknown_encoding",
    NotJson "not_json",
    ArrayMissing "array_missing",
    NotConnected "not_connected",
    Other "other",
    HandshakeUnknownIssuer "handshake_unknown_issuer",
    HandshakeExpired "handshake_expired",
    HandshakeWrongName "handshake_wrong_name",
    HandshakeNotYetValid "handshake_not_yet_valid",
    HandshakeCaCertificate "handshake_ca_certificate",
    HandshakeAlgorithm "handshake_algorithm",
    HandshakeClientCertificate "handshake_client_certificate",
    HandshakeNoVersion "handshake_no_version",
    HandshakeNoCipher "handshake_no_cipher",
    HandshakeCertificate "handshake_certificate",
    HandshakeNoProtocol "handshake_no_protocol",
    HandshakeRefused "handshake_refused",
    HandshakeCut "handshake_cut",
    HandshakeTimedOut "handshake_timed_out",
    HandshakeMalformed "handshake_malformed",
}

impl FailureKind {
    /// Whether it is of attempts to connect alone.
    #[must_use]
    pub fn is_connect_attempt(self) -> bool {
        match self {
            Self::Refused
            | Self::ConnectFailed
            | Self::NoPort
            | Self::HandshakeUnknownIssuer
            | Self::HandshakeExpired
            | Self::HandshakeWrongName
            | Self::HandshakeNotYetValid
            | Self::HandshakeCaCertificate
            | Self::HandshakeAlgorithm
            | Self::HandshakeClientCertificate
            | Self::HandshakeNoVersion
            | Self::HandshakeNoCipher
            | Self::HandshakeCertificate
            | Self::HandshakeNoProtocol
            | Self::HandshakeRefused
            | Self::HandshakeCut
            | Self::HandshakeTimedOut
            | Self::HandshakeMalformed => true,
            Self::Status(_)
            | Self::Reset
            | Self::TimedOut
            | Self::Malformed
            | Self::WrongBody
            | Self::Protocol
            | Self::UnsolicitedAnswer
            | Self::CheckFailed
            | Self::NotCaptured
            | Self::BodyNotKept
            // Of sessions, each of whose requests succeeded.
            | Self::TooManyRounds
            | Self::ClientEnded
            | Self::AnswerTruncated
            | Self::InvalidEncoding
            | Self::UnknownEncoding
            | Self::NotJson
            | Self::ArrayMissing
            // Of imported results: a request that got no connection, and one that failed for another reason.
            | Self::NotConnected
            | Self::Other => false,
        }
    }

    /// Whether it is of sessions, not of requests or connections.
    #[must_use]
    pub fn is_of_session(self) -> bool {
        self == Self::TooManyRounds
    }

    /// The word on disk, with blanks: `status 503`, `timed out`.
    #[must_use]
    pub fn in_words(self) -> String {
        self.to_string().replace('_', " ")
    }
}

/// The word on disk: `status_503`, `timed_out`.
impl fmt::Display for FailureKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(out, "{STATUS}{status}"),
            other => out.write_str(other.word()),
        }
    }
}

impl From<FailureKind> for String {
    fn from(kind: FailureKind) -> Self {
        kind.to_string()
    }
}

/// A word that names no kind of failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of failure")]
pub struct UnknownFailure(pub String);

impl FromStr for FailureKind {
    type Err = UnknownFailure;

    fn from_str(word: &str) -> Result<Self, UnknownFailure> {
        let status = word.strip_prefix(STATUS).and_then(|digits| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let status = digits.parse().ok().filter(|_| is_plain)?;
            Some(Self::Status(status))
        });
        status
            .or_else(|| Self::of_word(word))
            .ok_or_else(|| UnknownFailure(word.to_owned()))
    }
}

impl TryFrom<String> for FailureKind {
    type Error = UnknownFailure;

    fn try_from(word: String) -> Result<Self, UnknownFailure> {
        word.parse()
    }
}

impl Ord for FailureKind {
    fn cmp(&self, other: &Self) -> Ordering {
        let status = |kind: &Self| match kind {
            Self::Status(status) => *status,
            _ => 0,
        };
        (self.word(), status(self)).cmp(&(other.word(), status(other)))
    }
}

impl PartialOrd for FailureKind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        let check = |word: &str, expected: Option<FailureKind>| {
            assert_eq!(word.parse().ok(), expected, "{word}");
            if let Some(kind) = expected {
                assert_eq!(kind.to_string(), word);
            }
        };
        check("refused", Some(FailureKind::Refused));
        check("status_503", Some(FailureKind::Status(503)));
        check("handshake_cut", Some(FailureKind::HandshakeCut));
        for word in [
            "",
            "status_",
            "status_+503",
            "status_99999",
            "Refused",
            "refused ",
        ] {
            check(word, None);
        }
    }

    #[test]
    fn kinds_are_ordered_as_their_words() {
        let words = [
            "connect_failed",
            "reset",
            "status_404",
            "status_503",
            "timed_out",
        ];
        let kinds: Vec<FailureKind> = words.iter().map(|word| word.parse().unwrap()).collect();
        let mut sorted = kinds.clone();
        sorted.reverse();
        sorted.sort();
        assert_eq!(sorted, kinds);
    }
}
