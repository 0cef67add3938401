//! The first process of a replica's container: it starts the replica as its driver says, by the supervisor that replicas of this
//! machine have, and reports its log, its end and what it uses. Drivers come and go at a socket in its folder; the newest is served.
//! Without a driver the replica is ended after some time.

use std::{
    fs, io,
    os::unix::net::UnixStream as BlockingStream,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use tokio::{
    net::{UnixListener, UnixStream},
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval},
};
use waggle_results::private_file;

use super::{
    error::ServeError,
    event::Event,
    files::{read_image, read_text},
    hosts::{UnknownHost, wait_for_hosts},
    lines::{read_lines, write_lines},
    log_copy::LogCopy,
    mailbox::Mailbox,
    message::{End, Facts, Greeting, Order, Report, Sample, StartOrder, Welcome},
};
use crate::{
    components::{
        driver::{Child, Death, Launch, remark},
        limits::{CGROUPS, ContainerCounters},
    },
    host::proc,
    secrets::words::random_word,
};

/// In the folder of the process.
const SOCKET: &str = "replica.sock";
/// Five samples a second; the log is looked at as often.
const TICK: Duration = Duration::from_millis(200);
/// A replica without a driver for so long is ended.
const ABANDONED_AFTER: Duration = Duration::from_secs(180);
/// Lines that may wait to be sent. A whole log has fewer parts.
const LINES_MAX: usize = 1024;
/// Events that may wait.
const EVENTS_MAX: usize = 256;
/// Unconfirmed bytes from which on no part of the log is sent, and no sample.
const LOG_AHEAD_MAX_BYTES: usize = 1024 * 1024;
const SAMPLES_AHEAD_MAX_BYTES: usize = 64 * 1024;
/// Serves drivers until the process is asked to end. `folder`: an empty one that it may write to; `supervisor`: a program that calls
/// [`crate::supervise()`] with its arguments if the first one is `__supervise`.
///
/// # Errors
/// The folder cannot be used, or no driver comes.
pub async fn serve(
    folder: &Path,
    image_file: &Path,
    supervisor: PathBuf,
    version: &str,
) -> Result<(), ServeError> {
    let image = read_image(image_file)?;
    let socket = folder.join(SOCKET);
    // Of a process before this one in the same pod.
    fs::remove_file(&socket).ok();
    let listener = UnixListener::bind(&socket).map_err(socket_error("listen at", &socket))?;
    let (events, mut incoming) = mpsc::channel(EVENTS_MAX);
    let mut server = Server {
        facts: Facts {
            version: version.to_owned(),
            programs: image.programs,
            system_folder: image.system_folder,
            folder: folder.to_owned(),
        },
        process: random_word().map_err(socket_error("give a name to", &socket))?,
        supervisor,
        mailbox: Mailbox::default(),
        connection: None,
        connections: 0,
        driverless_since: Instant::now(),
        life: None,
        is_awaited: false,
        log: LogCopy::new(&folder.join(LOG)),
        events,
    };
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut end = std::pin::pin!(asked_to_end());
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    server.accept(stream);
                }
            }
            Some(event) = incoming.recv() => server.apply(event).await,
            _ = tick.tick() => server.tick()?,
            () = &mut end => return Ok(()),
        }
    }
}

/// Connects the standard streams to the socket of the process in this folder, until one of them ends.
///
/// # Errors
/// There is no such process.
pub fn join(folder: &Path) -> Result<(), ServeError> {
    let path = folder.join(SOCKET);
    let failed = |attempt| socket_error(attempt, &path);
    let stream = BlockingStream::connect(&path).map_err(failed("connect to"))?;
    let mut from = stream.try_clone().map_err(failed("use"))?;
    let mut into = stream;
    thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || send_input(&mut into))
        .map_err(failed("use"))?;
    io::copy(&mut from, &mut io::stdout()).ok();
    Ok(())
}

fn socket_error(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ServeError {
    let path = path.to_owned();
    move |problem| ServeError::Socket {
        attempt,
        path,
        problem,
    }
}

fn send_input(into: &mut BlockingStream) {
    io::copy(&mut io::stdin(), into).ok();
    // The driver has gone: the other direction ends, too.
    into.shutdown(std::net::Shutdown::Both).ok();
}

/// SIGTERM is what a pod gets that is deleted.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut signals = (
        signal(SignalKind::terminate()).ok(),
        signal(SignalKind::interrupt()).ok(),
    );
    match &mut signals {
        (Some(terminate), Some(interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}

/// The replica's log, in the folder of the process.
const LOG: &str = "replica.log";

/// A driver.
struct Connection {
    number: u64,
    lines: mpsc::Sender<String>,
}

/// A replica that was started.
struct Life {
    child: Child,
    deaths: watch::Receiver<Vec<Death>>,
}

struct Server {
    facts: Facts,
    process: String,
    supervisor: PathBuf,
    mailbox: Mailbox,
    connection: Option<Connection>,
    connections: u64,
    driverless_since: Instant,
    life: Option<Life>,
    /// A start waits for the names of its hosts.
    is_awaited: bool,
    log: LogCopy,
    events: mpsc::Sender<Event>,
}

impl Server {
    fn accept(&mut self, stream: UnixStream) {
        self.connections += 1;
        let (number, events) = (self.connections, self.events.clone());
        let (reader, writer) = stream.into_split();
        let (lines, waiting) = mpsc::channel(LINES_MAX);
        tokio::spawn(write_lines(writer, waiting));
        tokio::spawn(read_lines(number, reader, lines, events));
    }

    async fn apply(&mut self, event: Event) {
        match event {
            Event::Greeted {
                connection,
                greeting,
                lines,
            } => self.welcome(connection, &greeting, lines),
            Event::Line { connection, line } => {
                if self.is_current(connection) {
                    self.read(&line).await;
                }
            }
            Event::Closed { connection } => {
                if self.is_current(connection) {
                    self.disconnect();
                }
            }
            Event::Hosts { order, known } => self.begin(*order, known),
            Event::Started(started) => self.report(&Report::Started(started)),
            Event::Gone => self.end(),
        }
    }

    fn is_current(&self, number: u64) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.number == number)
    }

    fn disconnect(&mut self) {
        self.connection = None;
        self.driverless_since = Instant::now();
    }

    fn welcome(&mut self, number: u64, greeting: &Greeting, lines: mpsc::Sender<String>) {
        let welcome = Welcome {
            process: self.process.clone(),
            received: self.mailbox.last_received(),
            facts: self.facts.clone(),
        };
        let mut text = serde_json::to_string(&welcome).expect("plain values have a form in JSON");
        text.push('\n');
        let is_known = greeting.process.as_ref() == Some(&self.process);
        // A driver that has spoken to another process sees that by the welcome, and goes.
        let again = match is_known || greeting.process.is_none() {
            true => self.mailbox.resume(greeting.received),
            false => Vec::new(),
        };
        self.connection = Some(Connection { number, lines });
        for line in std::iter::once(text).chain(again) {
            self.send(line);
        }
    }

    /// A driver that does not read is let go: it comes again.
    fn send(&mut self, line: String) {
        if let Some(connection) = &self.connection
            && connection.lines.try_send(line).is_err()
        {
            self.disconnect();
        }
    }

    fn report(&mut self, report: &Report) {
        let line = self.mailbox.post(report);
        self.send(line);
    }

    async fn read(&mut self, line: &str) {
        match self.mailbox.accept(line) {
            Ok(None) => {}
            Ok(Some(order)) => {
                self.obey(order).await;
                let line = self.mailbox.confirmation();
                self.send(line);
            }
            Err(_) => self.disconnect(),
        }
    }

    async fn obey(&mut self, order: Order) {
        match (order, &mut self.life) {
            (Order::Start(_), Some(_)) => {
                self.report(&Report::Started(Err("it runs already".to_owned())));
            }
            (Order::Start(order), None) => {
                self.is_awaited = true;
                let events = self.events.clone();
                tokio::spawn(async move {
                    let known = wait_for_hosts(&order.hosts).await;
                    events.send(Event::Hosts { order, known }).await.ok();
                });
            }
            (Order::Stop, Some(life)) => life.child.ask_to_stop().await,
            (Order::Kill, Some(life)) => drop(life.child.kill()),
            (Order::Stop | Order::Kill, None) => {
                let was_awaited = std::mem::take(&mut self.is_awaited);
                if was_awaited {
                    self.report(&Report::Ended(End {
                        how: None,
                        oom_kills: 0,
                    }));
                }
            }
            (Order::Hide(hidden), Some(life)) => life.child.hide(&hidden),
            (Order::Hide(_), None) => {}
            (Order::Remark(text), _) => remark(&self.facts.folder.join(LOG), &text),
            (Order::Read(file), _) => {
                let text = read_text(&file).map_err(|why| why.to_string());
                self.report(&Report::Read(text));
            }
        }
    }

    fn begin(&mut self, order: StartOrder, known: Result<(), UnknownHost>) {
        // It was stopped meanwhile.
        if !std::mem::take(&mut self.is_awaited) {
            return;
        }
        let known = known.map_err(|why| why.to_string());
        let begun = known.and_then(|()| self.start(order));
        if let Err(why) = begun {
            self.report(&Report::Started(Err(why)));
        }
    }

    fn start(&mut self, order: StartOrder) -> Result<(), String> {
        let made = private_file::create_folder(&order.folder);
        made.map_err(|why| format!("cannot create {}: {why}", order.folder.display()))?;
        for (file, text) in &order.files {
            if let Some(folder) = file.parent() {
                let made = private_file::create_folder(folder);
                made.map_err(|why| format!("cannot create {}: {why}", folder.display()))?;
            }
            let written = private_file::write_file(file, text);
            written.map_err(|why| format!("cannot write {}: {why}", file.display()))?;
        }
        let launch = Launch {
            replica: order.replica,
            supervisor: self.supervisor.clone(),
            log: self.facts.folder.join(LOG),
            // Its container has the CPUs and the limits.
            cpus: String::new(),
            group: None,
            command: order.command.into_iter().map(Into::into).collect(),
            environment: order.environment,
            environment_from: order.environment_from,
            folder: order.folder,
        };
        let (deaths, ends) = watch::channel(Vec::new());
        let child = Child::begin(launch, &order.hidden, deaths).map_err(|why| why.to_string())?;
        let (mut start, mut gone) = (child.start_signal(), child.gone());
        let events = self.events.clone();
        tokio::spawn(async move {
            let started = start.wait_started().await.map_err(|why| why.to_string());
            let is_started = started.is_ok();
            events.send(Event::Started(started)).await.ok();
            if is_started {
                gone.wait().await;
            }
            events.send(Event::Gone).await.ok();
        });
        self.log.rewind();
        self.life = Some(Life {
            child,
            deaths: ends,
        });
        Ok(())
    }

    /// All of the log goes before the end.
    fn end(&mut self) {
        let Some(life) = self.life.take() else {
            return;
        };
        self.log.rewind();
        self.send_log(usize::MAX);
        let how = life.deaths.borrow().first().map(|death| death.how.clone());
        let counters = ContainerCounters::read(Path::new(CGROUPS));
        self.report(&Report::Ended(End {
            how,
            oom_kills: counters.oom_kills,
        }));
    }

    /// Sends what is new of the log, as long as no more than this is unconfirmed.
    fn send_log(&mut self, ahead_max_bytes: usize) {
        while self.mailbox.unconfirmed_bytes() < ahead_max_bytes {
            match self.log.next_part() {
                Ok(Some(part)) => self.report(&part),
                // A log that cannot be read is no reason to end a replica.
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn tick(&mut self) -> Result<(), ServeError> {
        if self.connection.is_none() {
            let is_abandoned = self.driverless_since.elapsed() >= ABANDONED_AFTER;
            return match self.life.is_some() && is_abandoned {
                true => Err(ServeError::Abandoned(ABANDONED_AFTER.as_secs())),
                false => Ok(()),
            };
        }
        self.send_log(LOG_AHEAD_MAX_BYTES);
        match self.sample() {
            Some(sample) if self.mailbox.unconfirmed_bytes() < SAMPLES_AHEAD_MAX_BYTES => {
                self.report(&Report::Sample(sample));
            }
            // So that the driver knows that the connection holds.
            _ => {
                let line = self.mailbox.confirmation();
                self.send(line);
            }
        }
        Ok(())
    }

    fn sample(&self) -> Option<Sample> {
        let used = proc::descendants_usage(self.life.as_ref()?.child.supervisor?)?;
        let counters = ContainerCounters::read(Path::new(CGROUPS));
        Some(Sample {
            cpu: used.cpu,
            rss_bytes: used.rss_bytes,
            threads: used.threads,
            throttled: counters.throttled,
            oom_kills: counters.oom_kills,
        })
    }
}
