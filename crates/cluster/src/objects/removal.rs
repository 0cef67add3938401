//! Removes one object, by its UID: what has its name later is not touched.

use std::{fmt, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::notes::{Made, MadeKind};
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::{Pairs, RUN_LABEL},
    pods::PodStatus,
};

/// Each of several objects may take so long, however long others took.
const LEAST_SHARE: Duration = Duration::from_secs(3);
/// Pause before it is asked again whether an object is gone; longer with each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// What the API says of an object of the same name that is another one, before and after it has read its stored form.
const OTHER_UID: [&str; 2] = ["UID in precondition", "UID in the precondition"];

/// An object that could not be removed, and how to do that by hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is still there: {why}; {purpose}: kubectl {command}")]
pub struct StillThere {
    pub what: String,
    pub why: String,
    /// When the command is of use: `to remove it`.
    pub purpose: &'static str,
    pub command: String,
}

/// The time for several removals, one after the other: an object that does not go leaves little of it for the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeBudget {
    whole: Duration,
    deadline: Instant,
}

impl TimeBudget {
    pub(super) fn new(whole: Duration) -> Self {
        let deadline = Instant::now() + whole;
        Self { whole, deadline }
    }

    /// How long the next removal may take.
    pub(super) fn share(self) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        left.max(LEAST_SHARE.min(self.whole))
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// Deletes an object, and asks until it is gone. Deleting it again is how that is asked: it needs no right to read a secret.
pub(super) async fn remove(
    access: &Access,
    run: &str,
    made: &Made,
    limit: Duration,
) -> Result<(), StillThere> {
    let deadline = Instant::now() + limit;
    let uid = match &made.uid {
        Some(uid) => Some(uid.clone()),
        None => match find(access, run, made).await {
            Ok(Found::Gone) => return Ok(()),
            Ok(Found::Named) => None,
            Ok(Found::Known(uid)) => Some(uid),
            Err(why) => return Err(still_there(access, made, why.to_string())),
        },
    };
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match access.call(deletion(made, uid.as_deref())).await {
            Ok(answer) => terminating(&answer.value),
            Err(ApiError::NotFound { .. }) => return Ok(()),
            Err(ApiError::Conflict { message, .. }) if is_other(&message) => return Ok(()),
            // A namespace that is being deleted.
            Err(ApiError::Conflict { message, .. }) => message,
            Err(why) => return Err(still_there(access, made, why.to_string())),
        };
        if Instant::now() + pause > deadline {
            let seconds = limit.as_secs();
            let leaving = leaving_pods(access, run, made).await;
            return Err(match leaving.is_empty() {
                true => still_there(access, made, format!("{why}, after {seconds} s")),
                false => waits_for_nodes(access, made, &leaving, seconds),
            });
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn is_other(message: &str) -> bool {
    OTHER_UID.iter().any(|words| message.contains(words))
}

enum Found {
    Gone,
    /// Which one it is is not known, but no other has this name.
    Named,
    Known(String),
}

/// Finds which object it is if the API's answer to its creation was lost.
async fn find(access: &Access, run: &str, made: &Made) -> Result<Found, ApiError> {
    // No right to read config maps and secrets is needed for that.
    if made.name.contains(run) {
        return Ok(Found::Named);
    }
    let object = access.find(made.kind.resource(), made.namespace.as_deref(), &made.name);
    let Some(object) = object.await? else {
        return Ok(Found::Gone);
    };
    let metadata = &object["metadata"];
    // Another's, whatever it is.
    if metadata["labels"][RUN_LABEL] != run {
        return Ok(Found::Gone);
    }
    let uid = metadata["uid"].as_str().unwrap_or_default();
    Ok(Found::Known(uid.to_owned()))
}

fn deletion<'a>(made: &'a Made, uid: Option<&str>) -> Call<'a> {
    let policy = match made.kind.may_have_pods() {
        true => "Foreground",
        false => "Background",
    };
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": policy,
    });
    if let Some(uid) = uid {
        options["preconditions"] = json!({ "uid": uid });
    }
    Call::new(
        Verb::Delete,
        made.kind.resource(),
        made.namespace.as_deref(),
    )
    .name(&made.name)
    .body(options)
}

/// What an object that is being deleted waits for.
fn terminating(object: &Value) -> String {
    let finalizers = object["metadata"]["finalizers"].as_array();
    let names: Vec<&str> = finalizers
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match names[..] {
        [] => "it is being deleted".to_owned(),
        ["foregroundDeletion"] => "its pods are being deleted".to_owned(),
        _ => format!("it waits for {}", names.join(", ")),
    }
}

/// The pods that an object which is being deleted waits for; empty: none is known.
async fn leaving_pods(access: &Access, run: &str, made: &Made) -> Vec<PodStatus> {
    let is_namespace = made.kind == MadeKind::Known(Kind::Namespace);
    let namespace = match (is_namespace, &made.namespace) {
        (true, _) => &made.name,
        (false, Some(namespace)) if made.kind.may_have_pods() => namespace,
        _ => return Vec::new(),
    };
    let labels = Pairs::from([(RUN_LABEL.to_owned(), run.to_owned())]);
    let pods = access.labelled_pods(namespace, &labels).await;
    let mut pods = pods.unwrap_or_default();
    let prefix = format!("{}-", made.name);
    pods.retain(|pod| {
        let is_its = is_namespace || pod.name.starts_with(&prefix);
        is_its && pod.is_terminating && pod.node.is_some()
    });
    pods
}

/// The API has deleted these pods, and their nodes have not said that they are gone: a node that is dead never does.
fn waits_for_nodes(access: &Access, made: &Made, pods: &[PodStatus], seconds: u64) -> StillThere {
    let places = pods.iter().map(|pod| {
        let node = pod.node.as_deref().unwrap_or_default();
        format!("node {node} to end pod {}", pod.name)
    });
    let places: Vec<String> = places.collect();
    let names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
    let namespace = match &made.namespace {
        Some(namespace) => namespace,
        None => &made.name,
    };
    StillThere {
        what: made.to_string(),
        why: format!(
            "it is being deleted, and after {seconds} s it waits for {}; it goes once that is done, also if a node that is dead comes back",
            places.join(" and for ")
        ),
        purpose: "if the node does not come back",
        command: format!(
            "{}delete pod {} --grace-period=0 --force",
            place_options(access, Some(namespace)),
            names.join(" ")
        ),
    }
}

fn still_there(access: &Access, made: &Made, why: String) -> StillThere {
    let options = place_options(access, made.namespace.as_deref());
    let kind = made.kind.name().to_ascii_lowercase();
    StillThere {
        what: made.to_string(),
        why,
        purpose: "to remove it",
        command: format!("{options}delete {kind} {}", made.name),
    }
}

/// By which kubectl finds the place.
fn place_options(access: &Access, namespace: Option<&str>) -> String {
    let mut options = String::new();
    if let Some(context) = &access.origin.context {
        options = format!("--context {context} ");
    }
    if let Some(namespace) = namespace {
        options = format!("{options}--namespace {namespace} ");
    }
    options
}
