//! Sentences about networks of trials.

use std::{borrow::Cow, collections::BTreeSet};

use waggle_analysis::{Model, as_f64};
use waggle_results::NetworkInfo;

use crate::words::{
    fact::Fact,
    format::{self, Unit},
};

/// `100 Mbit/s for both ways together, a delay of 1.00 ms each way, packets of 1,500 B, net.core.somaxconn = 128`
#[must_use]
pub fn sentence(network: &NetworkInfo) -> String {
    let mut parts = Vec::new();
    parts.push(match network.rate_bits_per_s {
        Some(bits) => format!("{} for both ways together", bit_rate(bits)),
        None => "no limit of the rate".to_owned(),
    });
    if network.delay_s > 0.0 {
        let delay = Unit::Time.show(network.delay_s * 1e6);
        parts.push(format!("a delay of {delay} each way"));
    }
    if network.loss > 0.0 {
        parts.push(format!(
            "{} of the packets lost",
            format::share(network.loss)
        ));
    }
    parts.push(format!(
        "packets of {} B",
        format::count(u64::from(network.mtu))
    ));
    let settings = network.sysctl.iter();
    parts.extend(settings.map(|(name, value)| format!("{name} = {value}")));
    parts.join(", ")
}

/// The different networks of cells, each with its sentence and its cells, in the order in which they first occur.
#[must_use]
pub fn kinds<'a>(
    networks: impl Iterator<Item = (u32, Cow<'a, NetworkInfo>)>,
) -> Vec<(String, BTreeSet<u32>)> {
    let mut kinds: Vec<(String, BTreeSet<u32>)> = Vec::new();
    for (cell, network) in networks {
        let sentence = sentence(&network);
        match kinds.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, cells)) => {
                cells.insert(cell);
            }
            None => kinds.push((sentence, BTreeSet::from([cell]))),
        }
    }
    kinds
}

/// The network of the trials, each kind with its cells if there are several.
pub(crate) fn fact(model: &Model) -> Option<Fact> {
    let trials = model.trials.iter();
    let networks = trials.filter_map(|trial| {
        let network = trial.info.network.as_ref()?;
        Some((trial.info.key.cell, Cow::Borrowed(network)))
    });
    let text = match &kinds(networks)[..] {
        [] => return None,
        [(only, _)] => only.clone(),
        several => {
            let kind = |(sentence, cells): &(String, BTreeSet<u32>)| {
                format!("in cells {}: {sentence}", ranges(cells))
            };
            let kinds: Vec<String> = several.iter().map(kind).collect();
            kinds.join("; ")
        }
    };
    let text = format!(
        "a network namespace for each trial, load and system on its loopback interface: {text}"
    );
    Some(("Network", text))
}

/// `1–3, 5, 8–9`
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    };
    let ranges: Vec<String> = ranges.iter().map(range).collect();
    ranges.join(", ")
}

/// `100 Mbit/s`
fn bit_rate(bits_per_s: u64) -> String {
    let bits = as_f64(bits_per_s);
    let (amount, unit) = match bits {
        bits if bits >= 1e9 => (bits / 1e9, "Gbit/s"),
        bits if bits >= 1e6 => (bits / 1e6, "Mbit/s"),
        bits => (bits / 1e3, "kbit/s"),
    };
    let amount = (amount * 1e3).round() / 1e3;
    format!("{amount} {unit}")
}

#[cfg(test)]
mod tests {
    use waggle_results::NetworkInfo;

    use super::{ranges, sentence};

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        let check = |numbers: &[u32], expected: &str| {
            assert_eq!(ranges(&numbers.iter().copied().collect()), expected);
        };
        check(&[], "");
        check(&[4], "4");
        check(&[9, 1, 2, 3, 5, 8], "1–3, 5, 8–9");
    }

    #[test]
    fn a_network_is_described_by_what_it_has() {
        let check = |network: NetworkInfo, expected: &str| assert_eq!(sentence(&network), expected);
        let plain = NetworkInfo {
            rate_bits_per_s: None,
            delay_s: 0.0,
            loss: 0.0,
            mtu: 65_536,
            sysctl: [].into(),
            counts: None,
        };
        check(plain.clone(), "no limit of the rate, packets of 65,536 B");
        let slow = NetworkInfo {
            rate_bits_per_s: Some(100_000_000),
            delay_s: 0.001,
            loss: 0.001,
            mtu: 1500,
            sysctl: [("net.core.somaxconn".to_owned(), "128".to_owned())].into(),
            ..plain.clone()
        };
        let expected = "100 Mbit/s for both ways together, a delay of 1.00 ms each way, 0.100 % of the packets lost, packets of 1,500 B, \
                        net.core.somaxconn = 128";
        check(slow, expected);
        let gigabit = NetworkInfo {
            rate_bits_per_s: Some(1_500_000_000),
            ..plain
        };
        check(
            gigabit,
            "1.5 Gbit/s for both ways together, packets of 65,536 B",
        );
    }
}
