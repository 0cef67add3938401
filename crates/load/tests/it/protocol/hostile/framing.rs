//! Frames that are not allowed, and unusual ones that are (RFC 9113, sections 4 to 6).

use std::{io::Write, time::Duration};

use waggle_load::{BodyCheck, Failure, HandshakeFailure};
use waggle_spec::Protocol;
use waggle_testkit::{
    Listener,
    frames::{
        FrameServer,
        block::{STATUS_200, added_field, field, indexed_field},
        frame::{
            ACK, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, FRAME_SIZE_ERROR, GOAWAY, HEADERS,
            MAX_FRAME_SIZE, PADDED, PING, PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, RST_STREAM,
            SETTINGS, WINDOW_UPDATE, WITH_PRIORITY, data, frame, headers, last_data, last_headers,
            ping, reset, settings, window_update,
        },
    },
};

use super::{
    Counted, Differences, IN_FLIGHT, REQUESTS, await_close, check_answer, check_fatal, hostile_job,
    is_shown, ok,
};
use crate::support::{closed_model, expect, job, run, run_until};

/// Payload after this many bytes of padding are announced, with as many zeros behind.
fn pad(payload: &[u8], padding: u8) -> Vec<u8> {
    [&[padding], payload, &vec![0; padding.into()]].concat()
}

/// Exclusive, on stream 0, with weight 16.
const PRIORITY_FIELDS: [u8; 5] = [0x80, 0, 0, 0, 15];

#[test]
fn frames_above_the_limit_end_the_connection() {
    let mut differences = Differences::default();
    let mut check = |case: &str, bytes: fn(u32) -> Vec<u8>| {
        check_fatal(&mut differences, case, FRAME_SIZE_ERROR, bytes);
    };
    check("large DATA", |stream| data(stream, &[b'x'; 16_385]));
    check("large HEADERS", |stream| headers(stream, &[0x88; 16_385]));
    check("a large unknown frame", |_| frame(0x42, 0, 0, &[0; 16_385]));
    check("the largest of all lengths", |_| {
        [[0xff; 9], [0; 9]].concat()
    });
    differences.check();
}

#[test]
fn frames_of_a_wrong_size_end_the_connection() {
    let mut differences = Differences::default();
    let mut check = |case: &str, bytes: fn(u32) -> Vec<u8>| {
        check_fatal(&mut differences, case, FRAME_SIZE_ERROR, bytes);
    };
    check("PING of 7 bytes", |_| frame(PING, 0, 0, &[0; 7]));
    check("PING of 9 bytes", |_| frame(PING, 0, 0, &[0; 9]));
    check("SETTINGS of 5 bytes", |_| frame(SETTINGS, 0, 0, &[0; 5]));
    check("an ACK of SETTINGS with values", |_| {
        frame(SETTINGS, ACK, 0, &[0, 3, 0, 0, 0, 1])
    });
    check("WINDOW_UPDATE of 3 bytes", |_| {
        frame(WINDOW_UPDATE, 0, 0, &[0, 0, 1])
    });
    check("RST_STREAM of 5 bytes", |stream| {
        frame(RST_STREAM, 0, stream, &[0; 5])
    });
    check("GOAWAY of 7 bytes", |_| frame(GOAWAY, 0, 0, &[0; 7]));
    check("HEADERS without its priority", |stream| {
        frame(HEADERS, END_HEADERS | WITH_PRIORITY, stream, &[0; 4])
    });
    differences.check();
}

#[test]
fn frames_on_a_wrong_stream_end_the_connection() {
    let mut differences = Differences::default();
    let mut check = |case: &str, bytes: fn(u32) -> Vec<u8>| {
        check_fatal(&mut differences, case, PROTOCOL_ERROR, bytes);
    };
    check("HEADERS on 0", |_| headers(0, STATUS_200));
    check("DATA on 0", |_| data(0, b"ok"));
    check("RST_STREAM on 0", |_| reset(0, 0));
    check("PRIORITY on 0", |_| frame(PRIORITY, 0, 0, &PRIORITY_FIELDS));
    check("HEADERS on an idle stream", |_| headers(9_999, STATUS_200));
    check("DATA on an idle stream", |_| data(9_999, b"ok"));
    check("RST_STREAM on an idle stream", |_| reset(9_999, 0));
    check("WINDOW_UPDATE on an idle stream", |_| {
        window_update(9_999, 1)
    });
    check("HEADERS on an even stream", |_| headers(2, STATUS_200));
    check("DATA on an even stream", |_| data(2, b"ok"));
    check("RST_STREAM on an even stream", |_| reset(2, 0));
    check("SETTINGS on a stream", |stream| {
        frame(SETTINGS, 0, stream, &[])
    });
    check("PING on a stream", |stream| frame(PING, 0, stream, &[0; 8]));
    check("GOAWAY on a stream", |stream| {
        frame(GOAWAY, 0, stream, &[0; 8])
    });
    check("PUSH_PROMISE", |stream| {
        let payload = [&[0, 0, 0, 2], STATUS_200].concat();
        frame(PUSH_PROMISE, END_HEADERS, stream, &payload)
    });
    check("PUSH_PROMISE on 0", |_| {
        frame(PUSH_PROMISE, END_HEADERS, 0, &[0, 0, 0, 2, 0x88])
    });
    differences.check();
}

#[test]
fn invalid_contents_of_frames_end_the_connection() {
    let mut differences = Differences::default();
    let mut check = |case: &str, bytes: fn(u32) -> Vec<u8>| {
        check_fatal(&mut differences, case, PROTOCOL_ERROR, bytes);
    };
    check("DATA with padding as long as the rest", |stream| {
        frame(DATA, PADDED, stream, &[3, b'o', b'k'])
    });
    check("DATA with longer padding", |stream| {
        frame(DATA, PADDED | END_STREAM, stream, &[255, b'o', b'k'])
    });
    check("HEADERS with longer padding", |stream| {
        frame(HEADERS, PADDED | END_HEADERS, stream, &[2, 0x88])
    });
    check("HEADERS with padding over the priority", |stream| {
        let payload = [&[2][..], &PRIORITY_FIELDS, &[0x88]].concat();
        frame(
            HEADERS,
            PADDED | WITH_PRIORITY | END_HEADERS,
            stream,
            &payload,
        )
    });
    check("push is neither", |_| settings(&[(ENABLE_PUSH, 2)]));
    check("frames below the smallest limit", |_| {
        settings(&[(MAX_FRAME_SIZE, 16_383)])
    });
    check("frames above the largest limit", |_| {
        settings(&[(MAX_FRAME_SIZE, 1 << 24)])
    });
    differences.check();
}

#[test]
fn a_server_cannot_enable_push() {
    let mut differences = Differences::default();
    check_fatal(&mut differences, "push", PROTOCOL_ERROR, |_| {
        settings(&[(ENABLE_PUSH, 1)])
    });
    differences.check();
}

#[test]
fn padding_and_priorities_are_skipped() {
    let mut differences = Differences::default();
    let mut check = |case: &str, answer: fn(u32) -> Vec<u8>| {
        check_answer(&mut differences, case, Ok(()), answer);
    };
    check("padded DATA", |stream| {
        let last = frame(DATA, PADDED | END_STREAM, stream, &pad(b"ok", 255));
        [headers(stream, STATUS_200), last].concat()
    });
    check("DATA of padding alone", |stream| {
        let none = frame(DATA, PADDED, stream, &pad(b"", 9));
        let last = frame(DATA, PADDED | END_STREAM, stream, &pad(b"", 0));
        [headers(stream, STATUS_200), none, last].concat()
    });
    check("padded HEADERS", |stream| {
        let payload = pad(STATUS_200, 17);
        frame(HEADERS, PADDED | END_HEADERS | END_STREAM, stream, &payload)
    });
    check("HEADERS with a priority", |stream| {
        let payload = [&PRIORITY_FIELDS[..], STATUS_200].concat();
        frame(
            HEADERS,
            WITH_PRIORITY | END_HEADERS | END_STREAM,
            stream,
            &payload,
        )
    });
    check("HEADERS with both", |stream| {
        let payload = pad(&[&PRIORITY_FIELDS[..], STATUS_200].concat(), 5);
        let flags = PADDED | WITH_PRIORITY | END_HEADERS;
        [
            frame(HEADERS, flags, stream, &payload),
            last_data(stream, b"ok"),
        ]
        .concat()
    });
    check("padding and a length", |stream| {
        let block = [STATUS_200, &field("content-length", "2")].concat();
        let last = frame(DATA, PADDED | END_STREAM, stream, &pad(b"ok", 30));
        [headers(stream, &block), last].concat()
    });
    check("a whole frame", |stream| {
        [
            headers(stream, STATUS_200),
            last_data(stream, &[b'x'; 16_384]),
        ]
        .concat()
    });
    differences.check();
}

#[test]
fn unknown_frames_and_flags_are_ignored() {
    let mut differences = Differences::default();
    let mut check = |case: &str, answer: fn(u32) -> Vec<u8>| {
        check_answer(&mut differences, case, Ok(()), answer);
    };
    check("unknown frames", |stream| {
        let unknown = |stream| frame(0x42, 0xff, stream, b"anything");
        let parts = [
            unknown(0),
            unknown(stream),
            headers(stream, STATUS_200),
            unknown(stream),
            unknown(9_999),
            unknown(2),
            last_data(stream, b"ok"),
            unknown(stream),
        ];
        parts.concat()
    });
    check("unknown flags", |stream| {
        let first = frame(HEADERS, END_HEADERS | 0xd2, stream, STATUS_200);
        [first, frame(DATA, END_STREAM | 0xf6, stream, b"ok")].concat()
    });
    check("the reserved bit", |stream| {
        let (zero, stream) = (1 << 31, stream | (1 << 31));
        let ping = frame(PING, 0, zero, &[0; 8]);
        [ping, headers(stream, STATUS_200), last_data(stream, b"ok")].concat()
    });
    check("unknown settings", |stream| {
        [
            settings(&[(0x99, 1), (0, 7), (0xffff, u32::MAX)]),
            ok(stream),
        ]
        .concat()
    });
    check("PRIORITY", |stream| {
        let priority = |stream| frame(PRIORITY, 0, stream, &PRIORITY_FIELDS);
        [
            priority(stream),
            priority(9_999),
            ok(stream),
            priority(stream),
            priority(2),
        ]
        .concat()
    });
    check("an ACK of a PING that was not sent", |stream| {
        [frame(PING, ACK, 0, &[1; 8]), ok(stream)].concat()
    });
    check("a wider window", |stream| {
        [window_update(0, 1), window_update(stream, 1), ok(stream)].concat()
    });
    differences.check();
}

#[test]
fn late_frames_of_a_stream_are_tolerated() {
    let mut differences = Differences::default();
    check_answer(&mut differences, "after the answer", Ok(()), |stream| {
        let late = [reset(stream, 0), window_update(stream, 1), reset(stream, 8)];
        [ok(stream), late.concat()].concat()
    });
    // The client has reset the stream, of which the server did not know yet. Its fields are still part of the table.
    let bad = |stream| {
        let head = headers(
            stream,
            &[STATUS_200, &field("connection", "close")].concat(),
        );
        let late = [
            data(stream, b"late"),
            last_headers(stream, &added_field(":status", "200")),
        ];
        [head, late.concat()].concat()
    };
    let right = Err(Failure::Malformed);
    check_answer(&mut differences, "after the client's reset", right, bad);
    differences.check();
    let server = FrameServer::answering(&[], move |socket, request| {
        let stream = request.stream;
        let bytes = match request.number {
            0 => bad(stream),
            _ => last_headers(stream, &indexed_field(62)),
        };
        socket.finish_stream(stream, &bytes);
    });
    let counted = Counted::new(&run(hostile_job(&server, 1)));
    let right = Counted::on_one_connection(REQUESTS, &[(Failure::Malformed, 1)]);
    assert_eq!(counted, right);
    server.finish();
}

#[test]
fn frames_may_be_cut_at_every_byte() {
    let server = FrameServer::start(|socket| {
        socket.send_bytewise(&settings(&[]));
        while let Some(request) = socket.next_request() {
            let stream = request.stream;
            let parts = [
                ping(request.number),
                headers(stream, &[STATUS_200, &added_field("x", "y")].concat()),
                frame(DATA, PADDED, stream, &pad(b"o", 3)),
                frame(0x42, 0, stream, b"unknown"),
                last_data(stream, b"k"),
            ];
            socket.send_bytewise(&parts.concat());
            socket.finish_stream(stream, &[]);
        }
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    expect(&mut job).body = BodyCheck::Equals(b"ok".to_vec());
    let counted = Counted::new(&run(job));
    assert_eq!(counted, Counted::on_one_connection(REQUESTS, &[]));
    server.finish();
}

#[test]
fn answers_may_be_mixed() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        loop {
            let requests = socket.next_requests(IN_FLIGHT);
            if requests.is_empty() {
                return;
            }
            let mut bytes = Vec::new();
            for request in requests.iter().rev() {
                bytes.extend(headers(request.stream, STATUS_200));
            }
            for piece in [b"o", b"k"] {
                let pieces = requests.iter().map(|request| data(request.stream, piece));
                bytes.extend(pieces.flatten());
            }
            for request in requests.iter().rev() {
                bytes.extend(last_data(request.stream, b""));
            }
            socket.send(&bytes);
            for request in &requests {
                socket.finish_stream(request.stream, &[]);
            }
        }
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    expect(&mut job).body = BodyCheck::Equals(b"ok".to_vec());
    let counted = Counted::new(&run(job));
    assert_eq!(counted, Counted::on_one_connection(REQUESTS, &[]));
    server.finish();
}

/// The server sends these bytes first, and closes: the connection never opens.
fn check_no_http2(differences: &mut Differences, bytes: &[u8], right: HandshakeFailure) {
    let case = bytes.escape_ascii().to_string();
    let bytes = bytes.to_vec();
    let server = Listener::start(move |mut socket, _| {
        // The client may have closed it.
        let _ = socket.write_all(&bytes);
        socket.close_in_order();
    });
    let mut job = job(server.address, closed_model(1, IN_FLIGHT));
    job.transport.protocol = Protocol::Http2;
    // If the connection opens.
    job.max_requests = Some(REQUESTS);
    job.limits.request_timeout = Duration::from_secs(5);
    let ended = run_until(job, |counts| !counts.other_failures.0.is_empty());
    ended.check_sums();
    let kinds = ended.other_failures().into_iter().map(|(kind, _)| kind);
    let is_other = right == HandshakeFailure::NoProtocol;
    let right = vec![Failure::Handshake(right)];
    differences.compare(&case, kinds.collect(), right);
    differences.compare(&case, ended.counts().sent, 0);
    // What was wrong is shown under the kind that was counted.
    let is_named = is_shown(&ended, Failure::Handshake(HandshakeFailure::NoProtocol));
    differences.compare(&case, is_named, is_other);
}

#[test]
fn a_server_of_another_protocol_is_refused() {
    let mut differences = Differences::default();
    let mut check = |bytes: &[u8]| {
        check_no_http2(&mut differences, bytes, HandshakeFailure::NoProtocol);
    };
    check(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    check(b"SSH-2.0-OpenSSH_9.2\r\n");
    check(&frame(SETTINGS, 0, 1, &[]));
    check(&frame(SETTINGS, 0, 0, &[0; 5]));
    check(&headers(1, STATUS_200));
    differences.check();
}

#[test]
fn a_server_that_does_not_begin_with_settings_is_refused() {
    let mut differences = Differences::default();
    let mut check = |bytes: &[u8]| {
        check_no_http2(&mut differences, bytes, HandshakeFailure::NoProtocol);
    };
    check(&ping(1));
    check(&[ping(1), settings(&[])].concat());
    check(&frame(SETTINGS, ACK, 0, &[]));
    check(&[window_update(0, 1), settings(&[])].concat());
    check(&[frame(0x42, 0, 0, b"x"), settings(&[])].concat());
    differences.check();
}

#[test]
fn a_server_that_closes_at_once_has_cut_the_handshake() {
    let mut differences = Differences::default();
    let mut check = |bytes: &[u8]| {
        check_no_http2(&mut differences, bytes, HandshakeFailure::Cut);
    };
    check(b"");
    check(&settings(&[])[..5]);
    differences.check();
}

#[test]
fn a_server_without_settings_times_out() {
    let server = FrameServer::start(|socket| {
        socket.send(&settings(&[])[..8]);
        await_close(socket);
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    job.limits.connect_timeout = Duration::from_millis(200);
    let ended = run_until(job, |counts| !counts.other_failures.0.is_empty());
    ended.check_sums();
    let kinds = ended.other_failures().into_iter().map(|(kind, _)| kind);
    let right = Failure::Handshake(HandshakeFailure::TimedOut);
    assert_eq!(kinds.collect::<Vec<_>>(), [right]);
    assert_eq!(ended.counts().sent, 0);
}
