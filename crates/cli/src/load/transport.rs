//! Checks the TLS flags against the URL.

use anyhow::{Result, bail};

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
