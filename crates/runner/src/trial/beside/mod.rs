//! What goes on beside the load of a trial, from its start to its end: other loads, the delivery of records, faults, samples of
//! resources and metrics, the renewal of a token. Each is a `companion`; `companions` makes all of them.

mod agents;
pub(super) mod background;
pub(super) mod companion;
pub(super) mod companions;
pub(super) mod delivery;
mod faults;
pub(crate) mod ledger;
pub(super) mod resend;
mod resources;
mod system_metrics;
pub(super) mod token_renewal;
