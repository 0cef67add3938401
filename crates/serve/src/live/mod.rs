//! Runs that go on: what a page shows of one (`state`), and who follows it while somebody looks (`watch`).

pub(crate) mod state;
pub(crate) mod watch;
