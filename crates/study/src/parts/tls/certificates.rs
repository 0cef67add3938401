//! The part `certificates` of a system: whom they are for.

use std::net::IpAddr;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    at::{At, Key},
    check::Checker,
    tree::quote,
};

/// A certificate of a system, valid for localhost, 127.0.0.1 and ::1, for a server as for a client.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Certificate {
    /// The common name of its subject; by default the name under which it stands here.
    pub common_name: Key<String>,
    /// The organizations of its subject, e.g. `[system:masters]`.
    #[schemars(length(max = 16))]
    pub organizations: Key<Vec<At<String>>>,
    /// Further DNS names and addresses for which it is valid.
    #[schemars(length(max = 64))]
    pub hosts: Key<Vec<At<String>>>,
}

/// Longest common name and organization of a certificate (RFC 5280).
const SUBJECT_MAX_CHARS: usize = 64;
/// Longest name of a host (RFC 1035).
const HOST_MAX_BYTES: usize = 253;

/// Every certificate of the system.
pub(crate) fn certificates(
    checker: &mut Checker<'_>,
    given: Option<&IndexMap<String, At<Certificate>>>,
) -> Vec<crate::Certificate> {
    let given = given.into_iter().flatten();
    given
        .map(|(name, given)| certificate(checker, name, given))
        .collect()
}

fn certificate(
    checker: &mut Checker<'_>,
    name: &str,
    At { place, value: keys }: &At<Certificate>,
) -> crate::Certificate {
    let organizations = keys.organizations.value().map_or(&[][..], Vec::as_slice);
    let hosts = keys.hosts.value().map_or(&[][..], Vec::as_slice);
    for text in keys.common_name.content().into_iter().chain(organizations) {
        let is_usable = !text.value.is_empty()
            && text.value.chars().count() <= SUBJECT_MAX_CHARS
            && !text.value.contains(char::is_control);
        if !is_usable {
            let what = format!("has {} in its subject", quote(&text.value));
            let mistake = place.mistake_in(text.place.value, what);
            checker.report(mistake.with_expected(format!("1 to {SUBJECT_MAX_CHARS} characters")));
        }
    }
    for host in hosts.iter().filter(|host| !is_host(&host.value)) {
        let what = format!("has the host {}", quote(&host.value));
        let expected = "a DNS name or an address, e.g. api.example.org or 10.0.0.1";
        let mistake = place.mistake_in(host.place.value, what);
        checker.report(mistake.with_expected(expected));
    }
    let texts = |given: &[At<String>]| given.iter().map(|text| text.value.clone()).collect();
    crate::Certificate {
        name: name.to_owned(),
        common_name: keys
            .common_name
            .or_default(name.to_owned())
            .unwrap_or_default(),
        organizations: texts(organizations),
        hosts: texts(hosts),
    }
}

/// Whether a text is the name or the address of a host.
pub(crate) fn is_host(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    let is_name = !text.is_empty() && text.len() <= HOST_MAX_BYTES && text.bytes().all(is_letter);
    is_name || text.parse::<IpAddr>().is_ok()
}
