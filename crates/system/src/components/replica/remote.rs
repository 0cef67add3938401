//! The driver's side of a replica that is started elsewhere: a task holds the connection, opens it again if it breaks, and writes what
//! comes of the replica's log into a file here.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    lines::next_line,
    mailbox::Mailbox,
    message::{End, Facts, Greeting, Order, Report, Sample, StartOrder, Welcome},
    opener::{Errand, Opener, PodState, Streams},
};
use crate::problem::Problem;

/// Orders that may wait to be sent.
const ORDERS_MAX: usize = 256;
const WELCOME_TIMEOUT: Duration = Duration::from_secs(15);
/// The other side says something five times a second.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// A replica of which nothing was heard for so long is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// Before a connection is opened again; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// How long a line may take to be sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(15);
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A replica that is started elsewhere.
#[derive(Debug)]
pub struct RemoteReplica {
    pub facts: Facts,
    orders: mpsc::Sender<Order>,
    shared: Arc<Shared>,
    link: JoinHandle<()>,
}

impl Drop for RemoteReplica {
    fn drop(&mut self) {
        self.link.abort();
    }
}

/// What a replica is to start, as its driver has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteLaunch {
    pub replica: String,
    /// Here.
    pub log: PathBuf,
    /// There.
    pub folder: PathBuf,
    /// Path there, and text.
    pub files: Vec<(PathBuf, String)>,
    pub command: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub environment_from: Vec<String>,
    /// Names of hosts that must be known there before it starts.
    pub hosts: Vec<String>,
}

/// From a start to its end.
#[derive(Debug, Clone)]
pub(in crate::components) struct Life {
    pub(in crate::components) started: watch::Receiver<Option<Result<(), Problem>>>,
    /// How it ended; `None` within: as it was asked to.
    pub(in crate::components) end: watch::Receiver<Option<RemoteEnd>>,
}

/// How a life ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::components) struct RemoteEnd {
    /// `None`: it was killed, as was asked.
    pub(in crate::components) how: Option<String>,
    /// Of its container so far.
    pub(in crate::components) oom_kills: u64,
}

/// What the task and the driver share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    life: Option<LifeSenders>,
    sample: Option<Sample>,
    /// Who waits for the text of a file.
    reader: Option<oneshot::Sender<Result<String, String>>>,
    /// Why there is no connection now.
    problem: Option<String>,
    /// Why the replica is lost.
    lost: Option<String>,
}

#[derive(Debug)]
struct LifeSenders {
    started: watch::Sender<Option<Result<(), Problem>>>,
    end: watch::Sender<Option<RemoteEnd>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, why: String) {
        let mut state = self.lock();
        let end = RemoteEnd {
            how: Some(format!("with its pod: {why}")),
            oom_kills: state.sample.map_or(0, |sample| sample.oom_kills),
        };
        if let Some(life) = state.life.take() {
            life.started.send_if_modified(|started| fail(started, &why));
            life.end.send_replace(Some(end));
        }
        if let Some(reader) = state.reader.take() {
            reader.send(Err(why.clone())).ok();
        }
        state.lost = Some(why);
    }

    /// Why an answer did not come in time.
    fn silence(&self) -> String {
        match &self.lock().problem {
            Some(why) => format!("its process did not answer in time: {why}"),
            None => "its process did not answer in time".to_owned(),
        }
    }
}

/// Notes the failure of a start of which nothing else is known; returns whether it is so.
fn fail(started: &mut Option<Result<(), Problem>>, why: &str) -> bool {
    let is_open = started.is_none();
    if is_open {
        *started = Some(Err(Problem(why.to_owned())));
    }
    is_open
}

impl RemoteReplica {
    /// Connects to the process beside a replica, whose log is written into this file.
    ///
    /// # Errors
    /// It is lost, or does not answer by then.
    pub async fn connect(
        opener: Arc<dyn Opener>,
        log: &Path,
        deadline: Instant,
    ) -> Result<Self, Problem> {
        let (orders, waiting) = mpsc::channel(ORDERS_MAX);
        let (facts, mut known) = watch::channel(None);
        let shared = Arc::new(Shared {
            state: Mutex::default(),
        });
        let link = Link {
            opener,
            log: log.to_owned(),
            mailbox: Mailbox::default(),
            process: None,
            orders: waiting,
            shared: Arc::clone(&shared),
            facts,
        };
        let mut task = tokio::spawn(link.hold());
        let left = deadline.saturating_duration_since(Instant::now());
        let welcome = async {
            let known = known.wait_for(Option::is_some).await;
            known.ok().and_then(|facts| facts.clone())
        };
        let facts = tokio::select! {
            facts = timeout(left, welcome) => facts.ok().flatten(),
            _ = &mut task => None,
        };
        let Some(facts) = facts else {
            task.abort();
            let why = shared.lock().lost.clone();
            let why = why.unwrap_or_else(|| shared.silence());
            return Err(Problem(why));
        };
        Ok(Self {
            facts,
            orders,
            shared,
            link: task,
        })
    }

    /// Starts it; its start and its end are reported later. The `hidden` texts do not come into its log.
    pub(in crate::components) fn start(
        &self,
        launch: &RemoteLaunch,
        hidden: &[(String, String)],
    ) -> Result<Life, Problem> {
        let (start_sender, started) = watch::channel(None);
        let (end_sender, end) = watch::channel(None);
        {
            let mut state = self.shared.lock();
            if let Some(why) = &state.lost {
                return Err(Problem(why.clone()));
            }
            state.life = Some(LifeSenders {
                started: start_sender,
                end: end_sender,
            });
        }
        let launch = launch.clone();
        self.send(Order::Start(Box::new(StartOrder {
            replica: launch.replica,
            folder: launch.folder,
            files: launch.files,
            command: launch.command,
            environment: launch.environment,
            environment_from: launch.environment_from,
            hidden: hidden.to_vec(),
            hosts: launch.hosts,
        })))?;
        Ok(Life { started, end })
    }

    /// Asks it to end.
    pub(in crate::components) fn ask_to_stop(&self) {
        self.send(Order::Stop).ok();
    }

    /// Kills it and all its descendants.
    pub(in crate::components) fn kill(&self) {
        self.send(Order::Kill).ok();
    }

    /// From now on these texts do not come into its log.
    pub(in crate::components) fn hide(&self, hidden: &[(String, String)]) {
        self.send(Order::Hide(hidden.to_vec())).ok();
    }

    /// Writes a line of waggle's own into its log.
    pub(in crate::components) fn remark(&self, text: &str) {
        self.send(Order::Remark(text.to_owned())).ok();
    }

    /// The text of a file that it has written; one at a time.
    pub(in crate::components) async fn read_text(&self, file: &Path) -> Result<String, Problem> {
        let (sender, reader) = oneshot::channel();
        self.shared.lock().reader = Some(sender);
        self.send(Order::Read(file.to_owned()))?;
        match timeout(READ_TIMEOUT, reader).await {
            Ok(Ok(text)) => text.map_err(Problem),
            Ok(Err(_)) | Err(_) => Err(Problem(self.shared.silence())),
        }
    }

    /// What it has used in this life; `None`: nothing was reported.
    pub(in crate::components) fn sample(&self) -> Option<Sample> {
        self.shared.lock().sample
    }

    /// An order that finds no room is of a replica that has not answered for long.
    fn send(&self, order: Order) -> Result<(), Problem> {
        let sent = self.orders.try_send(order);
        sent.map_err(|_| Problem("its process does not answer".to_owned()))
    }
}

/// The task that holds the connection.
struct Link {
    opener: Arc<dyn Opener>,
    log: PathBuf,
    mailbox: Mailbox,
    /// The process that answered first.
    process: Option<String>,
    orders: mpsc::Receiver<Order>,
    shared: Arc<Shared>,
    facts: watch::Sender<Option<Facts>>,
}

/// Why a connection is over.
enum Over {
    /// It may be opened again.
    Broken(String),
    /// The replica is lost.
    Lost(String),
}

impl Link {
    async fn hold(mut self) {
        let mut heard = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let before = heard;
            let broken = match self.connect(&mut heard).await {
                Over::Lost(why) => return self.shared.lose(why),
                Over::Broken(why) => why,
            };
            let why = match self.opener.look().await {
                PodState::Lost(why) => return self.shared.lose(why),
                PodState::Unknown(why) => why.unwrap_or(broken),
            };
            self.shared.lock().problem = Some(why.clone());
            if heard.elapsed() >= LOST_AFTER {
                let seconds = LOST_AFTER.as_secs();
                return self
                    .shared
                    .lose(format!("nothing was heard of it for {seconds} s: {why}"));
            }
            if heard > before {
                pause = FIRST_PAUSE;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Holds one connection until it breaks; `heard`: when something came.
    async fn connect(&mut self, heard: &mut Instant) -> Over {
        let Streams { reader, mut writer } = self.opener.open(&Errand::Join);
        let mut reader = BufReader::new(reader);
        if let Err(over) = self.greet(&mut reader, &mut writer).await {
            return over;
        }
        *heard = Instant::now();
        let mut next = Box::pin(read_next(reader));
        loop {
            tokio::select! {
                order = self.orders.recv() => {
                    // The driver holds the other end as long as this task runs.
                    let Some(order) = order else {
                        return Over::Lost("it was given up".to_owned());
                    };
                    let line = self.mailbox.post(&order);
                    if let Err(over) = send(&mut writer, &line).await {
                        return over;
                    }
                }
                (line, reader) = &mut next => {
                    let Some(line) = line else {
                        return Over::Broken("the connection to its process ended".to_owned());
                    };
                    *heard = Instant::now();
                    next.set(read_next(reader));
                    match self.take(&line) {
                        Ok(false) => {}
                        Ok(true) => {
                            let line = self.mailbox.confirmation();
                            if let Err(over) = send(&mut writer, &line).await {
                                return over;
                            }
                        }
                        Err(over) => return over,
                    }
                }
                () = sleep(SILENCE_MAX) => {
                    let seconds = SILENCE_MAX.as_secs();
                    return Over::Broken(format!("its process was silent for {seconds} s"));
                }
            }
        }
    }

    async fn greet(
        &mut self,
        reader: &mut BufReader<Box<dyn AsyncRead + Send + Unpin>>,
        writer: &mut Box<dyn AsyncWrite + Send + Unpin>,
    ) -> Result<(), Over> {
        let greeting = Greeting {
            process: self.process.clone(),
            received: self.mailbox.last_received(),
        };
        let mut line = serde_json::to_string(&greeting).expect("plain values have a form in JSON");
        line.push('\n');
        send(writer, &line).await?;
        let answer = timeout(WELCOME_TIMEOUT, next_line(reader)).await;
        let Some(answer) = answer.ok().flatten() else {
            return Err(Over::Broken("its process did not answer".to_owned()));
        };
        let welcome: Welcome = serde_json::from_str(&answer).map_err(|why| {
            Over::Broken(format!("its process is not that of this waggle: {why}"))
        })?;
        match &self.process {
            Some(known) if *known != welcome.process => {
                return Err(Over::Lost(
                    "its container has ended, and was started again by Kubernetes".to_owned(),
                ));
            }
            _ => self.process = Some(welcome.process),
        }
        for line in self.mailbox.resume(welcome.received) {
            send(writer, &line).await?;
        }
        self.shared.lock().problem = None;
        self.facts.send_replace(Some(welcome.facts));
        Ok(())
    }

    /// Takes in a message; returns whether it is to be confirmed at once.
    fn take(&mut self, line: &str) -> Result<bool, Over> {
        let report = self.mailbox.accept::<Report>(line);
        let report = report.map_err(|why| Over::Broken(why.to_string()))?;
        let Some(report) = report else {
            return Ok(false);
        };
        let mut state = self.shared.lock();
        match report {
            Report::Sample(sample) => state.sample = Some(sample),
            Report::Log { from, bytes } => {
                // A full disk here is no reason to end a replica there.
                write_part(&self.log, from, &bytes).ok();
            }
            Report::Started(started) => {
                let is_started = started.is_ok();
                if let Some(life) = &state.life {
                    life.started.send_replace(Some(started.map_err(Problem)));
                }
                // Nothing else comes of one that was not started.
                if !is_started {
                    state.life = None;
                }
            }
            Report::Ended(End { how, oom_kills }) => {
                if let Some(life) = state.life.take() {
                    life.end.send_replace(Some(RemoteEnd { how, oom_kills }));
                }
                // The next life begins with nothing.
                if let Some(sample) = &mut state.sample {
                    sample.cpu = Duration::ZERO;
                    sample.rss_bytes = 0;
                    sample.threads = 0;
                }
            }
            Report::Read(text) => {
                if let Some(reader) = state.reader.take() {
                    reader.send(text).ok();
                }
            }
        }
        Ok(true)
    }
}

/// The next line, with its reader: what was read of a line is not lost if something else comes first.
async fn read_next<R: AsyncRead + Unpin>(
    mut reader: BufReader<R>,
) -> (Option<String>, BufReader<R>) {
    let line = next_line(&mut reader).await;
    (line, reader)
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), line: &str) -> Result<(), Over> {
    let sending = async {
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await
    };
    match timeout(SEND_TIMEOUT, sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Over::Broken(why.to_string())),
        Err(_) => Err(Over::Broken("its process does not read".to_owned())),
    }
}

/// Writes a part of a log in place of what the file has from there on.
fn write_part(log: &Path, from: u64, bytes: &str) -> io::Result<()> {
    let bytes = STANDARD.decode(bytes).map_err(io::Error::other)?;
    let mut options = File::options();
    let mut file = options
        .create(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .open(log)?;
    file.set_len(from)?;
    file.seek(SeekFrom::Start(from))?;
    file.write_all(&bytes)
}
