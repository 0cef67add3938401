//! The result of a load as plain values (`summary`, of a search `search_result`), the conditions on it, and its text.

pub(super) mod conditions;
pub(super) mod render;
pub(in crate::commands) mod search_result;
pub(in crate::commands) mod summary;
