//! Checks the TLS flags against the URL, and what helps if there is no TLS.

use anyhow::{Result, bail};
use waggle_convert::Target;
use waggle_runner::counts::TlsObstacle;

use crate::arguments::load;

/// # Errors
/// A TLS flag with an http URL, or a certificate without its key.
pub(in crate::commands::load) fn fits(flags: &load::TlsFlags, target: &Target) -> Result<()> {
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
        _ => has_key(flags),
    }
}

/// A certificate without a key in its file needs the flag of the key.
fn has_key(flags: &load::TlsFlags) -> Result<()> {
    let (Some(cert), None) = (&flags.cert, &flags.key) else {
        return Ok(());
    };
    // A file that cannot be read is named where it is used.
    let text = std::fs::read(cert).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    match text.contains("BEGIN CERTIFICATE") && !text.contains("PRIVATE KEY") {
        true => bail!(
            "{} has a certificate and no private key; --key FILE names the file with the key",
            cert.display()
        ),
        false => Ok(()),
    }
}

/// What helps against an obstacle that ended the load; no flag that was given already.
pub(in crate::commands::load) fn hint(flags: &load::TlsFlags) -> fn(TlsObstacle) -> &'static str {
    match (flags.cacert.is_some(), flags.cert.is_some()) {
        (false, false) => hint_without_files,
        (false, true) => |obstacle| match obstacle {
            TlsObstacle::ClientCertificate => REFUSED_CERTIFICATE,
            other => hint_without_files(other),
        },
        (true, false) => hint_with_authorities,
        (true, true) => |obstacle| match obstacle {
            TlsObstacle::ClientCertificate => REFUSED_CERTIFICATE,
            other => hint_with_authorities(other),
        },
    }
}

const REFUSED_CERTIFICATE: &str =
    "; the server does not accept the certificate of --cert (the notes have its alert)";

fn hint_with_authorities(obstacle: TlsObstacle) -> &'static str {
    match obstacle {
        TlsObstacle::UnknownIssuer => {
            "; so the load was ended early: none of the authorities in the file of --cacert has signed the server's certificate, or an \
             intermediate certificate is missing (-k disables verification)"
        }
        other => hint_without_files(other),
    }
}

fn hint_without_files(obstacle: TlsObstacle) -> &'static str {
    match obstacle {
        TlsObstacle::UnknownIssuer => {
            "; so the load was ended early (--cacert FILE names the authority of the server's certificate, -k disables verification)"
        }
        TlsObstacle::Certificate => {
            "; so the load was ended early (the notes say why; -k disables verification)"
        }
        TlsObstacle::Incompatible => "; so the load was ended early (the notes say why)",
        TlsObstacle::ClientCertificate => {
            "; the server wants a certificate from its clients (--cert FILE and --key FILE)"
        }
        TlsObstacle::PlainServer => {
            "; so the load was ended early: the server does not speak TLS (http:// may be meant instead of https://)"
        }
    }
}
