//! Limits of a component: how much CPU and memory each of its replicas may use.

use waggle_units::{parse_number, parse_size};

/// Instead of an amount: no limit.
pub const NO_LIMIT: &str = "none";
/// The fewest and the most CPUs of a limit. Fewer than the first are less than the kernel's shortest turn in a period of 100 ms.
pub const LIMIT_CPUS: (f64, f64) = (0.01, 1024.0);
/// The least memory of a limit: with less, most processes cannot even start.
pub const MIN_LIMIT_MEMORY: u64 = 16 << 20;
/// The most memory of a limit.
pub const MAX_LIMIT_MEMORY: u64 = 1 << 50;

/// How much each replica of a component may use; `None`: as much as there is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// CPUs on average over a period; 0.5 is half of one.
    pub cpus: Option<f64>,
    /// In bytes.
    pub memory: Option<u64>,
}

impl Limits {
    /// Whether there is any limit.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.cpus.is_some() || self.memory.is_some()
    }
}

/// Limits as a system's file has them, which [`crate::System::limits`] reads: each an amount, `none` or `${parameter}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitTexts {
    pub cpus: Option<String>,
    pub memory: Option<String>,
}

/// A limit on CPUs; `Some(None)`: there is none. `None`: the text is no limit.
pub(crate) fn parse_cpus(text: &str) -> Option<Option<f64>> {
    if text == NO_LIMIT {
        return Some(None);
    }
    let (least, most) = LIMIT_CPUS;
    parse_number(text)
        .filter(|cpus| (least..=most).contains(cpus))
        .map(Some)
}

/// A limit on memory, likewise.
pub(crate) fn parse_memory(text: &str) -> Option<Option<u64>> {
    if text == NO_LIMIT {
        return Some(None);
    }
    parse_size(text)
        .filter(|bytes| (MIN_LIMIT_MEMORY..=MAX_LIMIT_MEMORY).contains(bytes))
        .map(Some)
}

#[cfg(test)]
mod tests {
    use super::{parse_cpus, parse_memory};

    #[test]
    fn amounts_are_within_bounds() {
        let check = |text: &str, expected: Option<Option<f64>>| {
            assert_eq!(parse_cpus(text), expected, "{text}");
        };
        check("0.5", Some(Some(0.5)));
        check("2", Some(Some(2.0)));
        check("none", Some(None));
        check("0.001", None);
        check("1025", None);
        check("50%", None);
        check("", None);
        let check = |text: &str, expected: Option<Option<u64>>| {
            assert_eq!(parse_memory(text), expected, "{text}");
        };
        check("64MiB", Some(Some(64 << 20)));
        check("none", Some(None));
        check("15MiB", None);
        check("64", None);
        check("1.5GiB", Some(Some(3 << 29)));
    }
}
