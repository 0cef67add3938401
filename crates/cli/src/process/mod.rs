//! This process and its user: how it ends, what interrupts it, the folders of the user's data, and runs as processes below it.

pub(crate) mod exit;
pub(crate) mod folders;
pub(crate) mod interrupts;
pub(crate) mod priority;
pub(crate) mod seed;
pub(crate) mod supervised_run;
