//! `system.url`: a server that runs already, in place of a system's folder.

use url::{Host, ParseError, Position, Url};

use super::{Checker, external::refuse_unknown_secrets, path_text, port_tls::is_host};
use crate::{
    Address, Component, Endpoint, External, ExternalTls, LimitTexts, Pem, ProcessDriver,
    ReadyCheck, System, When,
    external::address,
    mistake::{self, Finding},
    raw,
    tree::quote,
};

const PATH: [&str; 2] = ["system", "url"];
const TLS: &[&str] = &["system", "tls"];
/// Longest URL of a server.
const URL_MAX_BYTES: usize = 2_000;
/// The one component and endpoint of such a system.
const NAME: &str = "server";
const PORT: &str = "http";

/// The system that `system.url` describes.
pub(crate) fn server(checker: &mut Checker<'_>, raw: &raw::UseSystem) -> Option<System> {
    let Some(url) = raw.url.as_deref() else {
        if raw.name.is_none()
            && !checker.is_invalid(&["system", "use"])
            && !checker.is_invalid(&PATH)
        {
            let what = "system lacks the key \"use\" or \"url\"";
            checker.report(
                Finding::new(checker.key(&["system"]), what)
                    .with_expected("use: NAME of a system, or url: http://HOST:PORT"),
            );
        }
        refuse_without_url(checker, raw);
        return None;
    };
    let url_keys = [
        ("use", raw.name.is_some()),
        ("set", raw.set.is_some()),
        ("external", raw.external.is_some()),
        ("kubeconfig", raw.kubeconfig.is_some()),
        ("limits", raw.limits.is_some()),
        ("cpuset", raw.cpuset.is_some()),
        ("secrets", raw.secrets.is_some()),
    ];
    if let Some(key) = url_keys
        .into_iter()
        .find_map(|(key, given)| given.then_some(key))
    {
        let what = format!("system has both url and {key}");
        checker.report(
            Finding::new(checker.key(&["system", key]), what)
                .with_expected("url for a server that runs already, or use for one of the systems"),
        );
        return None;
    }
    match parse(url) {
        Ok(external) => {
            let system = system(External {
                tls: tls_of_url(checker, raw, external.is_tls),
                connect_to: connect_to(checker, raw),
                smoke_test: raw.smoke_test.unwrap_or(true),
                ..external
            });
            refuse_unknown_secrets(checker, &system);
            Some(system)
        }
        Err(why) => {
            let what = format!("system.url is {url:?}: {why}");
            checker.report(
                Finding::new(checker.position_of(&PATH), what)
                    .with_expected("http://HOST:PORT or https://HOST:PORT"),
            );
            None
        }
    }
}

/// Reports keys that are only for `system.url`.
fn refuse_without_url(checker: &mut Checker<'_>, raw: &raw::UseSystem) {
    let given = [
        ("connect_to", raw.connect_to.is_some()),
        ("smoke_test", raw.smoke_test.is_some()),
    ];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let what = format!("system.{key} belongs to system.url");
        let position = checker.key(&["system", key]);
        checker.report(Finding::new(position, what).with_expected("url: https://HOST"));
    }
}

fn tls_of_url(checker: &mut Checker<'_>, raw: &raw::UseSystem, is_tls: bool) -> ExternalTls {
    let Some(given) = &raw.tls else {
        return ExternalTls::default();
    };
    if !is_tls {
        let position = checker.key(TLS);
        refuse(
            checker,
            position,
            "system.tls is for https",
            "url: https://HOST",
        );
    }
    tls(checker, given, TLS)
}

/// How to connect to what runs already: `system.tls`, or the same at another path.
pub(super) fn tls(checker: &mut Checker<'_>, given: &raw::Tls, path: &[&str]) -> ExternalTls {
    let key = |key: &'static str| [path, &[key]].concat();
    let name = path_text(path);
    if given.key.is_some() && given.cert.is_none() {
        let position = checker.key(&key("key"));
        let what = format!("{name} has a key and no certificate");
        let expected = "cert: the file with the client's certificate";
        refuse(checker, position, &what, expected);
    }
    if given.ca.is_some() && given.insecure_skip_verify == Some(true) {
        let position = checker.key(&key("ca"));
        let what = format!(
            "{name}.ca names whom to trust, and {name}.insecure_skip_verify trusts anybody"
        );
        refuse(checker, position, &what, "one of the two");
    }
    let host = given.server_name.as_deref();
    if let Some(host) = host.filter(|host| !is_host(host)) {
        let position = checker.position_of(&key("server_name"));
        let what = format!("{name}.server_name is {}", quote(host));
        refuse(checker, position, &what, "a DNS name or an address");
    }
    ExternalTls {
        insecure_skip_verify: given.insecure_skip_verify.unwrap_or(false),
        ca: given.ca.clone().map(Pem::File),
        client: given.cert.clone().map(|cert| {
            let key = given.key.clone().unwrap_or_else(|| cert.clone());
            (Pem::File(cert), Pem::File(key))
        }),
        server_name: given.server_name.clone(),
        resumes: given.session_resumption.unwrap_or(true),
    }
}

fn refuse(checker: &mut Checker<'_>, position: mistake::Position, what: &str, expected: &str) {
    checker.report(Finding::new(position, what).with_expected(expected));
}

fn connect_to(checker: &mut Checker<'_>, raw: &raw::UseSystem) -> Option<Address> {
    let text = raw.connect_to.as_deref()?;
    match address(text, None) {
        Ok(address) => Some(address),
        Err(why) => {
            let what = format!("system.connect_to is {text:?}: {why}");
            let position = checker.position_of(&["system", "connect_to"]);
            checker.report(
                Finding::new(position, what).with_expected("HOST:PORT, e.g. 127.0.0.1:8080"),
            );
            None
        }
    }
}

fn system(external: External) -> System {
    System {
        name: external.url.clone(),
        summary: "a server that runs already".to_owned(),
        parameters: Vec::new(),
        artifacts: Vec::new(),
        certificates: Vec::new(),
        components: vec![Component {
            name: NAME.to_owned(),
            when: When::default(),
            files: Vec::new(),
            secrets: Vec::new(),
            setup: Vec::new(),
            replicas: "1".to_owned(),
            depends_on: Vec::new(),
            ports: vec![PORT.to_owned()],
            tls: Vec::new(),
            process: ProcessDriver {
                command: Vec::new(),
                arguments: Vec::new(),
                environment: Vec::new(),
                version_arguments: Vec::new(),
            },
            ready: ReadyCheck::Tcp {
                port: PORT.to_owned(),
            },
            limits: LimitTexts::default(),
            stop_timeout: std::time::Duration::ZERO,
            external: None,
        }],
        endpoints: vec![Endpoint {
            name: NAME.to_owned(),
            when: When::default(),
            component: NAME.to_owned(),
            port: PORT.to_owned(),
        }],
        kubeconfig: None,
        probes: Vec::new(),
        metrics: Vec::new(),
        verify: Vec::new(),
        external: Some(external),
    }
}

/// Parses the URL of a server.
pub(crate) fn parse(text: &str) -> Result<External, &'static str> {
    match parse_target(text)? {
        (server, path) if path == "/" => Ok(server),
        _ => Err("it has a path, which belongs to the requests"),
    }
}

/// Parses the URL of what a server has: the server, and path and query there.
pub(super) fn parse_target(text: &str) -> Result<(External, String), &'static str> {
    const NO_HOST: &str = "its host is neither a name nor an address";
    if text.len() > URL_MAX_BYTES {
        return Err("it is too long");
    }
    if !text.contains("://") {
        return Err("it has no scheme");
    }
    let url = Url::parse(text).map_err(|problem| match problem {
        ParseError::InvalidPort => "its port is no number from 1 to 65535",
        _ => NO_HOST,
    })?;
    let is_tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return Err("its scheme is neither http nor https"),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a name or password, which belongs into a header from the environment");
    }
    if url.fragment().is_some() {
        return Err("it has a fragment, which no server sees");
    }
    let path = url[Position::BeforePath..Position::AfterQuery].to_owned();
    let host = match url.host().ok_or(NO_HOST)? {
        Host::Domain(name) => name.to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    let port = url.port_or_known_default().filter(|port| *port > 0);
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let server = External {
        url: format!("{}://{authority}", url.scheme()),
        authority: authority.to_owned(),
        host,
        port: port.ok_or("its port is no number from 1 to 65535")?,
        is_tls,
        tls: ExternalTls::default(),
        connect_to: None,
        smoke_test: true,
    };
    Ok((server, path))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn urls_are_taken_apart() {
        let check = |url: &str, host: &str, port: u16, is_tls: bool| {
            let server = parse(url).unwrap();
            assert_eq!(
                (&*server.host, server.port, server.is_tls),
                (host, port, is_tls),
                "{url}"
            );
        };
        check("http://127.0.0.1:8080", "127.0.0.1", 8080, false);
        check("https://api.example.org/", "api.example.org", 443, true);
        check("http://localhost", "localhost", 80, false);
        check("http://[::1]:81", "::1", 81, false);
        check("http://[::1]", "::1", 80, false);
        check("HTTPS://Example.ORG:443", "example.org", 443, true);
        check("http://h:", "h", 80, false);
        for url in [
            "api.example.org",
            "ftp://h",
            "http://",
            "http://h:0",
            "http://h:65536",
            "http://h/path",
            "http://h?x",
            "http://u:p@h",
            "http://[::1",
            "http://[x]:1",
            "http://a b",
        ] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
