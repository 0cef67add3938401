//! End-to-end tests of the program: commands, exit codes, files, and processes that must not be left.

#![expect(clippy::unwrap_used, reason = "tests")]

mod agents;
mod closed_pipes;
mod commands;
mod comparisons;
mod documentation;
mod exit_codes;
mod import;
mod init;
mod installed;
mod live;
mod load;
mod pods;
mod reference;
mod runs;
mod security;
mod shipped_studies;
mod systems;
mod workspace;
