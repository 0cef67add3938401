//! Tokens: 256 random bits. Files have their digests alone, and no slow hash is needed, since they cannot be guessed.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

/// How a token begins, so that it is recognized where it does not belong.
const PREFIX: &str = "wgw_";
const TOKEN_BITS: usize = 256;
/// Longest credentials of the scheme Basic, decoded.
const BASIC_MAX_BYTES: usize = 512;

/// SHA-256 of a token.
pub(super) type Digest = [u8; 32];

/// The system has no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers")]
pub struct NoRandomness;

/// A new token.
pub(super) fn make() -> Result<String, NoRandomness> {
    let mut bits = [0; TOKEN_BITS / 8];
    SystemRandom::new()
        .fill(&mut bits)
        .map_err(|_| NoRandomness)?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bits)))
}

/// The digest of a token.
pub(super) fn digest_of(token: &[u8]) -> Digest {
    let mut bytes = Digest::default();
    bytes.copy_from_slice(digest(&SHA256, token).as_ref());
    bytes
}

/// A digest as it is in files: 64 hexadecimal digits.
pub(super) fn hexadecimal(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads such a digest.
pub(super) fn read_digest(text: &str) -> Option<Digest> {
    let mut digest = Digest::default();
    let digits = text.as_bytes();
    if digits.len() != 2 * digest.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

/// The token of the schemes Bearer and Token.
pub(super) fn read_bearer(authorization: &[u8]) -> Option<&[u8]> {
    let space = memchr::memchr(b' ', authorization)?;
    let (scheme, credentials) = (&authorization[..space], authorization[space..].trim_ascii());
    let is = |name: &[u8]| scheme.eq_ignore_ascii_case(name);
    (is(b"bearer") || is(b"token")).then_some(credentials)
}

/// The digest of the token in an `Authorization`: `Bearer TOKEN`, `Token TOKEN`, or Basic with the token as the password.
pub(super) fn read_authorization(authorization: &[u8]) -> Option<Digest> {
    if let Some(token) = read_bearer(authorization) {
        return Some(digest_of(token));
    }
    let space = memchr::memchr(b' ', authorization)?;
    let (scheme, credentials) = (&authorization[..space], authorization[space..].trim_ascii());
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return None;
    }
    let mut decoded = [0; BASIC_MAX_BYTES];
    let length = STANDARD.decode_slice(credentials, &mut decoded).ok()?;
    let colon = memchr::memchr(b':', &decoded[..length])?;
    Some(digest_of(&decoded[colon + 1..length]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_presented_in_three_schemes() {
        let token = make().unwrap();
        assert_ne!(token, make().unwrap());
        assert_eq!(token.len(), PREFIX.len() + 43);
        let digest = digest_of(token.as_bytes());
        let basic = STANDARD.encode(format!("press-7:{token}"));
        for good in [
            format!("Bearer {token}"),
            format!("bearer   {token} "),
            format!("Token {token}"),
            format!("Basic {basic}"),
        ] {
            assert_eq!(read_authorization(good.as_bytes()), Some(digest), "{good}");
        }
        let long = STANDARD.encode(format!("a:{}", "x".repeat(BASIC_MAX_BYTES)));
        for bad in [
            token.clone(),
            format!("Digest {token}"),
            "Basic %%".to_owned(),
            format!("Basic {}", STANDARD.encode(&token)),
            format!("Basic {long}"),
            "Bearer".to_owned(),
        ] {
            assert_eq!(read_authorization(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_digest_is_written_and_read() {
        let digest = digest_of(b"");
        let text = hexadecimal(&digest);
        assert!(text.starts_with("e3b0c44298fc1c14"));
        assert_eq!(read_digest(&text), Some(digest));
        assert_eq!(read_digest(&text.to_uppercase()), Some(digest));
        for wrong in [
            "",
            &text[1..],
            &text.replace('e', "g"),
            &text.replace('e', "+"),
        ] {
            assert_eq!(read_digest(wrong), None, "{wrong}");
        }
    }
}
