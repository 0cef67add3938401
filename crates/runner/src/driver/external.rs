//! The external driver: the server runs already, here or elsewhere. It is looked for and awaited, never started or stopped.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpStream, lookup_host},
    sync::watch,
    time::{Instant, sleep, timeout_at},
};
use waggle_study::External;

use crate::{
    driver::{Death, Deaths, Driver, Failure, Setup, Usage, ready::ASK_EVERY, rest::Rest},
    proc,
};

/// One of a name's addresses must answer within this time, or the next one is tried.
const ONE_ADDRESS_AT_MOST: Duration = Duration::from_secs(5);

/// Finds a server that somebody else runs.
#[derive(Debug)]
pub(crate) struct ExternalDriver {
    server: External,
    address: Option<SocketAddr>,
    /// Nobody here learns of the server's death but by its answers.
    deaths: watch::Sender<Vec<Death>>,
    rest: Rest,
}

impl ExternalDriver {
    pub(crate) fn new(server: External) -> Self {
        Self {
            server,
            address: None,
            deaths: watch::channel(Vec::new()).0,
            rest: Rest::default(),
        }
    }

    /// The first of the host's addresses that takes a connection.
    async fn look(&self, deadline: Instant) -> io::Result<SocketAddr> {
        let (host, port) = (&*self.server.host, self.server.port);
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
        let found = timeout_at(deadline, lookup_host((host, port)))
            .await
            .map_err(|_| late())??;
        let mut why = io::Error::other("the name has no address");
        for address in found {
            let until = deadline.min(Instant::now() + ONE_ADDRESS_AT_MOST);
            match timeout_at(until, TcpStream::connect(address)).await {
                Ok(Ok(_)) => return Ok(address),
                Ok(Err(problem)) => why = problem,
                // The next one may answer: a machine can have addresses that nothing comes back from.
                Err(_) => why = late(),
            }
        }
        Err(why)
    }
}

impl Driver for ExternalDriver {
    async fn up(&mut self, _: Setup<'_>) -> Result<(), Failure> {
        self.address = None;
        Ok(())
    }

    async fn ready(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        loop {
            match self.look(setup.deadline).await {
                Ok(address) => {
                    self.address = Some(address);
                    return Ok(());
                }
                Err(why) if Instant::now() >= setup.deadline => {
                    let url = &self.server.url;
                    return Err(Failure::new(format!("{url} cannot be reached: {why}")));
                }
                Err(_) => sleep(ASK_EVERY).await,
            }
        }
    }

    fn deaths(&self) -> Deaths {
        Deaths(self.deaths.subscribe())
    }

    fn log_tail(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn addresses(&self, _: &str, _: &str) -> Vec<SocketAddr> {
        self.address.into_iter().collect()
    }

    fn usage(&self) -> Vec<Usage> {
        let own = proc::own().map(|used| used.of("waggle"));
        own.into_iter().collect()
    }

    async fn down(&mut self) -> Vec<String> {
        self.rest.forget();
        Vec::new()
    }

    fn at_rest(&mut self) -> bool {
        self.rest.look()
    }
}
