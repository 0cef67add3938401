//! The process of one replica, with a supervisor in between.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::{
    components::{
        driver::{Death, orders::Orders},
        limits::{Group, Throttled, out_of_memory},
        replica::remote::{Life, RemoteEnd, RemoteLaunch, RemoteReplica},
        supervise::{
            BY_KILL, ORDER_KILL, ORDER_STOP, Report, START_AT_MOST, Supervision, kill_group,
            redaction::HiddenText,
        },
    },
    host::{environment::limit_environment, orphans::FOLDER_VARIABLE, proc, proc::Used},
    problem::Problem,
};

/// Timeout for the end of a killed process.
pub(super) const KILL_AT_MOST: Duration = Duration::from_secs(30);

/// A process to start.
#[derive(Debug, Clone)]
pub struct Launch {
    pub replica: String,
    pub supervisor: PathBuf,
    /// Appended to if it exists.
    pub log: PathBuf,
    /// In the supervisor's format.
    pub cpus: String,
    pub group: Option<Group>,
    pub command: Vec<OsString>,
    pub environment: Vec<(String, String)>,
    /// Variables that it has from this process, besides those that every one has.
    pub environment_from: Vec<String>,
    pub folder: PathBuf,
}

/// A replica that was started.
#[derive(Debug)]
pub struct Child {
    pub replica: String,
    /// The supervisor's process id; all its descendants belong to the component. `None` if it has ended.
    pub supervisor: Option<u32>,
    pub log: PathBuf,
    control: Control,
    /// Its death by SIGKILL is intended.
    to_be_killed: Arc<AtomicBool>,
    /// Processes that the kernel killed for memory; known when it has ended.
    oom_kills: Arc<AtomicU64>,
    /// Whether it was started; `None` as long as that is not known.
    started: watch::Receiver<Option<Result<(), Problem>>>,
    gone: watch::Receiver<bool>,
    reaper: JoinHandle<()>,
}

/// How a replica is given orders.
#[derive(Debug)]
enum Control {
    /// The supervisor's input; dropping it kills the component. `None`: it was dropped.
    Pipe(Option<Orders>),
    /// The process beside it, elsewhere.
    Remote(Arc<RemoteReplica>),
}

/// Waits for the end of a replica.
#[derive(Debug)]
pub(in crate::components) struct Gone(watch::Receiver<bool>);

impl Gone {
    /// Without a limit.
    pub(in crate::components) async fn wait(&mut self) {
        self.0.wait_for(|gone| *gone).await.ok();
    }

    /// False if it still runs after this time.
    pub(super) async fn wait_at_most(&mut self, at_most: Duration) -> bool {
        timeout(at_most, self.0.wait_for(|gone| *gone))
            .await
            .is_ok_and(|gone| gone.is_ok())
    }
}

/// Waits for the start of a replica.
#[derive(Debug)]
pub(in crate::components) struct Start(watch::Receiver<Option<Result<(), Problem>>>);

impl Start {
    /// `Err`: why it was not started.
    pub(in crate::components) async fn wait_started(&mut self) -> Result<(), Problem> {
        let started = self.0.wait_for(Option::is_some).await;
        let started = started.map(|started| started.clone());
        started
            .ok()
            .flatten()
            .unwrap_or_else(|| Err(Problem("it is unknown whether it was started".to_owned())))
    }
}

impl Child {
    /// Starts a replica; its end is added to `deaths`.
    pub async fn start(
        launch: Launch,
        hidden: &[HiddenText],
        deaths: watch::Sender<Vec<Death>>,
    ) -> Result<Self, Problem> {
        let child = Self::begin(launch, hidden, deaths)?;
        child.start_signal().wait_started().await?;
        Ok(child)
    }

    /// The same without waiting: the caller owns the replica from the first moment on, and its start is reported later. The `hidden`
    /// texts do not come into its log.
    pub(in crate::components) fn begin(
        launch: Launch,
        hidden: &[HiddenText],
        deaths: watch::Sender<Vec<Death>>,
    ) -> Result<Self, Problem> {
        let supervision = Supervision {
            log: &launch.log,
            cpus: &launch.cpus,
            group: launch.group.as_ref(),
            interrupt_timeout: None,
        };
        let mut command = Command::new(&launch.supervisor);
        command
            .args(supervision.to_arguments())
            .args(&launch.command);
        limit_environment(command.as_std_mut(), &launch.environment_from);
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.env(FOLDER_VARIABLE, &launch.folder);
        // In its own process group: an interrupt from the terminal reaches waggle alone, which then stops the rest in order.
        command.current_dir(&launch.folder).process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let shown = launch.supervisor.display().to_string();
        let mut child = command
            .spawn()
            .map_err(|problem| format!("cannot start {shown}: {problem}"))?;
        let input = child
            .stdin
            .take()
            .expect("standard input was asked to be a pipe");
        let orders = Orders::begin(input, hidden)
            .map_err(|problem| format!("cannot give {shown} orders: {problem}"))?;
        let output = child
            .stdout
            .take()
            .expect("standard output was asked to be a pipe");
        let supervisor = child.id();
        let (start_sender, started) = watch::channel(None);
        let (mark, gone) = watch::channel(false);
        let to_be_killed = Arc::new(AtomicBool::new(false));
        let oom_kills = Arc::new(AtomicU64::new(0));
        let course = Course {
            replica: launch.replica.clone(),
            supervisor: shown,
            to_be_killed: Arc::clone(&to_be_killed),
            oom_kills: Arc::clone(&oom_kills),
            group: launch.group,
            start_sender,
            deaths,
        };
        let reaper = tokio::spawn(async move {
            course.follow(BufReader::new(output).lines(), child).await;
            mark.send_replace(true);
        });
        Ok(Self {
            replica: launch.replica,
            supervisor,
            log: launch.log,
            control: Control::Pipe(Some(orders)),
            to_be_killed,
            oom_kills,
            started,
            gone,
            reaper,
        })
    }

    /// Starts a replica elsewhere; its end is added to `deaths`.
    pub(super) fn begin_remote(
        remote: &Arc<RemoteReplica>,
        launch: &RemoteLaunch,
        hidden: &[HiddenText],
        deaths: watch::Sender<Vec<Death>>,
    ) -> Result<Self, Problem> {
        let Life { started, mut end } = remote.start(launch, hidden)?;
        let (mark, gone) = watch::channel(false);
        let oom_kills = Arc::new(AtomicU64::new(0));
        let (replica, kills) = (launch.replica.clone(), Arc::clone(&oom_kills));
        let reaper = tokio::spawn(async move {
            // One that was not started has no end.
            if let Ok(end) = end.wait_for(Option::is_some).await.map(|end| end.clone())
                && let Some(RemoteEnd { how, oom_kills }) = end
            {
                kills.store(oom_kills, Ordering::SeqCst);
                if let Some(how) = how {
                    deaths.send_modify(|deaths| deaths.push(Death { replica, how }));
                }
            }
            mark.send_replace(true);
        });
        Ok(Self {
            replica: launch.replica.clone(),
            supervisor: None,
            log: launch.log.clone(),
            control: Control::Remote(Arc::clone(remote)),
            to_be_killed: Arc::new(AtomicBool::new(false)),
            oom_kills,
            started,
            gone,
            reaper,
        })
    }

    /// What it has used in this life; `None`: that is not known, or it has ended.
    pub(super) fn usage(&self) -> Option<Used> {
        match &self.control {
            Control::Pipe(_) => proc::descendants_usage(self.supervisor?),
            Control::Remote(remote) => remote.sample().map(|sample| Used {
                cpu: sample.cpu,
                rss_bytes: sample.rss_bytes,
                threads: sample.threads,
            }),
        }
    }

    /// How its container was throttled so far, in all lives of the replica; `None`: it has none, or no limit.
    pub(super) fn container_throttled(&self) -> Option<Throttled> {
        match &self.control {
            Control::Pipe(_) => None,
            Control::Remote(remote) => remote.sample()?.throttled,
        }
    }

    /// Waits for its end.
    pub(in crate::components) fn gone(&self) -> Gone {
        Gone(self.gone.clone())
    }

    /// From now on these texts do not come into its log. One that has ended writes no more.
    pub(in crate::components) fn hide(&mut self, hidden: &[HiddenText]) {
        match &mut self.control {
            Control::Pipe(Some(orders)) => drop(orders.hide(hidden)),
            Control::Pipe(None) => {}
            Control::Remote(remote) => remote.hide(hidden),
        }
    }

    pub(in crate::components) fn start_signal(&self) -> Start {
        Start(self.started.clone())
    }

    /// Processes of it that the kernel has killed for memory; 0 as long as it runs.
    pub(super) fn oom_kills(&self) -> u64 {
        self.oom_kills.load(Ordering::SeqCst)
    }

    /// Asks it to end.
    pub async fn ask_to_stop(&mut self) {
        self.order(ORDER_STOP).await;
    }

    /// Kills it at once; this does not count as a death.
    pub(super) async fn stop_at_once(&mut self) {
        self.to_be_killed.store(true, Ordering::SeqCst);
        self.order(ORDER_KILL).await;
    }

    async fn order(&mut self, order: u8) {
        match &mut self.control {
            Control::Pipe(Some(orders)) => orders.send(order).await,
            Control::Pipe(None) => {}
            Control::Remote(remote) if order == ORDER_STOP => remote.ask_to_stop(),
            Control::Remote(remote) => remote.kill(),
        }
    }

    /// Kills it and all its descendants; this does not count as a death.
    pub(in crate::components) fn kill(&mut self) -> Gone {
        self.to_be_killed.store(true, Ordering::SeqCst);
        match &mut self.control {
            Control::Pipe(orders) => *orders = None,
            Control::Remote(remote) => remote.kill(),
        }
        Gone(self.gone.clone())
    }

    /// Waits until it has ended, at most `within` after it was `asked`, then kills it. Returns a remark if that was necessary.
    pub async fn wait_or_kill(mut self, asked: Instant, within: Duration) -> Option<String> {
        let mut remark = None;
        let mut gone = Gone(self.gone.clone());
        if !gone
            .wait_at_most(within.saturating_sub(asked.elapsed()))
            .await
        {
            let seconds = within.as_secs_f64();
            remark = Some(format!(
                "{} did not stop within {seconds} s and was killed",
                self.replica
            ));
            self.order(ORDER_KILL).await;
            if !gone.wait_at_most(KILL_AT_MOST).await {
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
}

/// What the task that follows a replica from start to end needs.
struct Course {
    replica: String,
    /// The supervisor's program, for messages.
    supervisor: String,
    to_be_killed: Arc<AtomicBool>,
    oom_kills: Arc<AtomicU64>,
    group: Option<Group>,
    start_sender: watch::Sender<Option<Result<(), Problem>>>,
    deaths: watch::Sender<Vec<Death>>,
}

impl Course {
    async fn follow(
        self,
        mut output: Lines<BufReader<ChildStdout>>,
        mut child: tokio::process::Child,
    ) {
        let pid = match self.read_pid(&mut output).await {
            Ok(pid) => pid,
            Err(why) => {
                self.start_sender.send_replace(Some(Err(why.into())));
                // A supervisor that does not start a component ends by itself; one that hangs ends when its input is closed.
                child.wait().await.ok();
                return;
            }
        };
        self.start_sender.send_replace(Some(Ok(())));
        let mut how = self.end(&mut output, pid).await;
        child.wait().await.ok();
        let is_wanted = self.to_be_killed.load(Ordering::SeqCst) && how == BY_KILL;
        if let Some(group) = &self.group {
            // It is gone already, unless the supervisor was killed.
            group.remove();
            if let (1.., Some(limit)) = (self.oom_kills.load(Ordering::SeqCst), group.memory()) {
                how = out_of_memory(&how, limit);
            }
        }
        if !is_wanted {
            let replica = self.replica;
            let death = Death { replica, how };
            self.deaths.send_modify(|deaths| deaths.push(death));
        }
    }

    /// How it ended, from the supervisor's last lines. If a supervisor ends without them, it was killed itself; then its component
    /// is killed here.
    async fn end(&self, output: &mut Lines<BufReader<ChildStdout>>, pid: u32) -> String {
        while let Ok(Some(line)) = output.next_line().await {
            match Report::parse(&line) {
                Some(Report::OomKills(count)) => self.oom_kills.store(count, Ordering::SeqCst),
                Some(Report::Ended(how)) => return how,
                _ => {}
            }
        }
        kill_group(pid);
        "with its supervisor".to_owned()
    }

    /// The component's process id.
    async fn read_pid(&self, output: &mut Lines<BufReader<ChildStdout>>) -> Result<u32, String> {
        let shown = &self.supervisor;
        match timeout(START_AT_MOST, output.next_line()).await {
            Ok(Ok(Some(line))) => parse_pid(&line),
            Ok(_) => Err(format!(
                "{shown} ended before it reported the component's start"
            )),
            Err(_) => Err(format!(
                "{shown} did not start the component within {} s",
                START_AT_MOST.as_secs()
            )),
        }
    }
}

/// The component's process id, from the supervisor's first line.
fn parse_pid(line: &str) -> Result<u32, String> {
    match Report::parse(line) {
        Some(Report::Started(pid)) => Ok(pid),
        Some(Report::NotStarted(why)) => Err(why),
        _ => Err(format!("the supervisor said \"{line}\"")),
    }
}
