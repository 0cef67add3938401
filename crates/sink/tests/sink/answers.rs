//! Answers that a small InfluxDB does not give: too large, too busy.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use waggle_testkit::http::{Reply, Server};
use waggle_testkit::wait_until;

use crate::lab::{log, messages};
use crate::process::Sink;

/// Decides by a body, and by how many came before, what is answered: a status line and headers.
type Decide = fn(usize, &str) -> &'static str;

/// A database that answers as it is asked to, and keeps the lines that it took.
struct Fake {
    server: Server,
    taken: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn start(decide: Decide) -> Self {
        let taken = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&taken);
        let server = Server::start(move |request| {
            let number = usize::try_from(request.number).unwrap();
            let answer = decide(number, request.text());
            let length = if answer.starts_with("204") {
                let mut kept = kept.lock().unwrap();
                kept.extend(request.text().lines().map(str::to_owned));
                ""
            } else {
                "Content-Length: 0\r\n"
            };
            Reply::Answer(format!("HTTP/1.1 {answer}\r\n{length}\r\n").into_bytes())
        });
        Self { server, taken }
    }

    fn lines(&self) -> Vec<String> {
        self.taken.lock().unwrap().clone()
    }
}

/// Everything of a topic arrives, each line at least once.
fn check(topic: &str, decide: Decide, messages: &[String]) -> (Sink, Fake) {
    let log = log();
    let fake = Fake::start(decide);
    log.make(topic, 1);
    log.put(topic, 1, messages);
    log.flush();
    let mut flags = log.flags_to(topic, &format!("http://{}", fake.server.address), "bucket");
    flags.push("--back-off-min=10ms".into());
    let sink = Sink::start(&flags, "token");
    wait_until("commit of all", || {
        log.committed_offsets(&format!("group-of-{topic}"), topic, 1) == log.ends(topic, 1)
    });
    (sink, fake)
}

fn lines(messages: &[String]) -> BTreeSet<String> {
    messages
        .iter()
        .flat_map(|message| message.lines())
        .map(str::to_owned)
        .collect()
}

#[test]
fn bodies_become_as_small_as_the_database_takes() {
    let messages = messages("small", 0..5_000, 5_000);
    let decide: Decide = |_, body| {
        if body.len() > 20_000 {
            "413 Content Too Large"
        } else {
            "204 No Content"
        }
    };
    let (sink, fake) = check("small", decide, &messages);
    assert_eq!(
        fake.lines().into_iter().collect::<BTreeSet<_>>(),
        lines(&messages)
    );
    assert_eq!(sink.metric("waggle_sink_records_dead_total"), 0.0);
}

#[test]
fn a_busy_database_is_asked_again() {
    let messages = messages("busy", 0..1_000, 10);
    let decide: Decide = |before, _| match before {
        0 => "429 Too Many Requests\r\nRetry-After: 1",
        1 => "503 Service Unavailable",
        2 => "500 Internal Server Error",
        _ => "204 No Content",
    };
    let (sink, fake) = check("busy", decide, &messages);
    assert_eq!(
        fake.lines().into_iter().collect::<BTreeSet<_>>(),
        lines(&messages)
    );
    assert_eq!(sink.metric("waggle_sink_retries_total"), 3.0);
}

#[test]
fn a_request_that_is_refused_as_such_puts_no_line_aside() {
    let messages = messages("asked", 0..100, 10);
    let decide: Decide = |before, _| {
        if before < 5 {
            "400 Bad Request"
        } else {
            "204 No Content"
        }
    };
    let (sink, fake) = check("asked", decide, &messages);
    assert_eq!(
        fake.lines().into_iter().collect::<BTreeSet<_>>(),
        lines(&messages)
    );
    assert_eq!(sink.metric("waggle_sink_records_dead_total"), 0.0);
}
