//! `system.oauth2`: where tokens come from, and whether what asks with them has any.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::ClientAuthentication;

use super::tls::Tls;
use crate::{
    Credential, ExternalTls, Origin, System, TokenEndpoint,
    at::{At, Key, Place},
    check::{Checker, parse_target},
    fill::{Use, uses},
    mistake::Finding,
    nearest::{list, nearest_word},
    oauth2::VALUE_MAX_BYTES,
    origin::TOKEN,
    raw::UseSystem,
    tree::quote,
};

/// Tokens of OAuth 2 by client credentials (RFC 6749, 4.4), for `${oauth2.token}` in headers. They are fetched before a trial needs
/// one, and anew before they expire.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Oauth2 {
    /// Where a server that runs already answers with tokens, e.g. `https://login.example.org/oauth/token`.
    pub token_url: Key<String>,
    /// In place of `token_url`: the endpoint of the system that answers with tokens; its first replica is asked. For `use`.
    pub endpoint: Key<String>,
    /// With `endpoint`: the path that answers with tokens, e.g. `/oauth/token`.
    pub path: Key<String>,
    /// The client's id: a text, or `${env.NAME}`, `${file:PATH}` or `${secret.NAME}` and nothing else.
    #[schemars(required)]
    pub client_id: Key<String>,
    /// The client's secret: `${env.NAME}`, `${file:PATH}`, or `${secret.NAME}` of the system, and nothing else.
    #[schemars(required)]
    pub client_secret: Key<String>,
    /// What the token is for, e.g. `read write`; the server decides by default.
    pub scope: Key<String>,
    /// Further parameters of the request, at most 16, e.g. `audience: https://api.example.org`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub parameters: Key<IndexMap<String, At<String>>>,
    /// How the client says who it is: `basic`, by a header, or `body`, by parameters; basic by default.
    pub client_authentication: Key<ClientAuthentication>,
    /// Certificates and keys for `token_url` with https; those of `system.tls` without its `server_name` by default.
    pub tls: Key<Tls>,
}

/// Most further parameters.
const MAX_PARAMETERS: usize = 16;
/// Parameters that waggle writes itself.
const OWN_PARAMETERS: [&str; 4] = ["grant_type", "client_id", "client_secret", "scope"];

/// `has_network`: the trials have a network of their own.
pub(crate) fn oauth2(
    checker: &mut Checker<'_>,
    of_system: &At<UseSystem>,
    system: &System,
    has_network: bool,
) -> Option<crate::Oauth2> {
    let At {
        place: system_place,
        value: of_system,
    } = of_system;
    let Some(given) = of_system.oauth2.content() else {
        refuse_tokens(checker, system_place, system);
        return None;
    };
    let At { place, value: keys } = given;
    refuse_unused(checker, place, system);
    let endpoint = endpoint(checker, given, of_system, system);
    let mistake = match &endpoint {
        Some(TokenEndpoint::Url { .. }) if has_network => {
            let why = "cannot be reached from the network of a trial";
            let url = keys.token_url.place();
            url.map(|url| url.key_mistake(why)).map(|mistake| {
                mistake.with_expected("endpoint and path, or a study without network")
            })
        }
        Some(TokenEndpoint::OfSystem { .. }) if system.is_set_up_with_token() => {
            let what = format!(
                "system {} is set up with a token, which is fetched only when all of it is ready",
                system.name
            );
            let endpoint = keys.endpoint.place();
            endpoint.map(|place| Finding::new(place.key, what).with_expected("token_url"))
        }
        _ => None,
    };
    checker.findings.extend(mistake);
    let client_id = client_id(checker, keys.client_id.content());
    let client_secret = client_secret(checker, keys.client_secret.content());
    let parameters = parameters(checker, &keys.parameters);
    let authentication = keys.client_authentication.value();
    Some(crate::Oauth2 {
        endpoint: endpoint?,
        client_id: client_id?,
        client_secret: client_secret?,
        scope: keys.scope.value().cloned(),
        parameters,
        client_authentication: authentication.copied().unwrap_or_default(),
    })
}

/// Reports each token in a study without `system.oauth2`.
fn refuse_tokens(checker: &mut Checker<'_>, place: &Place, system: &System) {
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
        checker.report(Finding::new(place.key, what).with_expected(EXPECTED));
    }
}

/// Reports `system.oauth2` if nothing is sent with its token.
fn refuse_unused(checker: &mut Checker<'_>, place: &Place, system: &System) {
    let is_token = |used: &Use| used.name.as_deref() == Some(TOKEN);
    let is_used = uses(checker.root()).iter().any(is_token)
        || system.asks_with_token()
        || system.is_set_up_with_token();
    if !is_used {
        let what = "the token of system.oauth2 is used nowhere";
        let expected = format!("a header such as Authorization: \"Bearer ${{{TOKEN}}}\"");
        checker.report(Finding::new(place.key, what).with_expected(expected));
    }
}

fn endpoint(
    checker: &mut Checker<'_>,
    given: &At<Oauth2>,
    of_system: &UseSystem,
    system: &System,
) -> Option<TokenEndpoint> {
    let At { place, value: keys } = given;
    let why = match (keys.token_url.content(), keys.endpoint.content()) {
        (Some(url), None) => {
            if let Some(path) = keys.path.place() {
                let mistake = path.key_mistake("belongs to system.oauth2.endpoint");
                checker.report(mistake.with_expected("the path in token_url"));
            }
            return token_url(checker, url, &keys.tls, &of_system.tls);
        }
        (None, Some(endpoint)) => {
            if let Some(tls) = keys.tls.place() {
                let mistake = tls.key_mistake("belongs to system.oauth2.token_url");
                checker.report(mistake.with_expected("tls of the port in the system's file"));
            }
            let system = Some(system).filter(|_| !of_system.url.is_some());
            return endpoint_of_system(checker, given, endpoint, system);
        }
        _ if keys.token_url.is_invalid() || keys.endpoint.is_invalid() => return None,
        (Some(_), Some(_)) => "has both token_url and endpoint",
        (None, None) => "lacks the key \"token_url\" or \"endpoint\"",
    };
    let expected = "token_url of a server that runs already, or endpoint and path of the system";
    checker.report(place.key_mistake(why).with_expected(expected));
    None
}

fn token_url(
    checker: &mut Checker<'_>,
    At { place, value: url }: &At<String>,
    given_tls: &Key<Tls>,
    tls_of_system: &Key<Tls>,
) -> Option<TokenEndpoint> {
    let (server, path) = match parse_target(url) {
        Ok(parsed) => parsed,
        Err(why) => {
            // A password is not shown.
            let shown = match url.contains('@') {
                true => String::new(),
                false => format!(" is {}", quote(url)),
            };
            let what = format!("{}{shown}: {why}", place.path);
            let expected = "https://HOST:PORT/PATH or http://HOST:PORT/PATH";
            checker.report(Finding::new(place.value, what).with_expected(expected));
            return None;
        }
    };
    let given_tls = given_tls.content();
    if let Some(given) = given_tls.filter(|_| !server.is_tls) {
        given.refuse_plain(checker, "token_url: https://HOST/PATH");
    }
    let url_tls = given_tls.map(|given| given.check(checker));
    let tls = server
        .is_tls
        .then(|| url_tls.unwrap_or_else(|| without_name(checker, tls_of_system)));
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
fn without_name(checker: &Checker<'_>, of_system: &Key<Tls>) -> ExternalTls {
    let mut quiet = checker.without_findings();
    let tls = of_system.content().map(|given| given.check(&mut quiet));
    ExternalTls {
        server_name: None,
        ..tls.unwrap_or_default()
    }
}

/// Without a system it is a server that runs already.
fn endpoint_of_system(
    checker: &mut Checker<'_>,
    given: &At<Oauth2>,
    At { place, value: name }: &At<String>,
    system: Option<&System>,
) -> Option<TokenEndpoint> {
    let Some(system) = system else {
        let mistake = place.key_mistake("belongs to system.use");
        checker.report(mistake.with_expected("token_url: https://HOST:PORT/PATH"));
        return None;
    };
    let names = || system.endpoints.iter().map(|known| known.name.as_str());
    if !names().any(|known| known == name) {
        let what = format!("system {} has no endpoint {}", system.name, quote(name));
        let finding = Finding::new(place.value, what).with_expected(list(names()));
        checker.report(finding.with_suggestion(nearest_word(name, names())));
    }
    let Some(path) = given.value.path.content() else {
        let mistake = given.place.key_mistake("lacks the key \"path\"");
        let expected = "the path at which the endpoint answers with tokens, e.g. /oauth/token";
        checker.report(mistake.with_expected(expected));
        return None;
    };
    Some(TokenEndpoint::OfSystem {
        endpoint: name.clone(),
        path: checker.target_of(path, &path.value)?,
    })
}

/// A value that comes from outside the study.
fn from_outside(key: &'static str, At { place, value }: &At<String>) -> Option<Credential> {
    let origin = Origin::parse_single(value).filter(|origin| *origin != Origin::Token)?;
    Some(Credential {
        key,
        origin: Some(origin),
        at: (place.value.line, place.value.column),
        value: None,
    })
}

/// A client's id, which may be in the study.
fn client_id(checker: &mut Checker<'_>, given: Option<&At<String>>) -> Option<Credential> {
    let given = given?;
    let key = "client_id";
    if let Some(credential) = from_outside(key, given) {
        return Some(credential);
    }
    let At { place, value } = given;
    let is_plain = (1..=VALUE_MAX_BYTES).contains(&value.len())
        && !value.contains("${")
        && !value.chars().any(char::is_control);
    if is_plain {
        return Some(Credential {
            key,
            origin: None,
            at: (place.value.line, place.value.column),
            value: Some(value.clone()),
        });
    }
    // The value is not shown: it may be the secret itself.
    let mistake = place.mistake("is neither a text of one line nor from outside");
    let expected = "a text of one line, or ${env.NAME}, ${file:PATH} or ${secret.NAME}";
    checker.report(mistake.with_expected(expected));
    None
}

/// A client's secret, which may not.
fn client_secret(checker: &mut Checker<'_>, given: Option<&At<String>>) -> Option<Credential> {
    let given = given?;
    let credential = from_outside("client_secret", given);
    if credential.is_none() {
        let why = "is written in the study, and a study must not have secrets";
        let expected = "${env.NAME}, ${file:PATH} or ${secret.NAME}, and nothing else";
        checker.report(given.place.mistake(why).with_expected(expected));
    }
    credential
}

fn parameters(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<String>>>,
) -> Vec<(String, String)> {
    let Some(At { place, value }) = given.content() else {
        return Vec::new();
    };
    if value.len() > MAX_PARAMETERS {
        let mistake = place.key_mistake(format!("has {} entries", value.len()));
        checker.report(mistake.with_expected(format!("at most {MAX_PARAMETERS}")));
    }
    for (name, text) in value {
        if OWN_PARAMETERS.contains(&name.as_str()) || name.is_empty() {
            let mistake = place.mistake_in(text.place.key, format!("has {}", quote(name)));
            let expected = "other names: system.oauth2 has keys for the parameters of the grant";
            checker.report(mistake.with_expected(expected));
        }
    }
    let parameters = value.iter();
    parameters
        .map(|(name, text)| (name.clone(), text.value.clone()))
        .collect()
}
