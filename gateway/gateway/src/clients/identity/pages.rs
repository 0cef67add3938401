//! Requests that a browser sends for a web page of another origin, or to a name that is not the gateway's.
//!
//! A browser sends simple requests to any address without asking first, so a page that somebody in a plant's network opens could
//! write. It says so in `Origin` and `Sec-Fetch-Site`. A page that makes its own name point to the gateway (DNS rebinding) counts as
//! the same origin, but names itself in `Host`.

use waggle_wire::http1::request::Sender;

/// The names of the gateway, and the origins of the pages that may send requests.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Empty if the gateway may have any name.
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
}

/// Refuses a request from a page that is not allowed, or to a host that is not; with status and reason.
pub(super) fn check(sender: &Sender<'_>, pages: &Pages) -> Result<(), (u16, &'static str)> {
    let hosts = &pages.hosts;
    let host = sender.host.unwrap_or_default();
    let is_host = |allowed: &String| name(host).eq_ignore_ascii_case(allowed.as_bytes());
    if !hosts.is_empty() && !hosts.iter().any(is_host) {
        return Err((421, "the Host is not one of this gateway (--allowed-hosts)"));
    }
    let is_foreign = match sender.origin {
        Some(origin) => {
            let is_same = |allowed: &String| origin.eq_ignore_ascii_case(allowed.as_bytes());
            !is_own(origin, host) && !pages.origins.iter().any(is_same)
        }
        None => sender.fetch_site == Some(b"cross-site"),
    };
    if is_foreign {
        return Err((
            403,
            "a web page of another origin may not send requests (--allowed-origins)",
        ));
    }
    Ok(())
}

/// A host without its port.
fn name(host: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', host) {
        Some(colon) if !host.ends_with(b"]") => &host[..colon],
        _ => host,
    }
}

/// Whether an origin is that of the host to which the request goes.
fn is_own(origin: &[u8], host: &[u8]) -> bool {
    let schemes = [b"http://".as_slice(), b"https://"];
    let authority = schemes
        .iter()
        .find_map(|scheme| origin.strip_prefix(*scheme));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}
