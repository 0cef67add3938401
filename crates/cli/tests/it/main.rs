//! End-to-end tests of the program: commands, exit codes, files, and processes that must not be left.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod background;
mod calibration;
mod clients;
mod closed_pipes;
mod clusters;
mod commands;
mod compare;
mod component_crash;
mod exit_codes;
mod external_components;
mod external_server;
mod faults;
mod faulty_answers;
mod history;
mod idle_poll;
mod import;
mod init;
mod installed;
mod interrupts;
mod kubernetes;
mod left_out;
mod live;
mod live_metrics;
mod load;
mod load_generators;
mod load_pipes;
mod load_saved;
mod load_scenario;
mod load_secure;
mod network;
mod oauth2;
mod recovery;
mod registry;
mod scenario_records;
mod scenarios;
mod search;
mod shipped_studies;
mod systems;
mod technologies;
mod tutorial;
mod walks;
mod webapp;
mod workspace;
