//! Limits of the checks that others know, too.

/// Cores that other programs may use, as a share of the CPUs: the kernel's own work stays below it.
pub const OTHER_CPU_MAX: f64 = 0.15;
/// CPU steal that a trial may have, as a share of the time of all CPUs.
pub const CPU_STEAL_MAX: f64 = 0.02;
/// CPU of the busiest worker thread, used or waited for: worth a remark, and too much.
pub const GENERATOR_BUSY: f64 = 0.80;
pub(crate) const BUSY_LIMIT: f64 = 0.95;
/// CPUs that had so little to do could have been there for the generator.
pub(crate) const MOSTLY_IDLE: f64 = 0.50;
