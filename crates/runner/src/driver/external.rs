//! The external driver: the server runs already, here or elsewhere. It is looked for and awaited, never started or stopped. So are
//! single components of other systems.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpStream, lookup_host},
    sync::watch,
    time::{Instant, sleep, timeout_at},
};
use waggle_study::{Component, External};

use crate::{
    driver::{
        Death, Deaths, Driver, Failure, Setup, Usage,
        ports::Ports,
        ready::{self, ASK_EVERY},
        rest::Rest,
    },
    proc,
};

/// One of a name's addresses must answer within this time, or the next one is tried.
const ONE_ADDRESS_AT_MOST: Duration = Duration::from_secs(5);

/// Finds a server that somebody else runs.
#[derive(Debug)]
pub(crate) struct ExternalDriver {
    server: External,
    /// Where it was found before.
    known: Option<SocketAddr>,
    address: Option<SocketAddr>,
    /// Nobody here learns of the server's death but by its answers.
    deaths: watch::Sender<Vec<Death>>,
    rest: Rest,
}

impl ExternalDriver {
    /// `known`: where the server was found to take connections.
    pub(crate) fn new(server: External, known: Option<SocketAddr>) -> Self {
        Self {
            server,
            known,
            address: None,
            deaths: watch::channel(Vec::new()).0,
            rest: Rest::default(),
        }
    }

    /// The same on a machine with a process of idle polling.
    pub(crate) fn with_idle_loops(self, loops: Option<u32>) -> Self {
        let rest = Rest::new(loops);
        Self { rest, ..self }
    }
}

impl ExternalDriver {
    fn is_not_ours(&self) -> Failure {
        let url = &self.server.url;
        Failure::new(format!(
            "{url} runs already: waggle neither kills nor starts it"
        ))
    }
}

/// Waits until one of the host's addresses takes a connection.
async fn find(host: &str, port: u16, deadline: Instant) -> io::Result<SocketAddr> {
    loop {
        match look(host, port, deadline).await {
            Err(_) if Instant::now() < deadline => sleep(ASK_EVERY).await,
            found => return found,
        }
    }
}

/// The first of the host's addresses that takes a connection.
async fn look(host: &str, port: u16, deadline: Instant) -> io::Result<SocketAddr> {
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

/// Waits until every replica of a component that runs already is ready, and notes where each of its ports is.
pub(super) async fn find_component(
    component: &Component,
    ports: &mut Ports,
    deadline: Instant,
) -> Result<(), Failure> {
    let name = &component.name;
    for port in component.external.iter().flatten() {
        for (replica, at) in (0..).zip(&port.at) {
            let address = find(&at.host, at.port, deadline).await.map_err(|why| {
                Failure::new(format!(
                    "{name} runs already, but its port {} at {at} cannot be reached: {why}",
                    port.name
                ))
            })?;
            ports.note((name, replica, &port.name), address, at.to_string());
        }
    }
    for address in ports.of_component(name, component.ready.port()) {
        while let Err(why) = ready::ask(&component.ready, address).await {
            if Instant::now() >= deadline {
                let reason = format!("{name} runs already at {address}, but is not ready: {why}");
                return Err(Failure::new(reason));
            }
            sleep(ASK_EVERY).await;
        }
    }
    Ok(())
}

impl Driver for ExternalDriver {
    async fn start_all(&mut self, _: Setup<'_>) -> Result<(), Failure> {
        self.address = None;
        Ok(())
    }

    async fn ready(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        if self.known.is_some() {
            self.address = self.known;
            return Ok(());
        }
        let server = &self.server;
        let at = server.address();
        let found = find(&at.host, at.port, setup.deadline).await;
        let unreachable = |why| Failure::new(format!("{} cannot be reached: {why}", server.url));
        self.address = Some(found.map_err(unreachable)?);
        Ok(())
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
        let own = proc::self_usage().map(|used| used.into_usage("waggle"));
        own.into_iter().collect()
    }

    async fn kill(&self, _: &str, _: u32) -> Result<(), Failure> {
        Err(self.is_not_ours())
    }

    async fn start_again(&self, _: &str, _: u32, _: Instant) -> Result<(), Failure> {
        Err(self.is_not_ours())
    }

    async fn stop_all(&mut self) -> Vec<String> {
        self.rest.forget();
        Vec::new()
    }

    fn at_rest(&mut self) -> bool {
        self.rest.look()
    }
}
