//! What is planned and run from a page: this program with the same arguments that a user would write.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use waggle_serve::{Extent, Order, Reason};

use super::{TOKEN_VARIABLE, TRUSTED, studies::path_below};

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
pub(super) fn start(order: &Order, studies: Option<&Path>, runs: &Path) -> io::Result<Child> {
    let studies = studies.ok_or_else(|| io::Error::other("there is no folder of studies"))?;
    let arguments = arguments(&["run", "--no-live"], order, studies, runs);
    let mut command = command(arguments.map_err(io::Error::other)?)?;
    command.process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn()
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
