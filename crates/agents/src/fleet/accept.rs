//! Takes in connections: TLS, the first message, and whether it is right.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{
    facts::{FleetMember, Notice},
    member,
    shared::Shared,
};
use crate::{
    host::HostFacts,
    messages::{self, GREETING_TIMEOUT, Hello, Purpose, ToAgent, VERSION},
    program::ProgramId,
    tls::is_same_token,
};

/// Connections that may greet at the same time.
const GREETINGS_MAX: usize = 256;
/// How long agents may take to hear that the run is over.
const FAREWELL: Duration = Duration::from_secs(2);
/// Between two attempts to take in a connection if there are no more files.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes in connections until the run is over, and tells the agents then.
pub(super) async fn take_in(
    listener: std::net::TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
    mut ended: oneshot::Receiver<()>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let greetings = Arc::new(Semaphore::new(GREETINGS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // Dropped with the fleet.
            _ = &mut ended => break,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, address)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&greetings).try_acquire_owned() else {
            let why = format!("{GREETINGS_MAX} others have not said yet who they are");
            shared.notice(Notice::Refused { address, why });
            continue;
        };
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        connections.spawn(async move {
            let greeted =
                timeout(GREETING_TIMEOUT, greet(stream, &acceptor, &shared, address)).await;
            drop(permit);
            let refused = match greeted {
                Ok(Ok(Some(joined))) => {
                    member::lead(joined, &shared).await;
                    return;
                }
                Ok(Ok(None)) => return,
                Ok(Err(why)) => why,
                Err(_) => format!(
                    "it did not say who it is within {} s",
                    GREETING_TIMEOUT.as_secs()
                ),
            };
            shared.notice(Notice::Refused {
                address,
                why: refused,
            });
        });
    }
    let numbers = 1..=shared.of;
    for number in numbers {
        let orders = {
            let places = shared.places();
            places[number - 1]
                .member
                .as_ref()
                .map(|member| member.orders.clone())
        };
        if let Some(orders) = orders {
            orders.try_send(member::Order::End).ok();
        }
    }
    timeout(FAREWELL, async {
        while connections.join_next().await.is_some() {}
    })
    .await
    .ok();
}

/// The first message; `None`: it was a load connection, which is handed over. The error is why it was refused.
async fn greet(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    shared: &Shared,
    address: SocketAddr,
) -> Result<Option<member::Joined>, String> {
    stream.set_nodelay(true).ok();
    let mut stream = acceptor
        .accept(stream)
        .await
        .map_err(|problem| no_tls(&problem))?;
    let hello = messages::read::<Hello>(&mut stream).await;
    let hello = match hello {
        Ok(Some(hello)) => hello,
        Ok(None) => return Err("it ended before it said who it is".to_owned()),
        Err(problem) => {
            let why = format!("it has not said who it is: {problem}; another version of waggle?");
            return Err(refuse(&mut stream, why).await);
        }
    };
    let is_same_program = match judge(&hello, shared) {
        Ok(is_same_program) => is_same_program,
        Err(why) => return Err(refuse(&mut stream, why).await),
    };
    match hello.purpose {
        Purpose::Load { number, load } => {
            let Some(asked) = shared.asked_connections().remove(&(number, load)) else {
                let why = format!("nobody has asked agent {number} for load connection {load}");
                return Err(refuse(&mut stream, why).await);
            };
            let welcome = messages::write(&mut stream, &ToAgent::Load).await;
            welcome.map_err(|problem| problem.to_string())?;
            asked.send(stream).ok();
            Ok(None)
        }
        Purpose::Control { number, host } => {
            let member = Applicant {
                number,
                address,
                host,
                is_same_program,
            };
            join(stream, shared, member).await.map(Some)
        }
    }
}

/// Who wants to join.
struct Applicant {
    number: Option<usize>,
    address: SocketAddr,
    host: HostFacts,
    is_same_program: bool,
}

async fn join(
    mut stream: TlsStream<TcpStream>,
    shared: &Shared,
    applicant: Applicant,
) -> Result<member::Joined, String> {
    let (orders, to_send) = member::orders();
    let taken = take_place(shared, applicant, orders);
    let member = match taken {
        Ok(member) => member,
        Err(why) => return Err(refuse(&mut stream, why).await),
    };
    let welcome = ToAgent::Welcome {
        number: member.number,
        of: shared.of,
    };
    if let Err(problem) = messages::write(&mut stream, &welcome).await {
        member::leave(shared, &member, &problem.to_string());
        return Err(problem.to_string());
    }
    Ok(member::Joined {
        stream,
        member,
        orders: to_send,
    })
}

/// Finds the number of an agent.
fn take_place(
    shared: &Shared,
    applicant: Applicant,
    orders: tokio::sync::mpsc::Sender<member::Order>,
) -> Result<FleetMember, String> {
    let total = shared.of;
    let mut places = shared.places();
    let number = match applicant.number {
        Some(number) if !(1..=total).contains(&number) => {
            return Err(format!(
                "it has the number {number}, and the run has {total} agents"
            ));
        }
        Some(number) => {
            if let Some(other) = &places[number - 1].member {
                let (name, address) = (&other.info.host.name, other.info.address);
                return Err(format!(
                    "agent {number} is there already: {name} ({address})"
                ));
            }
            number
        }
        None => {
            let free = places.iter().position(|place| place.member.is_none());
            free.ok_or_else(|| format!("all {total} agents of the run are there already"))? + 1
        }
    };
    let info = FleetMember {
        number,
        address: applicant.address,
        host: applicant.host,
        is_same_program: applicant.is_same_program,
    };
    places[number - 1].member = Some(member::Member::new(info.clone(), orders));
    let joined = places.iter().filter(|place| place.member.is_some()).count();
    drop(places);
    shared.joined.send_replace(joined);
    shared.notice(Notice::Joined {
        member: info.clone(),
        of: total,
    });
    Ok(info)
}

/// Whether an agent may join; `true`: its program is the runner's.
fn judge(hello: &Hello, shared: &Shared) -> Result<bool, String> {
    if !is_same_token(&hello.token, &shared.token) {
        return Err("its token is not that of this run".to_owned());
    }
    if hello.version != VERSION {
        let theirs: String = hello.version.chars().take(40).collect();
        return Err(format!(
            "it is waggle {theirs}, and the runner is waggle {VERSION}"
        ));
    }
    let program = ProgramId::from(hello.program.clone());
    let is_same_program = program.is_same(&shared.program);
    if !is_same_program && hello.architecture == std::env::consts::ARCH {
        let runner = &shared.program;
        return Err(format!(
            "its program is another build of waggle {VERSION} than the runner's ({program}; the runner's: {runner}): all hosts must have \
             the same build"
        ));
    }
    Ok(is_same_program)
}

/// Tells the other end why, too.
async fn refuse(stream: &mut TlsStream<TcpStream>, why: String) -> String {
    let refused = ToAgent::Refused { why: why.clone() };
    messages::write(stream, &refused).await.ok();
    tokio::io::AsyncWriteExt::shutdown(stream).await.ok();
    why
}

/// Why TLS failed, and what that means here.
fn no_tls(problem: &io::Error) -> String {
    let inner = problem
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::AlertReceived(_)) => {
            "it does not trust this run's certificate: an agent of another run?".to_owned()
        }
        Some(_) => "it does not speak TLS as agents do".to_owned(),
        None => format!("it ended before TLS was set up: {problem}"),
    }
}
