//! Markup. Each page is a function of plain values; maud escapes every text, so that none of a run becomes markup.

pub(crate) mod layout;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod login;
pub(crate) mod problem;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod studies;
