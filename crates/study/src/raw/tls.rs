//! Certificates and keys for a server that runs already, key by key.

use schemars::JsonSchema;
use serde::Deserialize;

/// Certificates and keys for a server that runs already: files in PEM, relative to the study's folder.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// Accept the server's certificate without a check; false by default.
    pub insecure_skip_verify: Option<bool>,
    /// The certificate authorities to trust in place of this machine's.
    pub ca: Option<String>,
    /// The client's certificate.
    pub cert: Option<String>,
    /// The private key of `cert`; by default in the same file.
    pub key: Option<String>,
    /// The name that the server's certificate must have; by default the host of its address.
    pub server_name: Option<String>,
    /// Whether a handshake may resume an earlier session; true by default.
    pub session_resumption: Option<bool>,
}
