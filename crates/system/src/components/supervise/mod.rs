//! The supervisor: a small process between waggle and each component, so that no component outlives waggle.
//!
//! It is the same program as waggle, started with a hidden subcommand. It starts the component in its own process group, limits
//! the size of its log, and reads orders from standard input. Only waggle holds the other end of that: when it is closed, for any
//! reason, the supervisor kills the whole group. A run that waggle starts has a supervisor, too: it is interrupted first, and has time
//! to end. For the reasons against a parent-death signal see `docs/design/0005-process-supervision.md`.

mod log;
mod orders;
pub mod redaction;
mod report;
mod settings;

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

pub use self::{log::LOG_HEAD_MAX_BYTES, report::Report, settings::Supervision};
use self::{
    log::Log,
    orders::{CommandGroup, Orders, take_hidden},
    redaction::Redaction,
};
use crate::{components::limits::Group, host::cpus};

/// Asks the component to end.
pub const ORDER_STOP: u8 = b'T';
/// Kills the component and all of its group.
pub const ORDER_KILL: u8 = b'K';
/// Interrupts it, as Ctrl-C does. If it has a limit of time for its end, that begins with the first one.
pub const ORDER_INTERRUPT: u8 = b'I';
/// Gives it the texts that may not be in its log from now on; they follow. They come first of all without this order, too: before
/// that no component is started.
pub const ORDER_HIDE: u8 = b'H';
/// How a component ended that was killed.
pub const BY_KILL: &str = "by signal 9";
/// Timeout for the supervisor's report of the process id.
pub const START_AT_MOST: Duration = Duration::from_secs(10);

/// How long to wait for the log's last bytes after the component has ended.
const LOG_END_AT_MOST: Duration = Duration::from_secs(1);
/// How often to search for processes that left the group, and kill them.
const STRAYS_ROUNDS_MAX: u32 = 20;
const EXIT_NOT_STARTED: u8 = 127;

/// Runs a component until it ends or waggle is gone. `arguments` are those of a [`Supervision`] without the subcommand, and the command.
/// Prints its process id and its end on standard output, one [`Report`] a line.
#[must_use]
pub fn supervise(arguments: &[impl AsRef<OsStr>]) -> ExitCode {
    let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
    match start(&arguments) {
        Ok(Started {
            child,
            log_ended,
            orders,
            group,
        }) => {
            report(&Report::Started(child.id()));
            let text = match attend(child, orders) {
                Ok(status) => describe(status),
                Err(problem) => format!("in a way that is not known: {problem}"),
            };
            if let Some(group) = group {
                // The counter goes with the group.
                report(&Report::OomKills(group.oom_kills()));
                group.remove();
            }
            // A log that stays open belongs to a process that cannot be killed; it must not block the rest.
            log_ended.recv_timeout(LOG_END_AT_MOST).ok();
            report(&Report::Ended(text));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            report(&Report::NotStarted(problem.to_string()));
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

/// An error is ignored: waggle may have ended.
fn report(report: &Report) {
    let mut out = io::stdout();
    writeln!(out, "{report}").and_then(|()| out.flush()).ok();
}

/// A component that was started.
struct Started {
    child: Child,
    log_ended: Receiver<()>,
    orders: Orders,
    /// `None`: it has no cgroup of its own.
    group: Option<Group>,
}

fn start(arguments: &[&OsStr]) -> io::Result<Started> {
    let redaction = Arc::new(Mutex::new(Redaction::default()));
    take_hidden(&redaction)?;
    let [log, cpus, group, timeout, program, rest @ ..] = arguments else {
        return Err(io::Error::other(
            "a log file, CPUs, a cgroup, a time to end and a command are needed",
        ));
    };
    let (group, interrupt_timeout) = settings::parse(group, timeout)?;
    // Processes that outlive their parent become children of this one, so they can be found and killed.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    cpus::pin_this_thread(&cpus::parse(&cpus.to_string_lossy()))?;
    let (reader, writer) = io::pipe()?;
    let log = Log::open(Path::new(log), Arc::clone(&redaction))?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut spawn = || {
        let spawned = command.spawn();
        let shown = program.display();
        spawned.map_err(|problem| io::Error::other(format!("cannot start {shown}: {problem}")))
    };
    // This process has one thread only, so all of it enters the group and leaves it again.
    let child = match &group {
        Some(group) => group.start_in(spawn)?,
        None => spawn()?,
    };
    let (ended, log_ended) = mpsc::channel();
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || {
            log.keep(reader);
            ended.send(()).ok();
        })?;
    Ok(Started {
        orders: Orders {
            command: CommandGroup::new(Pid::from_child(&child)),
            redaction,
            interrupt_timeout,
            is_interrupted: false,
        },
        child,
        log_ended,
        group,
    })
}

/// Waits for the component's end and takes orders meanwhile, then kills what it left behind.
fn attend(mut child: Child, orders: Orders) -> io::Result<ExitStatus> {
    let command = orders.command.clone();
    thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || orders.take())?;
    // Not reaped yet: as long as the first process is a zombie, the group's number is not reused.
    rustix::process::waitid(
        WaitId::Pid(Pid::from_child(&child)),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    command.end();
    let status = child.wait()?;
    kill_strays();
    Ok(status)
}

/// Kills processes that left the component's group and lost their parent, generation by generation.
fn kill_strays() {
    for _ in 0..STRAYS_ROUNDS_MAX {
        let strays = own_children();
        if strays.is_empty() {
            return;
        }
        for stray in strays {
            rustix::process::kill_process(stray, Signal::KILL).ok();
            rustix::process::waitpid(Some(stray), rustix::process::WaitOptions::empty()).ok();
        }
    }
}

fn own_children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<i32>>()
        })
        .filter_map(Pid::from_raw)
        .collect()
}

/// Kills a command whose supervisor has ended without a report of its end: it was killed itself.
pub fn kill_group(pid: u32) {
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        rustix::process::kill_process_group(group, Signal::KILL).ok();
    }
}

/// How a process ended: `with exit code 1`, `by signal 9`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in a way that is not known".to_owned(),
    }
}
