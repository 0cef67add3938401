//! Header blocks: fragments of them, the dynamic table, and blocks that cannot be decoded (RFC 7541; RFC 9113, section 4.3).

use waggle_load::Failure;
use waggle_testkit::frames::{
    FrameServer, FrameSocket,
    block::{STATUS_200, added_field, field, indexed_field, integer, table_size},
    frame::{
        COMPRESSION_ERROR, CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PROTOCOL_ERROR, data,
        frame, headers, last_data, last_headers, ping, settings,
    },
};

use super::{
    Counted, Differences, IN_FLIGHT, REQUESTS, await_close, check_answer, check_fatal, errors,
    hostile_job, serve_ok,
};
use crate::support::{expect, run};

/// `:status` with this value as a literal that is added to the table.
fn added_status(value: &str) -> Vec<u8> {
    let value_bytes = [&integer(0, 7, value.len()), value.as_bytes()].concat();
    [&[0x48], &value_bytes[..]].concat()
}

/// A header block in frames of `length` bytes, the stream's end in the first.
fn fragments(stream: u32, block: &[u8], length: usize) -> Vec<u8> {
    let pieces: Vec<_> = block.chunks(length).collect();
    let last = pieces.len() - 1;
    let mut bytes = Vec::new();
    for (number, piece) in pieces.into_iter().enumerate() {
        let (kind, first_flags) = match number {
            0 => (HEADERS, END_STREAM),
            _ => (CONTINUATION, 0),
        };
        let end = if number == last { END_HEADERS } else { 0 };
        bytes.extend(frame(kind, first_flags | end, stream, piece));
    }
    bytes
}

#[test]
fn header_blocks_come_in_fragments() {
    let mut differences = Differences::default();
    let block = [
        STATUS_200,
        &field("x-name", "value"),
        &field("x-other", "value"),
    ]
    .concat();
    for length in [7, block.len() / 3 + 1, block.len() - 1] {
        let block = block.clone();
        let case = format!("fragments of {length} bytes");
        check_answer(&mut differences, &case, Ok(()), move |stream| {
            fragments(stream, &block, length)
        });
    }
    check_answer(&mut differences, "empty fragments", Ok(()), move |stream| {
        let parts = [
            frame(HEADERS, 0, stream, b""),
            frame(CONTINUATION, 0, stream, STATUS_200),
            frame(CONTINUATION, 0, stream, b""),
            frame(CONTINUATION, END_HEADERS, stream, b""),
            last_data(stream, b"ok"),
        ];
        parts.concat()
    });
    check_answer(&mut differences, "trailers", Ok(()), move |stream| {
        let trailers = fragments(stream, &field("x-name", "value"), 4);
        [headers(stream, STATUS_200), data(stream, b"ok"), trailers].concat()
    });
    differences.check();
}

#[test]
fn header_blocks_come_byte_by_byte() {
    let mut differences = Differences::default();
    for length in [1, 2, 3] {
        let block = [STATUS_200, &field("x-name", "value")].concat();
        let case = format!("fragments of {length} bytes");
        check_answer(&mut differences, &case, Ok(()), move |stream| {
            fragments(stream, &block, length)
        });
    }
    differences.check();
}

#[test]
fn nothing_comes_between_fragments() {
    let mut differences = Differences::default();
    let mut check = |case: &str, between: fn(u32) -> Vec<u8>| {
        check_fatal(&mut differences, case, PROTOCOL_ERROR, move |stream| {
            [frame(HEADERS, 0, stream, STATUS_200), between(stream)].concat()
        });
    };
    check("PING", |_| ping(1));
    check("SETTINGS", |_| settings(&[]));
    check("an unknown frame", |stream| frame(0x42, 0, stream, b"x"));
    check("DATA", |stream| data(stream, b"ok"));
    check("HEADERS", |stream| headers(stream, STATUS_200));
    check("HEADERS of another stream", |stream| {
        headers(stream + 2, STATUS_200)
    });
    check("CONTINUATION of another stream", |stream| {
        frame(CONTINUATION, END_HEADERS, stream + 2, b"")
    });
    let mut check = |case: &str, bytes: fn(u32) -> Vec<u8>| {
        check_fatal(&mut differences, case, PROTOCOL_ERROR, bytes);
    };
    check("CONTINUATION alone", |stream| {
        frame(CONTINUATION, END_HEADERS, stream, STATUS_200)
    });
    check("CONTINUATION after the end", |stream| {
        let more = frame(CONTINUATION, END_HEADERS, stream, b"");
        [headers(stream, STATUS_200), more].concat()
    });
    differences.check();
}

#[test]
fn blocks_that_cannot_be_decoded_end_the_connection() {
    let mut differences = Differences::default();
    let mut check = |case: &str, rest: &[u8]| {
        let block = [STATUS_200, rest].concat();
        check_fatal(&mut differences, case, COMPRESSION_ERROR, move |stream| {
            last_headers(stream, &block)
        });
    };
    check("index 0", &[0x80]);
    check("index beyond an empty table", &indexed_field(62));
    check("a huge index", &indexed_field(1_000_000));
    check("a name's index beyond the table", &[0x7f, 0x00, 0x01, b'x']);
    check(
        "an endless integer",
        &[&[0xff][..], &[0x80; 40], &[0x01]].concat(),
    );
    check(
        "an integer beyond 64 bits",
        &[&[0xff][..], &[0xff; 12], &[0x7f]].concat(),
    );
    check("an index cut off", &[0xff]);
    check("a literal without a value", &[0x00, 0x01, b'x']);
    check("a name beyond the block", &[0x00, 0x05, b'x']);
    check("a value beyond the block", &[0x00, 0x01, b'x', 0x05, b'y']);
    // `0` is 00000: the rest of the byte must be ones (RFC 7541, section 5.2).
    check(
        "Huffman: padded with zeros",
        &[0x00, 0x01, b'x', 0x81, 0x00],
    );
    check(
        "Huffman: padded with a byte",
        &[0x00, 0x01, b'x', 0x82, 0x07, 0xff],
    );
    check("Huffman: padding alone", &[0x00, 0x01, b'x', 0x81, 0xff]);
    check(
        "Huffman: its end",
        &[0x00, 0x01, b'x', 0x84, 0xff, 0xff, 0xff, 0xff],
    );
    check("a table size after a field", &table_size(0));
    differences.check();
}

/// The first answer makes the dynamic table this much larger than the client allows: the counts, and the client's error codes.
fn run_with_table_above(above: u32) -> (Counted, Vec<u32>) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection > 0 {
            return serve_ok(socket);
        }
        let size = usize::try_from(socket.table_max_bytes + above).unwrap();
        if let Some(request) = socket.next_request() {
            let block = [&table_size(size), STATUS_200].concat();
            socket.finish_stream(request.stream, &last_headers(request.stream, &block));
        }
        serve_ok(socket);
    });
    let counted = Counted::new(&run(hostile_job(&server, 1)));
    (counted, errors(&server.finish()))
}

#[test]
fn the_dynamic_table_may_have_its_greatest_size() {
    let right = Counted::on_one_connection(REQUESTS, &[]);
    assert_eq!(run_with_table_above(0), (right, Vec::new()));
}

#[test]
fn a_dynamic_table_above_its_limit_ends_the_connection() {
    let right = Counted {
        connects: 2,
        ..Counted::on_one_connection(REQUESTS, &[(Failure::Protocol, 1)])
    };
    assert_eq!(run_with_table_above(1), (right, vec![COMPRESSION_ERROR]));
}

/// Answers one request after the other with these blocks, the last for all that follow; each must have its status.
fn check_blocks(case: &str, blocks: Vec<Vec<u8>>, right: &[(Failure, u64)]) {
    let server = FrameServer::answering(&[], move |socket, request| {
        let number = usize::try_from(request.number).unwrap();
        let block = &blocks[number.min(blocks.len() - 1)];
        socket.finish_stream(request.stream, &last_headers(request.stream, block));
    });
    let mut job = hostile_job(&server, 1);
    expect(&mut job).status = vec![201];
    let counted = Counted::new(&run(job));
    let log = server.finish();
    assert_eq!(
        (counted, errors(&log)),
        (Counted::on_one_connection(REQUESTS, right), Vec::new()),
        "{case}"
    );
}

#[test]
fn fields_come_from_the_dynamic_table() {
    let check = |case: &str, blocks: &[&[u8]]| {
        let blocks = blocks.iter().map(|block| block.to_vec()).collect();
        check_blocks(case, blocks, &[]);
    };
    let created = added_status("201");
    let x = added_field("x", "y");
    let newest = indexed_field(62);
    let second = indexed_field(63);
    check("added, then used", &[&created, &newest]);
    check(
        "behind a newer one",
        &[
            &[&created[..], &x].concat(),
            &[&second[..], &newest].concat(),
        ],
    );
    check(
        "used in its own block",
        &[&[&created[..], &x, &newest].concat()],
    );
    let never = [&[0x18, 0x03], &b"201"[..]].concat();
    check("never indexed", &[&never]);
    // RFC 7541, section 4.2: a size of 0 empties the table, also if a larger one follows.
    let emptied = [&table_size(0), &table_size(4_096), &created[..]].concat();
    check(
        "emptied",
        &[&[&created[..], &x].concat(), &emptied, &newest],
    );
    // An entry counts 32 bytes more than its text: `:status` and `201` have 42.
    let small = [&table_size(42), &created[..]].concat();
    check(
        "in a table for one",
        &[&small, &[&newest[..], &field("x", "y")].concat()],
    );
    // An entry above the size of the table empties it and is not added.
    let large = added_field("x", &"y".repeat(3_000));
    let emptied = [&table_size(2_000), &created[..], &large].concat();
    check("too large an entry", &[&emptied, &created, &newest]);
    let name_of_entry = [
        &created[..],
        &added_field("x-name", "1"),
        &[0x7e, 0x01, b'2'],
    ]
    .concat();
    check(
        "a name from the table",
        &[&name_of_entry, &indexed_field(64)],
    );
}

#[test]
fn the_examples_of_the_standard_are_read() {
    // RFC 7541, appendix C.6: three answers with Huffman coding over a table of 256 bytes, with evictions.
    let blocks: [&[u8]; 3] = [
        b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3",
        b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf",
        b"\x88\xc1\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x84\xa6\x2d\x1b\xff\xc0\x5a\x83\x9b\xd9\xab\x77\xad\x94\xe7\x82\x1d\xd7\xf2\xe6\xc7\xb3\x35\xdf\xdf\xcd\x5b\x39\x60\xd5\xaf\x27\x08\x7f\x36\x72\xc1\xab\x27\x0f\xb5\x29\x1f\x95\x87\x31\x60\x65\xc0\x03\xed\x4e\xe5\xb1\x06\x3d\x50\x07",
    ];
    let server = FrameServer::answering(&[], move |socket, request| {
        let number = usize::try_from(request.number).unwrap();
        let block = match number {
            0 => [&table_size(256), blocks[0]].concat(),
            1 | 2 => blocks[number].to_vec(),
            // `set-cookie`, `content-encoding` and `date` are the newest of the table.
            _ => [STATUS_200, &[0xbe, 0xbf, 0xc0]].concat(),
        };
        socket.finish_stream(request.stream, &last_headers(request.stream, &block));
    });
    let counted = Counted::new(&run(hostile_job(&server, 1)));
    let failures = [(Failure::Status(302), 1), (Failure::Status(307), 1)];
    let right = Counted::on_one_connection(REQUESTS, &failures);
    assert_eq!(counted, right);
    server.finish();
}

/// The first answer has this block above the limit, between two new entries of the table, of which the later answers use the newest.
fn check_too_much(case: &str, too_much: &[u8]) {
    let newest = added_field(":status", "201");
    let oversized = [&added_status("299"), too_much, &newest].concat();
    let blocks = vec![oversized, indexed_field(62)];
    check_blocks(case, blocks, &[(Failure::Malformed, 1)]);
}

#[test]
fn a_head_above_the_limit_keeps_the_dynamic_table_right() {
    check_too_much("one long field", &field("x", &"y".repeat(8_000)));
    let many: Vec<u8> = (0..500).flat_map(|_| field("a", "")).collect();
    check_too_much("many fields", &many);
}

#[test]
fn a_head_far_above_the_limit_fails_alone() {
    // Each byte stands for 3,000.
    let large = added_field("x", &"y".repeat(3_000));
    let bomb = [large, indexed_field(62).repeat(10_000)].concat();
    check_too_much("a bomb", &bomb);
}

#[test]
fn a_head_above_the_limit_may_come_in_fragments() {
    let mut differences = Differences::default();
    let block = [STATUS_200, &field("x", &"y".repeat(20_000))].concat();
    let right = Err(Failure::Malformed);
    check_answer(&mut differences, "fragments", right, move |stream| {
        fragments(stream, &block, 8_000)
    });
    differences.check();
}

/// The first connection sends fragments without end, until the client closes it.
fn check_flood(case: &str, fragment: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection > 0 {
            return serve_ok(socket);
        }
        if let Some(request) = socket.next_requests(IN_FLIGHT).first() {
            let sent_bytes = flood(socket, request.stream, &fragment);
            assert!(sent_bytes < BYTES_MAX, "the client reads without end");
        }
        await_close(socket);
    });
    let counted = Counted::new(&run(hostile_job(&server, IN_FLIGHT)));
    let kind = counted.failures.first().map(|(kind, _)| *kind);
    let is_named = matches!(kind, Some(Failure::Protocol | Failure::Malformed));
    assert!(is_named, "{case}: {counted:?}");
    assert_eq!((counted.sent, counted.connects), (REQUESTS, 2), "{case}");
    let failed: u64 = counted.failures.iter().map(|(_, count)| count).sum();
    assert_eq!(failed, IN_FLIGHT as u64, "{case}: {counted:?}");
    server.finish();
}

/// More than this is no limit.
const BYTES_MAX: usize = 512 * 1024 * 1024;

/// Sends fragments until the client has closed; how many bytes it has taken.
fn flood(socket: &mut FrameSocket, stream: u32, fragment: &impl Fn(u32) -> Vec<u8>) -> usize {
    socket.send(&frame(HEADERS, END_STREAM, stream, STATUS_200));
    let fragments = fragment(stream).repeat(100);
    let mut sent_bytes = 0;
    while sent_bytes < BYTES_MAX && socket.send(&fragments) {
        sent_bytes += fragments.len();
    }
    sent_bytes
}

#[test]
fn fragments_without_end_are_refused() {
    check_flood("empty", |stream| frame(CONTINUATION, 0, stream, b""));
    check_flood("one small field each", |stream| {
        frame(CONTINUATION, 0, stream, &field("a", "b"))
    });
    check_flood("one large field each", |stream| {
        frame(CONTINUATION, 0, stream, &field("a", &"b".repeat(10_000)))
    });
    check_flood("a field of the table each", |stream| {
        frame(CONTINUATION, 0, stream, &indexed_field(8))
    });
    check_flood("one field without end", |stream| {
        // The first is a literal of 16 MB, of which the others are read as parts.
        let first = [&[0x00][..], &integer(0, 7, 16_000_000), &[b'x'; 1_000]].concat();
        frame(CONTINUATION, 0, stream, &first)
    });
}
