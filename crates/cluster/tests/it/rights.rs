//! The printed Role is enough for every call of the crate, and each verb in it is needed and named if it is missing.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use waggle_cluster::{
    Access, ApiError, Claim, ClaimError, ClusterRight, Holder, Kind, Ledger, Namespace,
    ObjectError, Reason, Spread, Streams, WaitLimits, WantedNodes, rbac,
};

use crate::{manifests, server::Lab};

const LIMIT: Duration = Duration::from_secs(60);

/// Applies the manifests, as `kubectl apply` does.
pub(crate) async fn apply(lab: &Lab, text: &str) {
    for document in text.split("---\n") {
        let manifest: Value = serde_saphyr::from_str(document).unwrap();
        let path = match manifest["kind"].as_str().unwrap() {
            "ServiceAccount" => "serviceaccounts",
            "Role" => "rbac.authorization.k8s.io/v1/roles",
            "RoleBinding" => "rbac.authorization.k8s.io/v1/rolebindings",
            "ClusterRole" => "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "ClusterRoleBinding" => "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            kind => panic!("{kind}"),
        };
        lab.request(Method::POST, path, &manifest).await;
    }
}

/// A token of the service account.
pub(crate) async fn account(lab: &Lab) -> Access {
    let asked = json!({ "spec": { "expirationSeconds": 3600 } });
    let answer = lab
        .request(Method::POST, "serviceaccounts/waggle/token", &asked)
        .await;
    let token = answer["status"]["token"].as_str().unwrap().to_owned();
    lab.access_with("waggle", &token).await
}

/// Everything that a run does. Returns the first missing right: verb and resource.
async fn whole_run(lab: &Lab, access: &Access) -> Result<(), Vec<String>> {
    let mut missing = Vec::new();
    let mut ledger = Ledger::new(access.clone(), None, &lab.run);
    let outcome = steps(lab, access, &mut ledger).await;
    missing.extend(outcome.err());
    for problem in ledger.delete_all(LIMIT).await {
        missing.push(problem.why);
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(missing)
    }
}

async fn steps(lab: &Lab, access: &Access, ledger: &mut Ledger) -> Result<(), String> {
    let text = |why: ApiError| why.to_string();
    let object = |why: ObjectError| why.to_string();
    let namespace = lab.namespace.as_str();
    let holder = Holder {
        host: "laptop".into(),
        lease: Duration::from_secs(2),
    };
    let given = Namespace::Given(namespace.to_owned());
    let claim = Claim::acquire(ledger, &given, &holder).await;
    let claim = claim.map_err(|why: ClaimError| why.to_string())?;
    ledger.anchor(namespace, &[]).await.map_err(object)?;
    for kind in [Kind::Secret, Kind::Service] {
        let mut manifest = json!({ "metadata": { "name": format!("x-{}", lab.run) } });
        if kind == Kind::Service {
            manifest["spec"] = json!({ "ports": [{ "port": 7411 }] });
        }
        ledger
            .create(kind, Some(namespace), manifest)
            .await
            .map_err(object)?;
    }
    let name = format!("agents-{}", lab.run);
    let job = manifests::agents(&name).manifest();
    ledger
        .create(Kind::Job, Some(namespace), job)
        .await
        .map_err(object)?;
    let replicas = manifests::replicas(Spread::Preferred).manifest(&lab.run);
    ledger
        .create(Kind::StatefulSet, Some(namespace), replicas)
        .await
        .map_err(object)?;
    let limits = WaitLimits {
        total: Duration::ZERO,
        ..WaitLimits::default()
    };
    let waited = access.watch_pods(namespace, &name, limits, |_, _| {}).await;
    let not_running = waited.unwrap_err();
    if let Reason::Api(why) = &not_running.stuck[0].reason {
        return Err(why.to_string());
    }
    access.events(namespace).await.map_err(text)?;
    access.placement(namespace, &name).await.map_err(text)?;
    // There are no pods: with the right to it, that is the answer.
    let logs = access.logs(namespace, "none", false).await;
    match logs.unwrap_err() {
        ApiError::NotFound { .. } => {}
        why => return Err(why.to_string()),
    }
    let mut output = Vec::new();
    let streams = Streams {
        stdin: None,
        stdout: &mut output,
    };
    let ended = access
        .exec(namespace, "none", &["true"], streams, LIMIT)
        .await;
    let why = ended.unwrap_err().to_string();
    if !why.contains("not found") {
        return Err(why);
    }
    renewal(lab, &claim).await
}

/// A lease that is not renewable is lost.
async fn renewal(lab: &Lab, claim: &Claim) -> Result<(), String> {
    let renewed = async {
        let path = "coordination.k8s.io/v1/leases/waggle";
        loop {
            let lease = lab.request(Method::GET, path, &Value::Null).await;
            if lease["spec"]["renewTime"] != lease["spec"]["acquireTime"] {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        why = claim.loss() => Err(why),
        () = renewed => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_role_is_enough_and_facts_of_nodes_are_unknown() {
    let lab = Lab::new("role").await;
    apply(&lab, &rbac(&lab.namespace, &[], &[])).await;
    let access = account(&lab).await;
    assert_eq!(whole_run(&lab, &access).await, Ok(()));
    let hint = "not allowed; `waggle cluster rbac --nodes` prints a ClusterRole that allows it";
    let why = access
        .node_facts("n1", &lab.run)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(why, format!("unknown: cannot get nodes n1: {hint}"));
    let why = access
        .capacity(&WantedNodes::default())
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(why, format!("unknown: cannot list nodes: {hint}"));
    // Nothing is allowed in another namespace, and no secret is readable.
    let why = access.events("default").await.unwrap_err().to_string();
    assert!(
        why.starts_with(
            "cannot list events in namespace default: not allowed, the verb \"list\" for \"events\" is missing (events is forbidden"
        ),
        "{why}"
    );
    assert!(
        why.ends_with("; `waggle cluster rbac` prints the rights that waggle needs"),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_role_is_enough_for_facts_of_nodes() {
    let lab = Lab::new("nodes").await;
    apply(&lab, &rbac(&lab.namespace, &[ClusterRight::NodeFacts], &[])).await;
    let access = account(&lab).await;
    let name = lab.namespace.clone();
    let manifest = json!({ "metadata": { "name": name } });
    lab.request(Method::POST, "/api/v1/nodes", &manifest).await;
    assert_eq!(
        access.node_facts(&name, &lab.run).await.unwrap().other_pods,
        0
    );
    let capacity = access.capacity(&WantedNodes::default()).await.unwrap();
    assert_eq!(capacity.requests_unknown, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_without_pods_are_shown_as_far_as_they_are_known() {
    let lab = Lab::new("half").await;
    apply(&lab, &rbac(&lab.namespace, &[ClusterRight::NodeFacts], &[])).await;
    let access = account(&lab).await;
    let role = format!(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/waggle-nodes-{}",
        lab.namespace
    );
    let rules =
        json!({ "rules": [{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["list"] }] });
    lab.request(Method::PATCH, &role, &rules).await;
    let hint = "not allowed; `waggle cluster rbac --nodes` prints a ClusterRole that allows it";
    let mut wanted = WantedNodes {
        apart_from: [("app".to_owned(), "shop".to_owned())].into(),
        apart_from_namespaces: vec![lab.namespace.clone()],
        ..WantedNodes::default()
    };
    // The authorizer learns of the change a moment later.
    let mut known = access.capacity(&wanted).await.unwrap();
    for _ in 0..1200 {
        if known.requests_unknown.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        known = access.capacity(&wanted).await.unwrap();
    }
    let why = known.requests_unknown.unwrap().to_string();
    assert_eq!(why, format!("unknown: cannot list pods: {hint}"));
    assert_eq!(known.apart_unknown, None);
    wanted.apart_from_namespaces = vec!["default".to_owned()];
    let known = access.capacity(&wanted).await.unwrap();
    let why = known.apart_unknown.unwrap().to_string();
    assert!(
        why.starts_with("unknown: cannot list pods in namespace default: not allowed"),
        "{why}"
    );
}

/// Takes one verb after the other out of the Role.
#[tokio::test(flavor = "multi_thread")]
async fn each_verb_is_needed_and_is_named_if_it_is_missing() {
    let lab = Lab::new("verbs").await;
    apply(&lab, &rbac(&lab.namespace, &[], &[])).await;
    let access = account(&lab).await;
    let path = "rbac.authorization.k8s.io/v1/roles/waggle";
    let role = lab.request(Method::GET, path, &Value::Null).await;
    let rules = role["rules"].as_array().unwrap();
    for (place, rule) in rules.iter().enumerate() {
        let resource = rule["resources"][0].as_str().unwrap();
        for (verb_place, verb) in rule["verbs"].as_array().unwrap().iter().enumerate() {
            let verb = verb.as_str().unwrap();
            // Of a given namespace it is not needed to know more than whether it is there, which the lease shows.
            if resource == "namespaces" {
                continue;
            }
            let mut fewer = rules.clone();
            fewer[place]["verbs"]
                .as_array_mut()
                .unwrap()
                .remove(verb_place);
            if fewer[place]["verbs"].as_array().unwrap().is_empty() {
                fewer.remove(place);
            }
            lab.request(Method::PATCH, path, &json!({ "rules": fewer }))
                .await;
            wait_until_allowed(&lab, resource, verb, false).await;
            let missing = whole_run(&lab, &access).await.unwrap_err().join("; ");
            let expected = format!("the verb \"{verb}\" for \"{resource}\" is missing");
            let is_exec_before = (resource, verb) == ("pods/exec", "get");
            assert!(
                missing.contains(&expected) || is_exec_before && missing.contains("pods/exec"),
                "{expected}: {missing}"
            );
            lab.request(Method::PATCH, path, &json!({ "rules": rules }))
                .await;
            wait_until_allowed(&lab, resource, verb, true).await;
            clear(&lab).await;
        }
    }
}

/// The authorizer learns of a change a moment later.
async fn wait_until_allowed(lab: &Lab, resource: &str, verb: &str, expected: bool) {
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    let group = match resource {
        "jobs" => "batch",
        "statefulsets" => "apps",
        "leases" => "coordination.k8s.io",
        _ => "",
    };
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{}:waggle", lab.namespace),
            "resourceAttributes": {
                "namespace": lab.namespace, "verb": verb, "group": group, "resource": resource, "subresource": part,
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    for _ in 0..1200 {
        let answer = lab.request(Method::POST, path, &review).await;
        if answer["status"]["allowed"].as_bool().unwrap_or(false) == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the authorizer does not learn of {verb} {resource}");
}

/// Removes what a run without the right to delete left.
async fn clear(lab: &Lab) {
    let paths = [
        "configmaps",
        "secrets",
        "coordination.k8s.io/v1/leases",
        "batch/v1/jobs",
        "apps/v1/statefulsets",
        "services",
    ];
    for _ in 0..1200 {
        let mut is_empty = true;
        for path in paths {
            for name in lab.names(path).await {
                is_empty = false;
                // It may be gone.
                let path = format!("{path}/{name}");
                let _ = lab.try_request(Method::DELETE, &path, &Value::Null).await;
            }
        }
        if is_empty {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it does not go");
}
