//! `waggle run` as a child process. A supervisor is in between, so that nothing of the run is left, however this process ends: the run is
//! interrupted then, as by Ctrl-C, so that it stops its system and writes what it has; and it is killed with all that it started if it
//! does not end in time.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Lines, Write},
    os::{
        fd::OwnedFd,
        unix::{fs::FileExt, process::CommandExt},
    },
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    io::retry_on_intr,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use waggle_system::components::supervise::{
    ORDER_INTERRUPT, Report, START_AT_MOST, Supervision, kill_group, redaction::to_message,
};

/// The supervisor's error stream as a file: what the run prints is kept there, without a name that could be left behind.
const OUTPUT: &str = "/proc/self/fd/2";
/// The last bytes of what a run printed.
const OUTPUT_MAX_BYTES: u64 = 64 << 10;
const SUPERVISOR_LOST: &str = "after its supervisor was killed";

/// What is started.
#[derive(Debug)]
pub(crate) struct RunStart {
    /// Those of `waggle run`.
    pub(crate) arguments: Vec<OsString>,
    /// How long it may take to end when it was interrupted.
    pub(crate) stop_timeout: Duration,
    /// A variable of this process that the run does not get.
    pub(crate) withheld_variable: Option<&'static str>,
}

/// A run that was started here. If this is dropped, it is interrupted.
#[derive(Debug)]
pub(crate) struct SupervisedRun {
    pid: u32,
    orders: Mutex<ChildStdin>,
    output: File,
}

impl SupervisedRun {
    /// Starts `waggle run` with the priority of this thread. It gets no signal of this terminal. `on_end` is told how it ended, such as
    /// `with exit code 0`.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(crate) fn start(
        start: &RunStart,
        on_end: impl FnOnce(String) + Send + 'static,
    ) -> io::Result<Self> {
        let output = File::from(memfd_create(c"waggle run", MemfdFlags::CLOEXEC)?);
        let mut supervisor = command(start, &output)?.spawn()?;
        let pipes = supervisor.stdin.take().zip(supervisor.stdout.take());
        let (mut orders, reports) = pipes.expect("both were asked to be pipes");
        let followed = Followed {
            supervisor,
            reports: BufReader::new(reports).lines(),
            stop_timeout: start.stop_timeout,
        };
        let (started, is_started) = channel();
        thread::Builder::new()
            .name("supervisor".to_owned())
            .spawn(move || {
                if let Some(how) = followed.follow(&started) {
                    on_end(how);
                }
            })?;
        // Before that nothing is started.
        orders.write_all(&to_message(&[])?)?;
        let pid = is_started.recv_timeout(START_AT_MOST);
        let pid = pid.map_err(|_| io::Error::other("its supervisor does not say that it runs"))?;
        Ok(Self {
            pid: pid?,
            orders: Mutex::new(orders),
            output,
        })
    }

    /// Of the run itself.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Interrupts the run, as Ctrl-C does. From the first time on it has its time to end.
    pub(crate) fn interrupt(&self) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a supervisor the run has ended.
        orders.write_all(&[ORDER_INTERRUPT]).ok();
    }

    /// The end of what the run has printed so far.
    pub(crate) fn output(&self) -> String {
        let bytes = read_end(&self.output).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn command(start: &RunStart, output: &File) -> io::Result<Command> {
    let program = std::env::current_exe()?;
    let supervision = Supervision {
        log: Path::new(OUTPUT),
        cpus: "",
        group: None,
        interrupt_timeout: Some(start.stop_timeout),
    };
    let mut command = Command::new(&program);
    command
        .args(supervision.to_arguments())
        .arg(&program)
        .arg("run")
        .args(&start.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(output.try_clone()?)
        .process_group(0);
    if let Some(variable) = start.withheld_variable {
        command.env_remove(variable);
    }
    Ok(command)
}

fn read_end(output: &File) -> io::Result<Vec<u8>> {
    let length = output.metadata()?.len();
    let kept = length.min(OUTPUT_MAX_BYTES);
    let mut bytes = vec![0; usize::try_from(kept).map_err(io::Error::other)?];
    let count = output.read_at(&mut bytes, length - kept)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// The supervisor, as the thread that waits for it has it.
struct Followed {
    supervisor: Child,
    reports: Lines<BufReader<ChildStdout>>,
    stop_timeout: Duration,
}

impl Followed {
    /// Until the run has ended; `None`: it was not started.
    fn follow(mut self, started: &Sender<io::Result<u32>>) -> Option<String> {
        let why = match self.next() {
            Some(Report::Started(pid)) => {
                started.send(Ok(pid)).ok();
                let how = self.end(pid);
                self.supervisor.wait().ok();
                return Some(how);
            }
            Some(Report::NotStarted(why)) => why,
            _ => "its supervisor ended before it began".to_owned(),
        };
        self.supervisor.wait().ok();
        started.send(Err(io::Error::other(why))).ok();
        None
    }

    /// Who ends a whole service by a signal to each of its processes ends the supervisor, too.
    fn end(&mut self, pid: u32) -> String {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let process = raw.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        while let Some(report) = self.next() {
            if let Report::Ended(how) = report {
                return how;
            }
        }
        match process {
            Some(process) if interrupt_and_wait(&process, self.stop_timeout) => {}
            _ => kill_group(pid),
        }
        SUPERVISOR_LOST.to_owned()
    }

    /// The next line that is a report.
    fn next(&mut self) -> Option<Report> {
        let mut lines = self.reports.by_ref().map_while(Result::ok);
        lines.find_map(|line| Report::parse(&line))
    }
}

/// Whether it has ended within this time.
fn interrupt_and_wait(process: &OwnedFd, at_most: Duration) -> bool {
    pidfd_send_signal(process, Signal::INT).ok();
    let timeout = Timespec::try_from(at_most).ok();
    let mut ends = [PollFd::new(process, PollFlags::IN)];
    // A signal to this process does not end the wait.
    retry_on_intr(|| poll(&mut ends, timeout.as_ref())).is_ok_and(|ended| ended > 0)
}
