//! Whether the failures of a load say that no connection with TLS will ever be established.

use std::fmt;

use waggle_load::Counts;
use waggle_results::{FailureKind, TrialInfo};
use waggle_system::failure_kind::failure_kind;

/// Why no connection with TLS can be established, however often it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsObstacle {
    /// The server's certificate is from no trusted authority.
    UnknownIssuer,
    /// The server's certificate is not valid for another reason, which verification could leave aside.
    Certificate,
    /// What the two sides have in common is not enough, or a key cannot be verified: nothing that is said here helps.
    Incompatible,
    /// The server wants a certificate from its clients, or does not accept the one it got.
    ClientCertificate,
    /// What the server says is not TLS.
    PlainServer,
}

/// The sentence of the trial's failure.
impl fmt::Display for TlsObstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::UnknownIssuer => "the server's certificate is not trusted",
            Self::Certificate => "the server's certificate is not valid",
            Self::Incompatible => "the server's TLS and that of the load generator do not fit",
            Self::ClientCertificate => {
                "the server wants a certificate from its clients, or another one than it got"
            }
            Self::PlainServer => "the server does not speak TLS; http:// may be meant",
        })
    }
}

/// Why no connection was established, if none will ever be.
#[must_use]
pub fn tls_obstacle(counts: &Counts) -> Option<TlsObstacle> {
    let failures = counts.failures.0.iter().chain(&counts.other_failures.0);
    let kinds = failures.map(|(failure, _)| failure_kind(*failure));
    let has_connected = counts.handshakes > 0 || counts.sent > 0;
    obstacle(&kinds.collect::<Vec<_>>(), counts.succeeded, has_connected)
}

/// The same of a trial that has ended.
#[must_use]
pub fn tls_obstacle_of_trial(info: &TrialInfo) -> Option<TlsObstacle> {
    let totals = &info.totals;
    let failures = totals.failures.iter().chain(&totals.other_failures);
    let kinds: Vec<FailureKind> = failures.map(|failure| failure.kind).collect();
    let handshakes = info.connecting.unwrap_or_default().handshakes;
    obstacle(&kinds, totals.succeeded, handshakes > 0 || totals.sent > 0)
}

fn obstacle(kinds: &[FailureKind], succeeded: u64, has_connected: bool) -> Option<TlsObstacle> {
    let obstacles = || kinds.iter().map(|kind| obstacle_of(*kind));
    let is_any = |obstacle| obstacles().any(|candidate| candidate == Some(obstacle));
    let is_every =
        |obstacle| !kinds.is_empty() && obstacles().all(|candidate| candidate == Some(obstacle));
    let refused = TlsObstacle::ClientCertificate;
    if succeeded == 0 && is_every(refused) {
        // With TLS 1.3 a server refuses its client after the handshake, with requests in flight.
        return Some(refused);
    }
    if has_connected {
        return None;
    }
    let of_certificate = [
        TlsObstacle::UnknownIssuer,
        TlsObstacle::Certificate,
        TlsObstacle::Incompatible,
    ];
    let is_plain = is_every(TlsObstacle::PlainServer);
    let certificate_obstacle = of_certificate
        .into_iter()
        .find(|candidate| is_any(*candidate));
    certificate_obstacle.or(is_plain.then_some(TlsObstacle::PlainServer))
}

fn obstacle_of(kind: FailureKind) -> Option<TlsObstacle> {
    match kind {
        FailureKind::HandshakeUnknownIssuer => Some(TlsObstacle::UnknownIssuer),
        FailureKind::HandshakeExpired
        | FailureKind::HandshakeNotYetValid
        | FailureKind::HandshakeWrongName
        | FailureKind::HandshakeCaCertificate
        | FailureKind::HandshakeCertificate => Some(TlsObstacle::Certificate),
        FailureKind::HandshakeAlgorithm
        | FailureKind::HandshakeNoVersion
        | FailureKind::HandshakeNoCipher => Some(TlsObstacle::Incompatible),
        FailureKind::HandshakeClientCertificate => Some(TlsObstacle::ClientCertificate),
        FailureKind::HandshakeMalformed => Some(TlsObstacle::PlainServer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use waggle_load::{Failure, Failures, HandshakeFailure};

    use super::*;

    #[test]
    fn a_load_is_hopeless_if_no_handshake_can_succeed() {
        use HandshakeFailure::{
            ClientCertificate, Cut, Expired, Malformed, NoCipher, UnknownIssuer,
        };
        let check = |failures: &[HandshakeFailure], handshakes, expected: Option<TlsObstacle>| {
            let failures = failures
                .iter()
                .map(|failure| (Failure::Handshake(*failure), 2));
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
        check(&[UnknownIssuer], 0, Some(TlsObstacle::UnknownIssuer));
        check(&[NoCipher], 0, Some(TlsObstacle::Incompatible));
        for handshakes in [0, 3] {
            let refused = Some(TlsObstacle::ClientCertificate);
            check(&[ClientCertificate], handshakes, refused);
        }
        // A server that restarts, and one that answers others.
        check(&[Malformed, Cut], 0, None);
        check(&[Malformed], 1, None);
    }
}
