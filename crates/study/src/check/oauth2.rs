//! `system.oauth2`: where tokens come from, and whether what asks with them has any.

use super::{
    Checker,
    server::{parse_target, tls},
};
use crate::{
    Credential, ExternalTls, Oauth2, Origin, System, TokenEndpoint,
    fill::uses,
    mistake::Finding,
    nearest::{list, nearest_word},
    oauth2::VALUE_MAX_BYTES,
    origin::TOKEN,
    raw,
    tree::quote,
};

const PATH: [&str; 2] = ["system", "oauth2"];
/// Most further parameters.
const MAX_PARAMETERS: usize = 16;
/// Parameters that waggle writes itself.
const OWN_PARAMETERS: [&str; 4] = ["grant_type", "client_id", "client_secret", "scope"];

/// `has_network`: the trials have a network of their own.
pub(crate) fn oauth2(
    checker: &mut Checker<'_>,
    raw: &raw::UseSystem,
    system: &System,
    has_network: bool,
) -> Option<Oauth2> {
    let Some(given) = &raw.oauth2 else {
        refuse_tokens(checker, system);
        return None;
    };
    refuse_unused(checker, system);
    let endpoint = endpoint(checker, raw, given, system);
    match &endpoint {
        Some(TokenEndpoint::Url { .. }) if has_network => {
            let what = "system.oauth2.token_url cannot be reached from the network of a trial";
            let position = checker.key(&[PATH[0], PATH[1], "token_url"]);
            checker.report(
                Finding::new(position, what)
                    .with_expected("endpoint and path, or a study without network"),
            );
        }
        Some(TokenEndpoint::OfSystem { .. }) if system.is_set_up_with_token() => {
            let what = format!(
                "system {} is set up with a token, which is fetched only when all of it is ready",
                system.name
            );
            let position = checker.key(&[PATH[0], PATH[1], "endpoint"]);
            checker.report(Finding::new(position, what).with_expected("token_url"));
        }
        _ => {}
    }
    let client_id = credential(checker, "client_id", given.client_id.as_deref());
    let client_secret = credential(checker, "client_secret", given.client_secret.as_deref());
    let parameters = parameters(checker, given);
    let authentication = given.client_authentication.unwrap_or_default();
    Some(Oauth2 {
        endpoint: endpoint?,
        client_id: client_id?,
        client_secret: client_secret?,
        scope: given.scope.clone(),
        parameters,
        client_authentication: authentication,
    })
}

/// Reports each token in a study without `system.oauth2`.
fn refuse_tokens(checker: &mut Checker<'_>, system: &System) {
    const EXPECTED: &str = "oauth2 in system, with token_url, client_id and client_secret";
    for used in uses(checker.root()) {
        if used.name.as_deref() == Some(TOKEN) {
            let what = format!("there is no system.oauth2 from which ${{{TOKEN}}} comes");
            checker.report(Finding::new(used.position, what).with_expected(EXPECTED));
        }
    }
    if system.asks_with_token() || system.is_set_up_with_token() {
        let what = format!(
            "system {} is asked with ${{{TOKEN}}}, and there is no system.oauth2",
            system.name
        );
        let position = checker.key(&["system"]);
        checker.report(Finding::new(position, what).with_expected(EXPECTED));
    }
}

/// Reports `system.oauth2` if nothing is sent with its token.
fn refuse_unused(checker: &mut Checker<'_>, system: &System) {
    let is_token = |used: &crate::fill::Use| used.name.as_deref() == Some(TOKEN);
    let is_used = uses(checker.root()).iter().any(is_token)
        || system.asks_with_token()
        || system.is_set_up_with_token();
    if !is_used {
        let what = "the token of system.oauth2 is used nowhere";
        let expected = format!("a header such as Authorization: \"Bearer ${{{TOKEN}}}\"");
        let position = checker.key(&PATH);
        checker.report(Finding::new(position, what).with_expected(expected));
    }
}

fn endpoint(
    checker: &mut Checker<'_>,
    raw: &raw::UseSystem,
    given: &raw::Oauth2,
    system: &System,
) -> Option<TokenEndpoint> {
    let below = |key: &'static str| [PATH[0], PATH[1], key];
    match (&given.token_url, &given.endpoint) {
        (Some(url), None) => {
            if given.path.is_some() {
                let what = "system.oauth2.path belongs to system.oauth2.endpoint";
                let position = checker.key(&below("path"));
                let expected = "the path in token_url";
                checker.report(Finding::new(position, what).with_expected(expected));
            }
            token_url(checker, raw, given, url)
        }
        (None, Some(name)) => {
            if given.tls.is_some() {
                let what = "system.oauth2.tls belongs to system.oauth2.token_url";
                let position = checker.key(&below("tls"));
                let expected = "tls of the port in the system's file";
                checker.report(Finding::new(position, what).with_expected(expected));
            }
            of_system(checker, raw, given, name, system)
        }
        (address, other) => {
            if !checker.is_invalid(&below("token_url")) && !checker.is_invalid(&below("endpoint")) {
                let both = address.is_some() && other.is_some();
                let what = match both {
                    true => "system.oauth2 has both token_url and endpoint",
                    false => "system.oauth2 lacks the key \"token_url\" or \"endpoint\"",
                };
                let expected =
                    "token_url of a server that runs already, or endpoint and path of the system";
                let position = checker.key(&PATH);
                checker.report(Finding::new(position, what).with_expected(expected));
            }
            None
        }
    }
}

fn token_url(
    checker: &mut Checker<'_>,
    raw: &raw::UseSystem,
    given: &raw::Oauth2,
    url: &str,
) -> Option<TokenEndpoint> {
    let (server, path) = match parse_target(url) {
        Ok(parsed) => parsed,
        Err(why) => {
            // A password is not shown.
            let shown = match url.contains('@') {
                true => String::new(),
                false => format!(" is {}", quote(url)),
            };
            let what = format!("system.oauth2.token_url{shown}: {why}");
            let position = checker.position_of(&[PATH[0], PATH[1], "token_url"]);
            let expected = "https://HOST:PORT/PATH or http://HOST:PORT/PATH";
            checker.report(Finding::new(position, what).with_expected(expected));
            return None;
        }
    };
    if !server.is_tls && given.tls.is_some() {
        let what = "system.oauth2.tls is for https";
        let position = checker.key(&[PATH[0], PATH[1], "tls"]);
        checker.report(Finding::new(position, what).with_expected("token_url: https://HOST/PATH"));
    }
    let url_tls = given.tls.as_ref();
    let url_tls = url_tls.map(|url_tls| tls(checker, url_tls, &["system", "oauth2", "tls"]));
    let tls = server
        .is_tls
        .then(|| url_tls.unwrap_or_else(|| tls_of_system(checker, raw)));
    Some(TokenEndpoint::Url {
        url: url.to_owned(),
        authority: server.authority,
        host: server.host,
        port: server.port,
        path,
        tls,
    })
}

/// The TLS of the system's address, whose mistakes are reported there. The name in a certificate is that of a host.
fn tls_of_system(checker: &Checker<'_>, raw: &raw::UseSystem) -> ExternalTls {
    let mut quiet = checker.without_findings();
    let given = raw.tls.as_ref();
    let given = given.map(|given| tls(&mut quiet, given, &["system", "tls"]));
    ExternalTls {
        server_name: None,
        ..given.unwrap_or_default()
    }
}

fn of_system(
    checker: &mut Checker<'_>,
    raw: &raw::UseSystem,
    given: &raw::Oauth2,
    name: &String,
    system: &System,
) -> Option<TokenEndpoint> {
    let here = [PATH[0], PATH[1], "endpoint"];
    if raw.url.is_some() {
        let what = "system.oauth2.endpoint belongs to system.use";
        checker.report(
            Finding::new(checker.key(&here), what)
                .with_expected("token_url: https://HOST:PORT/PATH"),
        );
        return None;
    }
    let names = || system.endpoints.iter().map(|known| known.name.as_str());
    if !names().any(|known| known == name) {
        let what = format!("system {} has no endpoint {}", system.name, quote(name));
        let finding = Finding::new(checker.position_of(&here), what);
        checker.report(
            finding
                .with_expected(list(names()))
                .with_suggestion(nearest_word(name, names())),
        );
    }
    let Some(path) = &given.path else {
        let what = "system.oauth2 lacks the key \"path\"";
        let expected = "the path at which the endpoint answers with tokens, e.g. /oauth/token";
        checker.report(Finding::new(checker.key(&PATH), what).with_expected(expected));
        return None;
    };
    let path = checker.target(path, &[PATH[0], PATH[1], "path"])?;
    Some(TokenEndpoint::OfSystem {
        endpoint: name.clone(),
        path,
    })
}

/// A client's id, which may be in the study, or its secret, which may not.
fn credential(
    checker: &mut Checker<'_>,
    key: &'static str,
    text: Option<&str>,
) -> Option<Credential> {
    let text = text?;
    let path = [PATH[0], PATH[1], key];
    let position = checker.position_of(&path);
    let place = (position.line, position.column);
    let origin = Origin::parse_single(text).filter(|origin| *origin != Origin::Token);
    if origin.is_some() {
        return Some(Credential {
            key,
            origin,
            at: place,
            value: None,
        });
    }
    let is_plain = (1..=VALUE_MAX_BYTES).contains(&text.len())
        && !text.contains("${")
        && !text.chars().any(char::is_control);
    if key == "client_id" && is_plain {
        return Some(Credential {
            key,
            origin: None,
            at: place,
            value: Some(text.to_owned()),
        });
    }
    // The value is not shown: it may be the secret itself.
    let what = match key {
        "client_id" => "system.oauth2.client_id is neither a text of one line nor from outside",
        _ => {
            "system.oauth2.client_secret is written in the study, and a study must not have secrets"
        }
    };
    let expected = match key {
        "client_id" => "a text of one line, or ${env.NAME}, ${file:PATH} or ${secret.NAME}",
        _ => "${env.NAME}, ${file:PATH} or ${secret.NAME}, and nothing else",
    };
    checker.report(Finding::new(position, what).with_expected(expected));
    None
}

fn parameters(checker: &mut Checker<'_>, given: &raw::Oauth2) -> Vec<(String, String)> {
    let here = [PATH[0], PATH[1], "parameters"];
    let given: Vec<(String, String)> = given.parameters.clone().into_iter().flatten().collect();
    if given.len() > MAX_PARAMETERS {
        let what = format!("system.oauth2.parameters has {} entries", given.len());
        let expected = format!("at most {MAX_PARAMETERS}");
        checker.report(Finding::new(checker.key(&here), what).with_expected(expected));
    }
    for (name, _) in &given {
        if OWN_PARAMETERS.contains(&name.as_str()) || name.is_empty() {
            let what = format!("system.oauth2.parameters has {}", quote(name));
            let position = checker.key(&[here[0], here[1], here[2], name]);
            let expected = "other names: system.oauth2 has keys for the parameters of the grant";
            checker.report(Finding::new(position, what).with_expected(expected));
        }
    }
    given
}
