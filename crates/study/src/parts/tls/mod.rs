//! Certificates and keys for a server that runs already: `system.tls`, and the same of `system.oauth2`.

pub(crate) mod certificates;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    ExternalTls, Pem,
    at::{At, Key},
    check::Checker,
    parts::tls::certificates::is_host,
    tree::quote,
};

/// Certificates and keys for a server that runs already: files in PEM, relative to the study's folder.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// Accept the server's certificate without a check; false by default.
    pub insecure_skip_verify: Key<bool>,
    /// The certificate authorities to trust in place of this machine's.
    pub ca: Key<String>,
    /// The client's certificate.
    pub cert: Key<String>,
    /// The private key of `cert`; by default in the same file.
    pub key: Key<String>,
    /// The name that the server's certificate must have; by default the host of its address.
    pub server_name: Key<String>,
    /// Whether a handshake may resume an earlier session; true by default.
    pub session_resumption: Key<bool>,
}

impl At<Tls> {
    /// How to connect to what runs already.
    pub(crate) fn check(&self, checker: &mut Checker<'_>) -> ExternalTls {
        let At { place, value: keys } = self;
        if let (Some(key), None) = (keys.key.place(), keys.cert.content()) {
            let mistake = place.mistake_in(key.key, "has a key and no certificate");
            checker.report(mistake.with_expected("cert: the file with the client's certificate"));
        }
        let trusts_anybody = keys.insecure_skip_verify.value() == Some(&true);
        if let Some(ca) = keys.ca.place().filter(|_| trusts_anybody) {
            let skips = format!("{}.insecure_skip_verify", place.path);
            let mistake =
                ca.key_mistake(format!("names whom to trust, and {skips} trusts anybody"));
            checker.report(mistake.with_expected("one of the two"));
        }
        if let Some(host) = keys.server_name.content()
            && !is_host(&host.value)
        {
            let mistake = host.place.mistake(format!("is {}", quote(&host.value)));
            checker.report(mistake.with_expected("a DNS name or an address"));
        }
        let text = |key: &Key<String>| key.value().cloned();
        ExternalTls {
            insecure_skip_verify: trusts_anybody,
            ca: text(&keys.ca).map(Pem::File),
            client: text(&keys.cert).map(|cert| {
                let key = text(&keys.key).unwrap_or_else(|| cert.clone());
                (Pem::File(cert), Pem::File(key))
            }),
            server_name: text(&keys.server_name),
            resumes: keys.session_resumption.value() != Some(&false),
        }
    }

    /// Reports them for an address that has none.
    pub(crate) fn refuse_plain(&self, checker: &mut Checker<'_>, expected: &str) {
        let mistake = self.place.key_mistake("is for https");
        checker.report(mistake.with_expected(expected));
    }
}
