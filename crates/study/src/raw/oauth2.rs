//! `system.oauth2` of a study, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::ClientAuthentication;

use super::Tls;

/// Tokens of OAuth 2 by client credentials (RFC 6749, 4.4), for `${oauth2.token}` in headers. They are fetched before a trial needs
/// one, and anew before they expire.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Oauth2 {
    /// Where a server that runs already answers with tokens, e.g. `https://login.example.org/oauth/token`.
    pub token_url: Option<String>,
    /// In place of `token_url`: the endpoint of the system that answers with tokens; its first replica is asked. For `use`.
    pub endpoint: Option<String>,
    /// With `endpoint`: the path that answers with tokens, e.g. `/oauth/token`.
    pub path: Option<String>,
    /// The client's id: a text, or `${env.NAME}`, `${file:PATH}` or `${secret.NAME}` and nothing else.
    #[schemars(required)]
    pub client_id: Option<String>,
    /// The client's secret: `${env.NAME}`, `${file:PATH}`, or `${secret.NAME}` of the system, and nothing else.
    #[schemars(required)]
    pub client_secret: Option<String>,
    /// What the token is for, e.g. `read write`; the server decides by default.
    pub scope: Option<String>,
    /// Further parameters of the request, at most 16, e.g. `audience: https://api.example.org`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub parameters: Option<IndexMap<String, String>>,
    /// How the client says who it is: `basic`, by a header, or `body`, by parameters; basic by default.
    pub client_authentication: Option<ClientAuthentication>,
    /// Certificates and keys for `token_url` with https; those of `system.tls` without its `server_name` by default.
    pub tls: Option<Tls>,
}
