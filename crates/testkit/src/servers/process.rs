//! A server's process, which ends with its guard and with the test program.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{random::random, try_for};

/// A server must accept connections within this time.
const UP_WITHIN: Duration = Duration::from_secs(300);
/// Most starts of a server whose port was taken meanwhile.
const STARTS_MAX: u32 = 5;
/// From SIGTERM to SIGKILL.
const STOP_WITHIN: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce() + Send>;

/// A running program, killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// How it was started.
    start: Arc<Mutex<Command>>,
    log: PathBuf,
    name: String,
}

impl Process {
    /// Starts a command, its output in `folder/NAME.log`.
    pub fn start(
        name: &str,
        folder: &Path,
        command: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("a log file");
        let mut start = Command::new("setpriv");
        start
            .args(["--pdeathsig", "KILL", "--"])
            .args(command)
            .current_dir(folder)
            .env("HOME", folder)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a second handle of the log"))
            .stderr(file);
        let start = Arc::new(Mutex::new(start));
        let child = launch(&start, name);
        Self {
            child,
            start,
            log,
            name: name.to_owned(),
        }
    }

    /// Returns when a connection to `address` is accepted.
    pub fn wait_for(&mut self, address: SocketAddr) {
        self.wait_until("take connections", || TcpStream::connect(address).is_ok());
    }

    /// Returns when `is_so` is true; panics with the end of the log if the process ends first, or on timeout.
    pub fn wait_until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let mut starts = 1;
        let outcome = try_for(UP_WITHIN, || self.progress(&mut is_so, &mut starts));
        let ended = match outcome {
            Some(Ok(())) => return,
            Some(Err(status)) => Some(status),
            None => None,
        };
        panic!(
            "{} did not come to {what} ({ended:?}):\n{}",
            self.name,
            self.log_end()
        );
    }

    /// `Ok` if `is_so`, an error if the process has ended; it is started again if only its port was taken.
    fn progress(
        &mut self,
        is_so: &mut impl FnMut() -> bool,
        starts: &mut u32,
    ) -> Option<Result<(), ExitStatus>> {
        let ended = self.child.try_wait().expect("a child of ours");
        if is_so() {
            return Some(Ok(()));
        }
        let status = ended?;
        if *starts < STARTS_MAX && self.log_end().contains("BindException") {
            // A connection of another test used the free port for a moment.
            *starts += 1;
            self.child = launch(&self.start, &self.name);
            return None;
        }
        Some(Err(status))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        // It may have ended already.
        let _ = kill_process(pid, signal);
    }

    /// SIGHUP.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// SIGKILL, and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and waits for its end; SIGKILL after a timeout.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        if try_for(STOP_WITHIN, || self.has_ended().then_some(())).is_none() {
            self.kill();
        }
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_some()
    }

    /// The last lines that it wrote.
    pub fn log_end(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts children from one thread that lives as long as the test program: a child is killed when the thread that started it
/// ends, and tests end before the servers that they share.
fn launch(start: &Arc<Mutex<Command>>, name: &str) -> Child {
    static STARTER: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);
    let (answer, answered) = mpsc::channel();
    let command = Arc::clone(start);
    let job: Job = Box::new(move || {
        let mut command = command.lock().unwrap_or_else(PoisonError::into_inner);
        // The test may have given up.
        let _ = answer.send(command.spawn());
    });
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    starter
        .get_or_insert_with(|| {
            let (jobs, to_do) = mpsc::channel::<Job>();
            thread::spawn(move || to_do.into_iter().for_each(|job| job()));
            jobs
        })
        .send(job)
        .expect("the starter never ends");
    drop(starter);
    let child = answered.recv().expect("the starter answers");
    child.unwrap_or_else(|why| panic!("{name} cannot be started: {why}"))
}

/// Below the ports that Linux gives to connections (32768 and above, `ip_local_port_range`).
const FREE_PORTS: std::ops::Range<u16> = 28_100..32_700;

/// A port of 127.0.0.1 that is free now. No connection gets it meanwhile, no other call in this process, and hardly ever one in
/// another.
pub fn free_port() -> u16 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let first = random(std::process::id().into(), 0) >> 1;
    let all = u64::try_from(FREE_PORTS.len()).expect("some thousand");
    let ports = std::iter::repeat_with(|| {
        let place = (first + CALLS.fetch_add(1, Ordering::Relaxed)) % all;
        FREE_PORTS.start + u16::try_from(place).expect("within the range")
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut round = ports.take(FREE_PORTS.len());
    round.find(is_free).expect("a free port")
}
