//! Whether the failures of a load say that no connection with TLS will ever be established.

use std::fmt;

use waggle_load::{Counts, Failure, HandshakeFailure};

/// Why no connection with TLS can be established, however often it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsObstacle {
    /// The server's certificate is not trusted.
    Certificate,
    /// What the server says is not TLS.
    PlainServer,
}

/// The sentence of the trial's failure.
impl fmt::Display for TlsObstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Certificate => "the server's certificate is not trusted",
            Self::PlainServer => "the server does not speak TLS; http:// may be meant",
        })
    }
}

/// Why no connection was established, if none will ever be.
#[must_use]
pub fn tls_obstacle(counts: &Counts) -> Option<TlsObstacle> {
    if counts.handshakes > 0 || counts.sent > 0 {
        return None;
    }
    let is_refusal = |failure: &Failure| {
        matches!(
            failure,
            Failure::Handshake(
                HandshakeFailure::UnknownIssuer
                    | HandshakeFailure::Expired
                    | HandshakeFailure::WrongName
                    | HandshakeFailure::Certificate
            )
        )
    };
    let is_plain = |failure: &Failure| *failure == Failure::Handshake(HandshakeFailure::Malformed);
    let mut kinds = counts.other_failures.0.iter().map(|(kind, _)| kind);
    if kinds.clone().any(is_refusal) {
        Some(TlsObstacle::Certificate)
    } else if kinds.len() > 0 && kinds.all(is_plain) {
        Some(TlsObstacle::PlainServer)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use waggle_load::Failures;

    use super::*;

    #[test]
    fn a_load_is_hopeless_if_no_handshake_can_succeed() {
        use HandshakeFailure::{Cut, Expired, Malformed};
        let check = |failures: &[HandshakeFailure], handshakes, expected: Option<TlsObstacle>| {
            let failures = failures.iter().map(|one| (Failure::Handshake(*one), 2));
            let counts = Counts {
                handshakes,
                other_failures: Failures(failures.collect()),
                ..Counts::default()
            };
            assert_eq!(tls_obstacle(&counts), expected, "{counts:?}");
        };
        check(&[], 0, None);
        check(&[Expired, Cut], 0, Some(TlsObstacle::Certificate));
        check(&[Malformed], 0, Some(TlsObstacle::PlainServer));
        // A server that restarts, and one that answers others.
        check(&[Malformed, Cut], 0, None);
        check(&[Malformed], 1, None);
    }
}
