//! This process and its user: how it ends, what interrupts it, and the folders of the user's data.

pub(crate) mod exit;
pub(crate) mod folders;
pub(crate) mod interrupts;
pub(crate) mod priority;
pub(crate) mod seed;
