//! The reader: a table of answers, and the property that the splits of the bytes do not matter.

use proptest::prelude::*;

use super::*;
use crate::ReadLimits;

const LIMITS: ReadLimits = ReadLimits {
    head_max_bytes: 100,
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

fn check(bytes: &str, answers: &[(u16, &str, bool)], end: Result<AtClose, ReadError>) {
    let expected: Transcript = (
        answers
            .iter()
            .map(|(status, body, keep)| (*status, (*body).to_owned(), *keep))
            .collect(),
        end,
    );
    for step in [1, 2, 3, 7, bytes.len().max(1)] {
        assert_eq!(
            read(bytes.as_bytes().chunks(step), false),
            expected,
            "{bytes:?} by {step}"
        );
    }
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
    let one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check(
        &one.repeat(3),
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
fn invalid_answers_are_refused() {
    let bad = |bytes: &str, error| check(bytes, &[], Err(error));
    bad("SSH-2.0-OpenSSH_9.2\r\n", ReadError::NotHttp);
    bad("HTTP/2 200\r\n\r\n", ReadError::NotHttp);
    bad("HTTP/1.1 2x0 OK\r\n\r\n", ReadError::NotHttp);
    for length in ["two", "-1", "+1", "", "1, 2", "99999999999999999999"] {
        bad(
            &format!("HTTP/1.1 200 OK\r\nContent-Length: {length}x\r\n\r\n"),
            ReadError::BadLength,
        );
    }
    bad(
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ReadError::BadLength,
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in [
        "\r\n",
        "x\r\n",
        "1\n",
        "1\r\nxy",
        "1\r\nx\r\n\r\n",
        ";x\r\n",
        "00000000000000001\r\n",
        "0\r\nT\n",
    ] {
        bad(&format!("{chunked}{body}"), ReadError::BadChunk);
    }
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
    check(&filled(101), &[], Err(ReadError::HeadTooLong));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a:\r\n".repeat(200));
    check(&many, &[], Err(ReadError::HeadTooLong));
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n",
        &[],
        Err(ReadError::BodyTooLong),
    );
    let body = "x".repeat(21);
    check(
        &format!("HTTP/1.1 200 OK\r\n\r\n{body}"),
        &[],
        Err(ReadError::BodyTooLong),
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(
        &format!("{chunked}a\r\n0123456789\r\nb\r\n"),
        &[],
        Err(ReadError::BodyTooLong),
    );
    check(
        &format!("{chunked}ffffffffffffffff\r\n"),
        &[],
        Err(ReadError::BodyTooLong),
    );
    let long = "x".repeat(101);
    check(
        &format!("{chunked}1;{long}"),
        &[],
        Err(ReadError::HeadTooLong),
    );
    check(
        &format!("{chunked}0\r\nT: {long}"),
        &[],
        Err(ReadError::HeadTooLong),
    );
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
        prop_assert_eq!(&read(pieces, is_head), &whole);
        prop_assert_eq!(&read(single, is_head), &whole);
    }
}
