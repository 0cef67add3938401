//! Who asks for a token.

use serde::{Deserialize, Serialize};

/// How a client says to the token server who it is (RFC 6749, 2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthentication {
    /// By the header `Authorization: Basic`.
    #[default]
    Basic,
    /// By the parameters `client_id` and `client_secret`.
    Body,
}
