//! HTTP/1.1 over TLS: who is trusted, what is counted, and how connections end.

use std::{
    io::{Read, Write},
    time::Duration,
};

use waggle_load::{
    BodyCheck, Failure, HandshakeFailure, Job, Roots, Tls, TlsError, TlsOptions, Transport,
};
use waggle_spec::{Protocol, TimeKind};
use waggle_testkit::{
    DEADLINE, Listener, Socket,
    tls::{Authority, ClientAuth, Signed},
    wait_until,
};

use crate::support::{OK, Reply, Server, closed_model, count_failures, job, run, run_until};

const REQUESTS: u64 = 300;

fn options(authority: &Authority) -> TlsOptions {
    TlsOptions {
        server_name: "localhost".to_owned(),
        roots: Roots::Pem(authority.pem.clone().into_bytes()),
        ..TlsOptions::default()
    }
}

fn tls_job(server: &Server, (connections, pipelining): (usize, usize), options: TlsOptions) -> Job {
    let mut job = job(server.address, closed_model(connections, pipelining));
    job.transport = Transport {
        protocol: Protocol::Http1,
        tls: Some(Tls::new(options).unwrap()),
        ..Transport::default()
    };
    job.max_requests = Some(REQUESTS);
    job.limits.reconnect_first = Duration::from_micros(100);
    job
}

/// Runs a job that cannot open a connection until it has failed; returns the kinds of failures. A server that asks for a certificate refuses
/// the client after the client's last message: with a request in flight or without one, and both may happen to two connections.
fn kinds_of_failures(mut job: Job) -> Vec<Failure> {
    job.max_requests = None;
    job.limits.reconnect_first = Duration::from_millis(5);
    let ended = run_until(job, |counts| count_failures(counts) > 0);
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, 0);
    let mut kinds = Vec::new();
    for (kind, _) in [ended.failures(), ended.other_failures()].concat() {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn check_refused(server: &Server, options: TlsOptions, expected: HandshakeFailure) {
    let failures = kinds_of_failures(tls_job(server, (2, 1), options));
    assert_eq!(failures, [Failure::Handshake(expected)]);
}

#[test]
fn requests_go_over_tls_and_every_one_is_counted() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let authority = Authority::new("ours");
        let mut config = authority.server();
        // One version of TLS only.
        let signed = authority.sign("localhost", 2090);
        config = server_config_for_version(version, &authority, &signed, config);
        let server = Server::start_secure(config, |_| Reply::Answer(OK.to_vec()));
        let mut job = tls_job(&server, (3, 4), options(&authority));
        crate::support::expect(&mut job).body = BodyCheck::Equals(b"ok".to_vec());
        let ended = run(job);
        ended.check_sums();
        let counts = ended.counts();
        assert_eq!(
            (
                counts.succeeded,
                server.received_count(),
                server.answered_count()
            ),
            (REQUESTS, REQUESTS, REQUESTS)
        );
        // On a busy machine all requests may be sent before the last handshake has ended.
        let handshakes = counts.handshakes;
        assert!((1..=3).contains(&handshakes), "{version:?}: {handshakes}");
        assert_eq!(counts.connects, 3);
        assert_eq!(counts.bytes_received, REQUESTS * OK.len() as u64);
        assert_eq!(
            ended
                .merge(|interval| &interval.times[TimeKind::Connect])
                .len(),
            3
        );
        let timed = ended
            .merge(|interval| &interval.times[TimeKind::Handshake])
            .len();
        assert_eq!(timed, handshakes, "{version:?}");
        assert_eq!(server.closed_in_order(), handshakes, "{version:?}");
    }
}

fn server_config_for_version(
    version: &'static rustls::SupportedProtocolVersion,
    authority: &Authority,
    signed: &Signed,
    made: rustls::ServerConfig,
) -> rustls::ServerConfig {
    let mut config = rustls::ServerConfig::builder_with_provider(made.crypto_provider().clone())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(
            authority
                .server_with(signed, ClientAuth::None)
                .cert_resolver
                .clone(),
        );
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

#[test]
fn servers_that_are_not_trusted_are_refused_with_the_reason() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let server = |signed: &Signed| {
        Server::start_secure(ours.server_with(signed, ClientAuth::None), |_| {
            Reply::Answer(OK.to_vec())
        })
    };
    let good = server(&ours.sign("localhost", 2090));
    check_refused(&good, options(&other), HandshakeFailure::UnknownIssuer);
    let expired = server(&ours.sign("localhost", 2021));
    check_refused(&expired, options(&ours), HandshakeFailure::Expired);
    let elsewhere = server(&ours.sign("elsewhere", 2090));
    check_refused(&elsewhere, options(&ours), HandshakeFailure::WrongName);
    let later = server(&ours.sign_for_later("localhost"));
    check_refused(&later, options(&ours), HandshakeFailure::NotYetValid);
    let authority = server(&ours.sign_authority("localhost"));
    check_refused(&authority, options(&ours), HandshakeFailure::CaCertificate);
}

#[test]
fn unchecked_takes_any_server() {
    let ours = Authority::new("ours");
    let config = ours.server_with(&ours.sign("elsewhere", 2021), ClientAuth::None);
    let server = Server::start_secure(config, |_| Reply::Answer(OK.to_vec()));
    let unchecked = TlsOptions {
        roots: Roots::Unchecked,
        ..TlsOptions::default()
    };
    let ended = run(tls_job(&server, (2, 1), unchecked));
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, REQUESTS);
}

#[test]
fn a_client_certificate_is_sent_if_it_is_requested() {
    let ours = Authority::new("ours");
    let config = || ours.server_with(&ours.sign("localhost", 2090), ClientAuth::Required);
    let server = Server::start_secure(config(), |_| Reply::Answer(OK.to_vec()));
    let client = ours.sign("client", 2090);
    let with = TlsOptions {
        client: Some((client.certificate.into_bytes(), client.key.into_bytes())),
        ..options(&ours)
    };
    let ended = run(tls_job(&server, (2, 1), with));
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, REQUESTS);
    check_refused(&server, options(&ours), HandshakeFailure::ClientCertificate);
}

#[test]
fn a_server_of_another_protocol_is_refused() {
    let ours = Authority::new("ours");
    let mut config = ours.server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::start_secure(config, |_| Reply::Answer(OK.to_vec()));
    check_refused(&server, options(&ours), HandshakeFailure::NoProtocol);
    // A server without ALPN has HTTP/1.1, and not HTTP/2.
    let server = Server::start_secure(ours.server(), |_| Reply::Answer(OK.to_vec()));
    let mut job = tls_job(&server, (2, 1), options(&ours));
    job.transport.protocol = Protocol::Http2;
    let failures = kinds_of_failures(job);
    assert_eq!(failures, [Failure::Handshake(HandshakeFailure::NoProtocol)]);
}

/// Every answer closes its connection: how many handshakes resumed an earlier session.
fn check_resumed(resumes: bool, version: &'static rustls::SupportedProtocolVersion) {
    let ours = Authority::new("ours");
    let signed = ours.sign("localhost", 2090);
    let config = server_config_for_version(version, &ours, &signed, ours.server());
    let last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let server = Server::start_secure(config, |_| Reply::Last(last.to_vec()));
    let options = TlsOptions {
        resumes,
        ..options(&ours)
    };
    let ended = run(tls_job(&server, (4, 1), options));
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!((counts.succeeded, counts.failed), (REQUESTS, 0));
    // After the last request connections are reopened, and closed during the handshake.
    assert!(counts.handshakes >= REQUESTS && counts.handshakes <= counts.connects);
    // The server counts a handshake when its thread has seen it.
    wait_until("the server has counted them", || {
        server.resumed_count() >= counts.handshakes_resumed
    });
    let given_up = server.resumed_count() - counts.handshakes_resumed;
    assert!(given_up <= 4, "{given_up} were given up");
    if resumes {
        // All but the first of each connection, which had no session to resume.
        assert!(
            counts.handshakes_resumed >= counts.handshakes - 4,
            "{counts:?}"
        );
    } else {
        assert_eq!(counts.handshakes_resumed, 0);
    }
}

#[test]
fn sessions_are_resumed_and_counted() {
    check_resumed(true, &rustls::version::TLS13);
    check_resumed(false, &rustls::version::TLS13);
    check_resumed(true, &rustls::version::TLS12);
    check_resumed(false, &rustls::version::TLS12);
}

/// One answer of this kind, then good ones: how the first request ends.
fn check_first(reply: Reply, expected: Option<Failure>) {
    let ours = Authority::new("ours");
    let server = Server::start_secure(ours.server(), move |request| match request.number {
        0 => reply.clone(),
        _ => Reply::Answer(OK.to_vec()),
    });
    let ended = run(tls_job(&server, (1, 1), options(&ours)));
    ended.check_sums();
    let failures: Vec<(Failure, u64)> = expected.map(|kind| (kind, 1)).into_iter().collect();
    assert_eq!(ended.failures(), failures);
    assert_eq!(
        ended.counts().succeeded,
        REQUESTS - u64::from(expected.is_some())
    );
    assert_eq!(ended.counts().connects, 2);
}

#[test]
fn a_close_notify_is_distinguished_from_a_cut() {
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nsome".to_vec();
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nso".to_vec();
    check_first(Reply::Last(until_close.clone()), None);
    check_first(Reply::HalfClose(until_close.clone()), None);
    check_first(Reply::Cut(until_close), Some(Failure::Reset));
    check_first(Reply::Last(half.clone()), Some(Failure::Reset));
    check_first(Reply::HalfClose(half.clone()), Some(Failure::Reset));
    check_first(Reply::Cut(half), Some(Failure::Reset));
    check_first(Reply::Cut(Vec::new()), Some(Failure::Reset));
}

/// A server without TLS that does this with each connection.
fn check_raw(
    serve: impl Fn(Socket) + Send + Sync + 'static,
    within: Duration,
    expected: HandshakeFailure,
) {
    let ours = Authority::new("ours");
    let server = Listener::start(move |socket, _| serve(socket));
    let mut job = job(server.address, closed_model(1, 1));
    job.transport.tls = Some(Tls::new(options(&ours)).unwrap());
    job.limits.connect_timeout = within;
    assert_eq!(kinds_of_failures(job), [Failure::Handshake(expected)]);
}

#[test]
fn failed_handshakes() {
    let kept = std::sync::Mutex::new(Vec::new());
    check_raw(
        move |stream| kept.lock().unwrap().push(stream),
        Duration::from_millis(100),
        HandshakeFailure::TimedOut,
    );
    check_raw(drop, DEADLINE, HandshakeFailure::Cut);
    check_raw(
        |mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // Until the peer has read it.
            let _ = stream.read_to_end(&mut Vec::new());
        },
        DEADLINE,
        HandshakeFailure::Malformed,
    );
}

#[test]
fn alerts_name_what_the_sides_do_not_share() {
    let check = |alert: u8, expected| {
        let serve = move |mut stream: Socket| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert]);
            let _ = stream.read_to_end(&mut Vec::new());
        };
        check_raw(serve, DEADLINE, expected);
    };
    check(40, HandshakeFailure::NoCipher);
    check(70, HandshakeFailure::NoVersion);
    check(112, HandshakeFailure::Refused);
    check(116, HandshakeFailure::ClientCertificate);
    check(120, HandshakeFailure::NoProtocol);
}

#[test]
fn a_port_with_tls_is_named_if_http_is_sent_to_it() {
    let ours = Authority::new("ours");
    let server = Server::start_secure(ours.server(), |_| Reply::Answer(OK.to_vec()));
    let mut job = job(server.address, closed_model(1, 1));
    job.max_requests = Some(1);
    let ended = run(job);
    assert_eq!(ended.failures(), [(Failure::Malformed, 1)]);
    let examples: Vec<_> = ended
        .outcome
        .examples
        .iter()
        .map(|example| &*example.text)
        .collect();
    let expected = "head, line 1: the server speaks TLS; https:// may be meant";
    assert_eq!(examples, [expected]);
}

#[test]
fn large_bodies_go_over_tls_both_ways() {
    let ours = Authority::new("ours");
    let body = vec![b'x'; 3 * 1024 * 1024];
    let mut answer =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(&body);
    let server = Server::start_secure(ours.server(), move |_| Reply::Answer(answer.clone()));
    let mut job = tls_job(&server, (2, 2), options(&ours));
    let mut request = crate::support::get();
    request.bytes = format!(
        "PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.bytes.extend_from_slice(&body);
    *crate::support::requests(&mut job) = vec![request];
    crate::support::expect(&mut job).body = BodyCheck::Equals(body);
    job.max_requests = Some(8);
    let ended = run(job);
    ended.check_sums();
    assert_eq!((ended.counts().succeeded, server.received_count()), (8, 8));
}

#[test]
fn tls_that_cannot_be_set_up_is_explained() {
    let ours = Authority::new("ours");
    let check = |options: TlsOptions, expected: &str| {
        let error = Tls::new(options).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        error
    };
    let with_name = |name: &str| TlsOptions {
        server_name: name.to_owned(),
        ..options(&ours)
    };
    assert!(Tls::new(with_name("127.0.0.1")).is_ok() && Tls::new(with_name("::1")).is_ok());
    let error = check(with_name("a b"), "\"a b\" is not a server name");
    assert!(matches!(error, TlsError::ServerName { .. }));
    let with_roots = |pem: &str| TlsOptions {
        roots: Roots::Pem(pem.as_bytes().to_vec()),
        ..TlsOptions::default()
    };
    check(
        with_roots("nothing"),
        "there is no certificate in the authorities",
    );
    let (identity, other) = (ours.sign("one", 2090), ours.sign("other", 2090));
    let with_client = |certificate: &str, key: &str| TlsOptions {
        client: Some((certificate.as_bytes().to_vec(), key.as_bytes().to_vec())),
        ..options(&ours)
    };
    check(
        with_client(&identity.certificate, "nothing"),
        "there is no private key in the client's private key",
    );
    for encrypted in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMA==\n-----END RSA PRIVATE KEY-----\n",
    ] {
        check(
            with_client(&identity.certificate, encrypted),
            "the client's private key is encrypted",
        );
    }
    check(
        with_client(
            &identity.certificate,
            "-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----\n",
        ),
        "cannot read the client's private key as PEM",
    );
    check(
        with_client("nothing", &identity.key),
        "there is no certificate in the client's certificate",
    );
    check(
        with_client(&identity.certificate, &other.key),
        "the certificate and the private key of the client",
    );
    let made = with_client(&identity.certificate, &identity.key);
    let shown = format!("{made:?} {:?}", Tls::new(made.clone()).unwrap());
    assert!(shown.contains("has_client: true"), "{shown}");
    assert!(
        !shown.contains("PRIVATE") && !shown.contains("45, 45, 45"),
        "{shown}"
    );
}
