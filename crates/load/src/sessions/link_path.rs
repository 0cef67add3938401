//! Converts links from answers and feeds to request paths.

/// The path of a link: the link itself if it is a path, or the part after scheme and host if the host is one of `hosts`. `None`
/// if it links to another host, or is neither.
pub(crate) fn path_of<'a>(link: &'a [u8], hosts: &[String]) -> Option<&'a [u8]> {
    if link.is_empty() || link.starts_with(b"/") {
        return Some(link);
    }
    let is_it = |scheme: &&[u8]| {
        let start = link.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let schemes: [&[u8]; 2] = [b"http://", b"https://"];
    let behind = &link[schemes.into_iter().find(is_it)?.len()..];
    let end = behind.iter().position(|byte| b"/?#".contains(byte));
    let (host, path) = behind.split_at(end.unwrap_or(behind.len()));
    let is_own = |authority: &String| plain(authority.as_bytes()).eq_ignore_ascii_case(plain(host));
    hosts.iter().any(is_own).then_some(path)
}

/// A host without a default port. A server behind a proxy may not know which of the two defaults applies.
fn plain(host: &[u8]) -> &[u8] {
    let short = host.strip_suffix(b":80");
    short.or_else(|| host.strip_suffix(b":443")).unwrap_or(host)
}

/// Converts a link to the target of a request line.
pub(crate) fn make_path(link: &mut Vec<u8>, hosts: &[String]) {
    if let Some(path) = path_of(link, hosts) {
        let before = link.len() - path.len();
        link.drain(..before);
    }
    // RFC 9112, section 3.2.1: an empty path is sent as `/`.
    if !link.starts_with(b"/") {
        link.insert(0, b'/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path of a link for the hosts `shop:8080` and `shop`.
    fn check(link: &str, expected: Option<&str>) {
        let hosts = ["shop:8080", "shop"].map(str::to_owned);
        let target = path_of(link.as_bytes(), &hosts).map(|_| {
            let mut path = link.as_bytes().to_vec();
            make_path(&mut path, &hosts);
            String::from_utf8(path).unwrap()
        });
        assert_eq!(target.as_deref(), expected, "{link}");
    }

    #[test]
    fn links_to_the_same_host_are_paths() {
        check("/orders/1?a=b", Some("/orders/1?a=b"));
        check("", Some("/"));
        check("http://shop:8080/orders/1?a=b", Some("/orders/1?a=b"));
        check("HTTPS://Shop/orders", Some("/orders"));
        check("https://shop:443/orders", Some("/orders"));
        check("http://shop", Some("/"));
        check("http://shop?page=2", Some("/?page=2"));
    }

    #[test]
    fn links_to_other_hosts_are_refused() {
        for link in [
            "http://other/orders",
            "http://shop:9090/orders",
            "http://shop.example/orders",
            "http://me@shop/orders",
            "ftp://shop/orders",
            "orders/1",
            "?page=2",
            "null",
        ] {
            check(link, None);
        }
    }
}
