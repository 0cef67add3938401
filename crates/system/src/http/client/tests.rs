//! Answers over real sockets, whole and broken, with and without TLS.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use waggle_load::{Roots, Tls, TlsOptions};
use waggle_testkit::{
    free_port,
    http::{Reply, Server, ok},
    streams::{self, Settings, StreamServer},
    tls::{Authority, ClientAuth},
};

use super::{Connection, HttpConnector, HttpError, Network, Peer, Request};

/// Answers every request of every connection with the same bytes. Closes the connection after one answer if the bytes say so,
/// or if they are fewer than announced.
async fn server(answer: &'static [u8], connections: Arc<AtomicUsize>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.fetch_add(1, Ordering::Relaxed);
            while request(&mut stream).await {
                stream.write_all(answer).await.unwrap();
                if answer.ends_with(b"END") {
                    break;
                }
            }
        }
    });
    address
}

/// Reads one request without a body; false at the end of the connection.
async fn request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return false,
        }
    }
    true
}

/// Sends two requests over one connection.
async fn check(answer: &'static [u8], expected: Option<(u16, &str)>, expected_connections: usize) {
    let connections = Arc::new(AtomicUsize::new(0));
    let mut connection = Network.connection(&server(answer, Arc::clone(&connections)).await.into());
    for _ in 0..2 {
        let mut body = Vec::new();
        let status = connection
            .send(&Request::get("/"), &mut |chunk| {
                body.extend_from_slice(chunk)
            })
            .await;
        match expected {
            Some((expected, text)) => {
                assert_eq!(
                    (status.unwrap(), String::from_utf8(body).unwrap()),
                    (expected, text.to_owned())
                );
            }
            None => assert!(
                matches!(status, Err(HttpError::Answer { .. })),
                "{status:?}"
            ),
        }
    }
    assert_eq!(connections.load(Ordering::Relaxed), expected_connections);
}

#[tokio::test]
async fn answers_of_every_framing_are_read_and_connections_kept_where_they_can_be() {
    check(
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        Some((200, "abc")),
        1,
    )
    .await;
    check(b"HTTP/1.1 204 No Content\r\n\r\n", Some((204, "")), 1).await;
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    check(chunked, Some((200, "abc")), 1).await;
    check(
        b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\nTHE END",
        Some((503, "THE END")),
        2,
    )
    .await;
}

#[tokio::test]
async fn broken_answers_are_errors_and_the_next_one_is_asked_on_a_new_connection() {
    check(
        b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nthe END",
        None,
        2,
    )
    .await;
    // Each time it is asked in HTTP/2, too.
    check(b"no HTTP\r\n\r\nEND", None, 4).await;
}

/// Sends a request to a server over TLS. The client trusts `trusted`, and presents a certificate of it if `is_known`.
async fn send_encrypted(
    server: ServerConfig,
    trusted: &Authority,
    (name, is_known): (&str, bool),
) -> Result<u16, HttpError> {
    let server = Server::start_secure(server, |_| Reply::Answer(ok("yes")));
    let signed = trusted.sign("client", 2090);
    let tls = Tls::new(TlsOptions {
        server_name: name.to_owned(),
        roots: Roots::Pem(trusted.pem.clone().into_bytes()),
        client: is_known.then(|| (signed.certificate.into_bytes(), signed.key.into_bytes())),
        resumes: true,
    });
    let peer = Peer {
        address: server.address,
        tls: Some(tls.unwrap()),
        authorization: None,
    };
    let mut connection = Network.connection(&peer);
    connection.send(&Request::get("/"), &mut |_| {}).await
}

#[tokio::test]
async fn ports_with_tls_are_read_and_failures_name_what_helps() {
    let (authority, other) = (Authority::new("own"), Authority::new("other"));
    let with_client = || {
        let signed = authority.sign("localhost", 2090);
        authority.server_with(&signed, ClientAuth::Required)
    };
    let sent = send_encrypted(authority.server(), &authority, ("localhost", false)).await;
    assert_eq!(sent.unwrap(), 200);
    let sent = send_encrypted(with_client(), &authority, ("localhost", true)).await;
    assert_eq!(sent.unwrap(), 200);
    let fails = async |server, trusted, client, expected: &str| {
        let problem = send_encrypted(server, trusted, client).await.unwrap_err();
        assert!(problem.to_string().contains(expected), "{problem}");
    };
    let localhost = ("localhost", false);
    fails(authority.server(), &other, localhost, "(ca)").await;
    fails(
        authority.server(),
        &authority,
        ("api.test", false),
        "(server_name)",
    )
    .await;
    let expired = authority.server_with(&authority.sign("localhost", 2021), ClientAuth::None);
    fails(expired, &authority, localhost, "a new certificate").await;
    // In TLS 1.3 the client's certificate is refused when the handshake is over for the client.
    fails(with_client(), &authority, localhost, "CertificateRequired").await;
}

/// A server of HTTP/2 alone, which wants a body, and the host in its URI.
fn stream_server(tls: Option<ServerConfig>) -> StreamServer {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let settings = Settings {
        tls: tls.map(Arc::new),
        ..Settings::default()
    };
    StreamServer::start(settings, move |seen| {
        let head = &seen.head;
        let uri = head.uri();
        let is_right = head.method() == "POST"
            && (uri.scheme_str(), uri.path()) == (Some(scheme), "/a")
            && uri
                .authority()
                .is_some_and(|host| host.as_str() == "shop:1")
            && head.headers().get("x-a").is_some_and(|value| value == "b")
            && !head.headers().contains_key("host");
        streams::Reply::Answer {
            status: if is_right { 200 } else { 400 },
            body: "fine".into(),
        }
    })
}

#[tokio::test]
async fn servers_of_http2_alone_are_asked_in_http2() {
    let authority = Authority::new("own");
    let tls = Tls::new(TlsOptions {
        server_name: "localhost".to_owned(),
        roots: Roots::Pem(authority.pem.clone().into_bytes()),
        ..TlsOptions::default()
    });
    let tls = tls.unwrap();
    let mut config = authority.server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let headers = [("Host", "shop:1"), ("X-A", "b")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = Request {
        method: "POST",
        path: "/a",
        headers: &headers,
        body: "body",
    };
    for (server, tls) in [
        (stream_server(None), None),
        (stream_server(Some(config)), Some(tls)),
    ] {
        let mut connection = Network.connection(&Peer {
            tls,
            ..server.address.into()
        });
        for _ in 0..2 {
            let mut body = Vec::new();
            let mut take = |chunk: &[u8]| body.extend_from_slice(chunk);
            let status = connection.send(&request, &mut take).await;
            assert_eq!(status.unwrap(), 200);
            assert_eq!(body, b"fine");
        }
        let counted = (
            server.get(|counted| &counted.answered),
            server.get(|counted| &counted.body_bytes),
            server.get(|counted| &counted.connections),
        );
        // The first connection is for HTTP/1.1.
        assert_eq!(counted, (2, 8, 2));
    }
}

#[tokio::test]
async fn a_refused_connection_is_reported_with_the_address() {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let asked = Network
        .connection(&address.into())
        .send(&Request::get("/"), &mut |_| {})
        .await;
    assert!(matches!(asked, Err(HttpError::Connect { address: found, .. }) if found == address));
    let asked = Network
        .connection(&address.into())
        .send(&Request::get("no path"), &mut |_| {})
        .await;
    assert!(matches!(asked, Err(HttpError::Request { .. })));
}
