//! Which public key a certificate has, as far as that explains why its signatures cannot be verified.

use rustls::{pki_types::CertificateDer, server::ParsedCertificate};

/// What RSA keys the library verifies signatures with, in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const ED448: &[u8] = &[0x2b, 0x65, 0x71];
const DSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Why signatures by the key of a certificate cannot be verified; `None`: the key is not the reason.
pub(super) fn key_problem(certificate: &CertificateDer<'_>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let info = parsed.subject_public_key_info();
    let mut info = value(SEQUENCE, &mut info.as_ref())?;
    let mut algorithm = value(SEQUENCE, &mut info)?;
    let key = value(BIT_STRING, &mut info)?;
    let name = match value(OBJECT_IDENTIFIER, &mut algorithm)? {
        RSA => return rsa_problem(key),
        ECDSA => return curve_problem(value(OBJECT_IDENTIFIER, &mut algorithm)?),
        ED25519 => return None,
        ED448 => "Ed448",
        DSA => "DSA",
        _ => "an unknown algorithm",
    };
    Some(format!(
        "a key of {name}; RSA, ECDSA and Ed25519 are supported"
    ))
}

fn rsa_problem(key: &[u8]) -> Option<String> {
    // The first byte of a bit string counts unused bits.
    let mut numbers = value(SEQUENCE, &mut key.get(1..)?)?;
    let modulus = value(INTEGER, &mut numbers)?;
    let leading = modulus.iter().take_while(|byte| **byte == 0).count();
    let modulus = &modulus[leading..];
    let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
    (!RSA_BITS.contains(&bits)).then(|| {
        let (min, max) = (RSA_BITS.start(), RSA_BITS.end());
        format!("an RSA key of {bits} bits; {min} to {max} are supported")
    })
}

fn curve_problem(curve: &[u8]) -> Option<String> {
    let name = match curve {
        P256 | P384 => return None,
        P521 => "P-521",
        _ => "another curve",
    };
    Some(format!(
        "an ECDSA key on {name}; P-256 and P-384 are supported"
    ))
}

/// Takes the next value of DER, which must have this tag.
fn value<'a>(tag: u8, from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&[actual_tag, first], mut rest) = from.split_first_chunk()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let bytes = usize::from(first & 0x7f);
        // A certificate is far below 16 MiB.
        let digits = rest.get(..bytes).filter(|_| bytes <= 3)?;
        length = digits
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        rest = &rest[bytes..];
    }
    let (value, behind) = rest.split_at_checked(length)?;
    *from = behind;
    (actual_tag == tag).then_some(value)
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn keys_that_cannot_verify_are_named() {
        let check = |pem: &str, expected: Option<&str>| {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            assert_eq!(key_problem(&certificate).as_deref(), expected);
        };
        check(
            include_str!("test_keys/rsa1024.pem"),
            Some("an RSA key of 1024 bits; 2048 to 8192 are supported"),
        );
        check(
            include_str!("test_keys/p521.pem"),
            Some("an ECDSA key on P-521; P-256 and P-384 are supported"),
        );
        check(
            include_str!("test_keys/ed448.pem"),
            Some("a key of Ed448; RSA, ECDSA and Ed25519 are supported"),
        );
        check(&waggle_testkit::tls::Authority::new("p256").pem, None);
    }

    #[test]
    fn der_that_is_cut_is_no_value() {
        let whole = [&[SEQUENCE, 0x82, 0x01, 0x00][..], &[7; 256]].concat();
        assert_eq!(value(SEQUENCE, &mut &whole[..]), Some(&[7; 256][..]));
        assert_eq!(value(INTEGER, &mut &whole[..]), None);
        for end in 0..whole.len() {
            assert_eq!(value(SEQUENCE, &mut &whole[..end]), None, "{end}");
        }
        assert_eq!(value(SEQUENCE, &mut &[SEQUENCE, 0xff, 0, 0][..]), None);
    }
}
