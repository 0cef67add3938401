//! Clients: by address, with what each may take of what all share; and by token, with rights and budgets.

pub(crate) mod admission;
pub(crate) mod client;
pub(crate) mod floods;
pub(crate) mod identity;
pub(crate) mod memory;
pub(crate) mod settings;
pub(crate) mod share;
pub(crate) mod turns;
