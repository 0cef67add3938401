//! Checks the TLS flags against the URL, and what helps if there is no TLS.

use anyhow::{Result, bail};
use waggle_runner::counts::TlsObstacle;

use super::{arguments, target::Target};

/// # Errors
/// A TLS flag with an http URL.
pub(super) fn fits(flags: &arguments::TlsFlags, target: &Target) -> Result<()> {
    let given = [
        ("--insecure", flags.insecure),
        ("--cacert", flags.cacert.is_some()),
        ("--cert", flags.cert.is_some()),
        ("--no-sessionid", flags.no_sessionid),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) if !target.is_secure => {
            bail!("{flag} is for https, and {} is http", target.url)
        }
        _ => Ok(()),
    }
}

/// What helps against an obstacle that ended the load.
pub(super) fn hint(obstacle: TlsObstacle) -> &'static str {
    match obstacle {
        TlsObstacle::Certificate => {
            "; so the load was ended early (--cacert FILE names the authority of the server's certificate, -k disables verification)"
        }
        TlsObstacle::PlainServer => {
            "; so the load was ended early: the server does not speak TLS (http:// may be meant instead of https://)"
        }
    }
}
