//! The program as its user meets it: commands, exit codes, files, and what is left on the machine.

#![expect(clippy::unwrap_used, reason = "tests")]

mod awake;
mod calibration;
mod codes;
mod commands;
mod deaths;
mod desk;
mod disturbed;
mod external;
mod init;
mod interrupts;
mod live;
mod load;
mod load_pipes;
mod load_saved;
mod load_scenario;
mod load_secure;
mod outside;
mod readers;
mod recovery;
mod scenario_records;
mod scenarios;
mod search;
mod shipped;
mod systems;
mod tutorial;
mod webapp;
