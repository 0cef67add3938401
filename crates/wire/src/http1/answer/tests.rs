//! The reader: a table of answers, and the property that the splits of the bytes do not matter.

use std::mem::{Discriminant, discriminant};

use proptest::prelude::*;

use super::*;

const LIMITS: ReadLimits = ReadLimits {
    head_max_bytes: 100,
    head_max_fields: 10,
    body_max_bytes: 20,
};

/// All events of a stream: status, body and keep-alive of each answer; then how it ended, or the error.
type Transcript = (Vec<(u16, String, bool)>, Result<AtClose, ReadError>);

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, is_head: bool) -> Transcript {
    let mut heads = Heads::new(LIMITS);
    let mut reader = Reader::default();
    let (mut answers, mut body) = (Vec::new(), Vec::new());
    for mut piece in pieces {
        loop {
            match reader.next(&mut heads, &mut piece, is_head) {
                Ok(None) => break,
                Ok(Some(Event::Body(bytes))) => body.extend_from_slice(bytes),
                Ok(Some(Event::Whole(answer))) => {
                    let body = String::from_utf8_lossy(&std::mem::take(&mut body)).into_owned();
                    answers.push((answer.status, body, answer.keep_alive));
                }
                Err(error) => return (answers, Err(error)),
            }
        }
        assert!(piece.is_empty(), "bytes left over");
    }
    let end = reader.close();
    if let AtClose::Whole(answer) = end {
        answers.push((
            answer.status,
            String::from_utf8_lossy(&body).into_owned(),
            answer.keep_alive,
        ));
    }
    (answers, Ok(end))
}

/// An error has its text if all bytes arrive at once. If they arrive in pieces, less of its line may be known.
fn check(bytes: &str, answers: &[(u16, &str, bool)], end: Result<AtClose, &str>) {
    let expected = answers.iter();
    let expected = expected.map(|(status, body, keep)| (*status, (*body).to_owned(), *keep));
    let expected: Vec<_> = expected.collect();
    let (transcript, at_end) = read([bytes.as_bytes()], false);
    assert_eq!(transcript, expected, "{bytes:?}");
    let text = at_end.as_ref().map_err(ToString::to_string);
    assert_eq!(
        text,
        end.as_ref().map_err(|text| (*text).to_owned()),
        "{bytes:?}"
    );
    for step in [1, 2, 3, 7] {
        let transcript = read(bytes.as_bytes().chunks(step), false);
        let end = kind(&at_end);
        assert_eq!(
            (transcript.0, kind(&transcript.1)),
            (expected.clone(), end),
            "{bytes:?} by {step}"
        );
    }
}

/// The end without the text of an error.
fn kind(end: &Result<AtClose, ReadError>) -> Result<AtClose, Discriminant<ReadError>> {
    end.as_ref().copied().map_err(discriminant)
}

#[test]
fn bodies_end_where_their_heads_say() {
    let between = Ok(AtClose::Between);
    check("", &[], between);
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        &[(200, "ok", true)],
        between,
    );
    check(
        "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n",
        &[(200, "", true)],
        between,
    );
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok",
        &[(200, "ok", true)],
        between,
    );
    check(
        "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n",
        &[(204, "", true), (304, "", true)],
        between,
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(
        &format!("{chunked}5\r\nhello\r\n3 ;x=\"y\"\r\nabc\r\n000\r\n\r\n"),
        &[(200, "helloabc", true)],
        between,
    );
    check(
        &format!("{chunked}A\r\n0123456789\r\n0\r\nOne: 1\r\nTwo: 2\r\n\r\n"),
        &[(200, "0123456789", true)],
        between,
    );
    // RFC 9112, section 6.3: chunked overrides a length.
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    check(both, &[(200, "x", true)], between);
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check(
        &answer.repeat(3),
        &[(200, "x", true), (200, "x", true), (200, "x", true)],
        between,
    );
}

#[test]
fn interim_answers_are_passed_over() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check(
        &format!("{interim}{answer}{answer}"),
        &[(200, "x", true), (200, "x", true)],
        Ok(AtClose::Between),
    );
    check(
        "HTTP/1.1 101 Switching\r\n\r\n",
        &[(101, "", false)],
        Ok(AtClose::Between),
    );
    check(interim, &[], Ok(AtClose::Between));
}

#[test]
fn a_connection_is_kept_or_closed() {
    let check = |head: &str, expected| {
        check(
            &format!("{head}Content-Length: 0\r\n\r\n"),
            &[(200, "", expected)],
            Ok(AtClose::Between),
        )
    };
    check("HTTP/1.1 200 OK\r\n", true);
    check("HTTP/1.1 200 OK\r\nConnection: close\r\n", false);
    check("HTTP/1.1 200 OK\r\nconnection: Upgrade, CLOSE\r\n", false);
    check("HTTP/1.0 200 OK\r\n", false);
    check("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", true);
}

#[test]
fn the_end_of_a_connection_ends_an_answer_or_cuts_it() {
    let whole = |status| {
        Ok(AtClose::Whole(Answer {
            status,
            keep_alive: false,
        }))
    };
    check(
        "HTTP/1.1 200 OK\r\n\r\nto the end",
        &[(200, "to the end", false)],
        whole(200),
    );
    check("HTTP/1.0 500 No\r\n\r\n", &[(500, "", false)], whole(500));
    check(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nab",
        &[(200, "ab", false)],
        whole(200),
    );
    for cut in [
        "H",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
    ] {
        check(cut, &[], Ok(AtClose::Cut));
    }
    check(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
        &[],
        Ok(AtClose::Cut),
    );
}

#[test]
fn folded_lines_are_one_value() {
    let good = |fields: &str, expected: (u16, &str, bool)| {
        let bytes = format!("HTTP/1.1 200 OK\r\n{fields}\r\nok");
        check(&bytes, &[expected], Ok(AtClose::Between));
    };
    let ok = (200, "ok", true);
    good("X: a\r\n  b\r\n\tc\r\nContent-Length: 2\r\n", ok);
    good("Content-Length:\r\n 2\r\n", ok);
    good("Content-Length: 2,\r\n\t2\r\n", ok);
    good(
        "Content-Length: 2\r\nConnection: x,\r\n close\r\n",
        (200, "ok", false),
    );
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    check(chunked, &[(200, "x", true)], Ok(AtClose::Between));
    let mut reader = Reader::keeping_heads();
    let mut input = &b"HTTP/1.1 204 No\r\nX: a\r\n  b\r\nY: c\r\n\r\n"[..];
    reader
        .next(&mut Heads::new(LIMITS), &mut input, false)
        .unwrap();
    assert_eq!(
        reader.head(),
        b"HTTP/1.1 204 No\r\nX: a    b\r\nY: c\r\n\r\n"
    );
}

#[test]
fn a_later_minor_version_is_read_as_the_known_one() {
    for version in ["1.1", "1.2", "1.9"] {
        let bytes = format!("HTTP/{version} 200 OK\r\nContent-Length: 1\r\n\r\nx");
        check(
            &bytes.repeat(2),
            &[(200, "x", true); 2],
            Ok(AtClose::Between),
        );
    }
}

#[test]
fn invalid_answers_are_refused_with_line_and_reason() {
    let bad = |bytes: &str, text: &str| check(bytes, &[], Err(text));
    bad(
        "SSH-2.0-OpenSSH_9.2\r\n",
        "head, line 1: expected a status line such as `HTTP/1.1 200 OK`, found `SSH-2.0-OpenSSH_9.2`",
    );
    bad(
        "\x15\x03\x01\0\x02\x02\x46",
        "head, line 1: the server speaks TLS; https:// may be meant",
    );
    bad(
        "\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0d",
        "head, line 1: the server speaks HTTP/2, which may be meant",
    );
    bad(
        "HTTP/2 200\r\n\r\n",
        "head, line 1: expected version 1.1 of HTTP, found `2`",
    );
    bad(
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "head, line 1: expected a status of three digits, found `2x0`",
    );
    let field = |line: &str, text: &str| {
        bad(
            &format!("HTTP/1.1 200 OK\r\nA: b\r\n{line}\r\n\r\n"),
            &format!("head, line 3: {text}"),
        );
    };
    field("no colon", "a header has no colon: `no colon`");
    field(": x", "a header has no name");
    field("A : x", "white space before the colon of `A `");
    field("A(b): x", "`A(b)` is not the name of a header");
    field("A: x\0y", "a control character in a value: `A: x\\x00y`");
    bad(
        "HTTP/1.1 200 OK\r\n folded\r\nA: b\r\n\r\n",
        "head, line 2: it begins with white space, and no header is before it",
    );
    for length in ["two", "-1", "+1", "", "1, 2", "99999999999999999999"] {
        let number = length.rsplit(", ").next().unwrap();
        bad(
            &format!("HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: {length}x\r\n\r\n"),
            &format!("head, line 4: Content-Length `{number}x` is not a number"),
        );
    }
    field(
        "Content-Length: 1\r\n 2",
        "Content-Length `1\\r\\n 2` is not a number",
    );
    bad(
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "head, line 3: a second Content-Length, 2 after 1",
    );
}

#[test]
fn invalid_chunks_are_refused_with_the_reason() {
    let bad = |body: &str, text: &str| {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}{body}"), &[], Err(text));
    };
    bad("zz\r\n", "chunk size `zz` is not hexadecimal");
    bad("1z\r\n", "chunk size `1z` is not hexadecimal");
    for body in ["\r\n", ";x\r\n"] {
        bad(body, "chunk size `` is not hexadecimal");
    }
    bad("1\n", "chunk size `1` is not hexadecimal");
    bad("1\r\nx\r\n\r\n", "chunk size `` is not hexadecimal");
    bad(
        "00000000000000001\r\n",
        "a chunk size has more than 16 digits",
    );
    let longer = "a chunk is not followed by a line end: it is longer than its size";
    bad("1\r\nxy", longer);
    bad(
        "0\r\nT\n",
        "a line feed without a carriage return in a chunked body",
    );
    bad(
        "1\rx",
        "a carriage return without a line feed in a chunked body",
    );
}

#[test]
fn limits_hold() {
    let filled = |length: usize| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {}\r\n\r\n",
            "x".repeat(length - 43)
        )
    };
    check(&filled(100), &[(200, "", true)], Ok(AtClose::Between));
    let too_long = Err("the head exceeds 100 bytes");
    check(&filled(101), &[], too_long);
    let fields = |count: usize| format!("HTTP/1.1 204 OK\r\n{}\r\n", "a:\r\n".repeat(count));
    check(&fields(10), &[(204, "", true)], Ok(AtClose::Between));
    check(&fields(11), &[], Err("the head has more than 10 fields"));
    let body_too_long = Err("the body exceeds 20 bytes");
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n";
    check(length, &[], body_too_long);
    let body = "x".repeat(21);
    check(
        &format!("HTTP/1.1 200 OK\r\n\r\n{body}"),
        &[],
        body_too_long,
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let two = format!("{chunked}a\r\n0123456789\r\nb\r\n");
    check(&two, &[], body_too_long);
    check(
        &format!("{chunked}ffffffffffffffff\r\n"),
        &[],
        body_too_long,
    );
    let long = "x".repeat(101);
    let overhead = Err("the extensions or the trailers of a chunked body exceed 100 bytes");
    check(&format!("{chunked}1;{long}"), &[], overhead);
    check(&format!("{chunked}0\r\nT: {long}"), &[], overhead);
}

#[test]
fn large_heads_are_read_within_the_limits_of_a_load() {
    let limits = ReadLimits {
        head_max_bytes: 64 * 1024,
        head_max_fields: 1_000,
        body_max_bytes: u64::MAX,
    };
    let mut heads = Heads::new(ReadLimits {
        head_max_bytes: limits.head_max_bytes,
        head_max_fields: limits.head_max_fields,
        body_max_bytes: 1,
    });
    for (fields, length) in [
        (127, 10),
        (128, 10),
        (129, 10),
        (500, 100),
        (1_000, 40),
        (1, 60_000),
    ] {
        let field = format!("X: {}\r\n", "x".repeat(length));
        let bytes = format!("HTTP/1.1 204 No\r\n{}\r\n", field.repeat(fields));
        let event = Reader::default().next(&mut heads, &mut bytes.as_bytes(), false);
        assert!(
            matches!(event, Ok(Some(Event::Whole(_)))),
            "{fields} × {length}: {event:?}"
        );
    }
}

#[test]
fn an_answer_to_head_ends_with_its_head() {
    let stream = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".repeat(2);
    let expected = vec![(200, String::new(), true); 2];
    assert_eq!(
        read([stream.as_bytes()], true),
        (expected, Ok(AtClose::Between))
    );
}

/// Streams of parts that fit together, and of some that do not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        &b"HTTP/1.1 200 OK\r\n"[..],
        b"HTTP/1.0 404 Not Found\r\n",
        b"HTTP/1.1 204 No Content\r\n",
        b"HTTP/1.1 100 Go\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: 0\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b" folded\r\n",
        b"HTTP/1.7 200 OK\r\n",
        b"Connection: keep-alive\r\n",
        b"\r\n",
        b"abc",
        b"3\r\n",
        b"0\r\n",
        b"\n",
        b"X: 0123456789012345678901234567890123456789\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(
        bytes in stream(), noise in prop::option::of((0_usize..300, any::<u8>())),
        cuts in prop::collection::vec(0_usize..300, 0..8), is_head: bool
    ) {
        let mut bytes = bytes;
        if let Some((index, byte)) = noise && index < bytes.len() {
            bytes[index] = byte;
        }
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let single = bytes.chunks(1);
        let whole = read([&bytes[..]], is_head);
        for split in [read(pieces, is_head), read(single, is_head)] {
            prop_assert_eq!((split.0, kind(&split.1)), (whole.0.clone(), kind(&whole.1)));
        }
    }
}
