//! `system.url`: a server that runs already, in place of a system's folder.

use super::{Checker, external::refuse_unknown_secrets, parse_url};
use crate::{
    Address, Component, Endpoint, External, ExternalTls, LimitTexts, ProcessDriver, ReadyCheck,
    System, When,
    at::{At, Key},
    external::address,
    raw,
};

/// The one component and endpoint of such a system.
const NAME: &str = "server";
const PORT: &str = "http";

/// The system that `system.url` describes.
pub(crate) fn server(checker: &mut Checker<'_>, given: &At<raw::UseSystem>) -> Option<System> {
    let raw = &given.value;
    let Some(At { place, value: url }) = raw.url.content() else {
        if matches!((&raw.name, &raw.url), (Key::Missing, Key::Missing)) {
            let mistake = (given.place).key_mistake("lacks the key \"use\" or \"url\"");
            let expected = "use: NAME of a system, or url: http://HOST:PORT";
            checker.report(mistake.with_expected(expected));
        }
        refuse_without_url(checker, raw);
        return None;
    };
    let url_keys = [
        ("use", raw.name.place()),
        ("set", raw.set.place()),
        ("external", raw.external.place()),
        ("kubeconfig", raw.kubeconfig.place()),
        ("limits", raw.limits.place()),
        ("cpuset", raw.cpuset.place()),
        ("secrets", raw.secrets.place()),
    ];
    let mut second = url_keys
        .into_iter()
        .filter_map(|(key, place)| Some((key, place?)));
    if let Some((key, second)) = second.next() {
        let what = format!("has both url and {key}");
        let mistake = given.place.mistake_in(second.key, what);
        let expected = "url for a server that runs already, or use for one of the systems";
        checker.report(mistake.with_expected(expected));
        return None;
    }
    match parse_url(url) {
        Ok(external) => {
            let system = system(External {
                tls: tls_of_url(checker, raw, external.is_tls),
                connect_to: connect_to(checker, raw),
                smoke_test: raw.smoke_test.value() != Some(&false),
                ..external
            });
            refuse_unknown_secrets(checker, &system);
            Some(system)
        }
        Err(why) => {
            let mistake = place.mistake(format!("is {url:?}: {why}"));
            checker.report(mistake.with_expected("http://HOST:PORT or https://HOST:PORT"));
            None
        }
    }
}

/// Reports keys that are only for `system.url`.
fn refuse_without_url(checker: &mut Checker<'_>, raw: &raw::UseSystem) {
    let given = [raw.connect_to.place(), raw.smoke_test.place()];
    for place in given.into_iter().flatten() {
        let mistake = place.key_mistake("belongs to system.url");
        checker.report(mistake.with_expected("url: https://HOST"));
    }
}

fn tls_of_url(checker: &mut Checker<'_>, raw: &raw::UseSystem, is_tls: bool) -> ExternalTls {
    let Some(given) = raw.tls.content() else {
        return ExternalTls::default();
    };
    if !is_tls {
        given.refuse_plain(checker, "url: https://HOST");
    }
    given.check(checker)
}

fn connect_to(checker: &mut Checker<'_>, raw: &raw::UseSystem) -> Option<Address> {
    let At { place, value } = raw.connect_to.content()?;
    let address = address(value, None);
    let report = |why| {
        let mistake = place.mistake(format!("is {value:?}: {why}"));
        checker.report(mistake.with_expected("HOST:PORT, e.g. 127.0.0.1:8080"));
    };
    address.map_err(report).ok()
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
            process: ProcessDriver::default(),
            workload: None,
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
        manifests: None,
        kubeconfig: None,
        probes: Vec::new(),
        metrics: Vec::new(),
        verify: Vec::new(),
        external: Some(external),
    }
}
