//! What goes on beside the load of a trial, from its start to its end: other loads, the delivery of records, faults, samples of
//! resources and metrics, the renewal of a token.

pub(super) mod background;
pub(super) mod delivery;
pub(super) mod faults;
pub(crate) mod ledger;
pub(super) mod resend;
pub(super) mod resources;
pub(super) mod system_metrics;
pub(super) mod token_renewal;
