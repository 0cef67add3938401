//! The addresses from which connections of the load come.

use std::net::{IpAddr, Ipv4Addr};

use crate::{
    at::{At, Key},
    check::Checker,
    tree::quote,
};

/// Most addresses of a load.
const MAX_ADDRESSES: usize = 1024;
const EXPECTED: &str =
    "an address of this machine, e.g. 127.0.0.2, or a range of them, e.g. 127.0.0.2-127.0.0.9";

/// The addresses in the order of the study, each once.
pub(crate) fn source_addresses(
    checker: &mut Checker<'_>,
    given: &Key<Vec<String>>,
) -> Option<Vec<IpAddr>> {
    let At { place, value } = match given {
        Key::Missing => return Some(Vec::new()),
        Key::Invalid => return None,
        Key::Given(addresses) => addresses,
    };
    let before = checker.findings.len();
    let mut addresses = Vec::new();
    for text in value {
        let what = match parse(text) {
            None => format!("has {}", quote(text)),
            Some(range) => {
                let again = range.iter().find(|address| addresses.contains(*address));
                let again = again.copied();
                addresses.extend(range);
                match again {
                    Some(again) => format!("has {again} twice"),
                    None => continue,
                }
            }
        };
        checker.report(place.mistake(what).with_expected(EXPECTED));
    }
    if addresses.len() > MAX_ADDRESSES {
        let mistake = place.key_mistake(format!("has {} addresses", addresses.len()));
        checker.report(mistake.with_expected(format!("at most {MAX_ADDRESSES}")));
    }
    let is_v6 = |address: &IpAddr| address.is_ipv6();
    if addresses.iter().any(is_v6) && !addresses.iter().all(is_v6) {
        let mistake = place.key_mistake("has addresses of IPv4 and of IPv6");
        checker.report(mistake.with_expected("one of the two"));
    }
    (checker.findings.len() == before).then_some(addresses)
}

/// One address, or a range of IPv4 addresses with both of its ends; not more of them than is worth a message.
fn parse(text: &str) -> Option<Vec<IpAddr>> {
    let Some((first, last)) = text.split_once('-') else {
        return Some(vec![text.trim().parse().ok()?]);
    };
    let end = |text: &str| {
        let address: Option<Ipv4Addr> = text.trim().parse().ok();
        address.map(u32::from)
    };
    let range = end(first)?..=end(last)?;
    let addresses = range.map(|bits| IpAddr::from(Ipv4Addr::from(bits)));
    let addresses: Vec<IpAddr> = addresses.take(MAX_ADDRESSES + 1).collect();
    (!addresses.is_empty()).then_some(addresses)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_range_has_both_of_its_ends() {
        let check = |text: &str, expected: Option<&[&str]>| {
            let range = parse(text);
            let expected = expected.map(|texts| {
                let addresses = texts.iter().map(|text| text.parse().unwrap());
                addresses.collect::<Vec<_>>()
            });
            assert_eq!(range, expected, "{text}");
        };
        check("127.0.0.2", Some(&["127.0.0.2"]));
        check("::1", Some(&["::1"]));
        check(
            "127.0.0.254-127.0.1.1",
            Some(&["127.0.0.254", "127.0.0.255", "127.0.1.0", "127.0.1.1"]),
        );
        check("127.0.0.3 - 127.0.0.2", None);
        check("localhost", None);
        check("127.0.0.1/8", None);
        check("", None);
    }
}
