//! The parts of a URL that requests are sent to.

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use url::{Host, Position, Url};

/// The parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Without name and password.
    pub url: String,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// Over TLS.
    pub is_secure: bool,
    /// For the Host header: as in the URL.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// `NAME:PASSWORD`, if the URL has one.
    pub user: Option<String>,
}

impl Target {
    /// Parses a URL; the default scheme is http.
    pub fn parse(text: &str) -> Result<Self> {
        let whole = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let text = &display_url(text);
        let mut url = Url::parse(&whole).with_context(|| format!("{text:?} is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            bail!(
                "the scheme of {text:?} is {:?}; expected http or https",
                url.scheme()
            );
        }
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => bail!("{text:?} has no host"),
        };
        let port = match url.port_or_known_default() {
            Some(0) | None => bail!("port 0 in {text:?} is not valid"),
            Some(port) => port,
        };
        let user = user(&url)?;
        let without = "a URL with a host takes any name, password and fragment";
        url.set_username("").expect(without);
        url.set_password(None).expect(without);
        url.set_fragment(None);
        let path = &url[Position::BeforePath..];
        Ok(Self {
            is_secure: url.scheme() == "https",
            authority: url[Position::BeforeHost..Position::AfterPort].to_owned(),
            path: path.to_owned(),
            host,
            port,
            user,
            url: url.into(),
        })
    }

    /// `http://HOST:PORT`, without the default port of the scheme.
    pub fn origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

/// The scheme and host of a URL, for messages: name, password, path and query may contain secrets.
pub fn display_url(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |scheme| scheme + 3));
    let end = |text: &str| text.find(['/', '?', '#']).unwrap_or(text.len());
    // If the password has such a character, everything up to the last @ may be part of it.
    let user = rest[..end(rest)].rfind('@').or_else(|| rest.rfind('@'));
    let host = &rest[user.map_or(0, |user| user + 1)..];
    format!("{scheme}{}", &host[..end(host)])
}

/// The value of an Authorization header for HTTP Basic (RFC 7617).
pub fn basic(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(user))
}

/// `NAME:PASSWORD` of a URL, `%41` → `A`; without a colon, an empty password.
fn user(url: &Url) -> Result<Option<String>> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let decoded = |text| {
        percent_decode_str(text)
            .decode_utf8()
            .context("the name and password of the URL are not UTF-8")
    };
    let name = decoded(url.username())?;
    let password = url.password().map(decoded).transpose()?;
    Ok(Some(format!("{name}:{}", password.unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        let check = |text: &str, expected: (&str, &str, u16, &str, &str)| {
            let target = Target::parse(text).unwrap();
            let parts = (
                &*target.url,
                &*target.host,
                target.port,
                &*target.authority,
                &*target.path,
            );
            assert_eq!(parts, expected, "{text}");
        };
        check(
            "localhost:8080",
            (
                "http://localhost:8080/",
                "localhost",
                8080,
                "localhost:8080",
                "/",
            ),
        );
        check("https://a/", ("https://a/", "a", 443, "a", "/"));
        check(
            "http://a/b?c=d#e",
            ("http://a/b?c=d", "a", 80, "a", "/b?c=d"),
        );
        check("http://a?q=1", ("http://a/?q=1", "a", 80, "a", "/?q=1"));
        check(
            "http://[::1]:81/x",
            ("http://[::1]:81/x", "::1", 81, "[::1]:81", "/x"),
        );
        check("[::1]", ("http://[::1]/", "::1", 80, "[::1]", "/"));
        check("http://me:pw@h/", ("http://h/", "h", 80, "h", "/"));
        // As in every client: what is the same is written in the same way.
        check("HTTP://A:80", ("http://a/", "a", 80, "a", "/"));
        check(
            "http://a/b/../c d",
            ("http://a/c%20d", "a", 80, "a", "/c%20d"),
        );
        let unicode = "http://xn--bcher-kva.example/";
        let host = "xn--bcher-kva.example";
        check("http://bücher.example", (unicode, host, 80, host, "/"));
    }

    #[test]
    fn invalid_urls_are_refused() {
        for text in [
            "",
            "http://",
            "ftp://a/",
            "http://a:0/",
            "http://a b/",
            "http://a:99999/",
        ] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn messages_show_no_password() {
        let check = |text: &str| {
            let mistake = format!("{:#}", Target::parse(text).unwrap_err());
            assert!(!mistake.contains("secret"), "{mistake}");
        };
        check("ftp://me:secret@a/");
        check("http://me:secret@a:0/");
        check("http://me:secret@a b/");
        check("me:secret@a:99999/x@y");
        check("http://a:99999/x?token=secret");
        check("http://me:se/secret@a:99999/");
        check("http://me:secret@/");
        check("http://me:%ff%secret@a/");
    }

    #[test]
    fn name_and_password_are_decoded() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(
                Target::parse(url).unwrap().user.as_deref(),
                expected,
                "{url}"
            );
        };
        check("http://h/", None);
        check("http://me:pw@h/", Some("me:pw"));
        check("http://me@h/", Some("me:"));
        check("http://m%40e:p%3Aw@h/", Some("m@e:p:w"));
        check("http://m%4@h/", Some("m%4:"));
        assert!(Target::parse("http://m%ff@h/").is_err());
        assert_eq!(
            basic("Aladdin:open sesame"),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
    }
}
