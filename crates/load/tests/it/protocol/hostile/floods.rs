//! Frames without end that cost the client work or memory: many between two answers end the connection, a few do not.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

use waggle_load::Failure;
use waggle_testkit::frames::{
    FrameServer, FrameSocket,
    block::STATUS_200,
    frame::{PRIORITY, data, frame, headers, last_data, ping, reset, settings, window_update},
};

use super::{Counted, Differences, IN_FLIGHT, REQUESTS, await_close, hostile_job, ok, serve_ok};
use crate::support::run;

/// More frames between two answers than a client has to take: a server has no reason for 20,000.
const MANY: usize = 100_000;
/// As many as it should take.
const FEW: usize = 100;
/// Frames that are sent in one call.
const AT_ONCE: usize = 500;

/// Reads and drops what the client sends, until it has closed.
fn drain(mut socket: TcpStream) {
    let mut piece = [0; 64 * 1024];
    while matches!(socket.read(&mut piece), Ok(1..)) {}
}

/// Sends a frame `MANY` times, while another thread reads.
fn send_many(socket: &mut FrameSocket, flood: &[u8]) {
    let (reading, mut writing) = (socket.raw(), socket.raw());
    let frames = flood.repeat(AT_ONCE);
    thread::scope(|scope| {
        scope.spawn(|| drain(reading));
        for _ in 0..MANY / AT_ONCE {
            if writing.write_all(&frames).is_err() {
                break;
            }
        }
    });
}

/// A frame for the second of four streams whose first was answered.
type FrameOf = fn(first: u32, second: u32) -> Vec<u8>;

/// Four requests wait for their answers. The first is answered, the second has `before` and then a frame many times: the client ends
/// the connection, and the next one serves the rest.
fn check_many(differences: &mut Differences, case: &str, before: FrameOf, flood: FrameOf) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection > 0 {
            return serve_ok(socket);
        }
        let requests = socket.next_requests(IN_FLIGHT);
        if let [first, second, ..] = &requests[..] {
            let (first, second) = (first.stream, second.stream);
            socket.finish_stream(first, &ok(first));
            // The request that follows the answer.
            socket.next_request();
            socket.send(&before(first, second));
            send_many(socket, &flood(first, second));
        }
        await_close(socket);
    });
    let counted = Counted::new(&run(hostile_job(&server, IN_FLIGHT)));
    let right = Counted {
        connects: 2,
        ..Counted::on_one_connection(REQUESTS, &[(Failure::Protocol, 4)])
    };
    differences.compare(case, counted, right);
    server.finish();
}

/// Before each answer a frame comes a few times, with no effect.
fn check_few(differences: &mut Differences, case: &str, before: FrameOf, flood: FrameOf) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        let mut answered = None;
        while let Some(request) = socket.next_request() {
            let stream = request.stream;
            if let Some(answered) = answered {
                socket.send(&before(answered, stream));
                socket.send(&flood(answered, stream).repeat(FEW));
            }
            let has_head = !before(1, stream).is_empty() && answered.is_some();
            let rest = match has_head {
                true => last_data(stream, b"ok"),
                false => ok(stream),
            };
            socket.finish_stream(stream, &rest);
            answered = Some(stream);
        }
    });
    let counted = Counted::new(&run(hostile_job(&server, IN_FLIGHT)));
    let right = Counted::on_one_connection(REQUESTS, &[]);
    differences.compare(&format!("few: {case}"), counted, right);
    server.finish();
}

const NOTHING: FrameOf = |_, _| Vec::new();

/// Frames that are each allowed, and together of no use.
const FLOODS: [(&str, FrameOf); 8] = [
    ("PING", |_, _| ping(7)),
    ("SETTINGS", |_, _| settings(&[])),
    ("SETTINGS with a value", |_, _| settings(&[(4, 65_535)])),
    ("PRIORITY", |_, second| {
        frame(PRIORITY, 0, second, &[0, 0, 0, 0, 15])
    }),
    ("unknown frames", |_, _| frame(0x42, 0, 0, b"anything")),
    ("RST_STREAM of a closed stream", |first, _| reset(first, 8)),
    ("WINDOW_UPDATE of a closed stream", |first, _| {
        window_update(first, 1)
    }),
    ("WINDOW_UPDATE of the connection", |_, _| {
        window_update(0, 1)
    }),
];

#[test]
fn a_few_frames_between_answers_have_no_effect() {
    let mut differences = Differences::default();
    for (case, flood) in FLOODS {
        check_few(&mut differences, case, NOTHING, flood);
    }
    differences.check();
}

#[test]
fn many_frames_between_answers_end_the_connection() {
    let mut differences = Differences::default();
    for (case, flood) in FLOODS {
        check_many(&mut differences, case, NOTHING, flood);
    }
    differences.check();
}

const HEAD: FrameOf = |_, second| headers(second, STATUS_200);
const EMPTY_DATA: FrameOf = |_, second| data(second, b"");

#[test]
fn a_few_empty_frames_of_an_answer_have_no_effect() {
    let mut differences = Differences::default();
    check_few(&mut differences, "empty DATA", HEAD, EMPTY_DATA);
    differences.check();
}

#[test]
fn many_empty_frames_of_an_answer_end_the_connection() {
    let mut differences = Differences::default();
    check_many(&mut differences, "empty DATA", HEAD, EMPTY_DATA);
    differences.check();
}

#[test]
fn pings_are_answered_in_order_with_what_they_carry() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        while let Some(request) = socket.next_request() {
            let first = request.number * FEW as u64;
            let pings = (first..first + FEW as u64).map(|number| ping((number << 32) | 0xabcd));
            socket.send(&pings.flatten().collect::<Vec<_>>());
            socket.finish_stream(request.stream, &ok(request.stream));
        }
    });
    let counted = Counted::new(&run(hostile_job(&server, IN_FLIGHT)));
    assert_eq!(counted, Counted::on_one_connection(REQUESTS, &[]));
    let pongs = server.finish().pongs;
    // The last ones may be on their way when the run ends.
    assert!(pongs.len() as u64 > (REQUESTS - IN_FLIGHT as u64) * FEW as u64);
    for (number, pong) in (0_u64..).zip(&pongs) {
        assert_eq!(*pong, ((number << 32) | 0xabcd).to_be_bytes());
    }
}

#[test]
fn settings_are_acknowledged_each() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        while let Some(request) = socket.next_request() {
            for _ in 0..FEW {
                socket.send_settings(&[(3, 100), (4, 65_535)]);
            }
            socket.synchronize(request.number);
            socket.finish_stream(request.stream, &ok(request.stream));
        }
    });
    let counted = Counted::new(&run(hostile_job(&server, 1)));
    assert_eq!(counted, Counted::on_one_connection(REQUESTS, &[]));
    let acks = server.finish().settings_acks;
    assert_eq!(acks, REQUESTS * FEW as u64 + 1);
}

/// More than this is no limit.
const BYTES_MAX: usize = 256 * 1024 * 1024;

#[test]
fn a_server_that_floods_and_never_reads_does_not_fill_the_memory() {
    for flood in [ping(7), settings(&[])] {
        let case = flood.escape_ascii().to_string();
        let server = FrameServer::start(move |socket| {
            socket.send_settings(&[]);
            if socket.next_requests(IN_FLIGHT).is_empty() {
                return;
            }
            let frames = flood.repeat(AT_ONCE);
            let mut sent_bytes = 0;
            while socket.send(&frames) {
                sent_bytes += frames.len();
                assert!(sent_bytes < BYTES_MAX, "the client reads without end");
            }
        });
        let mut job = hostile_job(&server, IN_FLIGHT);
        job.max_requests = Some(IN_FLIGHT as u64);
        job.limits.request_timeout = Duration::from_secs(2);
        let ended = run(job);
        ended.check_sums();
        let failures = ended.failures();
        let failed: u64 = failures.iter().map(|(_, count)| count).sum();
        assert_eq!(failed, IN_FLIGHT as u64, "{case}: {failures:?}");
        let is_named =
            |(kind, _): &(Failure, u64)| matches!(kind, Failure::Protocol | Failure::TimedOut);
        assert!(failures.iter().all(is_named), "{case}: {failures:?}");
        server.finish();
    }
}
