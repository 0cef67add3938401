//! Why a handshake failed: its kind, and the reason in words.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustls::{
    AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible, SignatureScheme,
    client::ResolvesClientCert, sign::CertifiedKey,
};

use crate::failure::HandshakeFailure;

/// What a server must have in common with this side.
const SUPPORTED: &str = "here are TLS 1.2 and 1.3, ECDHE on X25519, P-256 and P-384, AES-GCM and ChaCha20-Poly1305, and certificates \
                         with RSA keys from 2048 bits, ECDSA on P-256 and P-384, and Ed25519; not P-521, RSA without ECDHE, or CBC";

/// A handshake that failed.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) failure: HandshakeFailure,
    /// Empty: the kind says it all.
    pub(crate) reason: String,
}

/// What this side has to do with a client certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    /// The server has asked for one.
    pub(crate) is_wanted: bool,
    pub(crate) is_given: bool,
}

/// The key of a certificate is the reason why its signature could not be verified.
#[derive(Debug)]
pub(super) struct KeyProblem(pub(super) String);

impl fmt::Display for KeyProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for KeyProblem {}

/// Notes whether a server has asked for a certificate, once in a handshake.
#[derive(Debug)]
pub(super) struct NotingResolver {
    pub(super) inner: Arc<dyn ResolvesClientCert>,
    pub(super) is_wanted: Arc<AtomicBool>,
}

impl ResolvesClientCert for NotingResolver {
    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.inner.resolve(root_hint_subjects, schemes)
    }

    fn has_certs(&self) -> bool {
        self.inner.has_certs()
    }
}

/// The kind and the reason of an error of the library.
pub(super) fn refusal(error: &Error, client: ClientCertificate) -> Refusal {
    let (failure, reason) = match error {
        Error::InvalidCertificate(certificate) => invalid_certificate(certificate),
        Error::AlertReceived(alert) => alert_received(*alert, client),
        Error::NoApplicationProtocol => no_protocol(),
        Error::PeerIncompatible(why) => incompatible(why),
        Error::NoCertificatesPresented => (
            HandshakeFailure::Certificate,
            "the server has sent no certificate".to_owned(),
        ),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => (
            HandshakeFailure::Malformed,
            "the server's bytes are not TLS; http:// may be meant".to_owned(),
        ),
        other => (HandshakeFailure::Malformed, other.to_string()),
    };
    Refusal { failure, reason }
}

fn no_protocol() -> (HandshakeFailure, String) {
    (
        HandshakeFailure::NoProtocol,
        "the server speaks another version of HTTP than was asked for (ALPN)".to_owned(),
    )
}

fn invalid_certificate(error: &CertificateError) -> (HandshakeFailure, String) {
    use CertificateError as Certificate;
    let text = error.to_string();
    match error {
        Certificate::UnknownIssuer => (HandshakeFailure::UnknownIssuer, String::new()),
        Certificate::Expired | Certificate::ExpiredContext { .. } => {
            (HandshakeFailure::Expired, text)
        }
        Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
            (HandshakeFailure::NotYetValid, text)
        }
        Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
            (HandshakeFailure::WrongName, text)
        }
        Certificate::UnsupportedSignatureAlgorithmContext { .. }
        | Certificate::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => (
            HandshakeFailure::Algorithm,
            format!("a signature in the certificates: {SUPPORTED}"),
        ),
        Certificate::Other(other) => match other.0.downcast_ref::<KeyProblem>() {
            Some(problem) => (HandshakeFailure::Algorithm, problem.to_string()),
            // The library for certificates is no dependency of ours, so that its error has no name here.
            None if format!("{:?}", other.0) == "CaUsedAsEndEntity" => (
                HandshakeFailure::CaCertificate,
                "the server's certificate is that of an authority (CA:TRUE in its basic constraints); a server needs one with \
                 CA:FALSE"
                    .to_owned(),
            ),
            None => (HandshakeFailure::Certificate, other.0.to_string()),
        },
        _ => (HandshakeFailure::Certificate, text),
    }
}

fn alert_received(
    alert: AlertDescription,
    client: ClientCertificate,
) -> (HandshakeFailure, String) {
    use AlertDescription as Alert;
    let sent = format!("the server sent the alert {}", alert_name(alert));
    let is_of_client = matches!(
        alert,
        Alert::HandshakeFailure
            | Alert::NoCertificate
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
    );
    match alert {
        Alert::NoApplicationProtocol => no_protocol(),
        Alert::CertificateRequired => wanted_certificate(&sent, client),
        _ if is_of_client && client.is_wanted => wanted_certificate(&sent, client),
        Alert::ProtocolVersion => (HandshakeFailure::NoVersion, format!("{sent}; {SUPPORTED}")),
        Alert::HandshakeFailure | Alert::InsufficientSecurity => {
            (HandshakeFailure::NoCipher, format!("{sent}; {SUPPORTED}"))
        }
        _ => (HandshakeFailure::Refused, sent),
    }
}

fn wanted_certificate(sent: &str, client: ClientCertificate) -> (HandshakeFailure, String) {
    let reason = match client.is_given {
        true => format!("{sent}: it does not accept the client's certificate"),
        false => format!("{sent}: it wants a certificate from its clients, and none was given"),
    };
    (HandshakeFailure::ClientCertificate, reason)
}

/// `certificate_required`, as the standard writes it.
fn alert_name(alert: AlertDescription) -> String {
    let name = format!("{alert:?}").replace("CA", "Ca");
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn incompatible(why: &PeerIncompatible) -> (HandshakeFailure, String) {
    use PeerIncompatible as Why;
    let failure = match why {
        Why::ServerDoesNotSupportTls12Or13 | Why::ServerTlsVersionIsDisabledByOurConfig => {
            HandshakeFailure::NoVersion
        }
        Why::NoCipherSuitesInCommon
        | Why::NoKxGroupsInCommon
        | Why::NoSignatureSchemesInCommon
        | Why::NoCertificateRequestSignatureSchemesInCommon
        | Why::NoEcPointFormatsInCommon => HandshakeFailure::NoCipher,
        _ => HandshakeFailure::Refused,
    };
    (failure, format!("{why:?}; {SUPPORTED}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_of_the_client_certificate_or_of_versions_and_ciphers() {
        use AlertDescription as Alert;
        let check = |alert, (is_wanted, is_given), failure, text: &str| {
            let client = ClientCertificate {
                is_wanted,
                is_given,
            };
            let explanation = refusal(&Error::AlertReceived(alert), client);
            assert_eq!(explanation.failure, failure, "{alert:?}");
            assert!(explanation.reason.contains(text), "{}", explanation.reason);
        };
        let (none, wanted, given) = ((false, false), (true, false), (true, true));
        let client = HandshakeFailure::ClientCertificate;
        check(Alert::CertificateRequired, none, client, "none was given");
        check(Alert::HandshakeFailure, wanted, client, "none was given");
        check(Alert::BadCertificate, wanted, client, "bad_certificate");
        check(
            Alert::UnknownCA,
            given,
            client,
            "unknown_ca: it does not accept",
        );
        check(
            Alert::HandshakeFailure,
            none,
            HandshakeFailure::NoCipher,
            "P-521",
        );
        check(
            Alert::ProtocolVersion,
            none,
            HandshakeFailure::NoVersion,
            "TLS 1.2",
        );
        let refused = HandshakeFailure::Refused;
        check(Alert::UnrecognisedName, none, refused, "unrecognised_name");
    }
}
