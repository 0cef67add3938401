//! What nobody else may read: the secret words of a system, and tokens of OAuth 2.

pub(crate) mod oauth2;
pub(crate) mod tokens;
pub(crate) mod words;
