//! Reads passwords, tokens and certificates from files.

use std::path::Path;

use crate::error::AccessError;

/// Largest file of a password or a token.
const SECRET_MAX_BYTES: u64 = 64 * 1024;
/// Largest file of certificates: a system's list of authorities has 0.3 MB.
const PEM_MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What a PEM file must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PemKind {
    Certificate,
    Key,
}

/// The password or token in a file, without the line break at its end.
pub(crate) fn read_secret(flag: &'static str, file: &Path) -> Result<String, AccessError> {
    let text = read(flag, file, SECRET_MAX_BYTES)?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if !is_secret(secret) {
        return Err(AccessError::Content {
            flag,
            file: file.to_owned(),
            expected: "a line of text without control characters",
        });
    }
    Ok(secret.to_owned())
}

/// Whether the text can be a password.
pub(crate) fn is_secret(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control)
}

/// The text of a PEM file. The TLS library, not this, finds out whether it is valid.
pub(crate) fn read_pem(
    flag: &'static str,
    file: &Path,
    kind: PemKind,
) -> Result<String, AccessError> {
    let text = read(flag, file, PEM_MAX_BYTES)?;
    let (mark, expected) = match kind {
        PemKind::Certificate => ("-----BEGIN CERTIFICATE-----", "a certificate in PEM"),
        PemKind::Key => ("PRIVATE KEY-----", "a private key in PEM"),
    };
    if !text.contains(mark) {
        return Err(AccessError::Content {
            flag,
            file: file.to_owned(),
            expected,
        });
    }
    Ok(text)
}

fn read(flag: &'static str, file: &Path, max_bytes: u64) -> Result<String, AccessError> {
    waggle_fetch::read_text(file, max_bytes).map_err(|source| AccessError::File {
        flag,
        file: file.to_owned(),
        source,
    })
}
