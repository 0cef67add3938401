//! What a process has used.

use std::time::Duration;

/// What a component has used so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// `gateway-0`, or `waggle` for the load generator itself.
    pub replica: String,
    pub cpu: Duration,
    pub rss_bytes: u64,
    pub threads: u32,
    /// When it was read, since 1970 by the clock of who read it, if that is less often than it is asked for; `None`: now.
    pub read_at: Option<Duration>,
}

/// CPU time of the system alone, so far.
pub fn of_system(usage: &[Usage]) -> Duration {
    usage
        .iter()
        .filter(|usage| usage.replica != INSTRUMENT)
        .map(|usage| usage.cpu)
        .sum()
}

/// The component name of waggle itself.
pub const INSTRUMENT: &str = "waggle";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{INSTRUMENT, Usage, of_system};

    fn usage(replica: &str, cpu_ms: u64) -> Usage {
        Usage {
            replica: replica.to_owned(),
            cpu: Duration::from_millis(cpu_ms),
            rss_bytes: 7,
            threads: 2,
            read_at: None,
        }
    }

    #[test]
    fn the_instrument_is_not_the_system() {
        assert_eq!(
            of_system(&[usage("a-0", 1), usage(INSTRUMENT, 2), usage("b-0", 4)]),
            Duration::from_millis(5)
        );
    }
}
