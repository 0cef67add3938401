//! Studies of a server that speaks HTTP/2 and nothing else: every load of a trial speaks it, too.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use waggle_results::TrialEnd;
use waggle_spec::{LoadRole, Protocol};
use waggle_testkit::streams::{ReceivedRequest, Reply, Settings, StreamServer};

use super::Bench;

/// Sessions of the preparation.
const OBJECTS: usize = 30;

/// How often each kind of request came, by the first name of its path.
type Seen = Arc<Mutex<BTreeMap<String, u64>>>;

/// A store: it makes objects, lets users log in, and shows objects to them.
fn store() -> (StreamServer, Seen) {
    let seen = Seen::default();
    let memory = Arc::clone(&seen);
    let server = StreamServer::start(Settings::default(), move |request| {
        let path = request.head.uri().path();
        let kind = path.split('/').nth(1).unwrap_or_default().to_owned();
        let mut seen = memory.lock().unwrap();
        let number = seen.entry(kind.clone()).or_insert(0);
        *number += 1;
        respond(request, &kind, *number)
    });
    (server, seen)
}

fn respond(request: &ReceivedRequest, kind: &str, number: u64) -> Reply {
    let header = |name: &str| request.head.headers().get(name)?.to_str().ok();
    let (status, headers, body) = match kind {
        "make" => (201, vec![("x-id", format!("o{number}"))], String::new()),
        "login" => {
            let cookie = ("set-cookie", format!("sid={number}; Path=/"));
            (200, vec![cookie], format!(r#"{{"token": "t{number}"}}"#))
        }
        "lists" => (200, Vec::new(), "[]".to_owned()),
        "objects" => {
            let sid = header("cookie").and_then(|cookie| cookie.strip_prefix("sid="));
            let token = header("authorization").and_then(|field| field.strip_prefix("Bearer t"));
            let status = if sid.is_some() && sid == token {
                200
            } else {
                403
            };
            (status, Vec::new(), String::new())
        }
        _ => (404, Vec::new(), String::new()),
    };
    Reply::Headed {
        status,
        headers,
        body: body.into(),
        pause: Duration::from_millis(1),
    }
}

fn study(server: &StreamServer, generators: u32) -> Bench {
    let study = format!(
        "
study: streams
question: Does it work?
system: {{ url: 'http://{}' }}
prepare:
  loads:
    - name: fill
      sessions: {OBJECTS}
      connections: 2
      steps:
        - {{ name: make, post: '/make/{{{{session}}}}', expect: {{ status: 201 }}, capture: {{ id: {{ header: x-id }} }} }}
      keep: [id]
load:
  model: closed
  connections: 2
  pipelining: 5
  protocol: http2
  generators: {generators}
  scenario:
    name: reads
    feeds: [{{ name: made, captured_by: fill, order: random }}]
    flows:
      - name: read
        steps:
          - {{ name: login, post: /login, capture: {{ token: {{ json: $.token }} }} }}
          - {{ name: get, get: '/objects/{{{{made.id}}}}', headers: {{ Authorization: 'Bearer {{{{token}}}}' }} }}
background:
  - {{ name: lists, connections: 1, keep_alive: false, request: {{ get: /lists }} }}
schedule:
  measure: 1s
  interval: 100ms
  repeat: 1
",
        server.address
    );
    Bench::new("", &study)
}

#[test]
fn every_load_of_a_trial_speaks_http2() {
    for generators in [1, 2] {
        let (server, seen) = store();
        let run = study(&server, generators).results();
        let info = &run.trials[0].info;
        assert_eq!(info.end, TrialEnd::Completed);
        let connecting = info.connecting.unwrap();
        assert_eq!(connecting.protocol, Some(Protocol::Http2));
        assert_eq!(connecting.http2_connections, Some(connecting.connects));
        assert_eq!(connecting.connects, 2, "{connecting:?}");
        assert!(info.totals.succeeded > 0, "{:?}", info.totals);
        assert_eq!(info.totals.failed, 0, "{:?}", info.totals);
        let sessions = info.sessions.as_ref().unwrap().totals;
        assert_eq!(sessions.failed, 0, "{sessions:?}");
        let mut fills = info.loads_of(LoadRole::Preparation);
        let fill = fills.next().and_then(|load| load.fill).unwrap();
        assert_eq!((fill.completed, fill.failed), (OBJECTS as u64, 0));
        let mut lists = info.loads_of(LoadRole::Background);
        let lists = &lists.next().unwrap().counts;
        assert!(lists.succeeded > 0, "{lists:?}");
        assert_eq!(lists.failed, 0, "{lists:?}");
        let seen = seen.lock().unwrap();
        assert_eq!(seen["make"], OBJECTS as u64);
        // One session before the load is the smoke check.
        assert_eq!(seen["login"], info.steps[0].totals.sent + 1);
        // Each list has a connection of its own.
        assert!(server.get(|counted| &counted.connections) > seen["lists"]);
    }
}
