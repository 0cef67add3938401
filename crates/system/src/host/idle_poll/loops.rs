//! The process of the loops: one thread of the idle class for each CPU, until standard input is closed.

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
    sync::mpsc,
    thread,
};

use preempt_rt::sched::{Pid, Scheduler, SchedulerParams, get_scheduler, set_scheduler};

use super::{FAILED, RUNNING};
use crate::host::cpus;

/// A loop needs almost no stack.
const STACK_BYTES: usize = 64 * 1024;
/// The nice value of the loops' session, for kernels that share CPUs out by session first.
const NICEST: &str = "19";

/// Polls idle CPUs until standard input is closed. `arguments`: the CPUs, `0,1`. Prints that all loops run, or the reason why
/// not.
#[must_use]
pub fn idle_poll(arguments: &[String]) -> ExitCode {
    match start(arguments) {
        Ok(()) => {
            report(RUNNING);
            // The other end is closed when waggle ends for any reason; the loops end with this process.
            io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
            ExitCode::SUCCESS
        }
        Err(why) => {
            report(&format!("{FAILED} {why}"));
            ExitCode::FAILURE
        }
    }
}

/// An error is ignored: if waggle has ended, standard input is closed as well.
fn report(line: &str) {
    let mut out = io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

fn start(arguments: &[String]) -> Result<(), String> {
    let cpus = match arguments {
        [cpus] => cpus::parse(cpus),
        _ => Vec::new(),
    };
    if cpus.is_empty() {
        return Err(format!("expected CPUs such as 0,1 and not {arguments:?}"));
    }
    yield_to_other_sessions();
    let (say, said) = mpsc::channel();
    for cpu in &cpus {
        let (cpu, say) = (*cpu, say.clone());
        thread::Builder::new()
            .name(format!("idle-poll-{cpu}"))
            .stack_size(STACK_BYTES)
            .spawn(move || run_loop(cpu, &say))
            .map_err(|problem| format!("cannot start a thread: {problem}"))?;
    }
    drop(say);
    for _ in &cpus {
        said.recv()
            .map_err(|_| "a loop ended before it ran".to_owned())??;
    }
    Ok(())
}

/// A kernel with autogroups shares a CPU out among sessions before it looks at the class of a thread. A loop in waggle's own
/// session would get as much as a component in a session of its own. The loops have their own session with the highest nice
/// value, so they get almost nothing.
fn yield_to_other_sessions() {
    rustix::process::setsid().ok();
    // Refused if the kernel has no autogroups, or has them disabled for this process. Then there is no session to yield to.
    fs::write("/proc/self/autogroup", NICEST).ok();
}

/// Says whether the calling thread could be set up, and is its loop if so.
fn run_loop(cpu: usize, say: &mpsc::Sender<Result<(), String>>) {
    match pin_as_idle(cpu) {
        Ok(()) => {
            say.send(Ok(())).ok();
            run()
        }
        Err(why) => {
            say.send(Err(format!("CPU {cpu}: {why}"))).ok();
        }
    }
}

/// Pins the calling thread to a CPU and sets its idle class.
fn pin_as_idle(cpu: usize) -> Result<(), String> {
    cpus::pin_this_thread(&[cpu]).map_err(|problem| format!("cannot stay on it: {problem}"))?;
    let here = Pid::current_thread();
    let priority = SchedulerParams { priority: 0 };
    set_scheduler(here, Scheduler::SCHED_IDLE, priority).map_err(|problem| {
        format!(
            "the idle scheduling class (SCHED_IDLE) is refused: {problem}; expected that a thread may lower its own class, which a \
             container's policy can forbid"
        )
    })?;
    match get_scheduler(here) {
        Ok(Scheduler::SCHED_IDLE) => Ok(()),
        Ok(other) => Err(format!(
            "the scheduling class is {other:?} after it was set; expected SCHED_IDLE"
        )),
        Err(problem) => Err(format!("cannot read the scheduling class: {problem}")),
    }
}

/// Runs until the process ends. The hint leaves most of the core to its sibling hardware thread, if there is one.
fn run() -> ! {
    loop {
        std::hint::spin_loop();
    }
}
