//! Makes objects and notes them. Their removal is in `deletions`.

use std::io;

use serde_json::{Map, Value, json};

use super::{
    cordons::Cordons,
    notes::{Made, MadeKind, Noted, Notes, Place},
};
use crate::{
    access::Access,
    api::{Answer, ApiError, Call, ForeignKind, Kind, Target, Verb},
    labels::{MANAGED_BY_LABEL, MANAGER, PART_LABEL, RUN_LABEL},
};

/// What a run has made in a cluster, in the order in which it was made.
///
/// Every object has the label of its run. Those that are made after [`Ledger::anchor`] belong to its config map, so that deleting that
/// deletes them all.
#[derive(Debug)]
pub struct Ledger {
    pub(super) access: Access,
    pub(super) run: String,
    notes: Option<Notes>,
    pub(super) made: Vec<Made>,
    anchor: Option<Created>,
    pub(super) cordons: Cordons,
}

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    pub kind: Kind,
    /// `None`: of the whole cluster.
    pub namespace: Option<String>,
    pub name: String,
    pub uid: String,
}

/// Why an object was not made.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(
        "{what} is in namespace {namespace} already, and is not of this run: remove it, or give the system another namespace"
    )]
    ThereAlready { what: String, namespace: String },
    #[error("{0}: it was made by somebody else meanwhile")]
    Exists(Box<Target>),
    #[error("cannot note what is made in the cluster: {0}")]
    Note(#[from] io::Error),
}

impl Ledger {
    /// `run` is the ID of the run, which is part of the names of its objects. Without a place nothing is noted on disk: within a pod,
    /// whose disk is gone with it, the owner of the objects removes them.
    #[must_use]
    pub fn new(access: Access, place: Option<&Place>, run: &str) -> Self {
        Self {
            access,
            run: run.to_owned(),
            notes: place.map(Notes::new),
            made: Vec::new(),
            anchor: None,
            cordons: Cordons::None,
        }
    }

    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Makes the config map that all later objects of the run belong to. `data` says what the run is, to whoever finds it.
    ///
    /// # Errors
    /// It is not made.
    pub async fn anchor(
        &mut self,
        namespace: &str,
        data: &[(&str, &str)],
    ) -> Result<Created, ObjectError> {
        let data: Map<String, Value> = data
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let name = self.anchor_name();
        let object = json!({ "metadata": { "name": name }, "data": data });
        let anchor = self
            .create(Kind::ConfigMap, Some(namespace), object)
            .await?;
        self.anchor = Some(anchor.clone());
        Ok(anchor)
    }

    /// The objects to come belong to this one, which another process made: that of the runner's pod.
    pub fn adopt(&mut self, anchor: Created) {
        self.anchor = Some(anchor);
    }

    /// The anchor of this run and a Job, which another process made, are removed with all that is made here, and so are cordons.
    pub fn take_over(&mut self, namespace: &str, job: &str) {
        self.cordons = Cordons::Possible;
        let anchor = self.anchor_name();
        for (kind, name) in [(Kind::ConfigMap, anchor.as_str()), (Kind::Job, job)] {
            self.made.push(Made {
                kind: MadeKind::Known(kind),
                namespace: Some(namespace.to_owned()),
                name: name.to_owned(),
                uid: None,
            });
        }
    }

    fn anchor_name(&self) -> String {
        format!("waggle-{}", self.run)
    }

    /// Makes an object. Its manifest needs a name and a content: kind, labels of the run and owner are added.
    ///
    /// # Errors
    /// It is not made. If nobody knows whether it is, because an answer was lost, it stays noted, and its removal finds out.
    pub async fn create(
        &mut self,
        kind: Kind,
        namespace: Option<&str>,
        manifest: Value,
    ) -> Result<Created, ObjectError> {
        Ok(self.create_object(kind, namespace, manifest).await?.0)
    }

    /// The same, with the object as the API has it.
    pub(crate) async fn create_object(
        &mut self,
        kind: Kind,
        namespace: Option<&str>,
        mut manifest: Value,
    ) -> Result<(Created, Value), ObjectError> {
        self.complete(kind, &mut manifest);
        let name = text(&manifest["metadata"]["name"]);
        self.note(MadeKind::Known(kind), namespace, &name)?;
        let call = Call::new(Verb::Create, kind, namespace).body(manifest);
        let object = self.access.call(call).await;
        let object = self.note_answer(object)?.value;
        let uid = text(&object["metadata"]["uid"]);
        let created = Created {
            kind,
            namespace: namespace.map(str::to_owned),
            name,
            uid,
        };
        Ok((created, object))
    }

    /// Applies an object that is not there yet, as the manager of its fields, and notes it; labels of the run, and of what of the run it
    /// is, are added to it and to the pods that it makes. Returns it as the API has it.
    ///
    /// # Errors
    /// As [`Ledger::create`]; or it was there.
    pub async fn apply(
        &mut self,
        kind: &ForeignKind,
        namespace: &str,
        manifest: &Value,
        part: &str,
    ) -> Result<Value, ObjectError> {
        let manifest = self.with_labels(manifest, part);
        let name = text(&manifest["metadata"]["name"]);
        self.note(MadeKind::Foreign(kind.clone()), Some(namespace), &name)?;
        let call = application(kind, namespace, &name, manifest);
        let target = call.target();
        let answer = self.access.call(call).await;
        let answer = self.note_answer(answer)?;
        if !answer.is_new && is_set_by_others(&answer.value) {
            self.forget_last()?;
            return Err(ObjectError::Exists(Box::new(target)));
        }
        Ok(answer.value)
    }

    /// Asks whether an object may be made, and is not there yet; it is not made.
    ///
    /// # Errors
    /// It is there, or the API does not take it.
    pub async fn check_new(
        &self,
        kind: &ForeignKind,
        namespace: &str,
        manifest: &Value,
        part: &str,
    ) -> Result<(), ObjectError> {
        let call = Call::new(Verb::Create, kind, Some(namespace))
            .option("dryRun", "All")
            .body(self.with_labels(manifest, part));
        let name = text(&manifest["metadata"]["name"]);
        match self.access.call(call).await {
            Ok(_) => Ok(()),
            Err(ApiError::Conflict { .. }) => Err(ObjectError::ThereAlready {
                what: format!("{} {name}", kind.kind),
                namespace: namespace.to_owned(),
            }),
            Err(why) => Err(why.into()),
        }
    }

    /// Applies an object of this run again with other fields, and those that it lacks now are removed. Returns it as the API has it.
    ///
    /// # Errors
    /// The API does not take it.
    pub async fn change(
        &self,
        kind: &ForeignKind,
        namespace: &str,
        manifest: &Value,
        part: &str,
    ) -> Result<Value, ObjectError> {
        let name = text(&manifest["metadata"]["name"]);
        let call = application(kind, namespace, &name, self.with_labels(manifest, part));
        Ok(self.access.call(call).await?.value)
    }

    /// Asks whether an object of this run may get other fields; it is not changed.
    ///
    /// # Errors
    /// The API does not take it.
    pub async fn check_change(
        &self,
        kind: &ForeignKind,
        namespace: &str,
        manifest: &Value,
        part: &str,
    ) -> Result<(), ObjectError> {
        let name = text(&manifest["metadata"]["name"]);
        let call = application(kind, namespace, &name, self.with_labels(manifest, part));
        self.access.call(call.option("dryRun", "All")).await?;
        Ok(())
    }

    /// A manifest with what every object of a run has.
    fn with_labels(&self, manifest: &Value, part: &str) -> Value {
        let mut manifest = manifest.clone();
        add_labels(&mut manifest, &self.run, part);
        self.add_owner(&mut manifest);
        manifest
    }

    /// Notes an object before it is made.
    fn note(&mut self, kind: MadeKind, namespace: Option<&str>, name: &str) -> io::Result<()> {
        self.made.push(Made {
            kind,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            uid: None,
        });
        self.write()
    }

    /// Notes which object the last one is, or that it was not made.
    fn note_answer(&mut self, answer: Result<Answer, ApiError>) -> Result<Answer, ObjectError> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                if !why.is_uncertain() {
                    self.forget_last()?;
                }
                return Err(why.into());
            }
        };
        if let Some(last) = self.made.last_mut() {
            last.uid = Some(text(&answer.value["metadata"]["uid"]));
        }
        self.write()?;
        Ok(answer)
    }

    fn forget_last(&mut self) -> io::Result<()> {
        self.made.pop();
        self.write()
    }

    /// Keeps what is there, and notes nothing of it any more: somebody else removes it.
    pub fn forget(mut self) {
        self.made.clear();
        self.cordons = Cordons::None;
        // What stays noted is found by `waggle system down`.
        let _ = self.write();
    }

    /// Keeps what is there, for a look at it: its file stays for `waggle system down`.
    pub fn keep(self) {}

    /// Adds what every object of a run has.
    fn complete(&self, kind: Kind, manifest: &mut Value) {
        manifest["apiVersion"] = json!(kind.api_version());
        manifest["kind"] = json!(kind.name());
        let metadata = &mut manifest["metadata"];
        metadata["labels"][RUN_LABEL] = json!(self.run);
        metadata["labels"][MANAGED_BY_LABEL] = json!(MANAGER);
        if manifest["spec"]["template"].is_object() {
            manifest["spec"]["template"]["metadata"]["labels"][RUN_LABEL] = json!(self.run);
        }
        // A lease is taken before this run has an anchor of its own.
        if kind != Kind::Namespace {
            self.add_owner(manifest);
        }
    }

    fn add_owner(&self, manifest: &mut Value) {
        if let Some(anchor) = &self.anchor {
            manifest["metadata"]["ownerReferences"] = json!([{
                "apiVersion": anchor.kind.api_version(),
                "kind": anchor.kind.name(),
                "name": anchor.name,
                "uid": anchor.uid,
            }]);
        }
    }

    pub(super) fn write(&mut self) -> io::Result<()> {
        let Some(notes) = &mut self.notes else {
            return Ok(());
        };
        let origin = &self.access.origin;
        notes.write(&Noted {
            kubeconfig: origin.kubeconfig.clone(),
            context: origin.context.clone(),
            server: origin.server.clone(),
            run: self.run.clone(),
            pid: std::process::id(),
            has_cordons: self.cordons == Cordons::Expected,
            made: self.made.clone(),
        })
    }
}

/// Templates of what an object makes, as JSON pointers: pods and claims of volumes have its labels, too.
const TEMPLATES: [&str; 2] = ["/spec/template", "/spec/jobTemplate/spec/template"];
const CLAIM_TEMPLATES: &str = "/spec/volumeClaimTemplates";

/// What controllers of the cluster itself are called as managers of fields.
const CONTROLLERS: &str = "kube-controller-manager";

fn application<'a>(
    kind: &'a ForeignKind,
    namespace: &'a str,
    name: &'a str,
    manifest: Value,
) -> Call<'a> {
    Call::new(Verb::Patch, kind, Some(namespace))
        .name(name)
        .option("fieldManager", MANAGER)
        .body(manifest)
}

/// Whether somebody else has set fields of an object. If an answer was lost, the second attempt finds what the first one made.
fn is_set_by_others(object: &Value) -> bool {
    let fields = object["metadata"]["managedFields"].as_array();
    fields.into_iter().flatten().any(|entry| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        entry["subresource"].is_null() && manager != MANAGER && manager != CONTROLLERS
    })
}

fn add_labels(manifest: &mut Value, run: &str, part: &str) {
    let add = |object: &mut Value| {
        object["metadata"]["labels"][RUN_LABEL] = json!(run);
        object["metadata"]["labels"][PART_LABEL] = json!(part);
    };
    add(manifest);
    for path in TEMPLATES {
        if let Some(template) = manifest
            .pointer_mut(path)
            .filter(|template| template.is_object())
        {
            add(template);
        }
    }
    let claims = manifest.pointer_mut(CLAIM_TEMPLATES);
    let claims = claims.and_then(Value::as_array_mut);
    claims.into_iter().flatten().for_each(add);
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
