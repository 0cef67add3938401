//! Answers that a small InfluxDB does not give: too large, overloaded.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use waggle_testkit::{
    http::{Reply, Server},
    wait_until,
};

use crate::{
    lab::{log, messages},
    process::Sink,
};

/// Chooses the answer, a status line and headers, by the body and the number of earlier requests.
type Decide = fn(usize, &str) -> &'static str;

/// A fake database that keeps the lines that it accepted.
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

/// Checks that every line of a topic arrives at least once.
fn check(topic: &str, decide: Decide, messages: &[String]) -> (Sink, Fake) {
    let log = log();
    let fake = Fake::start(decide);
    log.make(topic, 1);
    log.put(topic, 1, messages);
    log.flush();
    let mut flags = log.flags_to(topic, &format!("http://{}", fake.server.address), "bucket");
    flags.push("--backoff-min=10ms".into());
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
fn bodies_shrink_to_the_limit_of_the_database() {
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
    assert_eq!(sink.metric("waggle_sink_records_dead_lettered_total"), 0.0);
}

#[test]
fn writes_to_an_overloaded_database_are_retried() {
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
fn a_refused_request_causes_no_dead_letters() {
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
    assert_eq!(sink.metric("waggle_sink_records_dead_lettered_total"), 0.0);
}
