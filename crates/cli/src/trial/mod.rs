//! What the engine's intervals say of one trial so far: added up, put together to longer ones, judged as if the trial ended
//! now. Pure; what is shown and written of it is made elsewhere.

pub(crate) mod gather;
pub(crate) mod judge;
pub(crate) mod phase;
pub(crate) mod shape;
pub(crate) mod so_far;
pub(crate) mod statuses;
pub(crate) mod steps;
