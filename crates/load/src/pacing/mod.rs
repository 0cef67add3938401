//! *When*: the instant at which each request is due, for every load model. Pure functions of time and count.
//!
//! In reading order: `pacer` (all models), `schedule` and `rate_profile` (open load), `user_stages`, `clients`; `due_times` asks
//! a schedule again, long after.

mod clients;
pub(crate) mod pacer;
pub(crate) mod past_due_times;
mod rate_profile;
mod schedule;
mod user_stages;
