//! Heads become blocks that a decoder reads as the same fields.

use waggle_wire::http2::hpack::Decoder;

use super::*;

/// The fields of a block as text.
fn fields(decoder: &mut Decoder, block: &[u8]) -> String {
    let mut text = Vec::new();
    let take = |name: &[u8], value: &[u8]| {
        text.push(format!(
            "{}={}",
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(value)
        ));
    };
    decoder.decode(block, take).unwrap();
    text.join("; ")
}

#[test]
fn heads_are_translated() {
    let check = |bytes: &str, expected: &str| {
        assert_eq!(check_head(bytes), Ok(()), "{bytes}");
        let mut translator = HeadTranslator::new(true);
        let mut encoder = Encoder::default();
        let mut decoder = Decoder::new(4_096);
        // Later ones are from the server's table and from kept lines.
        for _ in 0..3 {
            let mut block = Vec::new();
            let parts = RequestParts::read(bytes.as_bytes()).unwrap();
            translator
                .translate(&mut encoder, parts, Indexed::Few, &mut block)
                .unwrap();
            assert_eq!(fields(&mut decoder, &block), expected, "{bytes}");
            let (_, body) = bytes.split_once("\r\n\r\n").unwrap();
            assert_eq!(parts.body, body.as_bytes(), "{bytes}");
            // The same parts without a search.
            let lengths = Lengths {
                method: parts.method.len(),
                target: parts.target.len(),
                head: bytes.len() - body.len(),
            };
            let counted = RequestParts::new(bytes.as_bytes(), lengths);
            assert_eq!(format!("{counted:?}"), format!("{parts:?}"));
        }
    };
    check(
        "GET /a?b=c HTTP/1.1\r\nHost: here:81\r\n\r\n",
        ":method=GET; :scheme=https; :path=/a?b=c; :authority=here:81",
    );
    check(
        "POST / HTTP/1.1\r\nContent-Length: 2\r\nhost: x\r\nX-A: 1\r\nX-A: 2\r\n\r\nok",
        ":method=POST; :scheme=https; :path=/; :authority=x; content-length=2; x-a=1; x-a=2",
    );
    check(
        "PUT / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\nTE: gzip\r\nA:b\r\nEmpty:\r\n\r\n",
        ":method=PUT; :scheme=https; :path=/; :authority=x; a=b; empty=",
    );
    check(
        "GET / HTTP/1.1\r\nHost: x\r\nTE: trailers\r\n\r\n",
        ":method=GET; :scheme=https; :path=/; :authority=x; te=trailers",
    );
}

fn check_head(bytes: &str) -> Result<(), RequestError> {
    super::check(bytes.as_bytes())
}

#[test]
fn values_that_change_leave_the_table_alone() {
    let mut translator = HeadTranslator::new(false);
    let mut encoder = Encoder::default();
    let mut decoder = Decoder::new(4_096);
    for number in 0..100 {
        let bytes =
            format!("GET /{number} HTTP/1.1\r\nHost: x\r\nX-Id: {number}\r\nAgent: w\r\n\r\n");
        let mut block = Vec::new();
        translator
            .translate(
                &mut encoder,
                RequestParts::read(bytes.as_bytes()).unwrap(),
                Indexed::Few,
                &mut block,
            )
            .unwrap();
        let expected = format!(
            ":method=GET; :scheme=http; :path=/{number}; :authority=x; x-id={number}; agent=w"
        );
        assert_eq!(fields(&mut decoder, &block), expected);
    }
    // Host, agent, and the first values of the identifier.
    assert_eq!(encoder.changes(), 2 + u64::from(VALUES_OF_NAME_MAX));
}

#[test]
fn invalid_requests_are_refused() {
    let check = |bytes: &str, expected: RequestError| {
        assert_eq!(check_head(bytes), Err(expected), "{bytes}");
    };
    check("GET / HTTP/1.1\r\nHost: x\r\n", RequestError::NoEnd);
    check("GET / HTTP/1.1\r\nA: x\r\n\r\n", RequestError::NoHost);
    check(
        "G\u{1}T / HTTP/1.1\r\nHost: x\r\n\r\n",
        RequestError::NotHttp(httparse::Error::Token),
    );
    check(
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        RequestError::BadPart("host"),
    );
    check(
        "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        RequestError::BadPart("path"),
    );
    check(
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        RequestError::Chunked,
    );
}
