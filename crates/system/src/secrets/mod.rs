//! What nobody else may read: the secret words of a system, and tokens of OAuth 2.

mod forms;
pub mod oauth2;
pub mod tokens;
pub mod words;
