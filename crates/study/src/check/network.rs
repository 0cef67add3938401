//! The network of a trial.

use std::{collections::BTreeMap, time::Duration};

use super::{Checker, path_text};
use crate::{Level, Network, System, mistake::Finding, network::parse_bit_rate, raw, tree::quote};

const RATE: &str = "a rate from 8kbit to 32gbit, e.g. 100mbit, or none";
const MAX_DELAY: Duration = Duration::from_secs(10);
/// More packets than this are not lost: no connection would be opened.
const MAX_LOSS: f64 = 0.5;
/// Most settings of the kernel, and the longest value of one.
const MAX_SETTINGS: usize = 64;
const MAX_VALUE_BYTES: usize = 256;

/// `Some(None)`: the trials have no network of their own; `None`: something in it is wrong, which is reported.
pub(crate) fn network(
    checker: &mut Checker<'_>,
    raw: Option<&raw::Network>,
    system: Option<&System>,
    of_system: Option<&raw::UseSystem>,
) -> Option<Option<Network>> {
    let Some(raw) = raw else {
        return checker.value_or_default(None, &["network"], None);
    };
    refuse_elsewhere(checker, system, of_system);
    let rate = rate(checker, raw.rate.as_ref());
    let delay = raw.delay.map(|raw::DurationText(time)| time);
    let path = ["network", "delay"];
    let delay = checker
        .value_or_default(delay, &path, Duration::ZERO)
        .and_then(|time| checker.check_bounds(time, &path, (Duration::ZERO, MAX_DELAY)));
    let loss = loss(checker, raw.loss);
    let mtu = checker.value_or_default(raw.mtu.map(Some), &["network", "mtu"], None);
    let sysctl = raw.sysctl.iter().flatten();
    let settings: Vec<_> = sysctl
        .map(|(name, level)| setting(checker, name, level))
        .collect();
    if settings.len() > MAX_SETTINGS {
        let what = format!("network.sysctl has {} settings", settings.len());
        let position = checker.key(&["network", "sysctl"]);
        let expected = format!("at most {MAX_SETTINGS}");
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    let sysctl: Option<BTreeMap<String, String>> = settings.into_iter().collect();
    Some(Some(Network {
        rate_bits_per_s: rate?,
        delay: delay?,
        loss: loss?,
        mtu: mtu?,
        sysctl: sysctl.filter(|_| !checker.is_invalid(&["network", "sysctl"]))?,
    }))
}

/// A system that runs already, or a part of it, is in another network.
fn refuse_elsewhere(
    checker: &mut Checker<'_>,
    system: Option<&System>,
    of_system: Option<&raw::UseSystem>,
) {
    let external = of_system.and_then(|raw| raw.external.as_ref());
    let what = match (system, external) {
        (Some(system), _) if system.external.is_some() => "system.url",
        (_, Some(external)) if !external.is_empty() => "system.external",
        _ if of_system.is_some_and(|raw| raw.kubeconfig.is_some()) => "system.kubeconfig",
        _ => return,
    };
    let what = format!("network cannot be combined with {what}: what runs already has its network");
    checker.report(
        Finding::new(checker.key(&["network"]), what)
            .with_expected("a system that waggle starts whole"),
    );
}

fn rate(checker: &mut Checker<'_>, level: Option<&Level>) -> Option<Option<u64>> {
    let path = ["network", "rate"];
    let Some(level) = level else {
        return checker.value_or_default(None, &path, None);
    };
    let text = level.to_string();
    let rate = parse_bit_rate(&text);
    if rate.is_none() {
        let what = format!("network.rate is {}", quote(&text));
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(RATE));
    }
    rate
}

fn loss(checker: &mut Checker<'_>, raw: Option<raw::Share>) -> Option<f64> {
    let path = ["network", "loss"];
    let loss = checker.value_or_default(raw.map(|raw::Share(share)| share), &path, 0.0)?;
    if (0.0..=MAX_LOSS).contains(&loss) {
        return Some(loss);
    }
    let what = format!("network.loss is {} %", loss * 100.0);
    checker.report(Finding::new(checker.position_of(&path), what).with_expected("0% to 50%"));
    None
}

/// A setting of the kernel by name and value.
fn setting(checker: &mut Checker<'_>, name: &str, level: &Level) -> Option<(String, String)> {
    let path = ["network", "sysctl", name];
    let is_word = |part: &str| {
        let mut bytes = part.bytes();
        !part.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let mut parts = name.split('.');
    if parts.next() != Some("net") || parts.clone().next().is_none() || !parts.all(is_word) {
        let what = format!("network.sysctl has {}", quote(name));
        checker.report(
            Finding::new(checker.key(&path), what)
                .with_expected("the name of a setting of the network, e.g. net.core.somaxconn"),
        );
        return None;
    }
    let value = level.to_string();
    let is_fit = value.len() <= MAX_VALUE_BYTES && !value.chars().any(char::is_control);
    if !is_fit || value.trim().is_empty() || matches!(level, Level::Boolean(_)) {
        let what = format!("{} is {}", path_text(&path), quote(&value));
        checker.report(
            Finding::new(checker.position_of(&path), what)
                .with_expected("a number, or numbers with spaces between them"),
        );
        return None;
    }
    Some((name.to_owned(), value))
}
