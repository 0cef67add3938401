//! Talks to the pod of a run by programs that are started beside it: for its stream, its folder, and its end.

use std::{
    fs, io,
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use tokio::{io::AsyncWriteExt, runtime::Handle, time::timeout};
use waggle_cluster::{
    Access, ApiError, ContainerState, ExecEnd, ExecError, PodStatus, Reason, Streams, WaitLimits,
};
use waggle_results::private_file;

use super::job::{Submitted, command};
use crate::{
    commands::run::{
        attach::follow::{Link, Opened, Unreachable},
        pod::files::unpack,
    },
    process::interrupts::Interrupts,
};

/// A stream is open as long as a run.
const STREAM_AT_MOST: Duration = Duration::from_secs(14 * 24 * 3600);
const FETCH_AT_MOST: Duration = Duration::from_secs(3600);
const FINISH_AT_MOST: Duration = Duration::from_secs(30);
/// A connection that sends nothing for so long is lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the other end may take to end after its stream.
const SENDER_END_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the folder is asked for, if a connection is lost.
const FETCHES_MAX: u32 = 3;
const FETCH_PAUSE: Duration = Duration::from_secs(1);
/// The pod runs already, or will not.
const LOOK: WaitLimits = WaitLimits {
    total: Duration::from_secs(1),
    creation: Duration::ZERO,
    image: Duration::ZERO,
    node: Duration::ZERO,
};
/// What tells a run from another one of the same name.
const SAME: [&str; 2] = ["run.json", "ended.json"];

/// The pod of a run.
pub(super) struct Remote {
    runtime: Handle,
    pod: Pod,
    is_lost: AtomicBool,
    /// Why the last stream ended.
    problem: Arc<Mutex<Option<String>>>,
}

#[derive(Clone)]
struct Pod {
    access: Access,
    namespace: String,
    job: String,
    name: String,
    run: String,
}

impl Remote {
    pub(super) fn new(runtime: Handle, submitted: &Submitted) -> Self {
        Self {
            runtime,
            pod: Pod {
                access: submitted.access.clone(),
                namespace: submitted.namespace.clone(),
                job: submitted.job.clone(),
                name: submitted.pod.clone(),
                run: submitted.run.clone(),
            },
            is_lost: AtomicBool::new(false),
            problem: Arc::default(),
        }
    }

    /// The pod is gone, or has failed.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// The pod is gone after the end of its run.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.runtime.block_on(self.pod.state()), State::Lost(_))
    }

    /// What that means.
    pub(super) fn loss(&self) -> String {
        format!("run {}: {}", self.pod.run, self.pod.loss())
    }

    /// Opens the stream of the run.
    pub(super) fn open(&self) -> Result<Opened, Unreachable> {
        match self.runtime.block_on(self.pod.state()) {
            State::Runs => {}
            State::Unknown(why) => return Err(Unreachable::Now(why)),
            State::Refused(why) => return Err(Unreachable::Never(anyhow!("{why}"))),
            State::Lost(why) => {
                self.is_lost.store(true, Ordering::Relaxed);
                return Err(Unreachable::Never(anyhow!("run {}: {why}", self.pod.run)));
            }
        }
        let failed = |why: io::Error| Unreachable::Never(anyhow!("cannot make a stream: {why}"));
        let (here, there) = UnixStream::pair().map_err(failed)?;
        there.set_nonblocking(true).map_err(failed)?;
        let to_run = here.try_clone().map_err(failed)?;
        let (pod, problem) = (self.pod.clone(), Arc::clone(&self.problem));
        self.runtime.spawn(async move {
            let ended = pod.attach(there).await;
            *problem.lock().unwrap_or_else(PoisonError::into_inner) =
                ended.err().map(|why| format!("{why:#}"));
        });
        Ok(Opened::Stream(Link {
            from_run: Box::new(here),
            to_run: Box::new(to_run),
        }))
    }

    /// Why the last stream ended, if that is known.
    pub(super) fn last_problem(&self) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.clone()
    }

    /// Fetches the folder of the run into the folder of runs; `None`: the run made none.
    ///
    /// # Errors
    /// It cannot be read or written, the connection is silent, or the user interrupts it.
    pub(super) fn fetch(&self, runs: &Path, interrupts: &Interrupts) -> Result<Option<PathBuf>> {
        fs::create_dir_all(runs).with_context(|| format!("cannot create {}", runs.display()))?;
        let partial = runs.join(format!(".{}-{}.fetched", self.pod.run, std::process::id()));
        let mut tries = 1;
        let fetched = loop {
            fs::remove_dir_all(&partial).ok();
            private_file::create_folder(&partial)
                .with_context(|| format!("cannot create {}", partial.display()))?;
            match self.fetch_once(&partial, interrupts) {
                Ok(fetched) => break Ok(fetched),
                Err(_) if interrupts.count() > 0 => break Err(anyhow!("interrupted")),
                Err(_) if tries < FETCHES_MAX => {
                    tries += 1;
                    thread::sleep(FETCH_PAUSE);
                }
                Err(why) => break Err(why),
            }
        };
        let kept = fetched.and_then(|()| keep(&partial, runs));
        fs::remove_dir_all(&partial).ok();
        kept
    }

    fn fetch_once(&self, into: &Path, interrupts: &Interrupts) -> Result<()> {
        let (here, there) = UnixStream::pair().context("cannot make a stream")?;
        there
            .set_nonblocking(true)
            .context("cannot make a stream")?;
        let stopped = here.try_clone().context("cannot make a stream")?;
        here.set_read_timeout(Some(SILENCE_TIMEOUT))
            .context("cannot make a stream")?;
        interrupts.follow(move || drop(stopped.shutdown(Shutdown::Both)));
        let pod = self.pod.clone();
        let sent = self.runtime.spawn(async move { pod.send(there).await });
        let stop = sent.abort_handle();
        // The sender ends with its stream, but for one that hears nothing.
        let unpacked = unpack(here, into);
        let ended = async { timeout(SENDER_END_TIMEOUT, sent).await };
        let sent = match self.runtime.block_on(ended) {
            Ok(Ok(sent)) => sent,
            Ok(Err(_)) | Err(_) => Err(anyhow!("the connection does not end")),
        };
        stop.abort();
        match (unpacked, sent) {
            (Ok(()), Ok(())) => Ok(()),
            (Ok(()), Err(why)) | (Err(why), Ok(())) => Err(why),
            // What is cut off has its reason at the other end.
            (Err(here), Err(there)) => Err(anyhow!("{here:#}; {there:#}")),
        }
    }

    /// The pod need not wait any longer. It is removed in any case.
    pub(super) fn finish(&self) {
        let mut sink = tokio::io::sink();
        let streams = Streams {
            stdin: None,
            stdout: &mut sink,
        };
        let finished = self.pod.run("finish", streams, FINISH_AT_MOST);
        self.runtime.block_on(finished).ok();
    }
}

/// Moves the run to its place, which may be reserved by an empty folder.
fn keep(partial: &Path, runs: &Path) -> Result<Option<PathBuf>> {
    let problem = || format!("cannot read {}", partial.display());
    let mut entries = fs::read_dir(partial).with_context(problem)?;
    let Some(entry) = entries.next() else {
        return Ok(None);
    };
    let entry = entry.with_context(problem)?;
    let place = runs.join(entry.file_name());
    match fs::rename(entry.path(), &place) {
        Ok(()) => Ok(Some(place)),
        Err(_) if is_same(&entry.path(), &place) => Ok(Some(place)),
        Err(why) => Err(anyhow!("cannot keep the run as {}: {why}", place.display())),
    }
}

/// A run that was fetched before.
fn is_same(fetched: &Path, place: &Path) -> bool {
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).ok();
    // A run that was killed has no end.
    let is_alike = |name: &&str| read(fetched, name) == read(place, name);
    SAME.iter().all(is_alike) && read(place, SAME[0]).is_some()
}

enum State {
    Runs,
    /// It may run.
    Unknown(String),
    /// It may run, and may not be asked for.
    Refused(String),
    Lost(String),
}

impl Pod {
    async fn state(&self) -> State {
        let looked = self
            .access
            .watch_pods(&self.namespace, &self.job, LOOK, |_, _| {})
            .await;
        let is_this = |pod: &&PodStatus| pod.name == self.name;
        let why = match looked {
            Ok(pods) => {
                return match pods.iter().find(is_this) {
                    Some(pod) if !has_ended(pod) => State::Runs,
                    Some(_) => State::Lost(format!(
                        "pod {} has ended, and its results are not there any more",
                        self.name
                    )),
                    None => State::Lost(self.loss()),
                };
            }
            Err(why) => why,
        };
        let mut problems = why.stuck.iter().filter_map(|stuck| match &stuck.reason {
            Reason::Api(problem) if !problem.is_not_found() => Some(problem),
            _ => None,
        });
        match problems.next() {
            Some(ApiError::Forbidden { .. } | ApiError::Unauthorized { .. }) => {
                return State::Refused(why.to_string());
            }
            Some(_) => return State::Unknown(why.to_string()),
            None => {}
        }
        State::Lost(match why.pods.iter().find(is_this) {
            Some(_) => format!("its results are lost: {why}"),
            None => self.loss(),
        })
    }

    fn loss(&self) -> String {
        format!(
            "pod {} was deleted, or its node is gone, and the results with it, unless another view has fetched them",
            self.name
        )
    }

    /// Copies the stream until it ends, on either side.
    async fn attach(&self, there: UnixStream) -> Result<()> {
        let there = tokio::net::UnixStream::from_std(there).context("cannot make a stream")?;
        let (mut orders, mut lines) = there.into_split();
        let streams = Streams {
            stdin: Some(&mut orders),
            stdout: &mut lines,
        };
        self.run("attach", streams, STREAM_AT_MOST).await
    }

    async fn send(&self, there: UnixStream) -> Result<()> {
        let mut there = tokio::net::UnixStream::from_std(there).context("cannot make a stream")?;
        let streams = Streams {
            stdin: None,
            stdout: &mut there,
        };
        let sent = self.run("send", streams, FETCH_AT_MOST).await;
        there.shutdown().await.ok();
        sent
    }

    async fn run(&self, action: &str, streams: Streams<'_>, limit: Duration) -> Result<()> {
        let command = command(action);
        let ended: Result<ExecEnd, ExecError> = (self.access)
            .exec(&self.namespace, &self.name, &command, streams, limit)
            .await;
        let end = ended.map_err(|why| anyhow!("{why}"))?;
        match end.code {
            0 => Ok(()),
            code => bail!(
                "pod {} (exit code {code}): {}",
                self.name,
                end.stderr.trim_end()
            ),
        }
    }
}

fn has_ended(pod: &PodStatus) -> bool {
    let ended = |state: &ContainerState| matches!(state, ContainerState::Ended { .. });
    pod.containers
        .iter()
        .any(|container| ended(&container.state))
}
