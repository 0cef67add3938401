//! What was sent: steps of scenarios, clients, measured answers; and what was done before and beside it.

pub(crate) mod background;
pub(crate) mod clients;
pub(crate) mod inspected_answers;
pub(crate) mod preparation;
mod side_load;
pub(crate) mod steps;
