//! Cordons of nodes: they are marked with the run, so that they are found and taken away also if nobody knows any more which nodes had
//! one.

use serde_json::{Value, json};

use super::{
    ledger::{Ledger, ObjectError},
    removal::StillThere,
};
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Target, Verb},
    labels::{MANAGER, RUN_LABEL},
};

/// Whether nodes may have a cordon of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Cordons {
    #[default]
    None,
    /// Another process may have made some.
    Possible,
    Expected,
}

/// Why a node is not cordoned.
#[derive(Debug, thiserror::Error)]
pub enum CordonError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(
        "{what}: not allowed, the verb \"{}\" for \"{}\" is missing ({message}); `waggle cluster rbac --drain` prints a ClusterRole \
         that allows it",
        what.verb, what.resource
    )]
    NotAllowed { what: Target, message: String },
    #[error("node {0} is cordoned already, by somebody else")]
    Cordoned(String),
}

impl From<ApiError> for CordonError {
    fn from(why: ApiError) -> Self {
        match why {
            ApiError::Forbidden { what, message } => Self::NotAllowed { what, message },
            why => Self::Object(why.into()),
        }
    }
}

impl Ledger {
    /// Notes that nodes get cordons of this run, so that they are taken away with all that it has made.
    ///
    /// # Errors
    /// It cannot be noted.
    pub fn expect_cordons(&mut self) -> std::io::Result<()> {
        self.cordons = Cordons::Expected;
        self.write()
    }

    /// Cordons a node: nothing is placed on it any more. [`Ledger::delete_all`] uncordons it.
    ///
    /// # Errors
    /// It has a cordon of somebody else, or may not be changed.
    pub async fn cordon(&mut self, node: &str) -> Result<(), CordonError> {
        let call = Call::new(Verb::Get, Kind::Node, None).name(node);
        let object = self.access().call(call).await?.value;
        if object["spec"]["unschedulable"] == true {
            return Err(CordonError::Cordoned(node.to_owned()));
        }
        self.expect_cordons().map_err(ObjectError::Note)?;
        let mut cordoned = bare_node(&object);
        cordoned["metadata"]["labels"] = json!({ RUN_LABEL: self.run() });
        cordoned["spec"] = json!({ "unschedulable": true });
        let applied = apply(self.access(), self.run(), node, cordoned).await;
        match applied {
            Err(ApiError::Conflict { .. }) => Err(CordonError::Cordoned(node.to_owned())),
            applied => Ok(applied?),
        }
    }
}

/// Takes the cordons of a run away; returns those that are still there.
pub(super) async fn uncordon_all(
    access: &Access,
    run: &str,
    cordons: Cordons,
) -> Result<(), Vec<StillThere>> {
    if cordons == Cordons::None {
        return Ok(());
    }
    let selector = format!("{RUN_LABEL}={run}");
    let call = Call::new(Verb::List, Kind::Node, None).option("labelSelector", &*selector);
    let list = match access.call(call).await {
        Ok(answer) => answer.value,
        // Who may not look has made none.
        Err(ApiError::Forbidden { .. }) if cordons == Cordons::Possible => return Ok(()),
        Err(why) => {
            let nodes = format!("--selector {selector}");
            return Err(vec![still_there(access, "nodes", &nodes, &why)]);
        }
    };
    let mut problems = Vec::new();
    for object in list["items"].as_array().into_iter().flatten() {
        let node = object["metadata"]["name"].as_str().unwrap_or_default();
        if let Err(why) = apply(access, run, node, bare_node(object)).await {
            problems.push(still_there(access, &format!("node {node}"), node, &why));
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems),
    }
}

/// What says which node it is: applying only that takes away what was applied before. With its UID none is made that is gone.
fn bare_node(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": metadata["name"], "uid": metadata["uid"] },
    })
}

/// Each run is a manager of its own, so that none takes the cordon of another one.
async fn apply(access: &Access, run: &str, node: &str, object: Value) -> Result<(), ApiError> {
    let call = Call::new(Verb::Patch, Kind::Node, None)
        .name(node)
        .option("fieldManager", format!("{MANAGER}-{run}"))
        .body(object);
    access.call(call).await.map(drop)
}

fn still_there(access: &Access, what: &str, node: &str, why: &ApiError) -> StillThere {
    let context = access.origin.context.as_ref();
    let context = context.map_or_else(String::new, |context| format!("--context {context} "));
    StillThere {
        what: format!("the cordon of {what}"),
        why: why.to_string(),
        purpose: "to remove it",
        command: format!("{context}uncordon {node}"),
    }
}
