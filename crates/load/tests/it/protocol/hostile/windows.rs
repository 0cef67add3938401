//! Flow control of request bodies: tiny, shrinking and overflowing windows (RFC 9113, sections 5.2 and 6.9). The server panics if
//! the client sends more than a window allows.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use waggle_load::Failure;
use waggle_testkit::frames::{
    FrameServer, FrameSocket, Refill,
    frame::{
        DATA, FLOW_CONTROL_ERROR, Frame, HEADERS, INITIAL_WINDOW_SIZE, PROTOCOL_ERROR, settings,
        window_update,
    },
};

use super::{
    Counted, Differences, IN_FLIGHT, REQUESTS, await_close, check_fatal, errors, hostile_job, ok,
    put, serve_ok,
};
use crate::support::{requests, run};

const WINDOW_MAX: u32 = (1 << 31) - 1;

fn body(length: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(length).collect()
}

/// Bytes of DATA in these frames.
fn count_bytes(frames: &[Frame]) -> usize {
    let frames = frames.iter().filter(|frame| frame.kind == DATA);
    frames.map(|frame| frame.payload.len()).sum()
}

/// Reads until this many bytes of DATA have arrived, or the connection ends.
fn read_bytes(socket: &mut FrameSocket, bytes: usize) {
    let mut left = bytes;
    while left > 0
        && let Some(frame) = socket.next_frame()
    {
        if frame.kind == DATA {
            left = left.checked_sub(frame.payload.len()).unwrap_or_else(|| {
                panic!("{left} bytes were left to send, and more came: {frame:?}")
            });
        }
    }
}

#[test]
fn bodies_are_sent_byte_by_byte_if_the_window_asks_for_that() {
    for window in [0, 1, 5] {
        let server = FrameServer::start(move |socket| {
            socket.refill = Refill::OneByte;
            socket.send_settings(&[(INITIAL_WINDOW_SIZE, window)]);
            serve_ok(socket);
        });
        let mut job = hostile_job(&server, IN_FLIGHT);
        *requests(&mut job) = vec![put(&body(20))];
        let ended = run(job);
        assert_eq!(
            Counted::new(&ended),
            Counted::on_one_connection(REQUESTS, &[]),
            "window {window}"
        );
        for request in server.finish().requests {
            assert_eq!(request.body, body(20), "window {window}");
        }
    }
}

#[test]
fn frames_stay_large_if_each_is_given_back_at_once() {
    const LENGTH: usize = 500_000;
    let frames = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&frames);
    // The windows of stream and connection are widened by what a frame had as soon as it arrives.
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        while let Some(frame) = socket.next_frame() {
            counter.fetch_add(usize::from(frame.kind == DATA), Relaxed);
            if frame.ends_stream() {
                socket.finish_stream(frame.stream, &ok(frame.stream));
            }
        }
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    *requests(&mut job) = vec![put(&body(LENGTH))];
    let ended = run(job);
    let right = Counted::on_one_connection(REQUESTS, &[]);
    assert_eq!(Counted::new(&ended), right);
    server.finish();
    let count = usize::try_from(REQUESTS).expect("a count");
    let fewest = LENGTH.div_ceil(16_384) * count;
    let frames = frames.load(Relaxed);
    assert!(
        frames < 20 * fewest,
        "{frames} frames instead of {fewest} or a few more"
    );
}

/// The server handles these many streams of bodies of `length` bytes by hand. All are answered in the end.
fn check_by_hand(
    (streams, length): (usize, usize),
    initial_window: u32,
    serve: impl Fn(&mut FrameSocket, &[u32]) + Send + Sync + 'static,
) {
    let server = FrameServer::start(move |socket| {
        socket.refill = Refill::Nothing;
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, initial_window)]);
        let mut opened = Vec::new();
        while opened.len() < streams
            && let Some(frame) = socket.next_frame()
        {
            assert!(frame.kind != DATA, "bytes without a window");
            if frame.kind == HEADERS {
                opened.push(frame.stream);
            }
        }
        serve(socket, &opened);
        for stream in opened {
            socket.finish_stream(stream, &ok(stream));
        }
        await_close(socket);
    });
    let mut job = hostile_job(&server, streams);
    let sent = streams as u64;
    job.max_requests = Some(sent);
    *requests(&mut job) = vec![put(&body(length))];
    let ended = run(job);
    assert_eq!(Counted::new(&ended), Counted::on_one_connection(sent, &[]));
    server.finish();
}

#[test]
fn the_window_of_the_connection_limits_all_streams() {
    check_by_hand((3, 50_000), 0, |socket, streams| {
        for &stream in streams {
            socket.grant(stream, 50_000);
        }
        read_bytes(socket, 65_535);
        assert_eq!(count_bytes(&socket.synchronize(1)), 0);
        socket.grant(0, 1);
        read_bytes(socket, 1);
        assert_eq!(count_bytes(&socket.synchronize(2)), 0);
        socket.grant(0, 1_000_000);
        read_bytes(socket, 150_000 - 65_536);
    });
}

#[test]
fn a_window_may_become_negative() {
    check_by_hand((1, 40_000), 0, |socket, streams| {
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 30_000)]);
        read_bytes(socket, 30_000);
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 10_000)]);
        assert_eq!(count_bytes(&socket.synchronize(1)), 0, "at -20,000");
        socket.grant(streams[0], 20_000);
        assert_eq!(count_bytes(&socket.synchronize(2)), 0, "at 0");
        socket.grant(streams[0], 1);
        read_bytes(socket, 1);
        assert_eq!(count_bytes(&socket.synchronize(3)), 0, "at 0 again");
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 15_000)]);
        read_bytes(socket, 5_000);
        assert_eq!(count_bytes(&socket.synchronize(4)), 0, "at 0 by settings");
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 65_535)]);
        read_bytes(socket, 40_000 - 35_001);
    });
}

#[test]
fn windows_may_have_their_greatest_size() {
    check_by_hand((2, 70_000), 0, |socket, streams| {
        socket.grant(0, WINDOW_MAX - 65_535);
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, WINDOW_MAX)]);
        read_bytes(socket, 70_000 * streams.len());
    });
}

/// The second of four streams gets updates that are not valid while the window of the connection is empty: only its request fails.
fn check_bad_updates(code: u32, increments: &'static [u32]) {
    let server = FrameServer::start(move |socket| {
        socket.refill = Refill::Nothing;
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 0)]);
        let mut opened = Vec::new();
        while opened.len() < IN_FLIGHT
            && let Some(frame) = socket.next_frame()
        {
            if frame.kind == HEADERS {
                opened.push(frame.stream);
            }
        }
        let [first, second, ..] = opened[..] else {
            return;
        };
        socket.grant(first, 100_000);
        read_bytes(socket, 65_535);
        for increment in increments {
            socket.send(&window_update(second, *increment));
        }
        socket.synchronize(1);
        socket.refill = Refill::Whole;
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 100_000)]);
        socket.grant(0, 65_535);
        serve_ok(socket);
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    *requests(&mut job) = vec![put(&body(100_000))];
    let ended = run(job);
    let counted = Counted::new(&ended);
    let kind = counted.failures.first().map(|(kind, _)| *kind);
    // Both kinds say that the server has broken a rule.
    let is_named = matches!(kind, Some(Failure::Protocol | Failure::Malformed));
    assert!(is_named, "{counted:?}");
    let right = Counted::on_one_connection(REQUESTS, &[(kind.unwrap(), 1)]);
    assert_eq!(counted, right);
    let log = server.finish();
    assert!(errors(&log).is_empty(), "{log:?}");
    let codes: Vec<_> = log.resets.iter().map(|(_, code)| *code).collect();
    assert_eq!(codes, [code]);
}

#[test]
fn an_update_by_zero_ends_its_stream() {
    check_bad_updates(PROTOCOL_ERROR, &[0]);
}

#[test]
fn an_update_that_overflows_ends_its_stream() {
    check_bad_updates(FLOW_CONTROL_ERROR, &[WINDOW_MAX, 1]);
}

#[test]
fn invalid_windows_of_the_connection_end_it() {
    let mut differences = Differences::default();
    let mut check = |case: &str, code, bytes: Vec<u8>| {
        check_fatal(&mut differences, case, code, move |_| bytes.clone());
    };
    check("by 0", PROTOCOL_ERROR, window_update(0, 0));
    check("overflow", FLOW_CONTROL_ERROR, window_update(0, WINDOW_MAX));
    differences.check();
}

#[test]
fn an_initial_window_above_the_limit_ends_the_connection() {
    let mut differences = Differences::default();
    check_fatal(&mut differences, "settings", FLOW_CONTROL_ERROR, |_| {
        settings(&[(INITIAL_WINDOW_SIZE, WINDOW_MAX + 1)])
    });
    differences.check();
}

#[test]
fn settings_that_overflow_a_window_end_the_connection() {
    let server = FrameServer::start(|socket| {
        if socket.connection > 0 {
            socket.send_settings(&[]);
            return serve_ok(socket);
        }
        socket.refill = Refill::Nothing;
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 0)]);
        let opened = socket.frames_until(|frame| frame.kind == HEADERS);
        let Some(frame) = opened.last() else { return };
        // The window of the connection ends before the body.
        socket.grant(frame.stream, WINDOW_MAX);
        read_bytes(socket, 65_535);
        socket.send(&settings(&[(INITIAL_WINDOW_SIZE, 65_536)]));
        await_close(socket);
    });
    let mut job = hostile_job(&server, 1);
    *requests(&mut job) = vec![put(&body(100_000))];
    let ended = run(job);
    let right = Counted {
        connects: 2,
        ..Counted::on_one_connection(REQUESTS, &[(Failure::Protocol, 1)])
    };
    assert_eq!(Counted::new(&ended), right);
    assert_eq!(errors(&server.finish()), [FLOW_CONTROL_ERROR]);
}
