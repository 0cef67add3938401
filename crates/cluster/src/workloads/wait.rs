//! Waits until objects and their pods are ready, and ends early if that will not come.

use std::{fmt, time::Duration};

use tokio::time::{Instant, sleep};

use super::readiness::{Readiness, is_known, named_condition, readiness};
use crate::{
    access::Access,
    api::{ApiError, Call, ForeignKind, Verb},
    pods::{
        ContainerState, ContainerStatus, Patience, PodStatus, Reason, Stuck, WaitLimits,
        write_alike,
    },
};

/// Pause between two looks, and how many times as long as a look it is at least.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
const LOOKS: u32 = 3;
/// A container that has been restarted so often will not run: a program may end some times until what it needs is there.
const RESTARTS_MAX: u32 = 5;
const CRASH_LOOP: &str = "CrashLoopBackOff";
/// Last lines of a container that has ended, and most pods of which they are read.
const LAST_LINES: usize = 10;
const NAMED_MAX: usize = 5;

/// An object that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    pub kind: ForeignKind,
    pub name: String,
    /// `None`: what its kind needs, if it is one of Kubernetes; else it is not waited for.
    pub condition: Option<String>,
}

/// The objects of a system, by the labels of its pods.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub namespace: &'a str,
    pub run: &'a str,
    pub part: &'a str,
}

/// Why not all objects are ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    /// Each object with what it lacks.
    pub waits: Vec<(String, String)>,
    /// Why pods do not run.
    pub stuck: Vec<Stuck>,
    pub after: Duration,
}

impl std::error::Error for NotReady {}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits: Vec<String> = self
            .waits
            .iter()
            .take(NAMED_MAX)
            .map(|(what, why)| format!("{what}: {why}"))
            .collect();
        let seconds = self.after.as_secs();
        write!(f, "not ready after {seconds} s: {}", waits.join("; "))?;
        if let Some(more @ 1..) = self.waits.len().checked_sub(NAMED_MAX) {
            write!(f, "; and {more} more objects")?;
        }
        write_alike(f, &self.stuck)
    }
}

/// What is known at one time.
#[derive(Default)]
struct Look {
    waits: Vec<(String, String)>,
    has_failed: bool,
    stuck: Vec<Stuck>,
}

impl Access {
    /// Returns when all objects are ready.
    ///
    /// # Errors
    /// One has failed, a pod will not run, or not all are ready by then.
    pub async fn watch_workloads(
        &self,
        scope: Scope<'_>,
        awaited: &[Awaited],
        deadline: Instant,
    ) -> Result<(), NotReady> {
        let begun = Instant::now();
        let limits = WaitLimits::default();
        let mut patience = Patience::default();
        loop {
            let looked_at = Instant::now();
            let look = match self.look_at(scope, awaited).await {
                Ok(look) => look,
                Err(why) => silent(why),
            };
            if look.waits.is_empty() && look.stuck.is_empty() {
                return Ok(());
            }
            let is_over = look.has_failed
                || patience.has_ended(&look.stuck, &limits)
                || Instant::now() >= deadline;
            if is_over {
                return Err(NotReady {
                    stuck: self.with_reasons(scope, look.stuck).await,
                    waits: look.waits,
                    after: begun.elapsed(),
                });
            }
            sleep(POLL_INTERVAL.max(looked_at.elapsed() * LOOKS)).await;
        }
    }

    async fn look_at(&self, scope: Scope<'_>, awaited: &[Awaited]) -> Result<Look, ApiError> {
        let mut look = Look::default();
        let is_awaited = |object: &&Awaited| object.condition.is_some() || is_known(&object.kind);
        for object in awaited.iter().filter(is_awaited) {
            let title = format!("{} {}", object.kind.kind, object.name);
            let call = Call::new(Verb::Get, &object.kind, Some(scope.namespace));
            let value = self.call(call.name(&object.name)).await?.value;
            let state = match &object.condition {
                Some(name) => Some(named_condition(&value, name)),
                None => readiness(&object.kind.kind, &value),
            };
            match state {
                None | Some(Readiness::Ready) => {}
                Some(Readiness::NotYet(why)) => look.waits.push((title, why)),
                Some(Readiness::Failed(why)) => {
                    look.has_failed = true;
                    look.waits.push((title, why));
                }
            }
        }
        if look.waits.is_empty() {
            return Ok(look);
        }
        let mut pods = self
            .system_pods(scope.namespace, scope.run, scope.part)
            .await?;
        pods.retain(|pod| !pod.is_terminating);
        look.stuck = pods.iter().filter_map(stuck_pod).collect();
        if look.stuck.is_empty() {
            look.stuck
                .extend(self.refused_pod(scope, &look.waits, &pods).await?);
        }
        Ok(look)
    }

    /// Why a controller may not make pods of an object that waits for them.
    async fn refused_pod(
        &self,
        scope: Scope<'_>,
        waits: &[(String, String)],
        pods: &[PodStatus],
    ) -> Result<Option<Stuck>, ApiError> {
        let events = self.events(scope.namespace).await?;
        let newest = pods
            .iter()
            .map(|pod| pod.created.as_str())
            .max()
            .unwrap_or_default();
        let last = events
            .iter()
            .rfind(|event| event.reason == "FailedCreate" && is_maker(&event.name, waits))
            // A pod that was made later shows that it was let in after all.
            .filter(|event| event.time.as_str() >= newest);
        Ok(last.map(|event| Stuck {
            pod: None,
            reason: Reason::of_refusal(message_of_refusal(&event.message)),
        }))
    }

    /// Adds what containers wrote at last.
    async fn with_reasons(&self, scope: Scope<'_>, mut all: Vec<Stuck>) -> Vec<Stuck> {
        for stuck in all.iter_mut().take(NAMED_MAX) {
            let Stuck {
                pod: Some(pod),
                reason: Reason::Ended { last_lines, .. },
            } = stuck
            else {
                continue;
            };
            let containers = self.ended_containers(scope, pod).await;
            for (container, previous) in containers {
                let log = self.container_log(scope.namespace, pod, &container, previous);
                if let Ok(text) = log.await
                    && !text.is_empty()
                {
                    let lines: Vec<&str> = text.lines().collect();
                    let from = lines.len().saturating_sub(LAST_LINES);
                    *last_lines = lines[from..]
                        .iter()
                        .map(|line| (*line).to_owned())
                        .collect();
                    break;
                }
            }
        }
        all
    }

    /// The containers of a pod that have ended, and whether another one has taken their place.
    async fn ended_containers(&self, scope: Scope<'_>, pod: &str) -> Vec<(String, bool)> {
        let pods = self
            .system_pods(scope.namespace, scope.run, scope.part)
            .await;
        let pods = pods.unwrap_or_default();
        let pod = pods.iter().find(|known| known.name == pod);
        let containers = pod.into_iter().flat_map(all_containers);
        containers
            .filter_map(|container| match container.state {
                ContainerState::Ended { .. } => Some((container.name.clone(), false)),
                _ if container.last_end.is_some() => Some((container.name.clone(), true)),
                _ => None,
            })
            .collect()
    }
}

/// Whether an object makes pods for one that is waited for: a Deployment's are made by its ReplicaSets, whose names begin with its own.
fn is_maker(name: &str, waits: &[(String, String)]) -> bool {
    let names = waits.iter().filter_map(|(title, _)| title.split_once(' '));
    let mut rests = names.filter_map(|(_, object)| name.strip_prefix(object));
    rests.any(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Without the words of the controller.
fn message_of_refusal(message: &str) -> &str {
    match message.split_once("error: ") {
        Some((_, message)) => message,
        None => message.strip_prefix("Error creating: ").unwrap_or(message),
    }
}

fn all_containers(pod: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    pod.init_containers.iter().chain(&pod.containers)
}

/// A pod that does not run, with its reason. A container that is restarted again and again may run in the end, up to a limit.
fn stuck_pod(pod: &PodStatus) -> Option<Stuck> {
    let reason = match all_containers(pod).find_map(crash) {
        Some(crash) => crash,
        None => Reason::find(pod)?,
    };
    let pod = Some(pod.name.clone());
    Some(Stuck { pod, reason })
}

/// That a container ends again and again.
fn crash(container: &ContainerStatus) -> Option<Reason> {
    let waits = match &container.state {
        ContainerState::Waiting { reason, .. } => reason == CRASH_LOOP,
        ContainerState::Ended { code, .. } => *code != 0,
        ContainerState::Running { .. } => false,
    };
    let (
        true,
        Some(ContainerState::Ended {
            code,
            reason,
            message,
        }),
    ) = (waits, &container.last_end)
    else {
        return None;
    };
    if container.restarts < RESTARTS_MAX {
        return Some(Reason::Starting {
            waits_for: format!(
                "its container {}, which ended with code {code} and is restarted",
                container.name
            ),
        });
    }
    Some(Reason::Ended {
        code: *code,
        reason: reason.clone(),
        last_lines: message.lines().map(str::to_owned).collect(),
    })
}

/// The API has no answer; its own retries are over.
fn silent(why: ApiError) -> Look {
    Look {
        waits: vec![("the cluster".to_owned(), "it does not say".to_owned())],
        has_failed: true,
        stuck: vec![Stuck {
            pod: None,
            reason: Reason::Api(why),
        }],
    }
}
