//! The part `network` of a study: a network of its own for each trial.

use std::{collections::BTreeMap, time::Duration};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Level, System,
    at::{At, Bounds, Key, Place},
    check::Checker,
    network::parse_bit_rate,
    raw::{DurationText, Share, UseSystem},
    tree::quote,
};

/// The network between the load and the system: each trial has a network of its own, on this machine, which nothing else uses.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    /// The highest rate of all packets together, both ways, e.g. `100mbit` (kbit, mbit or gbit per second); or `none`, the default.
    pub rate: Key<Level>,
    /// Each packet arrives later by this, so a round trip takes twice as long; none by default. It needs netem in the kernel.
    pub delay: Key<DurationText>,
    /// The share of packets that are lost, e.g. `0.1%`; none by default. It needs netem in the kernel.
    pub loss: Key<Share>,
    /// The largest packet in bytes. By default 1500 with a rate, a delay or a loss; else 65536, as on the loopback interface.
    #[schemars(range(min = 576, max = 65536))]
    pub mtu: Key<u32>,
    /// Settings of the kernel for this network, e.g. `net.core.somaxconn: 128`.
    pub sysctl: Key<IndexMap<String, At<Level>>>,
}

const RATE: &str = "a rate from 8kbit to 32gbit, e.g. 100mbit, or none";
const DELAY: Bounds = Bounds(Duration::ZERO, Duration::from_secs(10));
/// More packets than this are not lost: no connection would be opened.
const MAX_LOSS: f64 = 0.5;
/// Most settings of the kernel, and the longest value of one.
const MAX_SETTINGS: usize = 64;
const MAX_VALUE_BYTES: usize = 256;

/// `None`: something in it is wrong, which is reported.
pub(crate) fn network(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Network>,
    system: Option<&System>,
    of_system: Option<&UseSystem>,
) -> Option<crate::Network> {
    refuse_elsewhere(checker, place, system, of_system);
    let rate = keys.rate.check(|given| rate(checker, given));
    let delay = (keys.delay).check_bounds(Duration::ZERO, DELAY, &mut checker.findings);
    let loss = loss(checker, &keys.loss);
    let sysctl = settings(checker, &keys.sysctl);
    Some(crate::Network {
        rate_bits_per_s: rate?.flatten(),
        delay: delay?,
        loss: loss?,
        mtu: keys.mtu.check(|mtu| Some(mtu.value))?,
        sysctl: sysctl?,
    })
}

/// A system that runs already, or a part of it, is in another network.
fn refuse_elsewhere(
    checker: &mut Checker<'_>,
    place: &Place,
    system: Option<&System>,
    of_system: Option<&UseSystem>,
) {
    let with = match (system, of_system) {
        (Some(system), _) if system.external.is_some() => "system.url",
        (_, Some(raw)) if raw.external.entries().next().is_some() => "system.external",
        _ if of_system.is_some_and(|raw| raw.kubeconfig.is_some()) => "system.kubeconfig",
        _ => return,
    };
    let why = format!("cannot be combined with {with}: what runs already has its network");
    checker.report(
        place
            .key_mistake(why)
            .with_expected("a system that waggle starts whole"),
    );
}

/// `Some(None)`: there is no limit.
#[expect(clippy::option_option, reason = "invalid, none, or a rate")]
fn rate(checker: &mut Checker<'_>, given: &At<Level>) -> Option<Option<u64>> {
    let text = given.value.to_string();
    let rate = parse_bit_rate(&text);
    if rate.is_none() {
        let mistake = given.place.mistake(format!("is {}", quote(&text)));
        checker.report(mistake.with_expected(RATE));
    }
    rate
}

fn loss(checker: &mut Checker<'_>, given: &Key<Share>) -> Option<f64> {
    let Share(loss) = given.or_default(Share(0.0))?;
    if (0.0..=MAX_LOSS).contains(&loss) {
        return Some(loss);
    }
    let place = &given.content()?.place;
    let mistake = place.mistake(format!("is {} %", loss * 100.0));
    checker.report(mistake.with_expected("0% to 50%"));
    None
}

fn settings(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<Level>>>,
) -> Option<BTreeMap<String, String>> {
    let sysctl = match given {
        Key::Missing => return Some(BTreeMap::new()),
        Key::Invalid => return None,
        Key::Given(sysctl) => sysctl,
    };
    let settings = sysctl.value.iter();
    let settings: Vec<_> = settings
        .map(|(name, level)| setting(checker, &sysctl.place, name, level))
        .collect();
    if settings.len() > MAX_SETTINGS {
        let what = format!("has {} settings", settings.len());
        let expected = format!("at most {MAX_SETTINGS}");
        checker.report(sysctl.place.key_mistake(what).with_expected(expected));
    }
    settings.into_iter().collect()
}

/// A setting of the kernel by name and value.
fn setting(
    checker: &mut Checker<'_>,
    around: &Place,
    name: &str,
    level: &At<Level>,
) -> Option<(String, String)> {
    let is_word = |part: &str| {
        let mut bytes = part.bytes();
        !part.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let mut parts = name.split('.');
    if parts.next() != Some("net") || parts.clone().next().is_none() || !parts.all(is_word) {
        let mistake = around.mistake_in(level.place.key, format!("has {}", quote(name)));
        let expected = "the name of a setting of the network, e.g. net.core.somaxconn";
        checker.report(mistake.with_expected(expected));
        return None;
    }
    let value = level.value.to_string();
    let is_fit = value.len() <= MAX_VALUE_BYTES && !value.chars().any(char::is_control);
    if !is_fit || value.trim().is_empty() || matches!(level.value, Level::Boolean(_)) {
        let mistake = level.place.mistake(format!("is {}", quote(&value)));
        let expected = "a number, or numbers with spaces between them";
        checker.report(mistake.with_expected(expected));
        return None;
    }
    Some((name.to_owned(), value))
}
