//! What a run makes in a cluster: noted in a file before it is made, removed at the end, or by `waggle system down` if the run was killed.

mod cordons;
mod deletions;
mod ledger;
mod left_behind;
mod notes;
mod removal;

pub use cordons::CordonError;
pub use ledger::{Created, Ledger, ObjectError};
pub use left_behind::{LeftBehind, LeftBehindError, left_behind};
pub use notes::Place;
pub use removal::StillThere;
