//! Clients that send a number of requests each and end: with the last answer, or at the first error of a socket.

use std::time::Duration;

use waggle_load::{ClientEnd, Failure, Job, NullServer, StartError, start};
use waggle_spec::{LoadModel, OnSocketError};
use waggle_testkit::free_port;

use crate::support::{Ended, OK, Reply, Server, job, requests, run};

const CLIENTS: u32 = 5;
const CONNECTIONS: u32 = 20;

fn clients_model(requests: u64, on_socket_error: OnSocketError) -> LoadModel {
    LoadModel::Clients {
        clients: CLIENTS,
        connections: CONNECTIONS,
        requests,
        on_socket_error,
    }
}

/// A new connection for each request.
fn without_keep_alive(mut job: Job) -> Job {
    for request in requests(&mut job) {
        request.bytes = b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".to_vec();
    }
    job
}

fn ends(ended: &Ended) -> Vec<ClientEnd> {
    ended
        .outcome
        .clients
        .iter()
        .map(|client| client.end)
        .collect()
}

#[test]
fn each_client_sends_its_requests_and_ends() {
    let server = NullServer::start(([127, 0, 0, 1], 0).into(), OK).unwrap();
    for (workers, closes, requests) in [(1, true, 20), (2, true, 50), (3, false, 70)] {
        let job = job(
            server.address(),
            clients_model(requests, OnSocketError::EndClient),
        );
        let mut job = if closes { without_keep_alive(job) } else { job };
        job.workers = vec![None; workers];
        let ended = run(job);
        ended.check_sums();
        let all = u64::from(CLIENTS) * requests;
        assert_eq!((ended.counts().sent, ended.counts().succeeded), (all, all));
        let connects = if closes {
            all
        } else {
            u64::from(CLIENTS * CONNECTIONS)
        };
        assert_eq!(ended.counts().connects, connects);
        let clients = &ended.outcome.clients;
        let numbers: Vec<usize> = clients.iter().map(|client| client.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        for client in clients {
            assert_eq!(
                (client.sent, client.completed, client.succeeded),
                (requests, requests, requests)
            );
            assert_eq!(client.end, ClientEnd::Finished);
            assert!(client.lasted > Duration::ZERO && client.lasted <= ended.outcome.ran_for);
        }
    }
}

#[test]
fn a_client_ends_at_its_first_error_and_the_others_continue() {
    // One connection of all is cut.
    let server = Server::start(|request| match request.number {
        30 => Reply::Cut(Vec::new()),
        _ => Reply::Answer(OK.to_vec()),
    });
    let ended = run(job(
        server.address,
        clients_model(40, OnSocketError::EndClient),
    ));
    ended.check_sums();
    let failed = ClientEnd::Failed(Failure::Reset);
    assert_eq!(ends(&ended).iter().filter(|end| **end == failed).count(), 1);
    let finished = ended
        .outcome
        .clients
        .iter()
        .filter(|client| client.end != failed);
    assert_eq!(finished.map(|client| client.succeeded).sum::<u64>(), 4 * 40);
    let early = ended
        .outcome
        .clients
        .iter()
        .find(|client| client.end == failed)
        .unwrap();
    assert!(early.completed < early.sent, "{early:?}");
    let failures = ended.failures();
    assert!(failures.contains(&(Failure::Reset, 1)), "{failures:?}");
}

#[test]
fn a_client_that_counts_errors_sends_all_of_its_requests() {
    let server = Server::start(|request| match request.number % 4 {
        0 => Reply::Cut(Vec::new()),
        _ => Reply::Answer(OK.to_vec()),
    });
    let ended = run(job(server.address, clients_model(40, OnSocketError::Count)));
    ended.check_sums();
    assert_eq!(ends(&ended), [ClientEnd::Finished; CLIENTS as usize]);
    let counts = ended.counts();
    assert_eq!((counts.sent, counts.failed), (200, 50));
    assert_eq!(ended.failures(), [(Failure::Reset, 50)]);
}

#[test]
fn answers_that_are_not_expected_do_not_end_a_client() {
    let server = Server::start(|_| {
        Reply::Answer(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let mut job = job(server.address, clients_model(25, OnSocketError::EndClient));
    crate::support::expect(&mut job).status = vec![200];
    let ended = run(job);
    for client in &ended.outcome.clients {
        assert_eq!((client.completed, client.succeeded), (25, 0));
        assert_eq!(client.end, ClientEnd::Finished);
    }
}

#[test]
fn a_server_that_is_not_there_ends_every_client() {
    let address = ([127, 0, 0, 1], free_port()).into();
    let ended = run(job(address, clients_model(20, OnSocketError::EndClient)));
    ended.check_sums();
    assert_eq!(
        ends(&ended),
        [ClientEnd::Failed(Failure::Refused); CLIENTS as usize]
    );
    assert_eq!(ended.counts().sent, 0);
    let ended = run(job(address, clients_model(20, OnSocketError::Count)));
    assert_eq!(ends(&ended), [ClientEnd::Finished; CLIENTS as usize]);
    assert_eq!(ended.other_failures(), [(Failure::Refused, 100)]);
    assert_eq!(ended.failures(), []);
}

#[test]
fn an_answer_that_never_comes_ends_its_client_by_the_timeout() {
    let server = Server::start(|request| match request.number {
        7 => Reply::Silence,
        _ => Reply::Answer(OK.to_vec()),
    });
    let mut job = job(server.address, clients_model(20, OnSocketError::EndClient));
    // Longer than any other answer takes on a busy machine.
    job.limits.request_timeout = Duration::from_secs(2);
    let ended = run(job);
    let overdue = ClientEnd::Failed(Failure::TimedOut);
    assert_eq!(
        ends(&ended).iter().filter(|end| **end == overdue).count(),
        1
    );
}

#[test]
fn the_end_of_the_load_stops_clients() {
    let server = Server::start(|_| Reply::Silence);
    let mut job = job(server.address, clients_model(20, OnSocketError::EndClient));
    job.max_duration = Duration::from_millis(100);
    job.limits.finish = Duration::from_millis(100);
    let ended = run(job);
    assert_eq!(ends(&ended), [ClientEnd::Stopped; CLIENTS as usize]);
}

#[test]
fn a_client_needs_a_request_for_each_connection() {
    let job = job(
        ([127, 0, 0, 1], 9).into(),
        clients_model(19, OnSocketError::EndClient),
    );
    let refused = start(job).err();
    assert!(
        matches!(
            refused,
            Some(StartError::FewRequests {
                connections: 20,
                requests: 19
            })
        ),
        "{refused:?}"
    );
}
