//! A watch of a server that sends lines in pieces, ends, cannot go on, repeats itself or says nothing: each record counts once.
// long: every test scripts the same fake server.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use tokio::{task::yield_now, time::Instant};
use waggle_load::key_of;
use waggle_study::{Extract, JsonValue, ProbeKind, WatchBegin, WatchVersions};
use waggle_system::http::peer::Peer;
use waggle_testkit::{
    http::{Reply, Request, Server, answer, ok},
    tls::Authority,
};

use super::{LINE_MAX_BYTES, SILENT_AT_LEAST, Watch, WatchStream, stream::ANSWERS_MAX};
use crate::probe::{
    open_stream,
    tests::{Bench, RUN},
};

/// Polls until a test gives up.
const POLLS_MAX: u32 = 400;
/// A record was sent before any answer began, or after all of them.
const LONG_AGO: u64 = 9;
const LATER: u64 = 9_000_000_000_000_000_000;

const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A server that gives these answers in turn, and then one without a line that does not end. It keeps paths and the field `X-Of`.
struct Fake {
    server: Server,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Gives the answers in turn, and notes the requests.
fn reply_in_turn(
    replies: Vec<Reply>,
    requests: Arc<Mutex<Vec<String>>>,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    move |request| {
        let label = request.header("x-of").unwrap_or_default();
        let noted = format!("{} {label}", request.path);
        requests.lock().unwrap().push(noted);
        let number = usize::try_from(request.number).unwrap();
        replies.get(number).cloned().unwrap_or_else(|| going_on(""))
    }
}

impl Fake {
    fn start(replies: Vec<Reply>) -> Self {
        let requests = Arc::default();
        Self {
            server: Server::start(reply_in_turn(replies, Arc::clone(&requests))),
            requests,
        }
    }

    #[track_caller]
    fn check_requests(&self, expected: &[&str]) {
        assert_eq!(*self.requests.lock().unwrap(), expected);
    }
}

/// A text in the chunks of an answer.
fn chunks(text: &str, length: usize) -> String {
    let pieces = text.as_bytes().chunks(length);
    pieces
        .map(|piece| {
            format!(
                "{:x}\r\n{}\r\n",
                piece.len(),
                std::str::from_utf8(piece).unwrap()
            )
        })
        .collect()
}

/// An answer that does not end.
fn going_on(text: &str) -> Reply {
    Reply::Answer(format!("{HEAD}{}", chunks(text, 4096)).into_bytes())
}

/// An answer that ends in order.
fn ending(text: &str) -> Reply {
    Reply::Last(format!("{HEAD}{}0\r\n\r\n", chunks(text, 4096)).into_bytes())
}

/// An answer whose connection breaks.
fn cut(text: &str) -> Reply {
    Reply::Cut(format!("{HEAD}{}", chunks(text, 4096)).into_bytes())
}

fn line(kind: &str, version: u64, sequence: u64, time: u64) -> String {
    let key = key_of(0, sequence);
    format!(
        "{{\"type\": \"{kind}\", \"object\": {{\"v\": {version}, \"data\": {{\"run\": \"{RUN}\", \"key\": \"{key}\", \"time\": \"{time}\"}}}}}}\n"
    )
}

/// The record with this sequence is created, with this version.
fn added_line(version: u64, sequence: u64) -> String {
    line("ADDED", version, sequence, LATER)
}

/// The same for a record that was sent before.
fn existing(version: u64, sequence: u64) -> String {
    line("ADDED", version, sequence, LONG_AGO)
}

fn bookmark(version: u64) -> String {
    format!("{{\"type\":\"BOOKMARK\",\"object\":{{\"v\":{version}}}}}\n")
}

const ERROR: &str = "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";

fn begin_at() -> Option<WatchBegin> {
    Some(WatchBegin::At("0".to_owned()))
}

fn begin_asked() -> Option<WatchBegin> {
    Some(WatchBegin::Asked {
        get: "/now".to_owned(),
        path: "$.at".to_owned(),
    })
}

fn bench(begin: Option<WatchBegin>) -> Bench {
    let value = |path: &str, text: &str| JsonValue {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let versions = begin.map(|begin| WatchVersions {
        begin,
        path: "$.object.v".to_owned(),
    });
    let gone = value("$.object.code", "410");
    let kind = ProbeKind::Watch(Box::new(waggle_study::Watch {
        get: match versions {
            Some(_) => "/watch?from=${version}".to_owned(),
            None => "/watch".to_owned(),
        },
        headers: vec![("X-Of".to_owned(), "probe".to_owned())],
        gone: versions.iter().map(|_| gone.clone()).collect(),
        versions,
        conditions: vec![value("$.type", "ADDED")],
    }));
    let extract = Extract::After {
        key: "\"key\":".to_owned(),
        run: Some("\"run\":\"".to_owned()),
        time: Some("\"time\":".to_owned()),
    };
    Bench::new(kind, extract)
}

fn kind(bench: &Bench) -> waggle_study::Watch {
    match bench.kind() {
        ProbeKind::Watch(watch) => *watch,
        other => panic!("{other:?}"),
    }
}

fn watch(bench: &Bench, peer: &Peer) -> Watch {
    let (config, watch) = (bench.start_probe(), kind(bench));
    let stream = WatchStream::new(config.probe, &watch, peer, config.secrets).unwrap();
    Watch::new(&config, &watch, stream).unwrap()
}

/// Polls until this many lines were read, and once more.
async fn read_lines(watch: &mut Watch, lines: u64) {
    for _ in 0..POLLS_MAX {
        watch.poll().await.unwrap();
        if watch.pace.rows_read >= lines {
            watch.poll().await.unwrap();
            return;
        }
    }
    panic!("{} of {lines} lines", watch.pace.rows_read);
}

/// Reads so many lines of a server and compares distinct records, copies, and records of others. Returns the remark.
async fn check(
    begin: Option<WatchBegin>,
    (replies, lines): (Vec<Reply>, u64),
    counts: (u64, u64, u64),
    requests: &[&str],
) -> String {
    let (bench, fake) = (bench(begin), Fake::start(replies));
    let mut watch = watch(&bench, &fake.server.address.into());
    read_lines(&mut watch, lines).await;
    let seen = &watch.log.seen;
    assert_eq!((seen.distinct, seen.duplicates, seen.foreign), counts);
    assert_eq!(watch.pace.rows_read, lines);
    fake.check_requests(requests);
    watch.remark().unwrap_or_default()
}

/// Why the first poll fails.
async fn check_problem(begin: Option<WatchBegin>, reply: Reply, expected: &str) {
    let (bench, fake) = (bench(begin), Fake::start(vec![reply]));
    let mut watch = watch(&bench, &fake.server.address.into());
    let mut problem = None;
    for _ in 0..POLLS_MAX {
        problem = watch.poll().await.err();
        if problem.is_some() {
            break;
        }
    }
    let problem = problem.unwrap().to_string();
    assert!(problem.contains(expected), "{problem}");
    // It is read on after that.
    watch.poll().await.unwrap();
    assert_eq!(fake.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn each_record_is_seen_wherever_the_pieces_of_an_answer_end() {
    let other = added_line(6, 3).replace(RUN, "t9x");
    let text = [
        added_line(1, 0),
        bookmark(2),
        "\n".to_owned(),
        added_line(3, 1),
        line("MODIFIED", 4, 1, LATER),
        added_line(5, 2),
        other,
    ]
    .concat();
    for length in [1, 2, 3, 7, 50, 120, 4096] {
        let pieces = format!("{HEAD}{}", chunks(&text, length)).into_bytes();
        let replies = vec![Reply::Answer(ok(r#"{"at": 1}"#)), Reply::Answer(pieces)];
        let requests = ["/now probe", "/watch?from=1 probe"];
        let remark = check(begin_asked(), (replies, 6), (3, 0, 1), &requests).await;
        assert_eq!(remark, "", "{length}");
    }
}

#[tokio::test]
async fn an_answer_that_ends_goes_on_from_the_last_version() {
    let half = &added_line(9, 3)[..40];
    let replies = vec![
        ending(&(added_line(5, 0) + &added_line(6, 1) + &bookmark(7))),
        cut(&(added_line(8, 2) + half)),
        // The last line has no line feed and is whole.
        ending(added_line(9, 3).trim_end()),
        going_on(&added_line(11, 4)),
    ];
    let requests = [
        "/watch?from=0 probe",
        "/watch?from=7 probe",
        "/watch?from=8 probe",
        "/watch?from=9 probe",
    ];
    let remark = check(begin_at(), (replies, 6), (5, 0, 0), &requests).await;
    assert_eq!(remark, "");
}

#[tokio::test]
async fn a_repeated_line_is_no_copy_and_another_version_is_one() {
    let again = added_line(5, 0) + &added_line(6, 1) + &added_line(7, 1);
    let replies = vec![ending(&added_line(5, 0)), going_on(&again)];
    let requests = ["/watch?from=0 probe", "/watch?from=5 probe"];
    check(begin_at(), (replies, 4), (2, 1, 0), &requests).await;
}

#[tokio::test]
async fn a_server_that_cannot_go_on_is_asked_anew() {
    let shown_again = existing(5, 0) + &existing(6, 1);
    let replies = vec![
        ending(&added_line(5, 0)),
        Reply::Answer(answer(410, "", "")),
        going_on(&shown_again),
    ];
    let requests = [
        "/watch?from=0 probe",
        "/watch?from=5 probe",
        "/watch?from=0 probe",
    ];
    let remark = check(begin_at(), (replies, 3), (2, 0, 0), &requests).await;
    assert!(
        remark.contains("could not go on from the last version once"),
        "{remark}"
    );
    assert!(
        remark.contains("what was still there then was seen"),
        "{remark}"
    );

    // A line may say so, and what follows it is not read.
    let ends = added_line(5, 0) + ERROR + &added_line(6, 7);
    let replies = vec![going_on(&ends), going_on(&shown_again)];
    let requests = ["/watch?from=0 probe", "/watch?from=0 probe"];
    check(begin_at(), (replies, 4), (2, 0, 0), &requests).await;
}

/// A list of what is there has no order: an answer that ends in it is asked for anew, and no record is lost behind a version.
#[tokio::test]
async fn an_answer_that_ends_within_its_list_begins_anew() {
    let list = existing(9, 0) + &existing(4, 1) + &existing(2, 2);
    let replies = vec![ending(&existing(9, 0)), going_on(&list)];
    let requests = ["/watch?from=0 probe", "/watch?from=0 probe"];
    let remark = check(begin_at(), (replies, 4), (3, 0, 0), &requests).await;
    assert_eq!(remark, "");
}

#[tokio::test]
async fn what_an_asked_version_leaves_out_is_said() {
    let replies = vec![
        Reply::Answer(ok(r#"{"at": "3"}"#)),
        ending(&added_line(5, 0)),
        Reply::Answer(answer(410, "", "")),
        Reply::Answer(ok(r#"{"at": "9"}"#)),
        going_on(&added_line(10, 2)),
    ];
    let requests = [
        "/now probe",
        "/watch?from=3 probe",
        "/watch?from=5 probe",
        "/now probe",
        "/watch?from=9 probe",
    ];
    let remark = check(begin_asked(), (replies, 2), (2, 0, 0), &requests).await;
    assert!(
        remark.contains("records that came in between were not shown"),
        "{remark}"
    );
}

#[tokio::test]
async fn a_server_without_versions_is_asked_anew_each_time() {
    let replies = vec![
        ending(&added_line(1, 0)),
        going_on(&(existing(1, 0) + &added_line(2, 1))),
    ];
    let requests = ["/watch probe", "/watch probe"];
    let remark = check(None, (replies, 3), (2, 0, 0), &requests).await;
    assert!(remark.contains("was requested again once"), "{remark}");
}

#[tokio::test]
async fn lines_without_an_end_are_left_out() {
    let long = format!(
        "{{\"type\":\"ADDED\",\"a\":\"{}\n",
        "x".repeat(2 * LINE_MAX_BYTES)
    );
    let replies = vec![going_on(&(long + &added_line(2, 0)))];
    let remark = check(
        begin_at(),
        (replies, 1),
        (1, 0, 0),
        &["/watch?from=0 probe"],
    )
    .await;
    assert!(
        remark.starts_with("lines longer than") && remark.ends_with(": 1"),
        "{remark}"
    );
}

#[tokio::test]
async fn bad_answers_are_explained_and_read_on() {
    let gone = Reply::Answer(answer(410, "", ""));
    check_problem(
        begin_at(),
        gone,
        "/watch?from=0 was answered with status 410",
    )
    .await;
    check_problem(begin_at(), Reply::Answer(answer(500, "", "")), "status 500").await;
    check_problem(begin_at(), going_on(ERROR), "cannot begin where begin says").await;
    check_problem(begin_at(), ending(""), "ended before its first line").await;
    check_problem(begin_at(), going_on("<html>\n"), "a line is not JSON: ").await;
    let unversioned = added_line(1, 0).replace("\"v\"", "\"w\"");
    let problem = "/watch?from=0: a line with a record has no version at $.object.v";
    check_problem(begin_at(), going_on(&unversioned), problem).await;
}

#[tokio::test]
async fn bad_documents_of_a_version_are_explained() {
    for (document, expected) in [
        ("<html>", "/now: the answer is not JSON: "),
        (
            r#"{"at": {}}"#,
            "/now: the answer has no version where begin says",
        ),
    ] {
        let (bench, fake) = (
            bench(begin_asked()),
            Fake::start(vec![Reply::Answer(ok(document))]),
        );
        let mut watch = watch(&bench, &fake.server.address.into());
        let problem = watch.poll().await.unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{problem}");
    }
}

#[tokio::test]
async fn silence_is_waited_for_and_at_the_end_asked_about() {
    let fake = Fake::start(vec![
        going_on(&added_line(4, 0)),
        going_on(&added_line(5, 1)),
    ]);
    let bench = bench(begin_at());
    let mut watch = watch(&bench, &fake.server.address.into());
    read_lines(&mut watch, 1).await;
    watch.restart();
    assert!(!watch.poll().await.unwrap());
    fake.check_requests(&["/watch?from=0 probe"]);
    watch.last_read = Instant::now().checked_sub(SILENT_AT_LEAST).unwrap();
    watch.restart();
    read_lines(&mut watch, 2).await;
    fake.check_requests(&["/watch?from=0 probe", "/watch?from=4 probe"]);
    assert_eq!(watch.log.seen.distinct, 2);
}

#[tokio::test]
async fn answers_have_a_limit() {
    let fake = Fake::start(Vec::new());
    let bench = bench(begin_at());
    let mut watch = watch(&bench, &fake.server.address.into());
    watch.stream.answers = ANSWERS_MAX;
    let problem = watch.poll().await.unwrap_err().to_string();
    assert!(
        problem.ends_with("it has been answered 10000 times"),
        "{problem}"
    );
    fake.check_requests(&[]);
}

#[tokio::test]
async fn a_stream_may_be_requested_before_the_load() {
    let fake = Fake::start(vec![going_on(&(added_line(1, 0) + &added_line(2, 0)))]);
    let bench = bench(begin_at());
    let (config, kind) = (bench.start_probe(), kind(&bench));
    let peers = [fake.server.address.into()];
    let stream = open_stream(config.probe, &peers, config.secrets)
        .await
        .unwrap();
    let mut watch = Watch::new(&config, &kind, stream.unwrap()).unwrap();
    read_lines(&mut watch, 2).await;
    fake.check_requests(&["/watch?from=0 probe"]);
    let seen = &watch.log.seen;
    assert_eq!((seen.distinct, seen.duplicates), (1, 1));

    let refuses = Fake::start(vec![Reply::Answer(answer(403, "", ""))]);
    let peers = [refuses.server.address.into()];
    let failure = open_stream(config.probe, &peers, config.secrets)
        .await
        .unwrap_err();
    assert_eq!(
        failure.reason,
        "probe \"place\" cannot begin: /watch?from=0 was answered with status 403"
    );
}

#[tokio::test]
async fn a_killed_server_must_show_its_records_again() {
    let text = added_line(1, 0) + &added_line(2, 1);
    let fake = Fake::start(vec![going_on(&text), going_on(&existing(1, 0))]);
    let bench = bench(begin_at());
    let mut watch = watch(&bench, &fake.server.address.into());
    read_lines(&mut watch, 2).await;
    watch.forget();
    assert_eq!(watch.log.seen.distinct, 0);
    read_lines(&mut watch, 3).await;
    let seen = &watch.log.seen;
    assert_eq!((seen.distinct, seen.duplicates), (1, 0));
    fake.check_requests(&["/watch?from=0 probe", "/watch?from=0 probe"]);
}

#[tokio::test]
async fn ports_with_tls_are_watched() {
    let authority = Authority::new("own");
    let requests = Arc::default();
    let reply = reply_in_turn(vec![going_on(&added_line(1, 0))], Arc::clone(&requests));
    let server = Server::start_secure(authority.server(), reply);
    let tls = waggle_load::Tls::new(waggle_load::TlsOptions {
        server_name: "localhost".to_owned(),
        roots: waggle_load::Roots::Pem(authority.pem.clone().into_bytes()),
        client: None,
        resumes: true,
    });
    let peer = Peer {
        address: server.address,
        tls: Some(tls.unwrap()),
        authorization: None,
    };
    let bench = bench(begin_at());
    let mut watch = watch(&bench, &peer);
    read_lines(&mut watch, 1).await;
    assert_eq!(watch.log.seen.distinct, 1);
    assert_eq!(*requests.lock().unwrap(), ["/watch?from=0 probe"]);
}

/// An answer that goes on with what the test writes. Returns the watch that reads it, and the other end.
async fn open_by_hand(bench: &Bench) -> (Watch, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watch = watch(bench, &listener.local_addr().unwrap().into());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        stream.write_all(HEAD.as_bytes()).unwrap();
        stream
    });
    watch.poll().await.unwrap();
    (watch, server.join().unwrap())
}

/// A thread that was busy when a line came cannot know that it had not come at once.
#[tokio::test]
async fn a_record_that_is_read_late_may_have_come_at_once() {
    let bench = bench(begin_at());
    let (mut watch, mut server) = open_by_hand(&bench).await;
    let clock = watch.log.clock;
    let mut send = |sequence: u64| {
        let text = line("ADDED", sequence + 1, sequence, clock.unix_ns());
        server.write_all(chunks(&text, 4096).as_bytes()).unwrap();
    };
    // Between two polls, and while a poll waits.
    send(0);
    watch.poll().await.unwrap();
    let while_it_waits = async {
        for _ in 0..20 {
            yield_now().await;
        }
        send(1);
    };
    let (polled, ()) = tokio::join!(watch.poll(), while_it_waits);
    polled.unwrap();
    read_lines(&mut watch, 2).await;
    let delays = watch.log.delay_histograms(false);
    let earliest = delays.earliest.unwrap();
    // Bytes may need a moment from socket to socket; the rule itself is checked below.
    assert_eq!(earliest.len(), 2);
    assert!(earliest.max() <= delays.delivery.max());
}

/// The delays of one record in microseconds: the earliest, and until it was seen.
#[track_caller]
fn check_delays((opened, interrupted, quiet): (u64, u64, u64), expected: (u64, u64)) {
    let bench = bench(begin_at());
    let peer = Peer::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
    let mut watch = watch(&bench, &peer);
    // Milliseconds after the record was sent, and before that.
    let start_ns = watch.log.clock.start_unix_ns() + 1_000_000_000;
    let ns = |at_ms: u64| start_ns + at_ms * 1_000_000 - 100_000_000;
    (watch.opened_ns, watch.interrupted_ns, watch.quiet_ns) =
        (ns(opened), ns(interrupted), ns(quiet));
    watch.log.update_window();
    let text = line("ADDED", 1, 0, ns(100));
    watch.record(&serde_json::from_str(&text).unwrap(), Some("1"), ns(140));
    let delays = watch.log.delay_histograms(false);
    let earliest = delays.earliest.unwrap().max();
    assert_eq!((earliest / 100, delays.delivery.max() / 100), expected);
}

#[tokio::test]
async fn a_delay_ends_when_the_line_was_read_and_may_have_waited_since_the_stream_was_interrupted()
{
    // Sent at 100 and read at 140. Nothing waited at 140, and at 130.
    check_delays((50, 40, 140), (400, 400));
    check_delays((50, 40, 130), (300, 400));
    // The answer began at 135 and the one before was read to its end at 110, or before the record was sent.
    check_delays((135, 110, 140), (100, 400));
    check_delays((135, 90, 140), (0, 400));
}
