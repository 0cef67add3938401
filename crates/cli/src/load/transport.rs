//! How requests go over a connection: HTTP/2 or HTTP/1.1, in the clear or by TLS. Reads certificates, starts nothing.

use std::path::Path;

use anyhow::{Context, Result, bail};
use waggle_load::{Protocol, Roots, Tls, TlsOptions, Transport};

use super::{arguments, target::Target};

/// Longest file of certificates or of a key.
const PEM_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// # Errors
/// A flag for TLS with a URL without it, or certificates that cannot be read or used.
pub(crate) fn transport(flags: &arguments::Secure, target: &Target) -> Result<Transport> {
    let protocol = if flags.http2 {
        Protocol::Http2
    } else {
        Protocol::Http1
    };
    if target.is_secure {
        return Ok(Transport {
            protocol,
            tls: Some(tls(flags, target)?),
        });
    }
    let given = [
        ("--insecure", flags.insecure),
        ("--cacert", flags.cacert.is_some()),
        ("--cert", flags.cert.is_some()),
        ("--no-sessionid", flags.no_sessionid),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
        bail!("{flag} is for https, and {} is http", target.url);
    }
    Ok(Transport {
        protocol,
        tls: None,
    })
}

fn tls(flags: &arguments::Secure, target: &Target) -> Result<Tls> {
    let roots = match &flags.cacert {
        _ if flags.insecure => Roots::Unchecked,
        Some(file) => Roots::Pem(pem(file)?),
        None => Roots::System,
    };
    let client = match &flags.cert {
        // As with curl, the key may stand in the certificate's file.
        Some(cert) => Some((pem(cert)?, pem(flags.key.as_ref().unwrap_or(cert))?)),
        None => None,
    };
    let options = TlsOptions {
        server_name: target.host.clone(),
        roots,
        client,
        resumes: !flags.no_sessionid,
    };
    Tls::new(options).context("cannot set up TLS")
}

fn pem(file: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .and_then(|opened| opened.take(PEM_MAX_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", file.display()))?;
    Ok(bytes)
}
