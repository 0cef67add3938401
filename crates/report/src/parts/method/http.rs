//! The sentence on the version of HTTP that the load's connections spoke.

use waggle_analysis::Model;
use waggle_results::{ConnectingInfo, FailureCount, FailureKind};
use waggle_spec::Protocol;

use crate::words::{fact::Fact, format};

/// `None` if it was not noted, or if no connection of the load was established.
pub(crate) fn fact(model: &Model) -> Option<Fact> {
    let trials = model.trials.iter().filter_map(|trial| {
        let failed = failed_handshakes(&trial.info.totals.other_failures);
        Some(Spoken::from_trial(&trial.info.connecting?, failed))
    });
    let all = trials.fold(Spoken::default(), |sum, trial| Spoken {
        http1: sum.http1 + trial.http1,
        http2: sum.http2 + trial.http2,
    });
    all.sentence().map(|sentence| ("HTTP", sentence))
}

/// Connections that were opened and spoke nothing.
fn failed_handshakes(failures: &[FailureCount]) -> u64 {
    use FailureKind::{ConnectFailed, NoPort, Refused};
    let failures = failures.iter().filter(|failure| {
        let is_earlier = matches!(failure.kind, Refused | ConnectFailed | NoPort);
        failure.kind.is_connect_attempt() && !is_earlier
    });
    failures.map(|failure| failure.count).sum()
}

/// Connections by the version that they spoke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Spoken {
    http1: u64,
    http2: u64,
}

impl Spoken {
    fn from_trial(info: &ConnectingInfo, failed_handshakes: u64) -> Self {
        let (Some(protocol), Some(http2)) = (info.protocol, info.http2_connections) else {
            return Self::default();
        };
        // With TLS a connection is of use after its handshake.
        let usable = match info.handshakes {
            0 => info.connects.saturating_sub(failed_handshakes),
            handshakes => handshakes,
        };
        Self {
            http1: match protocol {
                Protocol::Http1 | Protocol::Auto => usable.saturating_sub(http2),
                Protocol::Http2 => 0,
            },
            http2,
        }
    }

    fn sentence(self) -> Option<String> {
        let connections = match self.http1 + self.http2 {
            0 => return None,
            1 => "1 connection".to_owned(),
            some => format!("{} connections", format::count(some)),
        };
        let versions = match (self.http1, self.http2) {
            (0, _) => "all of them by HTTP/2".to_owned(),
            (_, 0) => "all of them by HTTP/1.1".to_owned(),
            (_, some) => format!(
                "{} of them by HTTP/2, the others by HTTP/1.1",
                format::count(some)
            ),
        };
        Some(format!("{connections} in all trials, {versions}"))
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::ConnectingInfo;
    use waggle_spec::Protocol;

    use super::Spoken;

    #[test]
    fn connections_are_counted_by_what_they_spoke() {
        let check = |protocol, (connects, handshakes, http2), expected: Option<&str>| {
            let info = ConnectingInfo {
                connects,
                handshakes,
                protocol,
                http2_connections: http2,
                ..ConnectingInfo::default()
            };
            let sentence = Spoken::from_trial(&info, 0).sentence();
            assert_eq!(sentence.as_deref(), expected, "{info:?}");
            // No handshake was completed.
            if handshakes == 0 {
                assert_eq!(Spoken::from_trial(&info, connects).http1, 0, "{info:?}");
            }
        };
        use Protocol::{Auto, Http1, Http2};
        check(None, (50, 0, None), None);
        check(Some(Http1), (0, 0, Some(0)), None);
        let plain = "1,500 connections in all trials, all of them by HTTP/1.1";
        check(Some(Http1), (1_500, 0, Some(0)), Some(plain));
        let streams = "50 connections in all trials, all of them by HTTP/2";
        check(Some(Http2), (50, 0, Some(50)), Some(streams));
        // Servers that do not answer in HTTP/2.
        check(Some(Http2), (50, 0, Some(0)), None);
        check(Some(Auto), (52, 50, Some(50)), Some(streams));
        let mixed = "50 connections in all trials, 40 of them by HTTP/2, the others by HTTP/1.1";
        check(Some(Auto), (50, 50, Some(40)), Some(mixed));
        check(
            Some(Auto),
            (1, 1, Some(0)),
            Some("1 connection in all trials, all of them by HTTP/1.1"),
        );
    }
}
