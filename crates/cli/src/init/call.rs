//! What every source is turned into: calls of one server, ready to be written as a study.

use anyhow::{Result, bail};

/// Header fields that the engine writes itself, or that belong to one connection or browser only.
const OWN_FIELDS: [&str; 14] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "expect",
    "proxy-connection",
    "upgrade-insecure-requests",
    "if-none-match",
    "if-modified-since",
    "priority",
];

/// One call of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// Letters, digits, `-` and `_`; not unique yet.
    pub(crate) name: String,
    pub(crate) method: String,
    /// `http://host:port`.
    pub(crate) origin: String,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Names of headers that are secret, whatever they are called.
    pub(crate) secret_fields: Vec<String>,
    pub(crate) body: Option<String>,
    /// The status that was seen, where one was.
    pub(crate) status: Option<u16>,
    /// The pause before it, in milliseconds, where one was seen.
    pub(crate) pause_ms: Option<u64>,
}

/// What was found in a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) calls: Vec<Call>,
    /// Calls that belong together in their order (one session), or each for itself.
    pub(crate) is_session: bool,
    /// What was left out, and why; a line each.
    pub(crate) left_out: Vec<String>,
    /// How long one session takes, its pauses with it, in milliseconds, where that was seen.
    pub(crate) session_ms: Option<u64>,
    /// Options of the source that mean something for the whole study: a certificate that is not checked.
    pub(crate) is_insecure: bool,
}

/// A URL as it is shown to people: without a user, query or fragment, where secrets stand.
pub(crate) fn shown_url(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let bare = &url[..end];
    let (scheme, rest) = match bare.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), bare),
    };
    let authority = rest.find('/').unwrap_or(rest.len());
    let from = rest[..authority].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}{}", super::mask::text(&rest[from..]).text)
}

/// Splits a URL into its origin and path with query. Without a scheme, http is meant.
pub(crate) fn split_url(text: &str) -> Result<(String, String, Option<String>)> {
    let whole = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let without_fragment = whole.split('#').next().unwrap_or_default();
    let (scheme, rest) = without_fragment
        .split_once("://")
        .unwrap_or(("http", without_fragment));
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        let shown = shown_url(text);
        bail!("the scheme of {shown:?} is {scheme:?}; expected http or https");
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user.to_owned()), host),
        None => (None, authority),
    };
    if host.is_empty() {
        bail!("{:?} names no host", shown_url(text));
    }
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Ok((
        format!("{scheme}://{}", host.to_ascii_lowercase()),
        path,
        user,
    ))
}

/// The origin that most calls go to, the first of them where several have as many; `None` without calls.
pub(crate) fn most_called<'a>(calls: impl Iterator<Item = &'a Call>) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for call in calls {
        match counts.iter_mut().find(|(origin, _)| *origin == call.origin) {
            Some((_, count)) => *count += 1,
            None => counts.push((&call.origin, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let (origin, _) = counts.iter().find(|(_, count)| *count == most)?;
    Some((*origin).to_owned())
}

/// Whether the engine writes this field itself, or it means nothing outside a browser.
pub(crate) fn is_own_field(name: &str) -> bool {
    name.starts_with(':')
        || name.to_ascii_lowercase().starts_with("sec-")
        || OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Whether this can be the name of a header (RFC 9110: a token).
pub(crate) fn is_field_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

/// A name for a call: its method and the words of its path, as thresholds and tables can use it.
pub(crate) fn name_of(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let words: Vec<String> = path
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() <= 24)
        .filter(|word| !word.chars().all(|character| character.is_ascii_digit()))
        .map(str::to_ascii_lowercase)
        .collect();
    let tail = words.iter().rev().take(3).rev().cloned();
    let mut name = vec![method.to_ascii_lowercase()];
    name.extend(tail);
    name.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split() {
        let check = |text: &str, origin: &str, path: &str, user: Option<&str>| {
            let (found_origin, found_path, found_user) = split_url(text).unwrap();
            assert_eq!(
                (&*found_origin, &*found_path, found_user.as_deref()),
                (origin, path, user),
                "{text}"
            );
        };
        check(
            "http://a.example/b?c=d#e",
            "http://a.example",
            "/b?c=d",
            None,
        );
        check(
            "https://A.example:8443",
            "https://a.example:8443",
            "/",
            None,
        );
        check("localhost:80?x", "http://localhost:80", "/?x", None);
        check("http://u:p@h/", "http://h", "/", Some("u:p"));
        check("http://[::1]:80/x", "http://[::1]:80", "/x", None);
        assert!(split_url("ftp://h/").is_err() && split_url("http:///x").is_err());
    }

    #[test]
    fn calls_are_named_by_what_they_do() {
        let check = |method: &str, path: &str, expected: &str| {
            assert_eq!(name_of(method, path), expected);
        };
        check("GET", "/", "get");
        check("GET", "/orders/17", "get-orders");
        check(
            "PUT",
            "/api/v1/topics/plant/records?x=1",
            "put-topics-plant-records",
        );
    }

    #[test]
    fn fields_are_known_for_what_they_are() {
        assert!(is_own_field(":authority") && is_own_field("Sec-Fetch-Mode"));
        assert!(!is_own_field("content-type"));
    }
}
