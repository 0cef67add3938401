//! A server that asks for tokens of OAuth 2, which end while the load runs: no request has one that has ended, and none of them is in
//! a file or an output.

use std::{
    fs,
    process::Output,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine, prelude::BASE64_STANDARD};
use waggle_testkit::http::{Reply, Request, Server, answer, ok};

use crate::{
    systems::clusters::contains,
    workspace::{Workspace, output_text},
};

const SECRET: &str = "pass/word of-bench";
/// As it is in a form.
const ENCODED: &str = "pass%2Fword%20of-bench";
const TOKEN: &str = "token-of-the-test";

/// What the server has seen.
#[derive(Debug, Default)]
struct Seen {
    /// Tokens that were given.
    given: AtomicU64,
    /// The most tokens that are given.
    most: u64,
    load: AtomicU64,
    background: AtomicU64,
    /// Requests of the load with a token that was given after the load had begun.
    renewed: AtomicU64,
    /// Tokens that were given when the load began.
    before: OnceLock<u64>,
    /// Requests without the right token or client.
    wrong: Mutex<Vec<String>>,
}

impl Seen {
    fn answer(&self, request: &Request) -> Vec<u8> {
        let given = self.given.load(Ordering::SeqCst);
        let authorization = request.header("authorization").unwrap_or_default();
        if request.path == "/oauth/token?tenant=7" {
            return self.answer_with_token(request, authorization);
        }
        // A token ends when the third one after it is given, so that no time counts here.
        let mut known = given.saturating_sub(2).max(1)..=given;
        let number = known.find(|number| format!("Bearer {TOKEN}-{number}") == authorization);
        let Some(number) = number else {
            let wrong = format!("{given} given: {}", request.head);
            self.wrong.lock().unwrap().push(wrong);
            return answer(401, "", "who are you?");
        };
        if request.path == "/background" {
            self.background.fetch_add(1, Ordering::SeqCst);
        } else if &number > self.before.get_or_init(|| given) {
            self.renewed.fetch_add(1, Ordering::SeqCst);
        } else {
            self.load.fetch_add(1, Ordering::SeqCst);
        }
        ok("fine")
    }

    fn answer_with_token(&self, request: &Request, authorization: &str) -> Vec<u8> {
        let client = BASE64_STANDARD.encode(format!("bench:{ENCODED}"));
        if request.method != "POST" || authorization != format!("Basic {client}") {
            let body = r#"{"error": "invalid_client", "error_description": "no such client"}"#;
            return answer(401, "", body);
        }
        let form = "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fapi";
        if request.text() != form {
            let wrong = format!("{}{}", request.head, request.text());
            self.wrong.lock().unwrap().push(wrong);
            return answer(400, "", r#"{"error": "invalid_request"}"#);
        }
        if self.given.load(Ordering::SeqCst) == self.most {
            return answer(503, "", "later");
        }
        let number = self.given.fetch_add(1, Ordering::SeqCst) + 1;
        // The first one of a load must be renewed, and the next one lasts, however slow this machine is.
        let lasts = match self.before.get() {
            None if self.most == u64::MAX => 2,
            None => 6,
            Some(_) => 3600,
        };
        ok(&format!(
            r#"{{"access_token": "{TOKEN}-{number}", "token_type": "Bearer", "expires_in": {lasts}}}"#
        ))
    }
}

/// Runs a study of this load; returns what the server has seen, the failure of the trial, and what was shown.
fn run(most: u64, secret: &str, load: &str) -> (Arc<Seen>, Option<String>, Output) {
    let seen = Arc::new(Seen {
        most,
        ..Seen::default()
    });
    let theirs = Arc::clone(&seen);
    let server = Server::start(move |request| Reply::Answer(theirs.answer(request)));
    let workspace = Workspace::new();
    let url = format!("http://{}", server.address);
    let text = format!(
        "study: tokens\nquestion: Does each request have a token that lasts?\n\
         system:\n  url: '{url}'\n  oauth2:\n    token_url: '{url}/oauth/token?tenant=7'\n    client_id: bench\n    \
         client_secret: '${{env.CLIENT_SECRET}}'\n    scope: read write\n    parameters: {{ audience: 'https://api' }}\n\
         load:\n  model: closed\n  connections: 2\n{load}\
         background:\n  - name: beside\n    connections: 1\n    \
         request: {{ get: /background, headers: {{ Authorization: 'Bearer ${{oauth2.token}}' }} }}\n\
         schedule: {{ warm_up: 500ms, measure: 9s, interval: 100ms, repeat: 1 }}\n"
    );
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let mut command = workspace.waggle(&["run", "study.yaml"]);
    let ran = command.env("CLIENT_SECRET", secret).output().unwrap();
    let model = workspace.report_of(&ran);
    let failure = model.trials[0].failure.as_ref();
    let failure = failure.map(|failure| failure.reason.clone());
    let basic = BASE64_STANDARD.encode(format!("bench:{ENCODED}"));
    for hidden in [TOKEN, secret, ENCODED, &basic] {
        assert!(!output_text(&ran).contains(hidden), "{}", output_text(&ran));
        assert!(
            !contains(&workspace.path().join("runs"), hidden),
            "{hidden}"
        );
    }
    (seen, failure, ran)
}

const REQUEST: &str =
    "  request: { name: ask, get: /load, headers: { Authorization: 'Bearer ${oauth2.token}' } }\n";
const SCENARIO: &str = "  generators: 2
  workers: 2
  scenario:
    name: asking
    flows:
      - name: ask
        steps:
          - name: again
            get: /load
            headers: { Authorization: 'Bearer ${oauth2.token}' }
";

#[test]
fn tokens_are_renewed_while_the_load_runs() {
    for load in [REQUEST, SCENARIO] {
        let (seen, failure, ran) = run(u64::MAX, SECRET, load);
        assert_eq!(failure, None, "{}", output_text(&ran));
        let wrong = seen.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{} of them: {:?}", wrong.len(), wrong[0]);
        for count in [&seen.load, &seen.background, &seen.renewed] {
            assert!(count.load(Ordering::SeqCst) > 0, "{seen:?}");
        }
    }
}

#[test]
fn a_client_that_is_refused_fails_the_trial_with_what_helps() {
    let (seen, failure, _) = run(u64::MAX, "another-word", REQUEST);
    let failure = failure.unwrap();
    let expected = "/oauth/token?tenant=7 gave no token: it answered with status 401, invalid_client (no such client); check \
                    client_id, client_secret";
    assert!(failure.contains(expected), "{failure}");
    assert_eq!(seen.load.load(Ordering::SeqCst), 0);
}

#[test]
fn a_token_that_cannot_be_renewed_ends_the_trial() {
    let (_, failure, _) = run(1, SECRET, REQUEST);
    let failure = failure.unwrap();
    let expected = "gave no token before the last one expired: it answered with status 503";
    assert!(failure.contains(expected), "{failure}");
}
