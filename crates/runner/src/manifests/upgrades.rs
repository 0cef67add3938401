//! Upgrades a system under load: what other levels of its parameters change is applied, and the rollout is waited for.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tokio::time::Instant;
use waggle_cluster::{Ledger, ObjectError, PodStatus, selector_of};
use waggle_study::{Level, ObjectName};
use waggle_system::components::driver::Failure;

use super::{
    driver::ManifestDriver,
    evidence::write_applied,
    objects::{ManifestsError, SystemObject, to_await, with_kinds},
    pods::has_labels,
};

/// Where `kubectl rollout restart` notes when it was asked for.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
const TEMPLATE: &str = "/spec/template";
/// The kind of update with which Kubernetes replaces no pod by itself.
const ON_DELETE: &str = "OnDelete";

/// What an upgrade applies.
struct Change {
    object: SystemObject,
    is_new: bool,
}

impl ManifestDriver {
    /// Asks whether what upgrades will apply is taken, before there is load.
    pub(super) async fn check_upgrades(
        &self,
        upgrades: &[&BTreeMap<String, Level>],
    ) -> Result<(), ManifestsError> {
        let (namespace, part) = (&self.parts.namespace, self.part());
        for levels in upgrades {
            let changes = self.changes(levels).await?;
            let ledger = self.ledger.lock().await;
            for Change { object, is_new } in &changes {
                let SystemObject { manifest, kind } = object;
                let object = &manifest.object;
                match is_new {
                    true => ledger.check_new(kind, namespace, object, part).await?,
                    false => ledger.check_change(kind, namespace, object, part).await?,
                }
            }
        }
        Ok(())
    }

    /// Returns the components whose pods may have been replaced.
    pub(super) async fn upgrade_component(
        &self,
        component: &str,
        levels: Option<&BTreeMap<String, Level>>,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            let why = format!("{component} is not upgraded: {why}");
            Failure::new(self.redact(&why))
        };
        let changes = match levels {
            Some(levels) => self.changes(levels).await.map_err(|why| failed(&why))?,
            None => self.restart_of(component).into_iter().collect(),
        };
        self.check_workload(component, &changes)
            .map_err(|why| failed(&why))?;
        let pods = self.to_watch().pods().await.map_err(|why| failed(&why))?;
        let leaving = replaced_pods(&changes, &pods);
        let components = self.components_of(&leaving);
        self.replaceable_pods(&components).await?;
        self.to_watch().follow_logs(&leaving).await;
        let leaving: Vec<String> = leaving.into_iter().map(|pod| pod.uid).collect();
        self.up.known.state().replaced.extend(leaving);
        let applied = self.apply_changes(changes).await;
        applied.map_err(|why| failed(&why))?;
        let Some(manifests) = self.manifests() else {
            return Ok(components);
        };
        let awaited = to_await(self.up.objects.borrow().iter(), manifests);
        let waiting = (self.parts.access).watch_workloads(self.scope(), &awaited, deadline);
        waiting.await.map_err(|why| failed(&why))?;
        let pods = self.to_watch().pods().await.map_err(|why| failed(&why))?;
        self.end_replacement(&pods);
        self.note_pods(&pods);
        self.note_wanted(&pods);
        Ok(components)
    }

    /// What these levels change, in the order in which it is applied. Objects that they leave out stay.
    async fn changes(
        &self,
        levels: &BTreeMap<String, Level>,
    ) -> Result<Vec<Change>, ManifestsError> {
        let manifests = self.reading().manifests(levels).await?;
        let objects = with_kinds(&self.parts.access, manifests).await?;
        let before = self.up.objects.borrow();
        let changes = objects.into_iter();
        Ok(changes
            .filter_map(|object| change(&before, object))
            .collect())
    }

    /// The workload of a component with a template that is another one, as by `kubectl rollout restart`.
    fn restart_of(&self, component: &str) -> Option<Change> {
        let name = &self.component(component)?.workload.as_ref()?.object;
        let objects = self.up.objects.borrow();
        let mut object = objects.iter().find(|object| object.is_named(name))?.clone();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis().to_string();
        let template = object.manifest.object.pointer_mut(TEMPLATE)?;
        template["metadata"]["annotations"][RESTARTED_AT] = json!(now);
        Some(Change {
            object,
            is_new: false,
        })
    }

    /// An upgrade of a component that replaces none of its pods would measure nothing.
    fn check_workload(&self, component: &str, changes: &[Change]) -> Result<(), String> {
        let workload = self.component(component);
        let Some(workload) = workload.and_then(|known| known.workload.as_ref()) else {
            return Err("it is no workload".to_owned());
        };
        let name = &workload.object;
        let mut changes = changes.iter();
        let Some(change) = changes.find(|change| change.object.is_named(name)) else {
            return Err(format!("the new values change nothing in {name}"));
        };
        let object = &change.object.manifest.object;
        let strategy = ["/spec/updateStrategy/type", "/spec/strategy/type"];
        let mut strategy = strategy.into_iter().filter_map(|path| object.pointer(path));
        match strategy.any(|strategy| strategy == ON_DELETE) {
            true => Err(format!(
                "{name} has the update strategy {ON_DELETE}, with which Kubernetes replaces no pod by itself"
            )),
            false => Ok(()),
        }
    }

    async fn apply_changes(&self, changes: Vec<Change>) -> Result<(), ObjectError> {
        let number = self.up.upgrades.get() + 1;
        self.up.upgrades.set(number);
        let objects: Vec<SystemObject> =
            changes.iter().map(|change| change.object.clone()).collect();
        write_applied(&self.up.folder, &objects, Some(number)).map_err(ObjectError::Note)?;
        let mut ledger = self.ledger.lock().await;
        for change in changes {
            self.apply_change(&mut ledger, &change).await?;
            self.note_change(change.object);
        }
        Ok(())
    }

    async fn apply_change(
        &self,
        ledger: &mut Ledger,
        Change { object, is_new }: &Change,
    ) -> Result<Value, ObjectError> {
        let SystemObject { manifest, kind } = object;
        let (namespace, part) = (&self.parts.namespace, self.part());
        match is_new {
            true => ledger.apply(kind, namespace, &manifest.object, part).await,
            false => ledger.change(kind, namespace, &manifest.object, part).await,
        }
    }

    fn note_change(&self, object: SystemObject) {
        let mut objects = self.up.objects.borrow_mut();
        match objects.iter_mut().find(|known| known.is_same(&object)) {
            Some(known) => *known = object,
            None => objects.push(object),
        }
    }

    /// The ends of pods that are still there after the rollout are deaths again.
    fn end_replacement(&self, pods: &[PodStatus]) {
        let mut state = self.up.known.state();
        let stays = |uid: &String| {
            let mut pods = pods.iter();
            pods.any(|pod| pod.uid == *uid && !pod.is_terminating && pod.phase == "Running")
        };
        let replaced = std::mem::take(&mut state.replaced);
        let gone: Vec<String> = replaced.into_iter().filter(|uid| !stays(uid)).collect();
        state.pods.retain(|uid, _| !gone.contains(uid));
        state.ended.extend(gone);
    }
}

impl SystemObject {
    fn is_named(&self, name: &ObjectName) -> bool {
        self.manifest.is_named(&name.kind, &name.name)
    }

    /// Whether it is the same object, with whatever fields.
    fn is_same(&self, other: &Self) -> bool {
        self.kind.group == other.kind.group
            && self.kind.kind == other.kind.kind
            && self.manifest.name == other.manifest.name
    }
}

/// What an object of a new rendering changes; `None`: nothing.
fn change(before: &[SystemObject], mut object: SystemObject) -> Option<Change> {
    let same = before.iter().find(|known| known.is_same(&object));
    if let Some(same) = same {
        keep_restart(&same.manifest.object, &mut object.manifest.object);
    }
    let is_changed = same.is_none_or(|same| same.manifest != object.manifest);
    is_changed.then_some(Change {
        is_new: same.is_none(),
        object,
    })
}

/// An object that was restarted keeps that mark: without it its pods would be replaced again.
fn keep_restart(before: &Value, after: &mut Value) {
    let mark = before.pointer(TEMPLATE);
    let mark = mark.map(|template| &template["metadata"]["annotations"][RESTARTED_AT]);
    if let Some(mark @ Value::String(_)) = mark
        && let Some(template) = after.pointer_mut(TEMPLATE)
    {
        template["metadata"]["annotations"][RESTARTED_AT] = mark.clone();
    }
}

/// The pods of workloads that change.
fn replaced_pods(changes: &[Change], pods: &[PodStatus]) -> Vec<PodStatus> {
    let changed = changes.iter().filter(|change| {
        let object = &change.object.manifest.object;
        !change.is_new && object.pointer(TEMPLATE).is_some()
    });
    let selectors: Vec<_> = changed
        .map(|change| selector_of(&change.object.manifest.object))
        .collect();
    let is_replaced = |pod: &&PodStatus| {
        let mut selectors = selectors.iter();
        selectors.any(|selector| has_labels(pod, selector))
    };
    pods.iter().filter(is_replaced).cloned().collect()
}
