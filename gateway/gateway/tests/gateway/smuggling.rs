//! Request smuggling: a body is never read as a request.

use std::net::Shutdown;

use crate::support::{Gateway, put, store};

/// A request in a body, which must not be executed.
fn smuggled_request() -> String {
    put("smuggled", "m f=1")
}

fn chunked_request(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len())
}

/// All answers until the gateway closes the connection, as "status status …".
fn statuses(gateway: &Gateway, bytes: &str) -> String {
    let mut client = gateway.client();
    client.send(bytes.as_bytes());
    client.socket().shutdown(Shutdown::Write).unwrap();
    let answers = std::iter::from_fn(|| client.answer());
    let statuses: Vec<String> = answers.map(|answer| answer.status.to_string()).collect();
    statuses.join(" ")
}

#[test]
fn a_request_with_two_lengths_closes_the_connection() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let good = put("t", "m f=1");
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: +5\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "X: a\r\n b\r\nContent-Length: 5\r\n",
        "X: a\nContent-Length: 5\r\n",
    ] {
        for call in [
            "PUT /api/v1/topics/t/records",
            "GET /healthz",
            "GET /api/v1/topics/t/latest?series=m",
            "POST /api/v1/query",
        ] {
            let hostile = format!("{call} HTTP/1.1\r\nHost: a\r\n{fields}\r\n0\r\n\r\n");
            let answers = statuses(
                &gateway,
                &[&*good, &hostile, &smuggled_request(), &good].concat(),
            );
            assert!(
                matches!(&*answers, "204 400" | "204 501"),
                "{call} with {fields:?} is answered {answers}"
            );
        }
    }
    assert!(gateway.records("smuggled").is_empty());
}

#[test]
fn a_body_is_skipped_by_every_call() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let good = put("t", "m f=1");
    let inside = smuggled_request();
    assert_eq!(gateway.put("t", "m f=1").status, 204);
    for (call, status) in [
        ("PUT /api/v1/topics/t/records", "400"),
        ("POST /api/v1/topics/t/records", "400"),
        ("PUT /api/v1/topics/a%20b/records", "400"),
        ("PUT /api/v1/topics/t/records?precision=x", "400"),
        ("GET /healthz", "200"),
        ("GET /readyz", "200"),
        ("GET /nowhere", "404"),
        ("DELETE /healthz", "405"),
        ("GET /api/v1/topics/t/records", "200"),
        ("GET /api/v1/topics/t/latest?series=m", "200"),
        ("GET /api/v1/topics/t/latest?series=x", "404"),
        ("GET /api/v1/topics/t/latest", "200"),
        ("GET /api/v1/query?topic=t&measurement=m", "200"),
        ("POST /api/v1/query", "405"),
        ("OPTIONS *", "404"),
    ] {
        let plain = format!(
            "{call} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{inside}",
            inside.len()
        );
        let in_chunks = format!(
            "{call} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            chunked_request(&inside)
        );
        for request in [plain, in_chunks] {
            let answers = statuses(&gateway, &[&*good, &request, &good, &request].concat());
            let expected = format!("204 {status} 204 {status}");
            assert_eq!(answers, expected, "{request}");
        }
    }
    assert!(gateway.records("smuggled").is_empty());
}

#[test]
fn nothing_is_read_after_a_request_that_closes_the_connection() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--body-max-bytes=1000", "--head-max-bytes=500"]);
    let large = "x".repeat(1001);
    for (hostile, status) in [
        (format!("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", large.len()), "413"),
        (format!("GET /{large} HTTP/1.1\r\nHost: a\r\n\r\n"), "431"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: a:x\r\n\r\n".to_owned(), "400"),
        ("GET http:///healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), "400"),
        ("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\0\r\nm f=1\r\n0\r\n\r\n".to_owned(), "400"),
        ("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nm f=1\r\n0\r\nX\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(), "400"),
        ("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\nm f=1\r\n0\r\n\r\n".to_owned(), "400"),
        ("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nm f=1\r\n0\r\n\r\n".to_owned(), "400"),
        ("PUT /x HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 0\r\n\r\n".to_owned(), "417"),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "200 400"),
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), "200"),
        ("GET /api/v1/topics/smuggled/latest?series=m HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned(), "404"),
    ] {
        let answers = statuses(&gateway, &[&*hostile, &smuggled_request(), &smuggled_request()].concat());
        assert_eq!(answers, status, "{hostile:?}");
    }
    assert!(gateway.records("smuggled").is_empty());
}
