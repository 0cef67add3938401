//! The external driver: the server runs already, here or elsewhere. The driver waits until it can be reached, and never starts or
//! stops it. The same holds for single external components of other systems.

use std::{cell::RefCell, io, net::SocketAddr, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use waggle_load::Tls;
use waggle_study::{Component, External};

use crate::{
    components::driver::{
        Death, Deaths, Driver, Failure, LimitReading, Setup,
        idle_check::IdleCheck,
        ports::{ExternalPort, Ports},
        ready,
        ready::ASK_EVERY,
    },
    host::{
        cpu_time::{CpuClocks, CpuReading},
        proc,
        server_processes::ServerProcesses,
        usage::{INSTRUMENT, Usage},
    },
    http::{address::find_first, peer::Peer},
};

/// The one component of a system that is given by its URL.
const COMPONENT: &str = "server";

/// Finds a server that waggle does not run.
#[derive(Debug)]
pub struct ExternalDriver {
    server: External,
    /// `None`: its URL is http.
    tls: Option<Tls>,
    /// Address at which it was found before.
    known: Option<SocketAddr>,
    address: Option<SocketAddr>,
    /// Always empty: the death of a server that waggle does not run shows only in its answers.
    deaths: watch::Sender<Vec<Death>>,
    idle_check: IdleCheck,
    clocks: CpuClocks,
    /// Never borrowed across an `.await`.
    processes: RefCell<ServerProcesses>,
}

impl ExternalDriver {
    /// `known`: the address at which the server was found to accept connections.
    pub fn new(server: External, tls: Option<Tls>, known: Option<SocketAddr>) -> Self {
        Self {
            server,
            tls,
            known,
            address: None,
            deaths: watch::channel(Vec::new()).0,
            idle_check: IdleCheck::default(),
            clocks: CpuClocks::default(),
            processes: RefCell::default(),
        }
    }

    /// The same with the clocks of the CPUs, and so with the process of idle polling.
    pub fn with_clocks(self, clocks: CpuClocks) -> Self {
        Self {
            idle_check: IdleCheck::new(clocks.loops),
            clocks,
            ..self
        }
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

/// Waits until a server accepts connections; `report` is told why it does not, each time that this has changed.
pub async fn wait_for(
    server: &External,
    timeout: Duration,
    report: impl AsyncFn(String),
) -> io::Result<()> {
    let address = server.address();
    let deadline = Instant::now() + timeout;
    let mut changes = Changes {
        report,
        reported: String::new(),
    };
    find(&address.host, address.port, deadline, async |why| {
        changes.note(why).await
    })
    .await
    .map(|_| ())
}

/// The last reason that was reported, and to whom the next is.
struct Changes<R> {
    report: R,
    reported: String,
}

impl<R: AsyncFn(String)> Changes<R> {
    async fn note(&mut self, why: &io::Error) {
        let why = why.to_string();
        if why != self.reported {
            self.reported.clone_from(&why);
            (self.report)(why).await;
        }
    }
}

/// Waits until one of the host's addresses accepts a connection; `report` is told why none does yet.
async fn find(
    host: &str,
    port: u16,
    deadline: Instant,
    mut report: impl AsyncFnMut(&io::Error),
) -> io::Result<SocketAddr> {
    let mut known = None;
    loop {
        match find_first(host, port, deadline).await {
            Ok(address) => return Ok(address),
            // The last attempt may have had no time for more than its start.
            Err(why) if Instant::now() >= deadline => {
                return Err(known.filter(|_| is_timeout(&why)).unwrap_or(why));
            }
            Err(why) => {
                report(&why).await;
                known = Some(why);
                sleep(ASK_EVERY).await;
            }
        }
    }
}

fn is_timeout(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::TimedOut
}

/// Waits until every port of an external component can be reached, and notes their addresses.
pub(super) async fn find_ports(
    component: &Component,
    ports: &mut Ports,
    deadline: Instant,
) -> Result<(), Failure> {
    let name = &component.name;
    for port in component.external.iter().flatten() {
        for (replica, place) in (0..).zip(&port.at) {
            let address = find(&place.host, place.port, deadline, async |_| {})
                .await
                .map_err(|why| {
                    Failure::new(format!(
                        "{name} runs already, but its port {} at {place} cannot be reached: {why}",
                        port.name
                    ))
                })?;
            ports.note(ExternalPort {
                component: name,
                replica,
                name: &port.name,
                address,
                written: place.to_string(),
            });
        }
    }
    Ok(())
}

/// Waits until every replica of an external component is ready; `peers` are their ports for that.
pub(super) async fn wait_until_ready(
    component: &Component,
    peers: &[Peer],
    deadline: Instant,
) -> Result<(), Failure> {
    let name = &component.name;
    for peer in peers {
        while let Err(why) = ready::ask(&component.ready, peer).await {
            if Instant::now() >= deadline {
                let address = peer.address;
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
        let address = match self.known {
            Some(address) => address,
            None => {
                let server = &self.server;
                let place = server.address();
                let lookup = find(&place.host, place.port, setup.deadline, async |_| {}).await;
                let unreachable =
                    |why| Failure::new(format!("{} cannot be reached: {why}", server.url));
                lookup.map_err(unreachable)?
            }
        };
        self.address = Some(address);
        let server = (format!("{COMPONENT}-0"), address);
        *self.processes.borrow_mut() = ServerProcesses::find([server]);
        Ok(())
    }

    fn deaths(&self) -> Deaths {
        Deaths(self.deaths.subscribe())
    }

    fn log_tail(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn peers(&self, _: &str, _: &str) -> Vec<Peer> {
        let peer = |address| Peer {
            address,
            tls: self.tls.clone(),
            authorization: None,
        };
        self.address.map(peer).into_iter().collect()
    }

    fn usage(&self) -> Vec<Usage> {
        let instrument = proc::own_usage(self.clocks.loops).map(|used| used.into_usage(INSTRUMENT));
        self.processes.borrow().usage().chain(instrument).collect()
    }

    fn cpu_reading(&self) -> Option<CpuReading> {
        let is_whole = self.processes.borrow().is_whole();
        self.clocks.reading(&self.usage(), is_whole)
    }

    fn find_processes(&self) {
        self.processes.borrow_mut().refresh();
    }

    fn limits(&self) -> Vec<LimitReading> {
        Vec::new()
    }

    async fn kill(&self, _: &str, _: u32) -> Result<(), Failure> {
        Err(self.is_not_ours())
    }

    async fn start_again(&self, _: &str, _: u32, _: Instant) -> Result<(), Failure> {
        Err(self.is_not_ours())
    }

    async fn stop_all(&mut self) -> Vec<String> {
        self.idle_check.forget();
        Vec::new()
    }

    fn hide(&self, _: &crate::secrets::words::Secrets) {}

    fn is_host_idle(&mut self) -> bool {
        self.idle_check.poll()
    }
}
