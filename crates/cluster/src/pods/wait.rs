//! Waits until all pods of a Job, or of StatefulSets, run, and ends early if that will not come.

use std::{fmt, time::Duration};

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    reason::{Hope, Reason, Stuck},
    status::PodStatus,
};
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::Pairs,
};

/// Pause between two looks, and how many times as long as a look it is at least: a look at a thousand pods is some megabytes.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
const LOOKS: u32 = 3;
/// Last lines of a container that has ended.
const LAST_LINES: u32 = 10;
/// Most pods of which the log is read, or that are named.
const NAMED_MAX: usize = 5;

/// How long is waited for pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// In all.
    pub total: Duration,
    /// For a pod that the cluster does not admit at first: quotas and webhooks may let it in a moment later.
    pub creation: Duration,
    /// For an image that a node does not get at first.
    pub image: Duration,
    /// For a node, which the cluster may add.
    pub node: Duration,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(300),
            creation: Duration::from_secs(15),
            image: Duration::from_secs(45),
            node: Duration::from_secs(120),
        }
    }
}

/// Why not all pods run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRunning {
    /// The Job, or the StatefulSets.
    pub job: String,
    pub running: usize,
    pub wanted: usize,
    /// One for each pod, or for all together.
    pub stuck: Vec<Stuck>,
    pub after: Duration,
    /// The pods as they were last.
    pub pods: Vec<PodStatus>,
}

impl std::error::Error for NotRunning {}

impl fmt::Display for NotRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            job,
            running,
            wanted,
            ..
        } = self;
        let seconds = self.after.as_secs();
        write!(
            f,
            "{running} of {wanted} pods of {job} run after {seconds} s"
        )?;
        write_alike(f, &self.stuck)
    }
}

/// Writes reasons, each once with the pods that have it.
pub(crate) fn write_alike(f: &mut fmt::Formatter<'_>, stuck: &[Stuck]) -> fmt::Result {
    let alike = alike(stuck);
    for (names, reason) in alike.iter().take(NAMED_MAX) {
        match names[..] {
            [] => write!(f, "; {reason}")?,
            [name] => write!(f, "; pod {name}: {reason}")?,
            [name, ..] => write!(f, "; pod {name} and {} more: {reason}", names.len() - 1)?,
        }
    }
    match alike.len().checked_sub(NAMED_MAX) {
        Some(rest @ 1..) => write!(f, "; and {rest} other reasons"),
        _ => Ok(()),
    }
}

/// The pods that have the same reason, by their names.
fn alike(all: &[Stuck]) -> Vec<(Vec<&str>, &Reason)> {
    let mut groups: Vec<(Vec<&str>, &Reason)> = Vec::new();
    for Stuck { pod, reason } in all {
        match groups.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.extend(pod.as_deref()),
            None => groups.push((pod.as_deref().into_iter().collect(), reason)),
        }
    }
    groups
}

/// What is known of a Job at one time.
struct Look {
    wanted: usize,
    pods: Vec<PodStatus>,
    stuck: Vec<Stuck>,
}

/// Whose pods are waited for.
#[derive(Clone, Copy)]
enum Owner<'a> {
    Job(&'a str),
    Sets {
        names: &'a [String],
        labels: &'a Pairs,
        wanted: usize,
    },
}

impl Owner<'_> {
    fn name(self) -> String {
        match self {
            Self::Job(job) => job.to_owned(),
            Self::Sets { names, .. } => names.join(", "),
        }
    }
}

impl Access {
    /// Returns the pods of a Job when all of them run. `on_change` is told how many do, of how many, whenever that changes.
    ///
    /// # Errors
    /// A pod will not run, or does not within the limits.
    pub async fn watch_pods(
        &self,
        namespace: &str,
        job: &str,
        limits: WaitLimits,
        on_change: impl FnMut(usize, usize),
    ) -> Result<Vec<PodStatus>, NotRunning> {
        self.watch(namespace, Owner::Job(job), limits, on_change)
            .await
    }

    /// Returns the pods of StatefulSets when all of them run: so many, with these labels.
    ///
    /// # Errors
    /// As [`Access::watch_pods`].
    pub async fn watch_replicas(
        &self,
        namespace: &str,
        sets: &[String],
        labels: &Pairs,
        wanted: usize,
        limits: WaitLimits,
    ) -> Result<Vec<PodStatus>, NotRunning> {
        let owner = Owner::Sets {
            names: sets,
            labels,
            wanted,
        };
        self.watch(namespace, owner, limits, |_, _| {}).await
    }

    async fn watch(
        &self,
        namespace: &str,
        owner: Owner<'_>,
        limits: WaitLimits,
        mut on_change: impl FnMut(usize, usize),
    ) -> Result<Vec<PodStatus>, NotRunning> {
        let begun = Instant::now();
        let mut patience = Patience::default();
        let mut shown = None;
        loop {
            let looked_at = Instant::now();
            let look = match self.look(namespace, owner).await {
                Ok(look) => look,
                Err(why) => return Err(silent(owner, begun, why)),
            };
            let running = look.pods.iter().filter(|pod| pod.has_started()).count();
            if shown.replace(running) != Some(running) {
                on_change(running, look.wanted);
            }
            if look.stuck.is_empty() && running >= look.wanted {
                return Ok(look.pods);
            }
            if patience.has_ended(&look.stuck, &limits) || begun.elapsed() > limits.total {
                let stuck = self.with_last_lines(namespace, look.stuck).await;
                return Err(NotRunning {
                    job: owner.name(),
                    running,
                    wanted: look.wanted,
                    stuck,
                    after: begun.elapsed(),
                    pods: look.pods,
                });
            }
            sleep(POLL_INTERVAL.max(looked_at.elapsed() * LOOKS)).await;
        }
    }

    async fn look(&self, namespace: &str, owner: Owner<'_>) -> Result<Look, ApiError> {
        let (wanted, mut pods, failed) = match owner {
            Owner::Job(job) => {
                let call = Call::new(Verb::Get, Kind::Job, Some(namespace)).name(job);
                let object = self.call(call).await?.value;
                let wanted = object["spec"]["completions"].as_u64().unwrap_or(1);
                let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
                let pods = self.pod_statuses(namespace, job).await?;
                (wanted, pods, failure(&object))
            }
            Owner::Sets { labels, wanted, .. } => {
                let pods = self.labelled_pods(namespace, labels).await?;
                (wanted, pods, None)
            }
        };
        pods.retain(|pod| !pod.is_terminating || pod.disruption.is_some());
        let stuck_pod = |pod: &PodStatus| {
            let reason = Reason::find(pod)?;
            let pod = Some(pod.name.clone());
            Some(Stuck { pod, reason })
        };
        let mut stuck: Vec<Stuck> = pods.iter().filter_map(stuck_pod).collect();
        let is_final = |stuck: &Stuck| stuck.reason.hope() == Hope::None;
        if let Some(reason) = failed.filter(|_| !stuck.iter().any(is_final)) {
            stuck.push(Stuck { pod: None, reason });
        } else if pods.len() < wanted {
            let reason = self.refusal(namespace, owner).await?;
            let reason = reason.unwrap_or(Reason::NotCreated);
            stuck.push(Stuck { pod: None, reason });
        }
        // The gravest first.
        stuck.sort_by_key(|stuck| stuck.reason.hope());
        Ok(Look {
            wanted,
            pods,
            stuck,
        })
    }

    /// Why the controller may not make pods.
    async fn refusal(&self, namespace: &str, owner: Owner<'_>) -> Result<Option<Reason>, ApiError> {
        let about: Vec<(&str, &str)> = match owner {
            Owner::Job(job) => vec![("Job", job)],
            Owner::Sets { names, .. } => {
                let names = names.iter();
                names.map(|name| ("StatefulSet", name.as_str())).collect()
            }
        };
        for (kind, name) in about {
            let events = self.events_about(namespace, kind, name).await?;
            if let Some(event) = events.iter().rfind(|event| event.reason == "FailedCreate") {
                // A Job's and a set's controller have words of their own before those of the API.
                let message = event.message.as_str();
                let cause = message
                    .split_once("Error creating: ")
                    .or_else(|| message.split_once(" failed error: "));
                let message = cause.map_or(message, |(_, cause)| cause);
                return Ok(Some(Reason::of_refusal(message)));
            }
        }
        Ok(None)
    }

    /// Adds what containers wrote at last, if the API still has it.
    async fn with_last_lines(&self, namespace: &str, mut all: Vec<Stuck>) -> Vec<Stuck> {
        for stuck in all.iter_mut().take(NAMED_MAX) {
            let Stuck {
                pod: Some(pod),
                reason: Reason::Ended { last_lines, .. },
            } = stuck
            else {
                continue;
            };
            if let Ok(lines) = self.last_log_lines(namespace, pod, LAST_LINES).await
                && !lines.is_empty()
            {
                *last_lines = lines;
            }
        }
        all
    }
}

/// That the Job itself has failed.
fn failure(job: &Value) -> Option<Reason> {
    let conditions = job["status"]["conditions"].as_array()?;
    let has_failed = |condition: &&Value| {
        condition["status"] == "True"
            && (condition["type"] == "Failed" || condition["type"] == "FailureTarget")
    };
    let condition = conditions.iter().find(has_failed)?;
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    Some(Reason::JobFailed {
        reason: text("reason"),
        message: text("message"),
    })
}

fn silent(owner: Owner<'_>, begun: Instant, why: ApiError) -> NotRunning {
    NotRunning {
        job: owner.name(),
        running: 0,
        wanted: 0,
        stuck: vec![Stuck {
            pod: None,
            reason: Reason::Api(why),
        }],
        after: begun.elapsed(),
        pods: Vec::new(),
    }
}

/// Since when something is waited for.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    creation: Option<Instant>,
    image: Option<Instant>,
    node: Option<Instant>,
}

impl Patience {
    pub(crate) fn has_ended(&mut self, stuck: &[Stuck], limits: &WaitLimits) -> bool {
        let waits = |hope: Hope| stuck.iter().any(|stuck| stuck.reason.hope() == hope);
        let ended = [
            waits(Hope::None),
            is_over(&mut self.creation, waits(Hope::Creation), limits.creation),
            is_over(&mut self.image, waits(Hope::Image), limits.image),
            is_over(&mut self.node, waits(Hope::Node), limits.node),
        ];
        ended.contains(&true)
    }
}

/// Whether something has been waited for so long; `since` is when that began.
fn is_over(since: &mut Option<Instant>, waits: bool, limit: Duration) -> bool {
    if !waits {
        *since = None;
        return false;
    }
    since.get_or_insert_with(Instant::now).elapsed() >= limit
}
