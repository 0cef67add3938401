//! The agent: joins a run and runs the loads that it is asked for until the run is over.

use std::{
    fmt, io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::{
    net::TcpStream,
    runtime::{self, Handle},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    clocks::{monotonic_ns, unix_ns},
    host::{cpu_throttle, host_facts},
    join_file::JoinFile,
    link::blocking_halves,
    messages::{self, FromAgent, GREETING_TIMEOUT, Hello, Purpose, ToAgent, VERSION},
    program::ProgramId,
    tls::{connector, server_name},
};

/// The runner asks for the clock each second; if it has not for so long, it is gone.
const RUNNER_SILENCE: Duration = Duration::from_secs(30);
/// Between two attempts to connect.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// How long one attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct AgentOptions {
    pub join: JoinFile,
    /// Counted from 1; `None`: the runner gives it one.
    pub number: Option<usize>,
    /// How long to try to reach the runner.
    pub wait: Duration,
}

/// Why an agent ended before the run was over.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the file by which agents join is wrong: {0}")]
    Certificate(String),
    #[error("there is no runner of {run} at {addresses} within {} s: {why}", after.as_secs())]
    Unreachable {
        run: String,
        addresses: String,
        after: Duration,
        why: String,
    },
    #[error(
        "the runner at {address} is not that of {run}: its certificate is another one; the file by which agents join is of an earlier run?"
    )]
    OtherRun { run: String, address: String },
    #[error("the runner at {address} refused this agent: {why}")]
    Refused { address: String, why: String },
    #[error("the connection to the runner at {address} was lost: {why}")]
    Lost { address: String, why: String },
    #[error("cannot set up an agent: {0}")]
    SetUp(#[from] io::Error),
}

/// Joins a run and runs its loads; `say` gets what a user should see. Returns when the run is over.
///
/// # Errors
/// It cannot join, or the connection is lost.
pub fn run_agent(
    options: &AgentOptions,
    say: impl FnMut(&dyn fmt::Display),
) -> Result<(), AgentError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let handle = runtime.handle().clone();
    runtime.block_on(lead(options, &handle, say))
}

/// How an agent reaches its runner.
struct Runner {
    connector: TlsConnector,
    program: ProgramId,
    token: String,
    address: String,
}

async fn lead(
    options: &AgentOptions,
    runtime: &Handle,
    mut say: impl FnMut(&dyn fmt::Display),
) -> Result<(), AgentError> {
    let connector = connector(&options.join.certificate);
    let connector = connector.map_err(|problem| AgentError::Certificate(problem.to_string()))?;
    let mut runner = Runner {
        connector,
        program: ProgramId::read(),
        token: options.join.token.clone(),
        address: String::new(),
    };
    let mut control = reach(options, &mut runner, &mut say).await?;
    let runner = Arc::new(runner);
    let purpose = Purpose::Control {
        number: options.number,
        host: host_facts(),
    };
    let (number, total) = match runner.greet(&mut control, purpose).await? {
        ToAgent::Welcome { number, of } => (number, of),
        _ => return Err(runner.lost_error("it answered in another way than agents expect")),
    };
    say(&format_args!(
        "agent {number} of {total} of {}, with the runner at {}",
        options.join.run, runner.address
    ));
    loop {
        let next = timeout(RUNNER_SILENCE, messages::read::<ToAgent>(&mut control)).await;
        let order = match next {
            Ok(Ok(Some(order))) => order,
            Ok(Ok(None)) => return Err(runner.lost_error("it closed the connection")),
            Ok(Err(problem)) => return Err(runner.lost_error(&problem.to_string())),
            Err(_) => {
                let seconds = RUNNER_SILENCE.as_secs();
                return Err(runner.lost_error(&format!("it has said nothing for {seconds} s")));
            }
        };
        let answer = match order {
            ToAgent::Ping { id } => FromAgent::Pong {
                id,
                monotonic_ns: monotonic_ns(),
                unix_ns: unix_ns(),
            },
            ToAgent::Throttle { id } => FromAgent::Throttle {
                id,
                throttle: cpu_throttle(),
            },
            ToAgent::Open { load } => {
                let (runner, runtime) = (Arc::clone(&runner), runtime.clone());
                tokio::spawn(async move {
                    // What goes wrong is told by the runner, who waits for the connection.
                    if let Ok(stream) = runner.load_connection(number, load).await {
                        serve_load(stream, runtime);
                    }
                });
                continue;
            }
            ToAgent::End => {
                say(&"the run is over");
                return Ok(());
            }
            ToAgent::Refused { why } => return Err(runner.refused_error(why)),
            ToAgent::Welcome { .. } | ToAgent::Load => {
                return Err(runner.lost_error("it said something out of its turn"));
            }
        };
        let sent = messages::write(&mut control, &answer).await;
        sent.map_err(|problem| runner.lost_error(&problem.to_string()))?;
    }
}

/// Runs one load on a thread of its own. What goes wrong there is told to the runner over the load connection, or shown by its end.
fn serve_load(stream: TlsStream<TcpStream>, runtime: Handle) {
    let run = move || {
        let (reader, writer) = blocking_halves(stream, &runtime);
        waggle_load::serve(reader, writer).ok();
    };
    thread::Builder::new()
        .name("load".to_owned())
        .spawn(run)
        .ok();
}

/// The control connection, to the first address that answers. It is said once that none does, as long as there is hope.
async fn reach(
    options: &AgentOptions,
    runner: &mut Runner,
    say: &mut impl FnMut(&dyn fmt::Display),
) -> Result<TlsStream<TcpStream>, AgentError> {
    let deadline = Instant::now() + options.wait;
    let mut why = "no attempt was made".to_owned();
    let mut is_said = false;
    loop {
        for address in &options.join.addresses {
            runner.address.clone_from(address);
            match runner.connect().await {
                Ok(stream) => return Ok(stream),
                Err(problem) if is_other_certificate(&problem) => {
                    return Err(AgentError::OtherRun {
                        run: options.join.run.clone(),
                        address: address.clone(),
                    });
                }
                Err(problem) => why = format!("{address}: {problem}"),
            }
        }
        if Instant::now() + RETRY_PAUSE >= deadline {
            return Err(AgentError::Unreachable {
                run: options.join.run.clone(),
                addresses: options.join.addresses.join(", "),
                after: options.wait,
                why,
            });
        }
        if !is_said {
            let (run, seconds) = (&options.join.run, options.wait.as_secs());
            say(&format_args!(
                "the runner of {run} cannot be reached, and is tried for {seconds} s: {why}"
            ));
            is_said = true;
        }
        sleep(RETRY_PAUSE).await;
    }
}

fn is_other_certificate(problem: &io::Error) -> bool {
    let inner = problem
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

impl Runner {
    async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        let connected = async {
            let stream = TcpStream::connect(&self.address).await?;
            stream.set_nodelay(true)?;
            self.connector.connect(server_name(), stream).await
        };
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
        timeout(CONNECT_TIMEOUT, connected).await.map_err(late)?
    }

    /// Says who this is and what the connection is for; returns the answer.
    async fn greet(
        &self,
        stream: &mut TlsStream<TcpStream>,
        purpose: Purpose,
    ) -> Result<ToAgent, AgentError> {
        let hello = Hello {
            version: VERSION.to_owned(),
            program: self.program.text().to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            token: self.token.clone(),
            purpose,
        };
        let greeting = async {
            messages::write(stream, &hello).await?;
            messages::read::<ToAgent>(stream).await
        };
        match timeout(GREETING_TIMEOUT, greeting).await {
            Ok(Ok(Some(ToAgent::Refused { why }))) => Err(self.refused_error(why)),
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => Err(self.lost_error("it closed the connection without an answer")),
            Ok(Err(problem)) => Err(self.lost_error(&problem.to_string())),
            Err(_) => Err(self.lost_error("it did not answer in time")),
        }
    }

    async fn load_connection(
        &self,
        number: usize,
        load: u64,
    ) -> Result<TlsStream<TcpStream>, AgentError> {
        let connected = self.connect().await;
        let mut stream = connected.map_err(|problem| self.lost_error(&problem.to_string()))?;
        match self
            .greet(&mut stream, Purpose::Load { number, load })
            .await?
        {
            ToAgent::Load => Ok(stream),
            _ => Err(self.lost_error("it answered in another way than agents expect")),
        }
    }

    fn lost_error(&self, why: &str) -> AgentError {
        AgentError::Lost {
            address: self.address.clone(),
            why: why.to_owned(),
        }
    }

    fn refused_error(&self, why: String) -> AgentError {
        AgentError::Refused {
            address: self.address.clone(),
            why,
        }
    }
}
