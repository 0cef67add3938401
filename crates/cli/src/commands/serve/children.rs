//! What is planned and run from a page: this program with the same arguments that a user would write.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::Duration,
};

use waggle_serve::{Extent, Order, Reason, StartedRun};

use super::{TOKEN_VARIABLE, TRUSTED, studies::path_below};
use crate::process::supervised_run::{RunStart, SupervisedRun};

/// A run that was asked to stop, and has not after this time, is killed with all that it started. What it has in a cluster takes minutes
/// to go.
const STOP_TIMEOUT: Duration = Duration::from_mins(5);

/// The plan of what is asked for, as `waggle plan` prints it.
pub(super) fn plan(studies: &Path, runs: &Path, order: &Order) -> Result<String, Reason> {
    let arguments = arguments(&["plan", "--commands"], order, studies, runs)?;
    let mut command = command(arguments).map_err(Reason::new)?;
    let output = command.output();
    let output = output.map_err(|why| Reason(format!("cannot plan: {why}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(Reason(text(&output.stderr).trim_end().to_owned())),
    }
}

/// Starts a run with the priority of this thread. It gets no signal of this terminal: the server passes its own on.
pub(super) fn start(
    order: &Order,
    studies: Option<&Path>,
    runs: &Path,
) -> io::Result<Box<dyn StartedRun>> {
    let studies = studies.ok_or_else(|| io::Error::other("there is no folder of studies"))?;
    let arguments = arguments(&["--no-live"], order, studies, runs);
    let start = RunStart {
        arguments: arguments.map_err(io::Error::other)?,
        stop_timeout: STOP_TIMEOUT,
        withheld_variable: Some(TOKEN_VARIABLE),
    };
    let (end, ended) = channel();
    let run = SupervisedRun::start(&start, move |how| drop(end.send(how)))?;
    Ok(Box::new(Followed {
        run,
        ended: Mutex::new(ended),
    }))
}

/// A run, as the queue asks for it.
#[derive(Debug)]
struct Followed {
    run: SupervisedRun,
    ended: Mutex<Receiver<String>>,
}

impl StartedRun for Followed {
    fn pid(&self) -> u32 {
        self.run.pid()
    }

    fn stop(&self) {
        self.run.interrupt();
    }

    fn output(&self) -> String {
        self.run.output()
    }

    fn wait(&self, at_most: Duration) -> Option<String> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended.recv_timeout(at_most) {
            Ok(how) => Some(how),
            Err(RecvTimeoutError::Timeout) => None,
            // The thread that waits for it is gone.
            Err(RecvTimeoutError::Disconnected) => Some("in a way that is not known".to_owned()),
        }
    }
}

fn command(arguments: Vec<OsString>) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::null());
    // Neither a study nor what it starts needs it.
    command.env_remove(TOKEN_VARIABLE);
    Ok(command)
}

fn arguments(
    first: &[&str],
    order: &Order,
    studies: &Path,
    runs: &Path,
) -> Result<Vec<OsString>, Reason> {
    let mut all: Vec<OsString> = first.iter().map(OsString::from).collect();
    let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
    for (factor, level) in &order.filters {
        all.push(flag("filter", &format!("{factor}={level}")));
    }
    for (parameter, level) in &order.against {
        all.push(flag("against", &format!("{parameter}={level}")));
    }
    match order.extent {
        Extent::Whole => {}
        Extent::Quick => all.push("--quick".into()),
        Extent::Pilot => all.push("--pilot".into()),
    }
    all.extend(order.seed.map(|seed| flag("seed", &seed.to_string())));
    for folder in TRUSTED.get().into_iter().flatten() {
        all.extend(["--trust".into(), folder.into()]);
    }
    all.extend(["--runs".into(), runs.into()]);
    all.extend(["--".into(), path_below(studies, &order.study)?.into()]);
    Ok(all)
}
