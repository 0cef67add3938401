//! Runs trials one after another: up, ready, verify, warm-up, measure, finish, drain, collect, down, cool-down.
//!
//! Drivers start the components, probes poll the stores, and the ledger accounts for every record. The crate judges nothing. It
//! writes observations through `results`, and a search asks `waggle_analysis::evidence` what a trial on disk shows. It prints
//! nothing and reports progress as [`Event`]s.
//!
//! Rooms, each of which imports only from those before it: what all need (the modules beside the rooms), `load`, `probe`,
//! `trial`, `manifests`, `run`. What is started is the business of `waggle_system`.
//!
//! Public modules are those that other users of a run need too: counts as rows.

mod clock;
mod event;
mod event_sender;
mod histogram;
mod load;
#[cfg(feature = "cluster")]
mod manifests;
mod number;
mod probe;
mod run;
mod trial;

#[cfg(test)]
mod tests;

pub use event::Event;
pub use load::{
    counts,
    generator_processes::generator,
    records::{
        RECORDS_FILE_MAX_BYTES, RecordFiles, RecordsError, RecordsFound, look_at_records,
        unpack::TextFile,
    },
    scenario::{Kept, load_scenario},
};
#[cfg(feature = "cluster")]
pub use manifests::{ManifestsError, RENDERED, SourceError, render_all, rights_of};
pub use probe::SampleLimits;
#[cfg(feature = "cluster")]
pub use run::agents::{
    kubernetes::{object_name, path_beside, pod_shape},
    room::{AgentRoom, RoomError, agent_room},
};
pub use run::{
    cells_left_out::{SystemWithArtifacts, cells_to_leave_out, left_out_numbers},
    entry::run,
    info::{at_start, cell_infos},
    named_files::{NAMED_FILE_MAX_BYTES, files_beside, nearest_file},
    remains::{remove_remains, remove_remains_of_run},
    request::{ChangedSystem, CpuUse, Ended, InPod, RunRequest},
};
pub use trial::error::RunError;
