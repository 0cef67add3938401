//! Verification of server certificates: by authorities, or none. If a signature cannot be verified because of a key, the error says so.

use std::sync::Arc;

use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::{
    AUTHORITIES, Roots, TlsError, certificates_in, keys::key_problem, refusal::KeyProblem,
};

/// The authorities of this machine. Unusable ones are skipped, as every client does.
fn system() -> Result<RootCertStore, TlsError> {
    let authorities = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.certs);
    if roots.is_empty() {
        let why = authorities
            .errors
            .first()
            .map_or_else(|| "none were found".to_owned(), |error| error.to_string());
        return Err(TlsError::System(why));
    }
    Ok(roots)
}

/// The given authorities; an unusable one is an error.
fn named_authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates_in(pem, AUTHORITIES)? {
        roots.add(certificate).map_err(TlsError::Root)?;
    }
    Ok(roots)
}

/// What verifies the certificates of servers.
pub(super) fn verifier(
    roots: &Roots,
    provider: Arc<CryptoProvider>,
) -> Result<ExplainingVerifier, TlsError> {
    let (store, authorities) = match roots {
        Roots::System => (system()?, Vec::new()),
        Roots::Pem(pem) => (named_authorities(pem)?, certificates_in(pem, AUTHORITIES)?),
        Roots::Unchecked => {
            return Ok(ExplainingVerifier {
                inner: Arc::new(AnyServer(provider)),
                authorities: Vec::new(),
            });
        }
    };
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
    let inner = verifier.map_err(|error| TlsError::SetUp(Error::General(error.to_string())))?;
    Ok(ExplainingVerifier { inner, authorities })
}

/// Verifies as another one does, and explains failed signatures by the keys of the certificates.
#[derive(Debug)]
pub(super) struct ExplainingVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    /// Those that were named.
    authorities: Vec<CertificateDer<'static>>,
}

fn explain<'a>(
    error: Error,
    mut certificates: impl Iterator<Item = &'a CertificateDer<'a>>,
) -> Error {
    use CertificateError as Certificate;
    let is_of_key = matches!(
        error,
        Error::InvalidCertificate(
            Certificate::BadSignature
                | Certificate::UnsupportedSignatureAlgorithmContext { .. }
                | Certificate::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }
        ) | Error::PeerMisbehaved(_)
    );
    let problem = is_of_key.then(|| certificates.find_map(key_problem));
    match problem.flatten() {
        None => error,
        Some(problem) => {
            let problem = Arc::new(KeyProblem(format!(
                "a certificate of the server has {problem}"
            )));
            Error::InvalidCertificate(Certificate::Other(OtherError(problem)))
        }
    }
}

impl ServerCertVerifier for ExplainingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        verified.map_err(|error| {
            let all = std::iter::once(end_entity).chain(intermediates);
            explain(error, all.chain(&self.authorities))
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verified = self
            .inner
            .verify_tls12_signature(message, certificate, signed);
        verified.map_err(|error| explain(error, std::iter::once(certificate)))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verified = self
            .inner
            .verify_tls13_signature(message, certificate, signed);
        verified.map_err(|error| explain(error, std::iter::once(certificate)))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Accepts any certificate. It is still checked that the server has its private key, because TLS needs that.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject;

    use super::*;
    use crate::{
        failure::HandshakeFailure,
        transport::tls::refusal::{ClientCertificate, refusal},
    };

    #[test]
    fn a_signature_that_cannot_be_verified_is_explained_by_the_key() {
        let check = |pem: &str, error, failure, text: &str| {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            let error = explain(error, std::iter::once(&certificate));
            let explanation = refusal(&error, ClientCertificate::default());
            assert_eq!(explanation.failure, failure, "{error:?}");
            assert!(explanation.reason.contains(text), "{}", explanation.reason);
        };
        let bad = || Error::InvalidCertificate(CertificateError::BadSignature);
        let (rsa, p521) = (
            include_str!("test_keys/rsa1024.pem"),
            include_str!("test_keys/p521.pem"),
        );
        check(rsa, bad(), HandshakeFailure::Algorithm, "1024 bits");
        check(p521, bad(), HandshakeFailure::Algorithm, "P-521");
        let good = waggle_testkit::tls::Authority::new("ours").pem;
        check(&good, bad(), HandshakeFailure::Certificate, "ignature");
        let expired = Error::InvalidCertificate(CertificateError::Expired);
        check(rsa, expired, HandshakeFailure::Expired, "");
    }
}
