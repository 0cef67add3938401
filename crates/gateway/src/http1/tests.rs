//! The reader against bytes: what is served, what is refused, and that it does not matter how bytes are cut.

use std::mem::MaybeUninit;

use super::{Limits, Reader, SLOTS, Slots, Step};

const LIMITS: Limits = Limits {
    head_max_bytes: 200,
    body_max_bytes: 20,
};

/// What the reader makes of the input when it comes in pieces of `piece` bytes: requests as "METHOD target [body]",
/// then how it ended.
fn read(input: &[u8], piece: usize) -> String {
    let mut reader = Reader::new(LIMITS);
    let (mut out, mut start, mut end) = (String::new(), 0, 0);
    loop {
        let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
        let ending = match reader.next(&input[start..end], &mut slots) {
            Ok(Step::Whole { request, length }) => {
                let body = String::from_utf8_lossy(request.body);
                let close = if request.head.keep_alive {
                    ""
                } else {
                    " close"
                };
                out += &format!(
                    "{} {} [{body}]{close}; ",
                    request.head.method, request.head.target
                );
                start += length;
                continue;
            }
            Ok(Step::Http2) => return out + "http2",
            Err(refusal) => return out + &refusal.status.to_string(),
            Ok(Step::Idle) => "idle",
            Ok(Step::Head) => "head",
            Ok(Step::Body {
                expects_continue: true,
                ..
            }) => "continue",
            Ok(Step::Body { .. }) => "body",
        };
        if end == input.len() {
            return out + ending;
        }
        end = (end + piece).min(input.len());
    }
}

#[track_caller]
fn check(input: &str, expected: &str) {
    for piece in [input.len().max(1), 1, 2, 3, 7] {
        assert_eq!(
            read(input.as_bytes(), piece),
            expected,
            "in pieces of {piece}: {input:?}"
        );
    }
}

#[test]
fn requests_are_read_one_after_another() {
    check("", "idle");
    check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / []; idle");
    check("GET / HTTP/1.1\r\nHost: a\r\n", "head");
    check(
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nhost:a\r\n\r\n",
        "PUT /x [abc]; GET / []; idle",
    );
    check(
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabc",
        "body",
    );
    check(
        "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
        "continue",
    );
    check("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / []; idle");
}

#[test]
fn connections_are_kept_or_closed_as_asked() {
    check(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
        "GET / [] close; idle",
    );
    check("GET / HTTP/1.0\r\n\r\n", "GET / [] close; idle");
    check("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2");
}

#[test]
fn chunked_bodies_are_decoded() {
    let head = "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let check = |body: &str, expected: &str| check(&format!("{head}{body}"), expected);
    check("3\r\nabc\r\n0\r\n\r\n", "PUT /x [abc]; idle");
    check(
        "3\r\nabc\r\nA;name=value\r\n0123456789\r\n000\r\nTrailer: x\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /x [abc0123456789]; GET / []; idle",
    );
    check("3\r\nabc\r\n0\r\n", "body");
    check("0\r\n\r\n", "PUT /x []; idle");
    for wrong in [
        "x\r\n",
        "\r\n",
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        "1 \r\na\r\n",
        "3\nabc",
        "3\r\nabcd\r\n",
        "3\r\nabc\n",
        "3\r\rabc",
    ] {
        check(wrong, "400");
    }
    check("1000000000000000\r\n", "400");
    check("15\r\n", "413");
    check("14\r\n01234567890123456789\r\n1\r\n", "413");
}

/// Requests that two parties could read differently (RFC 9112, section 11.2).
#[test]
fn what_could_be_smuggled_is_refused() {
    let with = |fields: &str| format!("PUT /x HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    for (fields, status) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "400"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "400"),
        ("Content-Length: 3\r\nContent-Length: 4\r\n", "400"),
        ("Content-Length: 3\r\nContent-Length: 3\r\n", "400"),
        ("Content-Length: 3, 3\r\n", "400"),
        ("Content-Length: +3\r\n", "400"),
        ("Content-Length: -3\r\n", "400"),
        ("Content-Length: 0x3\r\n", "400"),
        ("Content-Length:\r\n", "400"),
        ("Content-Length: 3 \u{b}\r\n", "400"),
        ("Content-Length : 3\r\n", "400"),
        ("Content-Length: 99999999999999999999\r\n", "400"),
        ("Transfer-Encoding: identity\r\n", "501"),
        ("Transfer-Encoding: gzip, chunked\r\n", "501"),
        ("Transfer-Encoding: xchunked\r\n", "501"),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "400",
        ),
        ("X: a\r\n b\r\n", "400"),
        (" X: a\r\n", "400"),
        ("X: a\nY: b\r\n", "400"),
        ("X: a\rY: b\r\n", "400"),
        ("X: a\0b\r\n", "400"),
        ("Host: b\r\n", "400"),
        ("Expect: a-miracle\r\n", "417"),
    ] {
        check(&with(fields), status);
    }
    check(
        "PUT /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "400",
    );
    check("GET / HTTP/1.1\r\n\r\n", "400");
    check("GET / HTTP/1.1\n", "400");
    check("GET /\r\nHost: a\r\n\r\n", "400");
    check("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505");
    check("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400");
    check("\r\n\r\n\r\n", "400");
}

#[test]
fn what_is_too_large_is_refused() {
    let pad = "x".repeat(200);
    check(&format!("GET /{pad} HTTP/1.1\r\nHost: a\r\n\r\n"), "431");
    check(
        &format!("GET / HTTP/1.1\r\nHost: a\r\nX: {pad}\r\n\r\n"),
        "431",
    );
    check(
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 21\r\n\r\n",
        "413",
    );
    let fields = "a:\r\n".repeat(SLOTS);
    let mut reader = Reader::new(Limits {
        head_max_bytes: 10_000,
        body_max_bytes: 1,
    });
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
    let refused = reader.next(many.as_bytes(), &mut slots).unwrap_err();
    assert_eq!(refused.status, 431);
}
