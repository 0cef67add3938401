//! The network of a trial: what is between the load and the system.

use std::{collections::BTreeMap, time::Duration};

use waggle_units::parse_number;

/// Instead of a rate: there is no limit.
pub(crate) const NO_RATE: &str = "none";
/// The lowest and the highest rate, in bits per second.
const RATE_BITS: (f64, f64) = (8e3, 32e9);
/// The largest packet of a network that is like a link between two machines.
const LINK_MTU: u32 = 1500;
/// The largest packet of the loopback interface.
const LOOPBACK_MTU: u32 = 65_536;

/// A network of a trial's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// The highest rate of all packets together, in bits per second; `None`: there is no limit.
    pub rate_bits_per_s: Option<u64>,
    /// Each packet arrives later by this.
    pub delay: Duration,
    /// The share of packets that are lost.
    pub loss: f64,
    /// The largest packet in bytes, if the study sets it.
    pub mtu: Option<u32>,
    /// Settings of the kernel by their names, such as `net.core.somaxconn`.
    pub sysctl: BTreeMap<String, String>,
}

impl Network {
    /// Whether packets are slowed down or lost.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.rate_bits_per_s.is_some() || self.needs_netem()
    }

    /// Whether it needs the kernel's network emulator.
    #[must_use]
    pub fn needs_netem(&self) -> bool {
        !self.delay.is_zero() || self.loss > 0.0
    }

    /// The largest packet in bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        let default = match self.is_link() {
            true => LINK_MTU,
            false => LOOPBACK_MTU,
        };
        self.mtu.unwrap_or(default)
    }
}

/// A rate such as `100mbit`, in bits per second; `Some(None)`: there is no limit. `None`: the text is no rate.
pub(crate) fn parse_bit_rate(text: &str) -> Option<Option<u64>> {
    if text == NO_RATE {
        return Some(None);
    }
    let units = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];
    let (number, unit) = units
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    let bits = parse_number(number.trim_end())? * unit;
    let (least, most) = RATE_BITS;
    (least..=most)
        .contains(&bits)
        .then(|| Some(bits.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::parse_bit_rate;

    #[test]
    fn rates_have_a_unit_and_bounds() {
        let check = |text: &str, expected: Option<Option<u64>>| {
            assert_eq!(parse_bit_rate(text), expected, "{text}");
        };
        check("none", Some(None));
        check("100mbit", Some(Some(100_000_000)));
        check("1.5 gbit", Some(Some(1_500_000_000)));
        check("8kbit", Some(Some(8_000)));
        check("7kbit", None);
        check("33gbit", None);
        check("100", None);
        check("100MB", None);
        check("-1mbit", None);
        check("mbit", None);
    }
}
