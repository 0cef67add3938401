//! One trial after another: up, ready, verify, warm-up, measure, finish, drain, collect, down, cool-down.
//!
//! Drivers bring components up, probes watch places, the ledger accounts for every record. Judges nothing:
//! it writes what it saw through `results`. Prints nothing: it tells what happens by [`Event`]s.

mod event;

pub use event::Event;

// The calls other crates rely on:
//
// pub struct RunRequest { pub study: Study, pub study_text: String, pub study_file: PathBuf, pub system: System,
//     pub system_folder: PathBuf, pub run_folder: PathBuf, pub plan: Plan, pub resume: bool, ... }
// /// Runs every trial of the plan that has no finished result in the folder yet.
// pub async fn run(request: RunRequest, events: mpsc::Sender<Event>, shutdown: watch::Receiver<bool>)
//     -> Result<Ended, RunError>
// pub enum Ended { Finished, Interrupted }
