//! Removes what a ledger has noted.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    cordons::{Cordons, uncordon_all},
    ledger::{Created, Ledger, text},
    notes::{Made, MadeKind},
    removal::{StillThere, TimeBudget, remove},
};
use crate::{
    api::{ApiError, Call, Kind, Verb},
    labels::{PART_LABEL, RUN_LABEL},
};

impl Ledger {
    /// Removes an object of this run, and waits until it is gone.
    ///
    /// # Errors
    /// It is still there after the limit, or may not be removed. It stays noted.
    pub async fn delete(&mut self, object: &Created, limit: Duration) -> Result<(), StillThere> {
        let known = |made: &Made| {
            made.kind == MadeKind::Known(object.kind)
                && made.name == object.name
                && made.namespace == object.namespace
        };
        let made = Made {
            kind: MadeKind::Known(object.kind),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: Some(object.uid.clone()),
        };
        remove(&self.access, &self.run, &made, limit).await?;
        self.made.retain(|made| !known(made));
        // What is noted and gone is found to be gone later.
        let _ = self.write();
        Ok(())
    }

    /// Removes these objects at the same time, with this limit for all. Returns what is still there, which stays noted.
    pub async fn delete_together(
        &mut self,
        objects: &[Created],
        limit: Duration,
    ) -> Vec<StillThere> {
        let is_chosen = |made: &Made| {
            objects.iter().any(|object| {
                made.kind == MadeKind::Known(object.kind)
                    && made.name == object.name
                    && made.namespace == object.namespace
            })
        };
        // All stay noted until they are gone, also if this future is dropped.
        let chosen: Vec<Made> = self
            .made
            .iter()
            .filter(|made| is_chosen(made))
            .cloned()
            .collect();
        let removals = chosen
            .iter()
            .map(|made| remove(&self.access, &self.run, made, limit));
        let removed = join_all(removals).await;
        let mut problems = Vec::new();
        for (made, removed) in chosen.iter().zip(removed) {
            match removed {
                Ok(()) => self.made.retain(|noted| noted != made),
                Err(why) => problems.push(why),
            }
        }
        // What is noted and gone is found to be gone later.
        let _ = self.write();
        problems
    }

    /// Removes the claims of volumes that pods of the run's manifests have left, with this limit for all of them.
    ///
    /// # Errors
    /// They may not be listed, or the API does not answer.
    pub async fn delete_claims(
        &self,
        namespace: &str,
        part: &str,
        limit: Duration,
    ) -> Result<Vec<StillThere>, ApiError> {
        let selector = format!("{RUN_LABEL}={},{PART_LABEL}={part}", self.run);
        let call = Call::new(Verb::List, Kind::PersistentVolumeClaim, Some(namespace))
            .option("labelSelector", selector);
        let list = self.access.call(call).await?.value;
        let mut problems = Vec::new();
        let budget = TimeBudget::new(limit);
        for claim in list["items"].as_array().into_iter().flatten() {
            let made = Made {
                kind: MadeKind::Known(Kind::PersistentVolumeClaim),
                namespace: Some(namespace.to_owned()),
                name: text(&claim["metadata"]["name"]),
                uid: Some(text(&claim["metadata"]["uid"])),
            };
            if let Err(why) = remove(&self.access, &self.run, &made, budget.share()).await {
                problems.push(why);
            }
        }
        Ok(problems)
    }

    /// Whether nothing is there that was made, as far as is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty() && self.cordons == Cordons::None
    }

    /// Removes all, the last first, with this limit for all of them and some seconds for each, and before that the cordons of nodes.
    /// Returns what is still there, which stays noted.
    pub async fn delete_all(&mut self, limit: Duration) -> Vec<StillThere> {
        let mut problems = Vec::new();
        let budget = TimeBudget::new(limit);
        match uncordon_all(&self.access, &self.run, self.cordons).await {
            Ok(()) => self.cordons = Cordons::None,
            Err(left) => problems.extend(left),
        }
        for place in (0..self.made.len()).rev() {
            match remove(&self.access, &self.run, &self.made[place], budget.share()).await {
                Ok(()) => drop(self.made.remove(place)),
                Err(why) => problems.push(why),
            }
            // What is noted and gone is found to be gone later.
            let _ = self.write();
        }
        // There may have been nothing but cordons.
        let _ = self.write();
        problems
    }
}
