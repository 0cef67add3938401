//! The names under which resources are written: what is the load generator and not the system, and whose replica a process is.

/// The name under which its own resources are written.
pub(crate) const INSTRUMENT: &str = "waggle";

/// The component of a replica: `gateway` of `gateway-1`.
#[must_use]
pub fn component_of(replica: &str) -> &str {
    match replica.rsplit_once('-') {
        Some((name, number)) if number.parse::<u32>().is_ok() => name,
        _ => replica,
    }
}
