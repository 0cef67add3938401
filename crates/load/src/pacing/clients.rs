//! Clients that send a number of requests each and then end, as benchmark programs such as Apache Bench do: each over its own
//! connections, all at the same time.

use std::{ops::Range, time::Duration};

use waggle_spec::OnSocketError;

use crate::{
    failure::Failure,
    recording::outcome::{ClientEnd, ClientOutcome},
};

/// The clients of one worker. Connections have a number within the worker, and those of a client follow one another.
#[derive(Debug)]
pub(crate) struct Clients {
    /// Connections of each client.
    connections: u32,
    /// Requests of each client.
    requests: u64,
    on_error: OnSocketError,
    clients: Vec<Client>,
    /// Of each connection: whether its next request is its own already. A connection that is opened again has one, so that no
    /// more of them are opened than there are requests.
    reserved: Vec<bool>,
    running: usize,
}

#[derive(Debug)]
struct Client {
    number: usize,
    /// Requests that no connection has reserved or sent.
    unreserved: u64,
    sent: u64,
    completed: u64,
    succeeded: u64,
    /// Ended without a complete answer.
    failed: u64,
    last: u64,
    end: Option<ClientEnd>,
    /// Its connections were closed, or are all in order.
    is_settled: bool,
}

impl Clients {
    /// The clients with these numbers; each has `connections`, and at least as many requests.
    pub(crate) fn new(
        numbers: impl Iterator<Item = usize>,
        connections: u32,
        requests: u64,
        on_error: OnSocketError,
    ) -> Self {
        let unreserved = requests.saturating_sub(u64::from(connections));
        let clients: Vec<Client> = numbers
            .map(|number| Client::new(number, unreserved))
            .collect();
        Self {
            connections,
            requests,
            on_error,
            reserved: vec![true; connections as usize * clients.len()],
            running: clients.len(),
            clients,
        }
    }

    fn client(&self, connection: u32) -> usize {
        (connection / self.connections) as usize
    }

    /// Whether there is a request for a connection.
    #[inline]
    pub(crate) fn has_for(&self, connection: u32) -> bool {
        let client = &self.clients[self.client(connection)];
        client.end.is_none() && (self.reserved[connection as usize] || client.unreserved > 0)
    }

    /// Takes one request for a connection.
    #[inline]
    pub(crate) fn take(&mut self, connection: u32, now: u64) -> Option<u64> {
        if !self.has_for(connection) {
            return None;
        }
        let number = self.client(connection);
        let client = &mut self.clients[number];
        if !std::mem::take(&mut self.reserved[connection as usize]) {
            client.unreserved -= 1;
        }
        client.sent += 1;
        Some(now)
    }

    /// Whether a closed connection should be opened, for its first time or again; then it has a request of its own.
    pub(crate) fn opens(&mut self, connection: u32) -> bool {
        if !self.has_for(connection) {
            return false;
        }
        let number = self.client(connection);
        let reserved = &mut self.reserved[connection as usize];
        if !std::mem::replace(reserved, true) {
            self.clients[number].unreserved -= 1;
        }
        true
    }

    /// A request has ended.
    #[inline]
    pub(crate) fn on_request_end(&mut self, connection: u32, now: u64, ended: Result<(), Failure>) {
        let number = self.client(connection);
        let client = &mut self.clients[number];
        if client.end.is_some() {
            return;
        }
        match ended {
            Ok(()) => {
                client.completed += 1;
                client.succeeded += 1;
            }
            Err(failure) if failure.is_answer() => client.completed += 1,
            Err(failure) => return self.on_socket_error(number, failure, now),
        }
        self.finish_if_done(number, now);
    }

    /// A connection could not be opened, or ended with nothing in flight.
    pub(crate) fn on_connection_error(&mut self, connection: u32, failure: Failure, now: u64) {
        let number = self.client(connection);
        if self.clients[number].end.is_none() {
            // The attempt was for the request that it had reserved.
            let reserved = &mut self.reserved[connection as usize];
            if !std::mem::take(reserved) {
                return;
            }
            self.on_socket_error(number, failure, now);
        }
    }

    fn on_socket_error(&mut self, number: usize, failure: Failure, now: u64) {
        self.clients[number].failed += 1;
        match self.on_error {
            OnSocketError::EndClient => self.end(number, ClientEnd::Failed(failure), now),
            OnSocketError::Count => self.finish_if_done(number, now),
        }
    }

    fn finish_if_done(&mut self, number: usize, now: u64) {
        let client = &mut self.clients[number];
        client.last = now;
        if client.completed + client.failed >= self.requests {
            self.end(number, ClientEnd::Finished, now);
        }
    }

    fn end(&mut self, number: usize, end: ClientEnd, now: u64) {
        let client = &mut self.clients[number];
        client.end = Some(end);
        client.last = now;
        self.running -= 1;
    }

    /// The connections of the client of this one, if it has ended early and they were not returned before.
    pub(crate) fn take_ended(&mut self, connection: u32) -> Option<Range<u32>> {
        let number = self.client(connection);
        let client = &mut self.clients[number];
        let is_new = matches!(client.end, Some(ClientEnd::Failed(_))) && !client.is_settled;
        client.is_settled |= is_new;
        let first = connection - connection % self.connections;
        is_new.then(|| first..first + self.connections)
    }

    /// Whether every client has ended.
    #[inline]
    pub(crate) fn have_ended(&self) -> bool {
        self.running == 0
    }

    /// The load ends: clients that still run are stopped.
    pub(crate) fn stop(&mut self, now: u64) {
        for number in 0..self.clients.len() {
            if self.clients[number].end.is_none() {
                self.end(number, ClientEnd::Stopped, now);
            }
        }
    }

    pub(crate) fn into_outcomes(self) -> Vec<ClientOutcome> {
        let outcome = |client: Client| ClientOutcome {
            number: client.number,
            sent: client.sent,
            completed: client.completed,
            succeeded: client.succeeded,
            lasted: Duration::from_nanos(client.last),
            end: client.end.unwrap_or(ClientEnd::Stopped),
        };
        self.clients.into_iter().map(outcome).collect()
    }
}

impl Client {
    /// `unreserved`: requests beyond those that are reserved for its connections.
    fn new(number: usize, unreserved: u64) -> Self {
        Self {
            number,
            unreserved,
            sent: 0,
            completed: 0,
            succeeded: 0,
            failed: 0,
            last: 0,
            end: None,
            is_settled: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(connections: u32, requests: u64, on_error: OnSocketError) -> Clients {
        Clients::new([3, 5].into_iter(), connections, requests, on_error)
    }

    #[test]
    fn no_more_connections_are_opened_than_there_are_requests() {
        let mut clients = clients(2, 3, OnSocketError::EndClient);
        for connection in 0..4 {
            assert!(clients.opens(connection));
            assert_eq!(clients.take(connection, 7), Some(7));
        }
        clients.on_request_end(0, 10, Ok(()));
        assert!(clients.opens(0), "the third request");
        clients.on_request_end(1, 11, Err(Failure::Status(500)));
        assert!(!clients.opens(1), "the third request is reserved");
        assert_eq!(clients.take(1, 11), None);
        assert_eq!(clients.take(0, 12), Some(12));
        clients.on_request_end(0, 20, Ok(()));
        assert!(!clients.have_ended());
        clients.stop(30);
        assert!(clients.have_ended());
        let [first, second] = clients.into_outcomes().try_into().unwrap();
        let expected = ClientOutcome {
            number: 3,
            sent: 3,
            completed: 3,
            succeeded: 2,
            lasted: Duration::from_nanos(20),
            end: ClientEnd::Finished,
        };
        assert_eq!(first, expected);
        assert_eq!(
            (second.number, second.sent, second.end),
            (5, 2, ClientEnd::Stopped)
        );
    }

    #[test]
    fn a_client_ends_at_its_first_socket_error() {
        let mut clients = clients(3, 9, OnSocketError::EndClient);
        clients.take(4, 1);
        clients.on_request_end(4, 5, Err(Failure::TimedOut));
        assert_eq!(clients.take_ended(4), Some(3..6));
        assert_eq!(clients.take_ended(5), None, "once");
        clients.on_request_end(5, 6, Err(Failure::ClientEnded));
        assert!(!clients.opens(3) && clients.opens(0));
        clients.on_connection_error(0, Failure::Refused, 9);
        assert_eq!(clients.take_ended(0), Some(0..3));
        assert!(clients.have_ended());
        let ends = clients.into_outcomes().into_iter().map(|client| client.end);
        assert_eq!(
            ends.collect::<Vec<_>>(),
            [
                ClientEnd::Failed(Failure::Refused),
                ClientEnd::Failed(Failure::TimedOut)
            ]
        );
    }

    #[test]
    fn errors_that_are_counted_use_up_requests() {
        let mut clients = clients(1, 2, OnSocketError::Count);
        clients.on_connection_error(0, Failure::Refused, 5);
        assert_eq!(clients.take_ended(0), None);
        assert!(clients.opens(0));
        clients.take(0, 6);
        clients.on_request_end(0, 8, Err(Failure::Reset));
        assert!(!clients.opens(0));
        let first = clients.into_outcomes().remove(0);
        assert_eq!(
            (first.sent, first.completed, first.end),
            (1, 0, ClientEnd::Finished)
        );
    }
}
