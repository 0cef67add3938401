//! States of streams, answers, and windows.

use super::*;

/// The outcome of frames that are sent after each other, as the last one's.
fn check(frames: &[Vec<u8>], expected: Result<&str, ErrorCode>, said: &str) {
    let mut script = Script::new();
    let (last, first) = frames.split_last().unwrap();
    script.send(&first.concat()).unwrap();
    script.out.clear();
    let outcome = script.send(last);
    assert_eq!(outcome.as_deref().map_err(|code| *code), expected);
    assert_eq!(script.read_output(), said, "{expected:?}");
}

fn window(stream: u32, increment: u32) -> Vec<u8> {
    frame(Kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

const PROTOCOL: Result<&str, ErrorCode> = Err(ErrorCode::PROTOCOL_ERROR);
const CLOSED: Result<&str, ErrorCode> = Err(ErrorCode::STREAM_CLOSED);

#[test]
fn frames_are_judged_by_the_state_of_their_stream() {
    let priority = |stream| frame(Kind::PRIORITY, 0, stream, &[0, 0, 0, 0, 0]);
    // Idle.
    check(&[data(1, 0, b"a")], PROTOCOL, "");
    check(&[reset(1)], PROTOCOL, "");
    check(&[window(1, 1)], PROTOCOL, "");
    check(&[priority(1)], Ok(""), "");
    check(&[frame(Kind::PRIORITY, 0, 1, &[0; 4])], Ok(""), "");
    // Numbers that cannot be.
    check(&[get(2)], PROTOCOL, "");
    check(&[get(5), get(3)], PROTOCOL, "");
    check(&[data(0, 0, b"a")], PROTOCOL, "");
    // Half-closed by the client.
    check(
        &[get(1), data(1, 0, b"a")],
        Ok("1:reset"),
        "1:RST STREAM_CLOSED",
    );
    check(&[get(1), get(1)], Ok("1:reset"), "1:RST STREAM_CLOSED");
    check(&[get(1), window(1, 1), priority(1)], Ok(""), "");
    // Closed by the client.
    check(&[put(1), reset(1), data(1, 0, b"a")], CLOSED, "");
    check(&[put(1), reset(1), get(1)], CLOSED, "");
    check(&[put(1), reset(1), window(1, 1)], Ok(""), "");
    check(&[put(1), reset(1), reset(1)], Ok(""), "");
    // Frames of the connection or of others.
    check(&[frame(Kind::PUSH_PROMISE, 4, 1, &[0; 4])], PROTOCOL, "");
    check(&[frame(Kind(99), 1, 7, b"abc")], Ok(""), "");
    check(&[frame(Kind::PING, 0, 0, &[7; 8])], Ok(""), "PING");
    check(&[frame(Kind::PING, 1, 0, &[7; 8])], Ok(""), "");
}

#[test]
fn a_connection_begins_with_the_preface_and_settings() {
    let check = |bytes: &[u8], expected| {
        for step in 1..=bytes.len() {
            let mut script = Script {
                server: Server::new(LIMITS, &mut Vec::new()),
                out: Vec::new(),
            };
            let mut parts = bytes.chunks(step);
            let outcome = parts.try_for_each(|part| script.send(part).map(|_| ()));
            assert_eq!(outcome, expected, "{step}");
        }
    };
    let settings = frame(Kind::SETTINGS, 0, 0, b"");
    check(&[&PREFACE[..], &settings].concat(), Ok(()));
    check(b"PRI * HTTP/2.1\r\n", Err(ErrorCode::PROTOCOL_ERROR));
    let other = [&PREFACE[..], &get(1)].concat();
    check(&other, Err(ErrorCode::PROTOCOL_ERROR));
    let acknowledged = [&PREFACE[..], &frame(Kind::SETTINGS, 1, 0, b"")].concat();
    check(&acknowledged, Err(ErrorCode::PROTOCOL_ERROR));
}

#[test]
fn an_answer_before_the_end_of_its_request_resets_the_stream() {
    let mut script = Script::new();
    script.send(&put(1)).unwrap();
    script.answer(1, Then::End);
    assert_eq!(script.read_output(), "1:HEADERS. 1:RST NO_ERROR");
    // What was on its way is ignored, but counted in the window.
    for _ in 0..3 {
        assert_eq!(script.send(&data(1, 0, &[7; 16_384])).unwrap(), "");
    }
    assert_eq!(script.read_output(), "0:+49152");
    assert_eq!(
        script.send(&headers(1, END_STREAM, &[("x", "1")])),
        Ok(String::new())
    );
    // After a complete request nothing may come.
    script.send(&get(3)).unwrap();
    script.answer(3, Then::End);
    assert_eq!(script.read_output(), "3:HEADERS.");
    assert_eq!(
        script.send(&data(3, 0, b"a")),
        Err(ErrorCode::STREAM_CLOSED)
    );
}

#[test]
fn the_rest_of_a_frame_that_was_a_mistake_is_skipped() {
    let frames = [data(1, 0, b"abc"), get(3)].concat();
    for step in 1..=frames.len() {
        let mut script = Script::new();
        script.send(&get(1)).unwrap();
        let parts = frames.chunks(step);
        let outcomes: Vec<_> = parts.map(|part| script.send(part).unwrap()).collect();
        let outcome = outcomes.concat().replace(' ', "");
        assert_eq!(outcome, "1:reset3:GET/x.", "{step}");
        assert_eq!(script.read_output(), "1:RST STREAM_CLOSED");
    }
}

#[test]
fn bodies_go_as_far_as_both_windows_allow() {
    let mut script = Script::new();
    script.send(&[get(1), get(3)].concat()).unwrap();
    let send = |script: &mut Script, stream, length: usize| {
        let body = vec![b'x'; length];
        let mut sent = 0;
        loop {
            let rest = &body[sent..];
            let more = script
                .server
                .send_body(stream, rest, Then::End, &mut script.out);
            sent += more;
            if more == 0 || sent == length {
                return sent;
            }
        }
    };
    script.answer(1, Then::More);
    assert_eq!(send(&mut script, 1, 40_000), 40_000);
    assert_eq!(
        script.read_output(),
        "1:HEADERS 1:DATA 16384 1:DATA 16384 1:DATA 7232."
    );
    script.answer(3, Then::More);
    assert_eq!(send(&mut script, 3, 40_000), 25_535);
    assert_eq!(script.server.window(3), 0);
    script.out.clear();
    script.send(&window(0, 10)).unwrap();
    assert_eq!(send(&mut script, 3, 14_465), 10);
    script.send(&window(0, 100_000)).unwrap();
    // By settings the window of a stream may get negative.
    let shrunk = frame(Kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    script.send(&shrunk).unwrap();
    assert_eq!(send(&mut script, 3, 14_455), 0);
    script.send(&window(3, 25_545)).unwrap();
    assert_eq!(send(&mut script, 3, 14_455), 0);
    script.send(&window(3, 1)).unwrap();
    assert_eq!(send(&mut script, 3, 14_455), 1);
    script.send(&window(3, 14_454)).unwrap();
    assert_eq!(send(&mut script, 3, 14_454), 14_454);
    assert_eq!(
        script.read_output(),
        "3:DATA 10 SETTINGS 3:DATA 1 3:DATA 14454."
    );
    // It is over: nothing is sent any more.
    assert_eq!(send(&mut script, 3, 1), 0);
    script.answer(3, Then::End);
    assert_eq!(script.read_output(), "");
}

#[test]
fn an_empty_body_ends_its_answer_without_a_window() {
    let mut script = Script::new();
    let none = frame(Kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    script.send(&[none, get(1)].concat()).unwrap();
    script.out.clear();
    script.answer(1, Then::More);
    let sent = script.server.send_body(1, b"", Then::More, &mut script.out);
    assert_eq!(sent, 0);
    script.server.send_body(1, b"", Then::End, &mut script.out);
    assert_eq!(script.read_output(), "1:HEADERS 1:DATA 0.");
    assert_eq!(script.server.open_streams(), 0);
}

#[test]
fn windows_that_get_too_large_or_grow_by_nothing_are_errors() {
    let large = 0x7fff_ffff;
    let flow = Err(ErrorCode::FLOW_CONTROL_ERROR);
    check(&[window(0, large)], flow, "");
    check(&[window(0, 0)], PROTOCOL, "");
    let refused = "1:RST FLOW_CONTROL_ERROR";
    check(&[get(1), window(1, large)], Ok("1:reset"), refused);
    check(
        &[get(1), window(1, 0)],
        Ok("1:reset"),
        "1:RST PROTOCOL_ERROR",
    );
    let settings = frame(Kind::SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    check(&[get(1), window(1, 1), settings], flow, "");
}

#[test]
fn windows_of_bodies_are_given_back_as_they_are_taken() {
    let mut script = Script::new();
    script.send(&put(1)).unwrap();
    for _ in 0..3 {
        script.send(&data(1, 0, &[7; 16_384])).unwrap();
    }
    assert_eq!(script.read_output(), "0:+49152 1:+49152");
}

#[test]
fn draining_serves_open_streams_alone() {
    let mut script = Script::new();
    script.send(&put(1)).unwrap();
    script.server.drain(&mut script.out);
    script.server.drain(&mut script.out);
    assert_eq!(script.read_output(), "GOAWAY 1 NO_ERROR");
    assert_eq!(script.send(&get(3)), Ok(String::new()));
    assert_eq!(
        script.send(&[put(5), data(5, 0, b"a")].concat()),
        Ok(String::new())
    );
    assert_eq!(
        script.send(&data(1, END_STREAM, b"a")),
        Ok("1:[a].".to_owned())
    );
    script.answer(1, Then::End);
    assert_eq!(script.read_output(), "1:HEADERS.");
}

#[test]
fn blocks_are_made_only_for_streams_that_are_open() {
    let mut script = Script::new();
    script.send(&get(1)).unwrap();
    let mut made = 0;
    for stream in [1, 1, 3] {
        let out = &mut script.out;
        script
            .server
            .answer_with(stream, Then::End, out, |_, block| {
                made += 1;
                block.extend_from_slice(&[0x88; 20_000]);
            });
    }
    assert_eq!(made, 1);
    // A large one has two frames.
    assert_eq!(script.read_output(), "1:HEADERS. 1:9");
    script.send(&put(3)).unwrap();
    script
        .server
        .inform(3, &[0x08, 3, b'1', b'0', b'0'], &mut script.out);
    script.server.reset(3, ErrorCode::CANCEL, &mut script.out);
    script.server.reset(3, ErrorCode::CANCEL, &mut script.out);
    assert_eq!(script.read_output(), "3:HEADERS 3:RST CANCEL");
}
