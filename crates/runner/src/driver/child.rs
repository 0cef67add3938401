//! One replica's process, with its supervisor between.

use std::{ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::{
    driver::Death,
    supervise::{ENDED, NOT_STARTED, ORDER_KILL, ORDER_STOP, STARTED},
};

/// The hidden subcommand of the supervisor's program.
const SUPERVISE: &str = "__supervise";
/// The supervisor must tell the process id by then.
const START_AT_MOST: Duration = Duration::from_secs(10);
/// A killed process must be gone by then.
const KILL_AT_MOST: Duration = Duration::from_secs(5);

/// What is to be started.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) replica: String,
    pub(crate) supervisor: PathBuf,
    pub(crate) log: PathBuf,
    /// As the supervisor wants them.
    pub(crate) cpus: String,
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
}

/// A replica that was started.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) replica: String,
    /// The supervisor's process id; all that descends from it is the component. `None` where it has ended already.
    pub(crate) supervisor: Option<u32>,
    pub(crate) log: PathBuf,
    /// The supervisor's orders; dropping it kills the component.
    orders: ChildStdin,
    gone: watch::Receiver<bool>,
    reaper: JoinHandle<()>,
}

impl Child {
    /// Starts a replica; its end, whenever it comes, is added to `deaths`.
    pub(crate) async fn start(
        launch: Launch,
        deaths: watch::Sender<Vec<Death>>,
    ) -> Result<Self, String> {
        let mut command = Command::new(&launch.supervisor);
        command
            .arg(SUPERVISE)
            .arg("--")
            .arg(&launch.log)
            .arg(&launch.cpus)
            .args(&launch.command);
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        // A group of its own: an interrupt from the terminal is for waggle alone, which then stops the rest in order.
        command.current_dir(&launch.folder).process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let shown = launch.supervisor.display();
        let mut child = command
            .spawn()
            .map_err(|problem| format!("cannot start {shown}: {problem}"))?;
        let orders = child
            .stdin
            .take()
            .expect("standard input was asked to be a pipe");
        let told = child
            .stdout
            .take()
            .expect("standard output was asked to be a pipe");
        let mut told = BufReader::new(told).lines();
        let pid = match timeout(START_AT_MOST, told.next_line()).await {
            Ok(Ok(Some(line))) => started(&line)?,
            Ok(_) => {
                return Err(format!(
                    "{shown} ended before it told of the component's start"
                ));
            }
            Err(_) => {
                return Err(format!(
                    "{shown} did not start the component within {} s",
                    START_AT_MOST.as_secs()
                ));
            }
        };
        let supervisor = child.id();
        let (mark, gone) = watch::channel(false);
        let name = launch.replica.clone();
        let reaper = tokio::spawn(async move {
            let how = end(&mut told, pid).await;
            child.wait().await.ok();
            deaths.send_modify(|deaths| deaths.push(Death { replica: name, how }));
            mark.send_replace(true);
        });
        Ok(Self {
            replica: launch.replica,
            supervisor,
            log: launch.log,
            orders,
            gone,
            reaper,
        })
    }

    /// Asks it to end.
    pub(crate) async fn ask_to_stop(&mut self) {
        // It may be gone already, which is what is wanted.
        self.orders.write_all(&[ORDER_STOP]).await.ok();
    }

    /// Waits until it is gone, at most `within` from when it was `asked`, then kills it; tells what was not in order.
    pub(crate) async fn gone(mut self, asked: Instant, within: Duration) -> Option<String> {
        let mut remark = None;
        if !self
            .is_gone_within(within.saturating_sub(asked.elapsed()))
            .await
        {
            let seconds = within.as_secs_f64();
            remark = Some(format!(
                "{} did not stop within {seconds} s and was killed",
                self.replica
            ));
            self.orders.write_all(&[ORDER_KILL]).await.ok();
            if !self.is_gone_within(KILL_AT_MOST).await {
                self.reaper.abort();
                let seconds = KILL_AT_MOST.as_secs();
                return Some(format!(
                    "{} could not be killed within {seconds} s",
                    self.replica
                ));
            }
        }
        self.reaper.await.ok();
        remark
    }

    async fn is_gone_within(&mut self, within: Duration) -> bool {
        timeout(within, self.gone.wait_for(|gone| *gone))
            .await
            .is_ok_and(|told| told.is_ok())
    }
}

/// The component's process id, from the supervisor's first line.
fn started(line: &str) -> Result<u32, String> {
    match line.split_once(' ') {
        Some((STARTED, pid)) => pid
            .parse()
            .map_err(|_| format!("the supervisor told of process \"{pid}\"")),
        Some((NOT_STARTED, why)) => Err(why.to_owned()),
        _ => Err(format!("the supervisor said \"{line}\"")),
    }
}

/// How it ended, from the supervisor's last line. A supervisor that vanishes without a word was killed itself;
/// then its component is killed from here.
async fn end(told: &mut Lines<BufReader<ChildStdout>>, pid: u32) -> String {
    while let Ok(Some(line)) = told.next_line().await {
        if let Some((ENDED, how)) = line.split_once(' ') {
            return how.to_owned();
        }
    }
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        rustix::process::kill_process_group(group, Signal::KILL).ok();
    }
    "with its supervisor".to_owned()
}
