//! The supervisor: a small process between waggle and each component, so that no component outlives waggle.
//!
//! It is the same program as waggle, started with a hidden subcommand. It starts the component in its own process group, limits
//! the size of its log, and reads orders from standard input. Only waggle holds the other end of that: when it is closed, for any
//! reason, the supervisor kills the whole group. For the reasons against a parent-death signal see
//! `docs/design/0005-process-supervision.md`.

mod log;
pub mod redaction;

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

pub use self::log::LOG_HEAD_MAX_BYTES;
use self::{
    log::Log,
    redaction::{Redaction, read_message},
};
use crate::{components::limits::Group, host::cpus};

/// Asks the component to end.
pub const ORDER_STOP: u8 = b'T';
/// Kills the component and all of its group.
pub const ORDER_KILL: u8 = b'K';
/// Gives it the texts that may not be in its log from now on; they follow. They come first of all without this order, too: before
/// that no component is started.
pub const ORDER_HIDE: u8 = b'H';
/// First word of the line with the component's process id.
pub const STARTED: &str = "started";
/// First word of the line with the reason if it was not started.
pub const NOT_STARTED: &str = "failed";
/// First word of the line with how it ended.
pub const ENDED: &str = "ended";
/// First word of a line with the number of processes that the kernel killed because of a limit on memory; before the end.
pub const OOM_KILLS: &str = "out-of-memory";
/// The rest of that line for a component that was killed.
pub const BY_KILL: &str = "by signal 9";

/// How long to wait for the log's last bytes after the component has ended.
const LOG_END_AT_MOST: Duration = Duration::from_secs(1);
/// How often to search for processes that left the group, and kill them.
const STRAYS_ROUNDS_MAX: u32 = 20;
const EXIT_NOT_STARTED: u8 = 127;

/// Runs a component until it ends or waggle is gone. `arguments`: the log file, the CPUs it may use (`1,3` or nothing), its cgroup
/// (JSON or nothing), the command. Prints its process id and its end on standard output, one line each.
#[must_use]
pub fn supervise(arguments: &[String]) -> ExitCode {
    match start(arguments) {
        Ok(Started {
            child,
            log_ended,
            redaction,
            group,
        }) => {
            report(&format!("{STARTED} {}", child.id()));
            let text = match attend(child, redaction) {
                Ok(status) => describe(status),
                Err(problem) => format!("in a way that is not known: {problem}"),
            };
            if let Some(group) = group {
                // The counter goes with the group.
                report(&format!("{OOM_KILLS} {}", group.oom_kills()));
                group.remove();
            }
            // A log that stays open belongs to a process that cannot be killed; it must not block the rest.
            log_ended.recv_timeout(LOG_END_AT_MOST).ok();
            report(&format!("{ENDED} {text}"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            report(&format!("{NOT_STARTED} {problem}"));
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

/// An error is ignored: waggle may have ended.
fn report(line: &str) {
    let mut out = io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// Reads the texts that may not be in the log.
fn take_hidden(redaction: &Mutex<Redaction>) -> io::Result<()> {
    let hidden = read_message(&mut io::stdin().lock())?;
    let mut redaction = redaction.lock().unwrap_or_else(PoisonError::into_inner);
    redaction.hide(hidden);
    Ok(())
}

/// A component that was started.
struct Started {
    child: Child,
    log_ended: Receiver<()>,
    redaction: Arc<Mutex<Redaction>>,
    /// `None`: it has no cgroup of its own.
    group: Option<Group>,
}

fn start(arguments: &[String]) -> io::Result<Started> {
    let redaction = Arc::new(Mutex::new(Redaction::default()));
    take_hidden(&redaction)?;
    let [log, cpus, group, program, rest @ ..] = arguments else {
        return Err(io::Error::other(
            "a log file, CPUs, a cgroup and a command are needed",
        ));
    };
    let group = Group::from_argument(group)?;
    // Processes that outlive their parent become children of this one, so they can be found and killed.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    cpus::pin_this_thread(&cpus::parse(cpus))?;
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
        spawned.map_err(|problem| io::Error::other(format!("cannot start {program}: {problem}")))
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
        child,
        log_ended,
        redaction,
        group,
    })
}

/// Waits for the component's end and takes orders meanwhile, then kills what it left behind.
fn attend(mut child: Child, redaction: Arc<Mutex<Redaction>>) -> io::Result<ExitStatus> {
    let group = Pid::from_child(&child);
    let gone = Arc::new(Mutex::new(false));
    let orders_gone = Arc::clone(&gone);
    thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || take_orders(group, &orders_gone, &redaction))?;
    // Not reaped yet: as long as the first process is a zombie, the group's number is not reused.
    rustix::process::waitid(
        WaitId::Pid(group),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    rustix::process::kill_process_group(group, Signal::KILL).ok();
    *gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let status = child.wait()?;
    kill_strays();
    Ok(status)
}

fn take_orders(group: Pid, gone: &Mutex<bool>, redaction: &Mutex<Redaction>) {
    let mut input = io::stdin();
    let mut order = [0];
    loop {
        let signal = match input.read(&mut order) {
            Ok(1) if order[0] == ORDER_STOP => Signal::TERM,
            Ok(1) if order[0] == ORDER_KILL => Signal::KILL,
            Ok(1) if order[0] == ORDER_HIDE => match take_hidden(redaction) {
                Ok(()) => continue,
                // The rest of the orders cannot be read either.
                Err(_) => Signal::KILL,
            },
            Ok(1) => continue,
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
            // The other end is closed: waggle has ended.
            Ok(_) | Err(_) => {
                send(group, gone, Signal::KILL);
                return;
            }
        };
        send(group, gone, signal);
    }
}

fn send(group: Pid, gone: &Mutex<bool>, signal: Signal) {
    let gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
    if !*gone {
        rustix::process::kill_process_group(group, signal).ok();
    }
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

/// How a process ended: `with exit code 1`, `by signal 9`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in a way that is not known".to_owned(),
    }
}
