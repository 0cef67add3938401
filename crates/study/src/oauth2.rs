//! `system.oauth2`: where tokens come from, by which what waggle asks says who asks. The token itself is known only when a trial has
//! fetched it.

use std::fmt;

use waggle_spec::ClientAuthentication;

use crate::{ExternalTls, origin::Origin};

/// The client credentials grant of OAuth 2 (RFC 6749, 4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oauth2 {
    pub endpoint: TokenEndpoint,
    pub client_id: Credential,
    pub client_secret: Credential,
    /// `None`: the server decides.
    pub scope: Option<String>,
    /// Further parameters of the request, in their order.
    pub parameters: Vec<(String, String)>,
    pub client_authentication: ClientAuthentication,
}

/// Who answers requests for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenEndpoint {
    /// A server that runs already.
    Url {
        /// As written.
        url: String,
        /// Host and port as in the URL, for the Host header.
        authority: String,
        /// A name or an address, without brackets.
        host: String,
        port: u16,
        /// Path and query.
        path: String,
        /// `None`: connections are not encrypted.
        tls: Option<ExternalTls>,
    },
    /// An endpoint of the system, at its first replica.
    OfSystem { endpoint: String, path: String },
}

impl fmt::Display for TokenEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { url, .. } => f.write_str(url),
            Self::OfSystem { endpoint, path } => write!(f, "{path} of endpoint {endpoint}"),
        }
    }
}

/// A client's id or secret. Its value is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The key below `system.oauth2`.
    pub(crate) key: &'static str,
    /// `None`: the value is in the study.
    pub origin: Option<Origin>,
    /// Line and column in the study, counted from 1.
    pub(crate) at: (u32, u32),
    /// `None`: not read yet, or a secret of the system, which is known only when it is up.
    pub value: Option<String>,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("key", &self.key)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Longest client id or secret.
pub(crate) const VALUE_MAX_BYTES: usize = 4 * 1024;
