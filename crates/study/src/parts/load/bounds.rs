//! How large a load can be.

/// Connections of an open load that names none.
pub(crate) const OPEN_CONNECTIONS: u32 = 50;
/// Most requests in flight at once.
pub(crate) const MAX_IN_FLIGHT: u64 = 1_000_000;
/// Most connections, and most users, of a load.
pub const MAX_CONNECTIONS: u32 = 100_000;
/// Highest rate of an open load, per second.
pub const MAX_RATE_PER_S: f64 = 10_000_000.0;

/// A level of users or connections.
pub(crate) fn whole_level(level: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the bounds after the clamp"
    )]
    let count = level.clamp(1.0, f64::from(MAX_CONNECTIONS)) as u32;
    count
}
