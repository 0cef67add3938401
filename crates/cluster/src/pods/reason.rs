//! Why a pod of a Job does not run, as data and in sentences with what helps.

use std::fmt;

use super::status::{ContainerState, ContainerStatus, PodStatus};
use crate::api::ApiError;

/// Reasons of waiting containers that no time changes.
const HOPELESS: [&str; 3] = [
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
];
const IMAGE_REASONS: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
];
const START_REASONS: [&str; 4] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];
/// What the scheduler says, and what helps.
const ADVICE: [(&str, &str); 8] = [
    (
        "Insufficient cpu",
        "ask for fewer CPUs for each pod, take fewer pods, or add nodes",
    ),
    (
        "Insufficient memory",
        "ask for less memory for each pod, or add nodes",
    ),
    (
        "Insufficient ephemeral-storage",
        "ask for less scratch space, or add nodes with more disk",
    ),
    (
        "anti-affinity",
        "each node has a pod on it that must not share its node with this one: add nodes, take fewer pods, or let them share nodes",
    ),
    (
        "topology spread",
        "pods cannot be spread evenly over these nodes: take fewer pods, add nodes, or let them share nodes",
    ),
    (
        "node affinity/selector",
        "no such node has the labels of the node selector: change it, or label nodes",
    ),
    (
        "untolerated taint",
        "nodes have a taint that keeps pods away: add a toleration for it, or use other nodes",
    ),
    (
        "Too many pods",
        "nodes have as many pods as they may have: add nodes",
    ),
];

/// A pod that does not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// `None`: it is not there at all.
    pub pod: Option<String>,
    pub reason: Reason,
}

/// Why a pod does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The node does not get the image.
    Image {
        image: String,
        /// In the kubelet's words: `ErrImagePull`.
        reason: String,
        message: String,
    },
    /// No node takes it.
    Unschedulable {
        /// The scheduler's words.
        message: String,
    },
    /// A quota of the namespace is used up.
    Quota {
        quota: String,
        asked: String,
        used: String,
        limit: String,
    },
    /// Limits, the security of pods or a webhook keep it out.
    NotAdmitted { message: String },
    /// The container cannot be started.
    NotStarted { reason: String, message: String },
    /// The container has ended.
    Ended {
        code: i32,
        /// Such as `OOMKilled`.
        reason: String,
        last_lines: Vec<String>,
    },
    /// It was moved away.
    Disrupted { message: String },
    /// The Job has failed.
    JobFailed { reason: String, message: String },
    /// The Job's controller has not made it.
    NotCreated,
    /// It is on its way: what it waits for.
    Starting { waits_for: String },
    /// The API does not say.
    Api(ApiError),
}

/// Whether time may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hope {
    None,
    /// It may be created after all.
    Creation,
    /// The image may be there after all.
    Image,
    /// A node may come.
    Node,
    /// It goes on.
    Progress,
}

impl Reason {
    /// Why a pod does not run; `None`: it does.
    pub(crate) fn find(pod: &PodStatus) -> Option<Self> {
        if pod.has_started() {
            return None;
        }
        if let Some(message) = &pod.disruption {
            let message = message.clone();
            return Some(Self::Disrupted { message });
        }
        if let Some(ended) = pod
            .containers
            .iter()
            .find_map(|container| container_end(&container.state))
        {
            return Some(ended);
        }
        if pod.phase == "Failed" {
            let text = |part: &Option<String>| part.clone().unwrap_or_default();
            return Some(Self::NotStarted {
                reason: text(&pod.reason),
                message: text(&pod.message),
            });
        }
        if let Some(message) = &pod.unschedulable {
            let message = message.clone();
            return Some(Self::Unschedulable { message });
        }
        let containers = pod.init_containers.iter().chain(&pod.containers);
        let waiting = containers.into_iter().find_map(waiting_reason);
        Some(match waiting {
            Some((container, reason, message)) if IMAGE_REASONS.contains(&reason.as_str()) => {
                let image = container.image.clone();
                Self::Image {
                    image,
                    reason,
                    message,
                }
            }
            Some((_, reason, message)) if START_REASONS.contains(&reason.as_str()) => {
                Self::NotStarted { reason, message }
            }
            Some((_, reason, _)) if !reason.is_empty() => Self::Starting { waits_for: reason },
            _ if pod.node.is_some() => Self::Starting {
                waits_for: "its node to start it".to_owned(),
            },
            _ => Self::Starting {
                waits_for: "the scheduler".to_owned(),
            },
        })
    }

    /// Why a Job's controller was not allowed to make a pod, in the API server's words.
    pub(crate) fn of_refusal(message: &str) -> Self {
        let quota = parse_quota(message);
        quota.unwrap_or_else(|| Self::NotAdmitted {
            message: message.to_owned(),
        })
    }

    pub(crate) fn hope(&self) -> Hope {
        match self {
            Self::Image { reason, .. } if HOPELESS.contains(&reason.as_str()) => Hope::None,
            Self::Image { .. } => Hope::Image,
            Self::Unschedulable { .. } => Hope::Node,
            Self::Quota { .. } | Self::NotAdmitted { .. } => Hope::Creation,
            Self::NotStarted { .. }
            | Self::Ended { .. }
            | Self::Disrupted { .. }
            | Self::JobFailed { .. }
            | Self::Api(_) => Hope::None,
            Self::NotCreated | Self::Starting { .. } => Hope::Progress,
        }
    }
}

/// A container that waits, with its reason and message.
fn waiting_reason(container: &ContainerStatus) -> Option<(&ContainerStatus, String, String)> {
    match &container.state {
        ContainerState::Waiting { reason, message } => {
            Some((container, reason.clone(), message.clone()))
        }
        _ => None,
    }
}

fn container_end(state: &ContainerState) -> Option<Reason> {
    let ContainerState::Ended {
        code,
        reason,
        message,
    } = state
    else {
        return None;
    };
    if matches!(reason.as_str(), "StartError" | "ContainerCannotRun") {
        return Some(Reason::NotStarted {
            reason: reason.clone(),
            message: message.clone(),
        });
    }
    Some(Reason::Ended {
        code: *code,
        reason: reason.clone(),
        last_lines: message.lines().map(str::to_owned).collect(),
    })
}

/// `exceeded quota: NAME, requested: A, used: B, limited: C`, with further commas in A, B and C.
fn parse_quota(message: &str) -> Option<Reason> {
    let (_, rest) = message.split_once("exceeded quota: ")?;
    let (quota, rest) = rest.split_once(", requested: ")?;
    let (asked, rest) = rest.split_once(", used: ")?;
    let (used, limit) = rest.split_once(", limited: ")?;
    Some(Reason::Quota {
        quota: quota.to_owned(),
        asked: asked.to_owned(),
        used: used.to_owned(),
        limit: limit.to_owned(),
    })
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pod {
            Some(pod) => write!(f, "pod {pod}: {}", self.reason),
            None => self.reason.fmt(f),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image {
                image,
                reason,
                message,
            } => write_image(f, image, reason, message),
            Self::Unschedulable { message } => write_unschedulable(f, message),
            Self::Quota {
                quota,
                asked,
                used,
                limit,
            } => write!(
                f,
                "quota {quota} of the namespace is too small: {asked} is asked for, {used} is used of {limit}; take fewer or \
                 smaller pods, or have the quota raised"
            ),
            Self::NotAdmitted { message } => {
                write!(f, "the cluster does not admit the pod: {message}")
            }
            Self::NotStarted { reason, message } => {
                write!(f, "the container cannot be started ({reason}): {message}")
            }
            Self::Ended {
                code,
                reason,
                last_lines,
            } => write_ended(f, *code, reason, last_lines),
            Self::Disrupted { message } => write!(f, "it was moved away ({message})"),
            Self::JobFailed { reason, message } => {
                write!(f, "the Job has failed ({reason}): {message}")
            }
            Self::NotCreated => f.write_str("the cluster has not made it yet"),
            Self::Starting { waits_for } => write!(f, "it waits for {waits_for}"),
            Self::Api(why) => why.fmt(f),
        }
    }
}

fn write_image(
    f: &mut fmt::Formatter<'_>,
    image: &str,
    reason: &str,
    message: &str,
) -> fmt::Result {
    write!(f, "the node does not get the image {image} ({reason})")?;
    if !message.is_empty() {
        write!(f, ": {message}")?;
    }
    match reason {
        "ErrImageNeverPull" => f.write_str("; load it into every node, or let nodes pull it"),
        "InvalidImageName" => f.write_str("; correct its name"),
        _ => f.write_str("; check its name, and whether nodes may pull it from its registry"),
    }
}

fn write_unschedulable(f: &mut fmt::Formatter<'_>, message: &str) -> fmt::Result {
    // What is behind it is about devices and pods that could make room.
    let end = [" preemption:", " no new claims"]
        .iter()
        .filter_map(|words| message.find(words))
        .min();
    let message = message[..end.unwrap_or(message.len())].trim_end_matches(['.', ',']);
    write!(f, "no node takes it: {message}")?;
    let advice = ADVICE.iter().filter(|(words, _)| message.contains(words));
    for (_, advice) in advice {
        write!(f, "; {advice}")?;
    }
    Ok(())
}

fn write_ended(
    f: &mut fmt::Formatter<'_>,
    code: i32,
    reason: &str,
    last_lines: &[String],
) -> fmt::Result {
    match reason {
        "OOMKilled" => {
            write!(
                f,
                "it used more memory than it may and was killed (OOMKilled, code {code})"
            )?;
        }
        "" | "Error" => write!(f, "it ended with code {code}")?,
        _ => write!(f, "it ended with code {code} ({reason})")?,
    }
    if !last_lines.is_empty() {
        write!(f, "; its last lines: {}", last_lines.join(" | "))?;
    }
    Ok(())
}
