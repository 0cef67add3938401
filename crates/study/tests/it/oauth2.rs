//! Tokens of OAuth 2: how a study names where they come from, what is read from outside, and every mistake.

use std::path::Path;

use waggle_spec::ClientAuthentication;
use waggle_study::{
    EnvironmentError, Source, Study, TokenEndpoint, Values, What, no_files, read_study, read_system,
};

use super::{
    STUDY, SYSTEM, change_text, headlines, mistakes::answered_table, place, source, system,
};

const OAUTH2: &str = "  set: { backend: files }
  oauth2:
    token_url: https://login.test:8443/oauth/token?x=1
    tls: { ca: ca.pem }
    client_id: bench
    client_secret: ${env.CLIENT_SECRET}
    scope: read write
    parameters: { audience: api }
    client_authentication: body
";

/// The fixture with tokens.
fn study_text() -> String {
    change_text(
        STUDY,
        &[
            ("  set: { backend: files }\n", OAUTH2),
            ("X-Shop: one", "Authorization: \"Bearer ${oauth2.token}\""),
        ],
    )
}

fn study() -> Study {
    read_study(&source("study.yaml", study_text()), &system())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn take(study: &mut Study, value: Option<&str>) -> Result<(), EnvironmentError> {
    let variable = |name: &str| {
        assert_eq!(name, "CLIENT_SECRET");
        value.map(str::to_owned)
    };
    study.take_from_environment(Values {
        variable: &variable,
        file: &no_files,
    })
}

#[test]
fn a_study_names_its_token_server() {
    let mut study = study();
    take(&mut study, Some("pass word")).unwrap();
    let oauth2 = study.oauth2.as_ref().unwrap();
    let TokenEndpoint::Url {
        authority,
        host,
        port,
        path,
        tls,
        ..
    } = &oauth2.endpoint
    else {
        panic!("{oauth2:?}")
    };
    let parts = (&**authority, &**host, *port, &**path, tls.is_some());
    let expected = (
        "login.test:8443",
        "login.test",
        8443,
        "/oauth/token?x=1",
        true,
    );
    assert_eq!(parts, expected);
    assert_eq!(oauth2.client_authentication, ClientAuthentication::Body);
    assert_eq!(oauth2.scope.as_deref(), Some("read write"));
    let parameters = [("audience".to_owned(), "api".to_owned())];
    assert_eq!(oauth2.parameters, parameters);
    let values =
        [&oauth2.client_id, &oauth2.client_secret].map(|credential| credential.value.as_deref());
    assert_eq!(values, [Some("bench"), Some("pass word")]);
    assert!(!format!("{study:?}").contains("pass word"));
    let hidden: Vec<&str> = study.taken.iter().map(|taken| &*taken.value).collect();
    assert_eq!(hidden, ["pass word"]);
}

#[test]
fn the_token_is_put_in_when_it_is_known() {
    let mut study = study();
    take(&mut study, Some("x")).unwrap();
    let What::Request(request) = &study.cells[0].what else {
        panic!("the fixture has a request")
    };
    let header = |request: &waggle_study::Request| {
        let mut headers = request.headers.iter();
        let field = headers.find(|(name, _)| name == "Authorization");
        field.unwrap().1.clone()
    };
    assert_eq!(header(request), "Bearer ${oauth2.token}");
    let value = |name: &str| (name == "oauth2.token").then(|| "t-1".to_owned());
    let with = request.with_secrets(&value).unwrap();
    assert_eq!(header(&with), "Bearer t-1");
    assert!(request.with_secrets(&|_| None).is_err());
}

#[test]
fn a_client_without_its_secret_is_refused_with_its_place() {
    let missing = take(&mut study(), None).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "system.oauth2.client_secret is the value of the environment variable CLIENT_SECRET, which is not set"
    );
    assert_eq!(place(&missing), Some((10, 20)));
    for value in ["", "two\nlines"] {
        let refused = take(&mut study(), Some(value)).unwrap_err();
        assert!(matches!(
            refused,
            EnvironmentError::UnusableCredential { .. }
        ));
    }
}

#[test]
fn a_system_that_is_asked_with_a_token_needs_a_study_with_one() {
    let text = change_text(
        SYSTEM,
        &[(
            "verify:\n",
            "verify:\n  - { name: known, endpoint: front, get: /me, headers: { Authorization: 'Bearer ${oauth2.token}' } }\n",
        )],
    );
    let system = read_system(&source("system.yaml", text)).unwrap();
    let study: Source = source("study.yaml", STUDY);
    let mistakes = read_study(&study, &system).unwrap_err();
    let expected = "study.yaml:3:1: system shop is asked with ${oauth2.token}, and there is no system.oauth2; expected oauth2 in \
                    system, with token_url, client_id and client_secret";
    assert_eq!(headlines(&mistakes), [expected]);
    assert!(read_study(&source("study.yaml", study_text()), &system).is_ok());
}

#[test]
fn every_mistake_about_tokens() {
    let system = system();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/oauth2-mistakes.txt");
    answered_table(&golden, &study_text(), &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}
