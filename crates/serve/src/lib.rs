//! A folder of runs in a browser: a list, the report of each run, a comparison of two, histories, notes, runs that go on, and, where that
//! is allowed, runs that are started.
//!
//! The folder is the database; all that is kept beside it is an index that can be deleted. How a report, a comparison or a history is made,
//! how a run is followed and how a command is written is the caller's ([`Backend`]).
//!
//! The rooms, of which each imports only those before it: `runs` (what lies in the folder), `live` (runs that go on), `launch` (runs that are
//! started), `pages` (markup), `http` (who may ask for what).

mod http;
mod launch;
mod live;
mod pages;
mod reason;
mod runs;

pub use self::{
    http::{
        server::{Server, ServerError, Settings},
        state::{Backend, HistoryScope, Launching},
    },
    launch::{
        order::{Extent, Order, StudyEntry, StudyForm, StudyParameter},
        queue::{Queue, StartedRun},
    },
    live::{
        state::{
            LiveCell, LiveEnd, LiveLoad, LiveMark, LivePhase, LiveState, LiveStep, LiveTrial,
            Measured,
        },
        watch::Follow,
    },
    reason::Reason,
    runs::{index::index_name, running::RunningRun, stamp::FileStamp},
};
