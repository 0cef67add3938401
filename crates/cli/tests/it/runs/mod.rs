//! Runs of studies from the file to the report, each file with one part of a study or one way to run it.

mod background;
mod calibration;
mod clients;
mod component_crash;
mod faults;
mod faulty_answers;
mod idle_poll;
mod inspected_answers;
mod interrupts;
mod network;
mod oauth2;
mod recovery;
mod repeated;
mod scenario_records;
mod scenarios;
mod search;
mod walks;
mod watched;
