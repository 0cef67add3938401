//! The parser: accepted and refused input, for every split of the bytes.

mod hosts;

use std::mem::MaybeUninit;

use super::{Limits, Persistence, Reader, SLOTS, Slots, Step};

const LIMITS: Limits = Limits {
    head_max_bytes: 200,
    body_max_bytes: 20,
};

/// Parses the input in pieces of `piece` bytes: requests as "METHOD target [body]", then the end. The head of a request whose body
/// is incomplete is given once.
fn read(input: &[u8], piece: usize) -> String {
    let mut reader = Reader::new(LIMITS);
    let (mut out, mut start, mut end) = (String::new(), 0, 0);
    let mut is_head_known = false;
    loop {
        let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
        let ending = match reader.next(&input[start..end], &mut slots) {
            Ok(Step::Whole { request, length }) => {
                let body = String::from_utf8_lossy(request.body);
                let close = match request.head.persistence {
                    Persistence::Implied => "",
                    Persistence::Announced => " keep-alive",
                    Persistence::Closed => " close",
                };
                out += &format!(
                    "{} {} [{body}]{close}; ",
                    request.head.method, request.head.target
                );
                start += length;
                is_head_known = false;
                continue;
            }
            Ok(Step::Http2) => return out + "http2",
            Err(refusal) => return out + &refusal.status.to_string(),
            Ok(Step::Idle) => "idle",
            Ok(Step::Head) => "head",
            Ok(Step::Body {
                head,
                expects_continue,
                ..
            }) => {
                assert_eq!(head.is_some(), !is_head_known);
                is_head_known = true;
                if expects_continue { "continue" } else { "body" }
            }
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
fn connections_are_kept_or_closed_as_requested() {
    check(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
        "GET / [] close; idle",
    );
    check("GET / HTTP/1.0\r\n\r\n", "GET / [] close; idle");
    check(
        "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        "GET / [] keep-alive; idle",
    );
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
    let long = "x".repeat(LIMITS.head_max_bytes + 1);
    check(&format!("1;{long}\r\na\r\n0\r\n\r\n"), "431");
    check(&format!("0\r\nA: b\r\nC: {long}\r\n\r\n"), "431");
}

/// Requests that two parties could read differently (RFC 9112, section 11.2).
#[test]
fn smuggling_attempts_are_refused() {
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
fn fields_that_say_what_a_body_is_are_no_guesswork() {
    let request =
        |fields: &str| format!("PUT /x HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: 1\r\n\r\nx");
    let types = "Content-Type: text/plain\r\nContent-Type: application/json\r\n";
    check(&request(types), "400");
    let range = "Content-Range: bytes 0-0/9\r\n";
    check(&request(range), "400");
    check(&request(range).replace("PUT", "POST"), "POST /x [x]; idle");
    let coding = |fields: &str| {
        let input = request(fields);
        let mut reader = Reader::new(LIMITS);
        let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
        let Ok(Step::Whole { request, .. }) = reader.next(input.as_bytes(), &mut slots) else {
            panic!("{input:?} is a request");
        };
        let coding = request.head.content_encoding.unwrap_or_default();
        String::from_utf8_lossy(coding).into_owned()
    };
    let (gzip, identity) = (
        "Content-Encoding: gzip\r\n",
        "Content-Encoding: identity\r\n",
    );
    assert_eq!(coding(identity), "identity");
    assert_eq!(coding(gzip), "gzip");
    check(&request(&[gzip, identity].concat()), "415");
}

#[test]
fn requests_above_the_limits_are_refused() {
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

/// Refused for every split of the bytes: no part of it is read as a request.
#[track_caller]
fn check_refused(input: &str) {
    for piece in [input.len(), 1, 2, 3, 7] {
        let outcome = read(input.as_bytes(), piece);
        let is_status =
            outcome.len() == 3 && (outcome.starts_with('4') || outcome.starts_with('5'));
        assert!(
            is_status,
            "in pieces of {piece}: {input:?} is read as {outcome}"
        );
    }
}

/// Ways to say the length that another party could read differently (RFC 9112, sections 5, 6 and 11.2).
#[test]
fn ambiguous_framing_is_refused() {
    let smuggled = "0\r\n\r\nGET /s HTTP/1.1\r\nHost: a\r\n\r\n";
    for fields in [
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "Transfer-Encoding: \u{b}chunked\r\n",
        "Transfer-Encoding: chunked\u{b}\r\n",
        "Transfer-Encoding: \u{a0}chunked\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: 'chunked'\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: ,chunked\r\n",
        "Transfer-Encoding: chunked,\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
        "transfer-encoding: chunked\r\nTRANSFER-ENCODING: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\ntransfer-encoding: chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: identity\r\n",
        "Content-Length: 5\r\nContent-Length: 0\r\n",
        "Content-Length: 5\r\ncontent-length: 5\r\n",
        "Content-Length: 5,5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length: 5;\r\n",
        "Content-Length: 5.0\r\n",
        "Content-Length: 1e1\r\n",
        "Content-Length: \u{660}\r\n",
        "Content-Length:\r\n 5\r\n",
        "Content-Length : 5\r\n",
        "Content-Length\u{b}: 5\r\n",
        " Content-Length: 5\r\n",
        "\tTransfer-Encoding: chunked\r\n",
        "X: a\r\n\tContent-Length: 5\r\n",
        "X: a\n\rTransfer-Encoding: chunked\r\n",
        "X: a\nTransfer-Encoding: chunked\r\n",
        "X: a\rTransfer-Encoding: chunked\r\n",
        "X\0: a\r\n",
        "X: a\0\r\n",
        ": a\r\n",
        "X\r\n",
        "X: a\r\n\nContent-Length: 5\r\n",
    ] {
        check_refused(&format!(
            "PUT /x HTTP/1.1\r\nHost: a\r\n{fields}\r\n{smuggled}"
        ));
    }
    for line in [
        "PUT /x HTTP/1.1 ",
        "PUT /x  HTTP/1.1",
        "PUT\t/x\tHTTP/1.1",
        " PUT /x HTTP/1.1",
        "PUT /x HTTP/1.10",
        "PUT /x HTTP/01.1",
        "PUT /x http/1.1",
        "PUT /x HTTP/1.2",
        "PUT /x\0 HTTP/1.1",
        "PUT /x\rHTTP/1.1",
        "PU(T /x HTTP/1.1",
        "PUT /x",
    ] {
        check_refused(&format!("{line}\r\nHost: a\r\n\r\n{smuggled}"));
    }
}

#[test]
fn ambiguous_chunks_are_refused() {
    let smuggled = "GET /s HTTP/1.1\r\nHost: a\r\n\r\n";
    for body in [
        " 3\r\nabc\r\n0\r\n\r\n",
        "3 ;x\r\nabc\r\n0\r\n\r\n",
        "3;x\nabc\r\n0\r\n\r\n",
        "3;x\ry\r\nabc\r\n0\r\n\r\n",
        "3\nabc\n0\n\n",
        "3\r\nabc\n0\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
        "3\r\nab\r\n0\r\n\r\n",
        "2\r\nabc\r\n0\r\n\r\n",
        "0000000000000003\r\nabc\r\n0\r\n\r\n",
        "10000000000000003\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "3_\r\nabc\r\n0\r\n\r\n",
        "\u{663}\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\n\n",
        "3\r\nabc\r\n0\r\nX: y\n\r\n",
        "3\r\nabc\r\n0\r\nX: y\r\r\n\r\n",
        "3\r\nabc\r\n-0\r\n\r\n",
        "\r\n0\r\n\r\n",
        "3;a\0b\r\nabc\r\n0\r\n\r\n",
        "3;a=\"\u{1}\"\r\nabc\r\n0\r\n\r\n",
        "3;\u{7f}\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0;\0\r\n\r\n",
        "3\r\nabc\r\n0\r\nX\r\n\r\n",
        "3\r\nabc\r\n0\r\nGET / HTTP/1.1\r\n\r\n",
        "3\r\nabc\r\n0\r\n: y\r\n\r\n",
        "3\r\nabc\r\n0\r\nX : y\r\n\r\n",
        "3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n",
        "3\r\nabc\r\n0\r\nX\0: y\r\n\r\n",
        "3\r\nabc\r\n0\r\nX: \0\r\n\r\n",
    ] {
        check_refused(&format!(
            "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}{smuggled}"
        ));
    }
    // Trailer fields are not fields of the request, and the next request follows them.
    check(
        "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tchunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0;c\r\nContent-Length: 9\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /x [abc]; GET /y []; idle",
    );
}

/// A request whose body may look like requests, and how it is sent.
#[derive(Debug, Clone)]
struct Sent {
    body: String,
    /// Bytes of each chunk; 0 sends it by its length.
    chunk: usize,
    /// Extensions, leading zeros and trailers if it is sent in chunks.
    adorned: bool,
}

impl Sent {
    fn bytes(&self) -> String {
        let head = "PUT /x HTTP/1.1\r\nHost: a\r\n";
        if self.chunk == 0 {
            let length = self.body.len();
            return format!("{head}Content-Length: {length}\r\n\r\n{}", self.body);
        }
        let (zeros, extension, trailer) = if self.adorned {
            (
                "00",
                ";x=\"0\"",
                "Transfer-Encoding: chunked\r\nContent-Length: 7\r\n",
            )
        } else {
            ("", "", "")
        };
        let mut out = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        for chunk in self.body.as_bytes().chunks(self.chunk) {
            let text = std::str::from_utf8(chunk).unwrap();
            out += &format!("{zeros}{:x}{extension}\r\n{text}\r\n", chunk.len());
        }
        out + &format!("{zeros}0{extension}\r\n{trailer}\r\n")
    }
}

proptest::proptest! {
    /// Any body is a body: exactly the sent requests are read.
    #[test]
    fn a_body_is_never_read_as_a_request(
        requests in proptest::collection::vec(
            (
                proptest::collection::vec(
                    proptest::sample::select(vec![
                        "GET /s HTTP/1.1\r\n", "Host: a\r\n", "\r\n", "0\r\n\r\n", "5\r\n", "\n", "\r", "x",
                        "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n", "PRI * HTTP/2.0\r\n\r\n",
                    ]),
                    0..6,
                ),
                0..40_usize,
                proptest::bool::ANY,
            ),
            1..6,
        ),
        piece in 1..200_usize,
    ) {
        let requests: Vec<Sent> = requests
            .into_iter()
            .map(|(parts, chunk, adorned)| Sent { body: parts.concat(), chunk, adorned })
            .collect();
        let input: String = requests.iter().map(Sent::bytes).collect();
        let limits = Limits { head_max_bytes: 200, body_max_bytes: 400 };
        let contents = bodies(input.as_bytes(), piece, limits);
        let expected: Vec<&str> = requests.iter().map(|sent| sent.body.as_str()).collect();
        proptest::prop_assert_eq!(contents, expected);
    }
}

/// The bodies of all requests to /x; panics at any other request.
fn bodies(input: &[u8], piece: usize, limits: Limits) -> Vec<String> {
    let mut reader = Reader::new(limits);
    let (mut contents, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
        match reader.next(&input[start..end], &mut slots).unwrap() {
            Step::Whole { request, length } => {
                assert_eq!((request.head.method, request.head.target), ("PUT", "/x"));
                contents.push(String::from_utf8(request.body.to_vec()).unwrap());
                start += length;
                continue;
            }
            Step::Idle if end == input.len() => return contents,
            step => assert!(end < input.len(), "it ends with {step:?}"),
        }
        end = (end + piece).min(input.len());
    }
}
