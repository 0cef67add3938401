//! Sentences about networks of trials.

use waggle_analysis::{Model, as_f64};

use super::{
    format::{self, Unit},
    methodology::Fact,
};

/// What a network of a trial's own is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Link<'a> {
    pub rate_bits_per_s: Option<u64>,
    pub delay_s: f64,
    /// Share of packets.
    pub loss: f64,
    pub mtu: u32,
    pub sysctl: Vec<(&'a str, &'a str)>,
}

impl Link<'_> {
    /// `100 Mbit/s, 1 ms each way, 0.1 % of packets lost, packets of 1,500 B, net.core.somaxconn = 128`
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut parts = Vec::new();
        parts.push(match self.rate_bits_per_s {
            Some(bits) => format!("{} for both ways together", bit_rate(bits)),
            None => "no limit of the rate".to_owned(),
        });
        if self.delay_s > 0.0 {
            let delay = Unit::Time.show(self.delay_s * 1e6);
            parts.push(format!("a delay of {delay} each way"));
        }
        if self.loss > 0.0 {
            parts.push(format!("{} of the packets lost", format::share(self.loss)));
        }
        parts.push(format!(
            "packets of {} B",
            format::count(u64::from(self.mtu))
        ));
        let settings = self.sysctl.iter();
        parts.extend(settings.map(|(name, value)| format!("{name} = {value}")));
        parts.join(", ")
    }
}

/// The network of the trials, each kind with its cells if there are several.
pub(crate) fn fact(model: &Model) -> Option<Fact> {
    let mut kinds: Vec<(String, Vec<u32>)> = Vec::new();
    for trial in &model.trials {
        let Some(network) = &trial.network else {
            continue;
        };
        let sysctl = network.sysctl.iter();
        let link = Link {
            rate_bits_per_s: network.rate_bits_per_s,
            delay_s: network.delay_s,
            loss: network.loss,
            mtu: network.mtu,
            sysctl: sysctl
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
        };
        let sentence = link.sentence();
        let cell = trial.key.cell;
        match kinds.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, cells)) if cells.contains(&cell) => {}
            Some((_, cells)) => cells.push(cell),
            None => kinds.push((sentence, vec![cell])),
        }
    }
    let text = match &kinds[..] {
        [] => return None,
        [(only, _)] => only.clone(),
        several => {
            let kind = |(sentence, cells): &(String, Vec<u32>)| {
                let mut cells = cells.clone();
                cells.sort_unstable();
                let cells: Vec<String> = cells.iter().map(u32::to_string).collect();
                format!("in cells {}: {sentence}", cells.join(", "))
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
    use super::Link;

    #[test]
    fn a_network_is_described_by_what_it_has() {
        let check = |link: Link<'_>, expected: &str| assert_eq!(link.sentence(), expected);
        let plain = Link {
            rate_bits_per_s: None,
            delay_s: 0.0,
            loss: 0.0,
            mtu: 65_536,
            sysctl: Vec::new(),
        };
        check(plain.clone(), "no limit of the rate, packets of 65,536 B");
        let slow = Link {
            rate_bits_per_s: Some(100_000_000),
            delay_s: 0.001,
            loss: 0.001,
            mtu: 1500,
            sysctl: vec![("net.core.somaxconn", "128")],
        };
        let expected = "100 Mbit/s for both ways together, a delay of 1.00 ms each way, 0.100 % of the packets lost, packets of 1,500 B, \
                        net.core.somaxconn = 128";
        check(slow, expected);
        let gigabit = Link {
            rate_bits_per_s: Some(1_500_000_000),
            ..plain
        };
        check(
            gigabit,
            "1.5 Gbit/s for both ways together, packets of 65,536 B",
        );
    }
}
