//! Server, client and waits against each other.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    io::{Read, Write},
    time::Duration,
};

use waggle_testkit::{
    Listener,
    http::{Connection, Reply, Server, answer, get, ok, text_between},
    try_for, wait_until,
};

const GET: &str = "GET / HTTP/1.1\r\n\r\n";

#[test]
fn a_server_answers_by_the_number_of_a_request() {
    let server = Server::start(|request| match request.number {
        0 => Reply::Answer(ok("first")),
        _ => Reply::Last(answer(503, "Retry-After: 1\r\n", "")),
    });
    let mut connection = Connection::open(server.address).unwrap();
    connection.send([GET, GET].concat()).unwrap();
    let first = connection.answer().unwrap();
    assert_eq!((first.status, &*first.body), (200, "first"));
    let last = connection.answer().unwrap();
    assert_eq!((last.status, last.header("retry-after")), (503, Some("1")));
    assert_eq!(connection.answer_or_end().unwrap(), None);
    drop(connection);
    assert_eq!(
        (
            server.received_count(),
            server.answered_count(),
            server.connections()
        ),
        (2, 2, 1)
    );
}

#[test]
fn a_request_has_its_parts_and_numbers() {
    let server = Server::start(|request| {
        let parts = (request.number, request.connection, request.on_connection);
        let text = request.text();
        let (method, path) = (&request.method, &request.path);
        let header = request.header("X-NAME");
        Reply::Answer(ok(&format!("{method} {path} {header:?} {text} {parts:?}")))
    });
    let request = "PUT /a?b=c HTTP/1.1\r\nx-name:  n\r\ncontent-length: 4\r\n\r\nbody";
    for numbers in ["(0, 0, 0)", "(1, 1, 0)"] {
        let answer = Connection::ask(server.address, request).unwrap();
        assert_eq!(
            answer.body,
            format!("PUT /a?b=c Some(\"n\") body {numbers}")
        );
    }
    assert_eq!(server.bodies(), ["body", "body"]);
}

/// The answer that a client gets to one request.
fn check_end(reply: Reply, answered: u64) {
    let server = Server::start(move |_| reply.clone());
    let mut connection = Connection::open(server.address).unwrap();
    connection.send(GET).unwrap();
    assert_eq!(connection.answer_or_end().unwrap(), None);
    assert_eq!(
        (server.received_count(), server.answered_count()),
        (1, answered)
    );
}

#[test]
fn connections_end_before_an_answer_is_complete() {
    check_end(Reply::Cut(ok("body")[..30].to_vec()), 0);
    check_end(Reply::Abort, 0);
}

#[test]
fn another_protocol_is_refused() {
    let server = Server::start(|_| panic!("no request"));
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let refused = Connection::ask(server.address, preface).unwrap();
    assert_eq!((refused.status, server.received_count()), (400, 0));
}

#[test]
fn a_body_without_a_length_ends_with_its_connection() {
    let server = Server::start(|_| Reply::Last(b"HTTP/1.0 200 OK\r\n\r\nto the end".to_vec()));
    assert_eq!(get(server.address, "/").unwrap().body, "to the end");
}

#[test]
fn a_server_that_is_dropped_ends_its_connections() {
    let server = Server::start(|_| Reply::Silence);
    let mut connection = Connection::open(server.address).unwrap();
    connection.send(GET).unwrap();
    wait_until("the request has arrived", || server.received_count() == 1);
    let address = server.address;
    drop(server);
    assert_eq!(connection.answer_or_end().unwrap(), None);
    assert!(get(address, "/").is_err());
}

#[test]
fn connections_that_clients_close_are_counted() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(1), ok("")));
    for _ in 0..3 {
        assert_eq!(get(server.address, "/").unwrap().status, 200);
    }
    assert_eq!(server.closed_in_order(), 3);
}

#[test]
#[should_panic(expected = "seen by the test")]
fn a_panic_of_a_server_is_the_tests() {
    let server = Server::start(|_| panic!("seen by the test"));
    let _ = get(server.address, "/");
}

#[test]
fn a_listener_hands_out_connections() {
    let listener = Listener::start(|mut socket, number| {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        write!(socket, "{number}{}", byte[0] as char).unwrap();
        socket.close_in_order();
    });
    for number in 0..2 {
        let mut client = std::net::TcpStream::connect(listener.address).unwrap();
        client.write_all(b"x").unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("{number}x"));
    }
}

#[test]
fn a_wait_gives_up() {
    let mut looked = 0;
    let value: Option<()> = try_for(Duration::ZERO, || {
        looked += 1;
        None
    });
    assert_eq!(value, None);
    assert!(looked > 0);
    assert_eq!(try_for(Duration::ZERO, || Some(7)), Some(7));
}

#[test]
fn text_between_marks() {
    assert_eq!(text_between("a=1&b=2", "a=", &['&']), "1");
    assert_eq!(text_between("a=1&b=2", "b=", &['&']), "2");
    assert_eq!(text_between("a=1", "c=", &['&']), "");
}
