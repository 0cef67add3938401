//! Removes one object, by its UID: what has its name later is not touched.

use std::{fmt, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::notes::Made;
use crate::{
    access::Access,
    api::{ApiError, Call, Verb},
    labels::RUN_LABEL,
};

/// Pause before it is asked again whether an object is gone; longer with each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// What the API says of an object of the same name that is another one, before and after it has read its stored form.
const OTHER_UID: [&str; 2] = ["UID in precondition", "UID in the precondition"];

/// An object that could not be removed, and how to do that by hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is still there: {why}; to remove it: kubectl {command}")]
pub struct StillThere {
    pub what: String,
    pub why: String,
    pub command: String,
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
            let why = format!("{why}, after {} s", limit.as_secs());
            return Err(still_there(access, made, why));
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

fn still_there(access: &Access, made: &Made, why: String) -> StillThere {
    let mut command = String::new();
    if let Some(context) = &access.origin.context {
        command = format!("--context {context} ");
    }
    if let Some(namespace) = &made.namespace {
        command = format!("{command}--namespace {namespace} ");
    }
    let kind = made.kind.name().to_ascii_lowercase();
    StillThere {
        what: made.to_string(),
        why,
        command: format!("{command}delete {kind} {}", made.name),
    }
}
