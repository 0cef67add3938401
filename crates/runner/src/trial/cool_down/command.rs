//! The number that a command prints. It has a time limit, and no process of it is left behind.

use std::{process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    time::timeout,
};
use waggle_system::{host::environment::limit_environment, problem::Problem};

use super::files::number;

/// The longest that a command may take.
pub(super) const AT_MOST: Duration = Duration::from_secs(10);
/// Bytes of its output that are read.
const OUTPUT_MAX_BYTES: u64 = 4_096;

/// Runs a command, which is at least a program, and reads the number with which its output begins.
///
/// # Errors
/// It cannot be started, fails, takes longer than `at_most`, or prints no number.
pub(super) async fn read(command: &[String], at_most: Duration) -> Result<f64, Problem> {
    let shown = command.join(" ");
    let Some((program, arguments)) = command.split_first() else {
        return Err(Problem("there is no command".to_owned()));
    };
    let mut command = Command::new(program);
    limit_environment(command.as_std_mut(), &[]);
    let child = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|problem| format!("cannot start {shown}: {problem}"))?;
    let mut group = Group::new(child);
    let output = timeout(at_most, group.output())
        .await
        .map_err(|_| format!("{shown} took longer than {} s", at_most.as_secs_f64()))?;
    let text = output.map_err(|problem| format!("{shown} {problem}"))?;
    number(&text).ok_or_else(|| {
        Problem(format!(
            "the output of {shown} does not begin with a number"
        ))
    })
}

/// A command with the processes that it has started; killed when it is dropped.
struct Group {
    child: Child,
    group: Option<Pid>,
}

impl Group {
    fn new(child: Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            group: id.and_then(Pid::from_raw),
            child,
        }
    }

    async fn output(&mut self) -> Result<String, String> {
        let mut bytes = Vec::new();
        if let Some(stdout) = self.child.stdout.take() {
            let read = stdout.take(OUTPUT_MAX_BYTES).read_to_end(&mut bytes).await;
            read.map_err(|problem| format!("cannot be read: {problem}"))?;
        }
        let status = self.child.wait().await;
        let status = status.map_err(|problem| format!("has no end: {problem}"))?;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            false => Err(format!("ended with {status}")),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whatever it has left in its group ends, too; a group without processes is no longer there.
        if let Some(group) = self.group {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}
