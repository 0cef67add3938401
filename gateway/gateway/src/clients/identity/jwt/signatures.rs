//! Signatures of JWT by `ring`, which TLS uses, too. Nothing is signed here, and secrets that both sides know are no keys.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwkUtils, JwtSigner, JwtVerifier},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    jwk_utils: JwkUtils::new_unimplemented(),
};

/// Has the process check signatures this way. Only the first call has an effect.
pub(super) fn install() {
    // It is installed already, by an earlier version of the file.
    let _ = PROVIDER.install_default();
}

fn signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::InvalidAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    Ok(Box::new(Checker {
        algorithm: *algorithm,
        key: key.clone(),
    }))
}

struct Checker {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for Checker {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Checker {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        if self.key.family() != self.algorithm.family() {
            return Err(signature::Error::new());
        }
        let checked = match (self.key.kind(), means(self.algorithm)) {
            (DecodingKeyKind::SecretOrDer(key), Some(Means::Curve(algorithm))) => {
                UnparsedPublicKey::new(algorithm, key).verify(message, signature)
            }
            (DecodingKeyKind::RsaModulusExponent { n, e }, Some(Means::Rsa(parameters))) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            _ => return Err(signature::Error::new()),
        };
        checked.map_err(|_| signature::Error::new())
    }
}

enum Means {
    Curve(&'static dyn VerificationAlgorithm),
    Rsa(&'static RsaParameters),
}

/// How an algorithm is checked; `None` for those of common secrets.
fn means(algorithm: Algorithm) -> Option<Means> {
    let means = match algorithm {
        Algorithm::ES256 => Means::Curve(&ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Means::Curve(&ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Means::Curve(&ED25519),
        Algorithm::RS256 => Means::Rsa(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Means::Rsa(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Means::Rsa(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Means::Rsa(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Means::Rsa(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Means::Rsa(&RSA_PSS_2048_8192_SHA512),
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => return None,
    };
    Some(means)
}

/// Whether an issuer may use it.
pub(super) fn is_asymmetric(algorithm: Algorithm) -> bool {
    means(algorithm).is_some()
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{crypto::verify, jwk::Jwk};

    use super::*;

    /// Checks an example of a standard, and the same with another payload.
    #[track_caller]
    fn check_example(jwk: &str, algorithm: Algorithm, token: &str) {
        install();
        let jwk: Jwk = serde_json::from_str(jwk).unwrap();
        let key = DecodingKey::from_jwk(&jwk).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let is_good = |message: &str, algorithm| {
            verify(signature, message.as_bytes(), &key, algorithm).unwrap()
        };
        assert!(is_good(message, algorithm));
        assert!(!is_good(&message.replace('e', "f"), algorithm));
        for other in [Algorithm::HS256, Algorithm::ES384, Algorithm::PS256] {
            assert!(!is_good(message, other), "{other:?}");
        }
    }

    const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    /// RFC 7515, appendix A.2.
    #[test]
    fn rs256_is_checked_as_in_rfc_7515() {
        let jwk = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;
        let signature = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        let token = format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.{signature}");
        check_example(jwk, Algorithm::RS256, &token);
    }

    /// RFC 7515, appendix A.3.
    #[test]
    fn es256_is_checked_as_in_rfc_7515() {
        let jwk = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        let token = format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{signature}");
        check_example(jwk, Algorithm::ES256, &token);
    }

    /// RFC 8037, appendix A.4.
    #[test]
    fn ed25519_is_checked_as_in_rfc_8037() {
        let jwk =
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let token = format!("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.{signature}");
        check_example(jwk, Algorithm::EdDSA, &token);
    }
}
