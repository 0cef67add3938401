//! The cookies of one session: takes `Set-Cookie` lines and writes `Cookie` lines (RFC 6265).
//!
//! A scenario has one host: a cookie for another one is not kept. Times are seconds since 1970.

use std::{cmp::Reverse, net::IpAddr};

/// Most cookies of one session; the oldest is dropped for a new one.
const COOKIES_MAX: usize = 50;
/// Longer cookies are ignored; RFC 6265, section 6.1, requires this size.
const COOKIE_MAX_BYTES: usize = 4_096;
const MINUTE_S: i64 = 60;
const HOUR_S: i64 = 60 * MINUTE_S;
const DAY_S: i64 = 24 * HOUR_S;

/// A cookie jar.
#[derive(Debug, Clone, Default)]
pub struct Jar {
    /// In the order of arrival.
    cookies: Vec<Cookie>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    is_secure: bool,
    /// When it expires, in seconds since 1970; `None`: with the session.
    until: Option<i64>,
}

impl Jar {
    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
    }

    /// Takes the value of a `Set-Cookie` line in the answer to a request for `path` (its query is ignored); `hosts`: the server's names
    /// (their ports are ignored).
    pub fn set<H: AsRef<str>>(&mut self, line: &[u8], hosts: &[H], path: &[u8], now: i64) {
        if line.len() > COOKIE_MAX_BYTES {
            return;
        }
        let Some((cookie, domain)) = parse(line, path, now) else {
            return;
        };
        if !hosts.iter().any(|host| is_of(host.as_ref(), domain)) {
            return;
        }
        let is_gone = cookie.until.is_some_and(|until| until <= now);
        let old = self
            .cookies
            .iter()
            .position(|old| old.name == cookie.name && old.path == cookie.path);
        match old {
            Some(index) if is_gone => {
                self.cookies.remove(index);
            }
            Some(index) => self.cookies[index] = cookie,
            None if is_gone => {}
            None => {
                if self.cookies.len() == COOKIES_MAX {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
            }
        }
    }

    /// The value of the cookie of this name that came last.
    #[must_use]
    pub fn value(&self, name: &[u8], now: i64) -> Option<&[u8]> {
        let mut alive = self.cookies.iter().rev().filter(|cookie| cookie.lives(now));
        alive
            .find(|cookie| cookie.name == name)
            .map(|cookie| cookie.value.as_slice())
    }

    /// Appends the cookies of a request for `path`, `name=value` separated by `; `, longer cookie paths first; returns whether
    /// there were any.
    pub fn write(&self, path: &[u8], is_secure: bool, now: i64, out: &mut Vec<u8>) -> bool {
        let path = without_query(path);
        let mut sent: Vec<&Cookie> = self
            .cookies
            .iter()
            .filter(|cookie| {
                cookie.lives(now)
                    && (is_secure || !cookie.is_secure)
                    && is_below(path, &cookie.path)
            })
            .collect();
        sent.sort_by_key(|cookie| Reverse(cookie.path.len()));
        for (index, cookie) in sent.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
        !sent.is_empty()
    }
}

impl Cookie {
    fn lives(&self, now: i64) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// RFC 6265, section 5.3, steps 5 and 6: whether a cookie with this domain, empty if it has none, may come from a host. A domain
/// without a dot is a public suffix, as far as it is not the host itself.
fn is_of(host: &str, domain: &[u8]) -> bool {
    let host = without_port(host).to_ascii_lowercase();
    let domain = domain.strip_prefix(b".").unwrap_or(domain);
    let domain = domain.to_ascii_lowercase();
    if domain.is_empty() || host.as_bytes() == domain {
        return true;
    }
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let before = host.as_bytes().strip_suffix(&*domain);
    !is_address && domain.contains(&b'.') && before.is_some_and(|rest| rest.ends_with(b"."))
}

/// A host without its port; an address of IPv6 is in brackets.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// RFC 6265, section 5.2: the cookie, and its domain.
fn parse<'a>(line: &'a [u8], path: &[u8], now: i64) -> Option<(Cookie, &'a [u8])> {
    if line
        .iter()
        .any(|byte| byte.is_ascii_control() && *byte != b'\t')
    {
        return None;
    }
    let mut parts = line.split(|byte| *byte == b';');
    let (name, value) = pair(parts.next()?);
    let value = value?;
    if name.is_empty() {
        return None;
    }
    let mut cookie = Cookie {
        name: name.to_vec(),
        value: value.to_vec(),
        path: default_path(path).to_vec(),
        is_secure: false,
        until: None,
    };
    let (mut expires, mut max_age) = (None, None);
    let mut domain: &[u8] = b"";
    for (name, value) in parts.map(pair) {
        let value = value.unwrap_or_default();
        if name.eq_ignore_ascii_case(b"path") {
            let path = if value.starts_with(b"/") {
                value
            } else {
                default_path(path)
            };
            cookie.path = path.to_vec();
        } else if name.eq_ignore_ascii_case(b"domain") {
            // The last one counts; an empty one is none (section 5.2.3).
            if !value.is_empty() {
                domain = value;
            }
        } else if name.eq_ignore_ascii_case(b"secure") {
            cookie.is_secure = true;
        } else if name.eq_ignore_ascii_case(b"expires") {
            expires = date(value).or(expires);
        } else if name.eq_ignore_ascii_case(b"max-age") {
            max_age = seconds(value).or(max_age);
        }
    }
    cookie.until = max_age.map(|age| now.saturating_add(age)).or(expires);
    Some((cookie, domain))
}

fn pair(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match part.iter().position(|byte| *byte == b'=') {
        Some(separator) => (
            part[..separator].trim_ascii(),
            Some(part[separator + 1..].trim_ascii()),
        ),
        None => (part.trim_ascii(), None),
    }
}

/// A number of seconds; at least 0.
fn seconds(value: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match value {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let number = digits.iter().try_fold(0_i64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })?;
    match digits {
        [] => None,
        _ if is_negative => Some(0),
        _ => Some(number),
    }
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'?').next().unwrap_or_default()
}

/// RFC 6265, section 5.1.4: the path up to its last slash.
fn default_path(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) if slash > 0 && path.starts_with(b"/") => &path[..slash],
        _ => b"/",
    }
}

/// RFC 6265, section 5.1.4: whether a path is the cookie's or below it.
fn is_below(path: &[u8], cookie: &[u8]) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

/// RFC 6265, section 5.1.1: a date, with its parts in any order.
pub(super) fn date(text: &[u8]) -> Option<i64> {
    let is_delimiter = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b':');
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none() && token.contains(&b':') {
            time = Some(time_of_day(token)?);
        } else if day.is_none() && token.len() <= 2 && token[0].is_ascii_digit() {
            day = Some(number(token)?);
        } else if month.is_none() && !token[0].is_ascii_digit() {
            // The day of the week matches no month; it comes first.
            month = month_number(token);
        } else if year.is_none() && token[0].is_ascii_digit() {
            year = Some(number(token)?);
        }
    }
    let year = match year? {
        year @ 70..=99 => 1_900 + year,
        year @ 0..=69 => 2_000 + year,
        year @ 1_601..=9_999 => year,
        _ => return None,
    };
    let day = day.filter(|day| (1..=31).contains(day))?;
    Some(days_since_1970(year, month?, day) * DAY_S + time?)
}

fn time_of_day(token: &[u8]) -> Option<i64> {
    let mut parts = token.split(|byte| *byte == b':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = hour <= 23 && minute <= 59 && second <= 60;
    fits.then_some(hour * HOUR_S + minute * MINUTE_S + second)
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 4 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    seconds(digits)
}

/// From 1 to 12.
fn month_number(token: &[u8]) -> Option<i64> {
    const MONTHS: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let token = token.get(..3)?.to_ascii_lowercase();
    (1..)
        .zip(MONTHS.chunks(3))
        .find_map(|(number, name)| (name == token).then_some(number))
}

/// Years begin in March here, so that the leap day is the last one.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let months = (month + 9) % 12;
    let days_before_month = (153 * months + 2) / 5;
    365 * year + year / 4 - year / 100 + year / 400 + days_before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;
    const HOST: &str = "shop.example.org:8443";

    /// Lines that are set in order in answers to requests for `/a/b`; the cookies of a request for a path then, without and with
    /// TLS.
    fn check(lines: &[&str], path: &str, expected: [&str; 2]) {
        let mut jar = Jar::default();
        for line in lines {
            jar.set(line.as_bytes(), &[HOST], b"/a/b?c=/d/e", NOW);
        }
        let headers = [false, true].map(|is_secure| {
            let mut out = Vec::new();
            jar.write(path.as_bytes(), is_secure, NOW, &mut out);
            String::from_utf8(out).unwrap()
        });
        assert_eq!(headers, expected, "{lines:?} {path}");
    }

    #[test]
    fn cookies_are_sent_for_their_paths() {
        check(&["s=1"], "/a", ["s=1"; 2]);
        check(&["s=1"], "/a/x?y", ["s=1"; 2]);
        check(&["s=1"], "/ab", [""; 2]);
        check(&["s=1"], "/", [""; 2]);
        check(&["s=1; Path=/"], "/x", ["s=1"; 2]);
        check(&["s=1; path=x"], "/a/x", ["s=1"; 2]);
        check(&["s=1; Path=/x/"], "/x/y", ["s=1"; 2]);
        check(&["s=1; Path=/x/"], "/x", [""; 2]);
        check(&["s=1; Path=/; Secure; HttpOnly"], "/", ["", "s=1"]);
        check(&["s=\"a b\"; Path=/"], "/", ["s=\"a b\""; 2]);
        check(&["s=; Path=/", "t=2=3;path=/"], "/", ["s=; t=2=3"; 2]);
        check(&["s=1; Path=/", "t=2; Path=/a"], "/a", ["t=2; s=1"; 2]);
    }

    #[test]
    fn a_cookie_for_another_host_is_not_kept() {
        let check = |host: &str, domain: &str, is_kept: bool| {
            let mut jar = Jar::default();
            jar.set(
                format!("s=1; Domain={domain}").as_bytes(),
                &[host],
                b"/",
                NOW,
            );
            assert_eq!(jar.value(b"s", NOW).is_some(), is_kept, "{host} {domain}");
        };
        check("shop.example.org", "", true);
        check("shop.example.org", "shop.example.org", true);
        check("shop.example.org:80", "Example.org", true);
        check("shop.example.org", ".example.org", true);
        check("shop.example.org", "other.example", false);
        check("shop.example.org", "a.shop.example.org", false);
        check("myexample.org", "example.org", false);
        check("shop.example.org", "org", false);
        check("localhost:8080", "localhost", true);
        check("127.0.0.1:8080", "other.example", false);
        check("127.0.0.1:8080", "127.0.0.1", true);
        check("127.0.0.1", "0.0.1", false);
        check("[::1]:8080", "[::1]", true);
        check("[::1]:8080", "example.org", false);
        // A server that is called by an address and by the name of its Host header.
        let mut jar = Jar::default();
        let line = b"s=1; Domain=shop.example.org";
        jar.set(line, &["127.0.0.1:8080", HOST], b"/", NOW);
        assert!(jar.value(b"s", NOW).is_some());
        let two = "s=1; Domain=other.example; Domain=example.org";
        let mut jar = Jar::default();
        jar.set(two.as_bytes(), &[HOST], b"/", NOW);
        assert!(jar.value(b"s", NOW).is_some());
    }

    #[test]
    fn later_ones_replace_and_delete() {
        check(&["s=1", "s=2"], "/a", ["s=2"; 2]);
        check(&["s=1", "s=2; Path=/"], "/a", ["s=1; s=2"; 2]);
        check(&["s=1", "s=; Max-Age=0"], "/a", [""; 2]);
        check(&["s=1", "s=; Max-Age=-5"], "/a", [""; 2]);
        check(&["s=1", "s=; Max-Age=0; Path=/"], "/a", ["s=1"; 2]);
        check(&["s=1", "s=; Max-Age=x"], "/a", ["s="; 2]);
        let past = "s=; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        check(&["s=1", past], "/a", [""; 2]);
        let future = "s=2; Expires=Wed, 09-Jun-2032 10:18:14 GMT";
        check(&["s=1", future], "/a", ["s=2"; 2]);
        check(&[&format!("{future}; Max-Age=0")], "/a", [""; 2]);
    }

    #[test]
    fn invalid_cookies_are_ignored() {
        for line in ["", "s", "=1", "; Path=/", "s=\u{1}", "s=a\r\nX: y"] {
            check(&[line], "/a", [""; 2]);
        }
        let long = format!("s={}", "x".repeat(COOKIE_MAX_BYTES));
        check(&[&long], "/a", [""; 2]);
        let many: Vec<String> = (0..=COOKIES_MAX)
            .map(|n| format!("c{n}=; Path=/x"))
            .collect();
        let mut jar = Jar::default();
        for line in &many {
            jar.set(line.as_bytes(), &[HOST], b"/", NOW);
        }
        assert_eq!(jar.value(b"c0", NOW), None);
        assert_eq!(jar.value(b"c1", NOW), Some(&b""[..]));
    }

    #[test]
    fn a_cookie_lives_for_its_time() {
        let mut jar = Jar::default();
        jar.set(b"s=1; Max-Age=10", &[HOST], b"/", NOW);
        assert_eq!(jar.value(b"s", NOW + 9), Some(&b"1"[..]));
        assert_eq!(jar.value(b"s", NOW + 10), None);
        assert!(!jar.write(b"/", true, NOW + 10, &mut Vec::new()));
    }

    #[test]
    fn dates_are_read_as_servers_write_them() {
        let check = |text: &str, expected| assert_eq!(date(text.as_bytes()), expected, "{text}");
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
        check("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199));
        check("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200));
        check("Fri, 32 Mar 2024 00:00:00 GMT", None);
        check("Fri, 01 Mar 1600 00:00:00 GMT", None);
        check("Fri, 01 Mar 2024 24:00:00 GMT", None);
        check("tomorrow", None);
        check("0", None);
        check("", None);
    }
}
