//! Studies of a server that runs already: how they connect, and what they send.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use waggle_results::{Run, TrialEnd};
use waggle_testkit::{
    http::{Reply, Request, Server, ok},
    streams::{self, Settings, StreamServer},
    tls::{Authority, ClientAuth},
};

use super::Bench;

/// All requests that a server received.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<Mutex<Vec<Request>>>);

impl Requests {
    pub(super) fn reply(&self) -> impl Fn(&Request) -> Reply + Send + Sync + use<> {
        let requests = Arc::clone(&self.0);
        move |request| {
            requests.lock().unwrap().push(request.clone());
            // With this reply the server keeps the connection even if a request asks for its end.
            Reply::Answer(ok("fine"))
        }
    }

    /// Counts all requests; each must match `expected`.
    pub(super) fn count_matching(&self, expected: impl Fn(&Request) -> bool) -> usize {
        let requests = self.0.lock().unwrap();
        let wrong = requests.iter().find(|request| !expected(request));
        let wrong = wrong.map(|request| (&request.head, request.on_connection));
        assert_eq!(wrong, None);
        requests.len()
    }
}

/// A study of 40 requests.
pub(super) fn study(system: &str, load: &str, request: &str) -> Bench {
    let study = format!(
        "
study: trial
question: Does it work?
system: {system}
load:
  model: closed
  connections: 2
{load}
  request: {{ name: ask, timeout: 60s, {request} }}
schedule:
  measure: {{ requests: 40, timeout: 120s }}
  interval: 100ms
  repeat: 1
"
    );
    Bench::new("", &study)
}

/// The study has finished, and each of its 40 requests was answered as expected.
pub(super) fn check(run: &Run) {
    let trial = &run.trials[0].info;
    assert_eq!(trial.end, TrialEnd::Completed);
    let totals = &trial.totals;
    assert_eq!((totals.sent, totals.succeeded), (40, 40), "{totals:?}");
    assert_eq!(trial.measured.sent, 40);
}

pub(super) fn text_in(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &text_in(&path);
        } else {
            text += &String::from_utf8_lossy(&fs::read(&path).unwrap());
        }
    }
    text
}

#[test]
fn a_server_is_reached_with_certificates_and_secrets_where_it_is_said_to_be() {
    let authority = Authority::new("ours");
    let config = authority.server_with(&authority.sign("localhost", 2090), ClientAuth::Required);
    let seen = Requests::default();
    let server = Server::start_secure(config, seen.reply());
    // No server listens at the URL's own port.
    let system = format!(
        "{{ url: 'https://localhost:1', connect_to: '{}', tls: {{ ca: ca.pem, cert: client.pem, key: client.key }} }}",
        server.address
    );
    let request = "get: /, headers: { Authorization: 'Bearer ${env.WAGGLE_TEST_TOKEN}' }";
    let bench = study(&system, "", request);
    let client = authority.sign("client", 2090);
    fs::write(bench.path("ca.pem"), &authority.pem).unwrap();
    fs::write(bench.path("client.pem"), client.certificate).unwrap();
    fs::write(bench.path("client.key"), client.key).unwrap();
    let mut command = bench.command(&[]);
    let ran = command
        .env("WAGGLE_TEST_TOKEN", "hushhush")
        .output()
        .unwrap();
    let shown =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{shown}");
    check(&Run::read(&bench.path("run")).unwrap());
    let requests = seen.count_matching(|request| {
        request.header("authorization") == Some("Bearer hushhush")
            && request.header("host") == Some("localhost:1")
    });
    // One request before the load is the smoke check.
    assert_eq!(requests, 41);
    assert!(!shown.contains("hushhush"), "{shown}");
    assert!(!text_in(&bench.path("run")).contains("hushhush"));
}

#[test]
fn secrets_come_from_files_too() {
    let seen = Requests::default();
    let server = Server::start(seen.reply());
    let system = format!("{{ url: 'http://{}' }}", server.address);
    let request =
        "get: /, headers: { Authorization: 'Bearer ${file:keys/token}', X-Id: '{{random.uuid}}' }";
    let bench = study(&system, "", request);
    fs::create_dir(bench.path("keys")).unwrap();
    // Braces in a secret are not a variable.
    fs::write(bench.path("keys/token"), "hush{{hush\n").unwrap();
    let ran = bench.run(&[]);
    let shown =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{shown}");
    check(&Run::read(&bench.path("run")).unwrap());
    let requests =
        seen.count_matching(|request| request.header("authorization") == Some("Bearer hush{{hush"));
    assert_eq!(requests, 41);
    assert!(!shown.contains("hush{{hush"), "{shown}");
    assert!(!text_in(&bench.path("run")).contains("hush{{hush"));
    let bench = study(&system, "", "get: /, headers: { A: '${file:none}' }");
    let ran = bench.run(&[]);
    let shown =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{shown}");
    assert!(
        shown.contains("the header A takes its value from the file none"),
        "{shown}"
    );
}

#[test]
fn any_method_is_sent_and_any_request_may_have_a_body() {
    let sent = |request: &str, method: &str, body: &str| {
        let seen = Requests::default();
        let server = Server::start(seen.reply());
        let system = format!("{{ url: 'http://{}' }}", server.address);
        check(&study(&system, "", request).results());
        let requests = seen.count_matching(|request| {
            (
                request.method.as_str(),
                request.path.as_str(),
                request.text(),
            ) == (method, "/of?a=b", body)
        });
        assert_eq!(requests, 41);
    };
    sent("method: PURGE, path: '/of?a=b'", "PURGE", "");
    sent("get: '/of?a=b', body: some", "GET", "some");
}

#[test]
fn the_type_of_records_can_be_left_out() {
    let seen = Requests::default();
    let server = Server::start(seen.reply());
    let system = format!("{{ url: 'http://{}' }}", server.address);
    let request = "put: /, records: { file: r.lp }, without_headers: [content-type]";
    let bench = study(&system, "", request);
    fs::write(bench.path("r.lp"), "m,a=b x=1 5\n").unwrap();
    check(&bench.results());
    let requests = seen.count_matching(|request| {
        request.header("content-type").is_none() && request.text().starts_with("m,")
    });
    assert_eq!(requests, 41);
}

/// A study over HTTP/2 with 8 streams on each of its connections.
fn http2(system: &str, request: &str) -> Bench {
    let load = "  pipelining: 8\n  protocol: http2";
    study(system, load, request)
}

/// A server of HTTP/2 that requires a header with the study's token, and a path and an id of each request.
fn stream_server(settings: Settings) -> StreamServer {
    let ids = Mutex::new(BTreeSet::new());
    StreamServer::start(settings, move |seen| {
        let header = |name: &str| seen.head.headers().get(name)?.to_str().ok();
        let is_new = ids
            .lock()
            .unwrap()
            .insert(header("x-id").unwrap_or_default().to_owned());
        let is_right = header("authorization") == Some("Bearer hushhush")
            && ["/of/1", "/of/2"].contains(&seen.head.uri().path());
        streams::Reply::Answer {
            status: if is_right && is_new { 200 } else { 400 },
            body: "fine".into(),
        }
    })
}

const OF_STREAMS: &str = "post: '/of/{{ids.n}}', feeds: [{ name: ids, rows: [{ n: 1 }, { n: 2 }] }], body: some, \
     headers: { Authorization: 'Bearer ${file:token}', X-Id: '{{random.uuid}}' }";

/// Runs the study; each request must have arrived complete.
fn check_streams(bench: &Bench, server: &StreamServer) {
    fs::write(bench.path("token"), "hushhush\n").unwrap();
    check(&bench.results());
    // One request before the load is the smoke check.
    assert_eq!(server.get(|counted| &counted.answered), 41);
    assert_eq!(server.get(|counted| &counted.body_bytes), 41 * 4);
    // Streams share a few connections.
    assert!(server.get(|counted| &counted.connections) < 10);
}

#[test]
fn a_study_goes_over_http2_in_the_clear() {
    let server = stream_server(Settings::default());
    let system = format!("{{ url: 'http://{}' }}", server.address);
    check_streams(&http2(&system, OF_STREAMS), &server);
}

#[test]
fn a_study_goes_over_http2_with_certificates_of_both_sides() {
    let authority = Authority::new("ours");
    let mut config =
        authority.server_with(&authority.sign("localhost", 2090), ClientAuth::Required);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = stream_server(Settings {
        tls: Some(Arc::new(config)),
        ..Settings::default()
    });
    let system = format!(
        "{{ url: 'https://localhost:{}', tls: {{ ca: ca.pem, cert: client.pem }} }}",
        server.address.port()
    );
    let bench = http2(&system, OF_STREAMS);
    let client = authority.sign("client", 2090);
    fs::write(bench.path("ca.pem"), &authority.pem).unwrap();
    fs::write(bench.path("client.pem"), client.certificate + &client.key).unwrap();
    check_streams(&bench, &server);
}

#[test]
fn what_tls_needs_is_read_before_anything_is_started() {
    let system = "{ url: 'https://localhost:1', tls: { ca: none.pem } }";
    let bench = study(system, "", "get: /");
    let ran = bench.run(&[]);
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{shown}");
    assert!(shown.contains("none.pem"), "{shown}");
    assert!(!bench.path("run").exists());
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    let seen = Requests::default();
    let server = Server::start(seen.reply());
    let system = format!("{{ url: 'http://{}', smoke_test: false }}", server.address);
    let load = "  keep_alive: false\n  connect_timeout: 60s";
    let bench = study(
        &system,
        load,
        "post: /, body_random: 10kB, headers: { Host: shop }",
    );
    check(&bench.results());
    let first = seen.0.lock().unwrap()[0].body.clone();
    let requests = seen.count_matching(|request| {
        request.on_connection == 0
            && request.header("connection") == Some("close")
            && request.header("host") == Some("shop")
            && request.body.len() == 10_000
            && request.body == first
    });
    assert_eq!(requests, 40);
}

#[test]
fn a_body_comes_from_a_file_as_it_is() {
    let seen = Requests::default();
    let server = Server::start(seen.reply());
    let system = format!("{{ url: 'http://{}' }}", server.address);
    let bench = study(&system, "", "put: /, body_file: body.bin");
    let body = [0, 159, 146, 150, b'\r', b'\n', 255];
    fs::write(bench.path("body.bin"), body).unwrap();
    check(&bench.results());
    assert_eq!(seen.count_matching(|request| request.body == body), 41);
    let bench = study(&system, "", "put: /, body_file: other.bin");
    let shown = bench.run(&[]);
    assert_eq!(shown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("other.bin"));
}

#[test]
fn requests_differ_by_the_rows_of_feeds() {
    let seen = Requests::default();
    let server = Server::start(seen.reply());
    let system = format!("{{ url: 'http://{}' }}", server.address);
    let feeds = "[{ name: people, file: people.csv }, { name: sizes, rows: [{ n: 1 }, { n: 2 }], order: random }]";
    let bench = study(
        &system,
        "",
        &format!(
            "post: '/of/{{{{people.name}}}}', feeds: {feeds}, headers: {{ X-Id: '{{{{random.uuid}}}}', X-City: 'in {{{{people.city}}}}' }}, \
             body: '{{{{sizes.n}}}} {{{{{{{{ {{{{record.key}}}}'"
        ),
    );
    fs::write(bench.path("people.csv"), "name,city\na b,Ulm\nbo,Bonn\n").unwrap();
    check(&bench.results());
    let requests = seen.0.lock().unwrap().clone();
    assert_eq!(requests.len(), 41);
    let mut ids = BTreeSet::new();
    let mut keys = BTreeSet::new();
    let mut rows = BTreeSet::new();
    let mut sizes = BTreeSet::new();
    // The first one was sent before the load.
    for request in &requests[1..] {
        let path = request.head.split(' ').nth(1).unwrap().to_owned();
        rows.insert((path, request.header("x-city").unwrap().to_owned()));
        let id = request.header("x-id").unwrap();
        assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
        ids.insert(id.to_owned());
        let body = String::from_utf8(request.body.clone()).unwrap();
        let [size, braces, key] = body.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{body}")
        };
        assert_eq!((braces, key.len()), ("{{", 18), "{body}");
        sizes.insert(size.to_owned());
        keys.insert(key.to_owned());
    }
    assert_eq!((ids.len(), keys.len()), (40, 40));
    let expected = [("/of/a%20b", "in Ulm"), ("/of/bo", "in Bonn")];
    let expected = expected.map(|(path, city)| (path.to_owned(), city.to_owned()));
    assert_eq!(rows, BTreeSet::from(expected));
    assert_eq!(sizes, BTreeSet::from(["1".to_owned(), "2".to_owned()]));
}

#[test]
fn a_feed_whose_requests_have_no_room_is_refused_before_anything_is_started() {
    let system = "{ url: 'http://localhost:1' }";
    let bench = study(
        system,
        "",
        &format!(
            "post: /, feeds: [{{ name: f, file: f.csv }}], body: '{{{{f.a}}}}{}'",
            "x".repeat(40_000)
        ),
    );
    let rows: String = (0..2_000).map(|row| format!("{row}\n")).collect();
    fs::write(bench.path("f.csv"), format!("a\n{rows}")).unwrap();
    let ran = bench.run(&[]);
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{shown}");
    assert!(shown.contains("feed f has 2000 rows"), "{shown}");
    assert!(!bench.path("run").exists());
}

#[test]
fn the_load_runs_on_the_cpus_of_the_study() {
    let seen = Requests::default();
    let server = Server::start(seen.reply());
    let system = format!("{{ url: 'http://{}' }}", server.address);
    let cpu = *waggle_system::cpus::allowed_cpus().last().unwrap();
    let load = format!("  workers: 2\n  cpuset: [{cpu}]");
    let run = study(&system, &load, "get: /").results();
    check(&run);
    let host = &run.info.host;
    assert_eq!(host.load_cpus, [u32::try_from(cpu).unwrap()]);
    assert!(!host.system_cpus.contains(&host.load_cpus[0]));
    let none = study(&system, "  cpuset: [1023]", "get: /").run(&[]);
    let shown = String::from_utf8_lossy(&none.stdout).into_owned();
    assert_eq!(none.status.code(), Some(2), "{shown}");
    assert!(shown.contains("load.cpuset has CPU 1023"), "{shown}");
}
