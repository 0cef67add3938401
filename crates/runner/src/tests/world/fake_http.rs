//! The network of the fake system: its functional check and its store, which are polled over HTTP.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    time::Duration,
};

use tokio::time::sleep;
use waggle_results::PhaseName;
use waggle_system::http::{
    client::{Connection, HttpConnector, HttpError, Request},
    peer::Peer,
};

use crate::tests::world::{Fake, Fault};

pub(super) const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

impl HttpConnector for Fake {
    type Connection = FakeConnection;

    fn connection(&self, _: &Peer) -> FakeConnection {
        FakeConnection(Fake(Rc::clone(&self.0)))
    }
}

/// A connection to the fake system: `/check` is its functional check, `/token` gives tokens that last a second, everything
/// else is its store.
#[derive(Debug)]
pub(crate) struct FakeConnection(Fake);

impl Connection for FakeConnection {
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError> {
        if request.path == "/check" {
            return match self.0.step(PhaseName::Verify, "verify").await {
                Ok(()) => Ok(200),
                Err(_) => Ok(500),
            };
        }
        if request.path == "/token" {
            let (given, most) = &mut self.0.0.borrow_mut().tokens;
            if given == most {
                return Ok(503);
            }
            *given += 1;
            let answer = format!(r#"{{"access_token": "token-{given}", "expires_in": 1}}"#);
            chunk(answer.as_bytes());
            return Ok(200);
        }
        // While load runs the store answers; the test's fault is in the drain.
        sleep(Duration::from_millis(1)).await;
        let (fault, draining, is_dead) = {
            let world = self.0.0.borrow();
            (world.fault, world.load_has_stopped, world.is_dead)
        };
        if is_dead {
            let problem = "connection refused".to_owned();
            return Err(HttpError::Connect {
                address: ADDRESS,
                problem,
            });
        }
        match fault {
            Some(Fault::Fails(PhaseName::Drain)) if draining => return Ok(503),
            Some(Fault::Hangs(PhaseName::Drain)) if draining => std::future::pending().await,
            Some(Fault::ReadsSlowly) => sleep(Duration::from_secs(1)).await,
            _ => {}
        }
        let trickles = draining && fault == Some(Fault::Trickles);
        let (offset, limit) = offset_and_limit(request.path);
        let limit = if trickles { 10 } else { limit };
        self.0.0.borrow_mut().take_unanswered();
        self.0.0.borrow().show(offset, limit, chunk);
        if trickles {
            std::future::pending().await
        }
        Ok(200)
    }
}

/// `/store/OFFSET/LIMIT`.
fn offset_and_limit(path: &str) -> (usize, usize) {
    let mut numbers = path.split('/').filter_map(|part| part.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}
