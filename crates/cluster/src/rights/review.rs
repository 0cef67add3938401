//! Asks the API whether rights are there, before they are needed.

use serde_json::json;

use super::role::drain_rights;
use crate::{
    access::Access,
    api::{ApiError, Call, ForeignKind, Kind, Target, Verb},
    objects::CordonError,
};

impl Access {
    /// Whether nodes may be cordoned, and the pods of this namespace be evicted. A cluster that does not say is one that may allow it.
    ///
    /// # Errors
    /// A right is missing.
    pub async fn check_drains(&self, namespace: &str) -> Result<(), CordonError> {
        for (verb, kind, part, is_of_namespace) in drain_rights() {
            let wanted = Wanted {
                verb,
                kind,
                part,
                namespace: is_of_namespace.then_some(namespace),
            };
            if let Some(message) = self.missing_right(&wanted).await {
                let what = wanted.target();
                return Err(CordonError::NotAllowed { what, message });
            }
        }
        Ok(())
    }

    /// Why something is not allowed, in the API's words; `None`: it is, or that is not known.
    async fn missing_right(&self, wanted: &Wanted<'_>) -> Option<String> {
        let review = ForeignKind {
            group: "authorization.k8s.io".to_owned(),
            version: "v1".to_owned(),
            kind: "SelfSubjectAccessReview".to_owned(),
            resource: "selfsubjectaccessreviews".to_owned(),
        };
        let attributes = json!({
            "verb": wanted.verb.name(),
            "group": wanted.kind.group(),
            "resource": wanted.kind.resource(),
            "subresource": wanted.part,
            "namespace": wanted.namespace.unwrap_or_default(),
        });
        let call = Call::new(Verb::Create, &review, None).body(json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": attributes },
        }));
        let answer: Result<_, ApiError> = self.call(call).await;
        let status = answer.ok()?.value["status"].take();
        match status["allowed"].as_bool()? {
            true => None,
            false => {
                let reason = status["reason"]
                    .as_str()
                    .filter(|reason| !reason.is_empty());
                Some(reason.unwrap_or("no rule allows it").to_owned())
            }
        }
    }
}

/// What is to be allowed.
struct Wanted<'a> {
    verb: Verb,
    kind: Kind,
    /// Empty: the whole object.
    part: &'static str,
    /// `None`: of the whole cluster.
    namespace: Option<&'a str>,
}

impl Wanted<'_> {
    fn target(&self) -> Target {
        let call = Call::new(self.verb, self.kind, self.namespace);
        match self.part {
            "" => call.target(),
            part => call.part(part).target(),
        }
    }
}
