//! The certificate of a client: its names, and until when it is valid.

use rustls::{
    pki_types::{CertificateDer, UnixTime},
    server::danger::ClientCertVerifier,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// A certificate that a client has shown in the handshake, which has checked it.
pub(crate) struct PeerCertificate {
    /// It, and what it came with.
    chain: Vec<CertificateDer<'static>>,
    /// URIs, DNS names and email addresses of the extension for alternative names, in its order.
    pub(crate) names: Vec<Box<str>>,
    /// In seconds since 1970.
    pub(crate) expires: u64,
}

impl PeerCertificate {
    /// Reads what a client has shown.
    pub(crate) fn read(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let (_, parsed) = X509Certificate::from_der(chain.first()?).ok()?;
        let extension = parsed.subject_alternative_name().ok().flatten();
        let names = extension.map_or_else(Vec::new, |extension| {
            let names = extension.value.general_names.iter();
            names.filter_map(text).map(Into::into).collect()
        });
        let expires = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0);
        Some(Self {
            names,
            expires,
            chain: chain
                .iter()
                .map(|certificate| certificate.clone().into_owned())
                .collect(),
        })
    }

    /// Whether a verifier accepts it now.
    pub(super) fn is_accepted_by(&self, verifier: &dyn ClientCertVerifier) -> bool {
        let Some((certificate, intermediates)) = self.chain.split_first() else {
            return false;
        };
        let judged = verifier.verify_client_cert(certificate, intermediates, UnixTime::now());
        judged.is_ok()
    }
}

/// The text of a name that can be one of a client.
fn text<'a>(name: &GeneralName<'a>) -> Option<&'a str> {
    match name {
        GeneralName::URI(text) | GeneralName::DNSName(text) | GeneralName::RFC822Name(text) => {
            Some(text)
        }
        _ => None,
    }
}
