//! The network of the fake system: its functional check and its store, which are asked for over HTTP.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    time::Duration,
};

use tokio::time::sleep;
use waggle_results::PhaseName;

use super::world::{Fake, Fault};
use crate::web::{Ask, Line, Web, WebError};

pub(super) const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

impl Web for Fake {
    type Line = FakeLine;

    fn line(&self, _: SocketAddr) -> FakeLine {
        FakeLine(Fake(Rc::clone(&self.0)))
    }
}

/// A line to the fake system: `/check` is its functional check, everything else its store.
#[derive(Debug)]
pub(crate) struct FakeLine(Fake);

impl Line for FakeLine {
    async fn ask(&mut self, ask: &Ask<'_>, chunk: &mut dyn FnMut(&[u8])) -> Result<u16, WebError> {
        if ask.path == "/check" {
            return match self.0.step(PhaseName::Verify, "verify").await {
                Ok(()) => Ok(200),
                Err(_) => Ok(500),
            };
        }
        // While load runs the store answers; what a test breaks is the drain.
        sleep(Duration::from_millis(1)).await;
        let (fault, draining, is_dead) = {
            let world = self.0.0.borrow();
            (world.fault, world.load_has_stopped, world.is_dead)
        };
        if is_dead {
            let problem = "connection refused".to_owned();
            return Err(WebError::Connect {
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
        let (offset, limit) = offset_and_limit(ask.path);
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
