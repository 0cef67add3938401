//! Which flags for TLS make sense for a URL.

use anyhow::{Result, bail};

use super::{arguments, target::Target};

/// # Errors
/// A flag for TLS with a URL without it.
pub(super) fn fits(flags: &arguments::Secure, target: &Target) -> Result<()> {
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
