//! Flags and a URL → a checked study with one cell (`planned`), from its text (`text`) and the parts of its settings.

mod model;
pub(super) mod planned;
mod request;
pub(super) mod run_folders;
pub(super) mod scenario;
#[cfg(test)]
mod tests;
pub(super) mod text;
mod transport;
mod workers;
