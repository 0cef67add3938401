//! A namespace is one run's at a time.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use waggle_cluster::{Claim, ClaimError, Holder, Ledger, Namespace};

use crate::server::Lab;

fn holder(lease: Duration) -> Holder {
    Holder {
        host: "laptop".into(),
        lease,
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_is_refused_and_comes_in_after_the_first() {
    let lab = Lab::new("claim").await;
    let namespace = Namespace::Given(lab.namespace.clone());
    let mut first = lab.ledger().await;
    let claim = Claim::acquire(&mut first, &namespace, &holder(MINUTE))
        .await
        .unwrap();
    let mut second = Ledger::new(lab.access().await, Some(&lab.place()), "second");
    let refused = Claim::acquire(&mut second, &namespace, &holder(MINUTE)).await;
    let ClaimError::Held(held) = refused.unwrap_err() else {
        panic!("it is held");
    };
    assert_eq!(
        (held.run.as_str(), held.host.as_str()),
        (lab.run.as_str(), "laptop")
    );
    let sentence = held.to_string();
    let begin = format!(
        "namespace {} is used by run {} on laptop since 20",
        lab.namespace, lab.run
    );
    assert!(sentence.starts_with(&begin), "{sentence}");
    drop(claim);
    assert_eq!(first.delete_all(LIMIT).await, []);
    Claim::acquire(&mut second, &namespace, &holder(MINUTE))
        .await
        .unwrap();
    assert_eq!(second.delete_all(LIMIT).await, []);
    assert_eq!(
        lab.names("coordination.k8s.io/v1/leases").await,
        Vec::<String>::new()
    );
}

/// The lease of a run that does not renew it any more is free after its duration, by the API server's clock.
#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lease_is_taken_over() {
    let lab = Lab::new("expired").await;
    let namespace = Namespace::Given(lab.namespace.clone());
    let mut first = lab.ledger().await;
    let rarely = holder(Duration::from_secs(36_000));
    let _claim = Claim::acquire(&mut first, &namespace, &rarely)
        .await
        .unwrap();
    let path = "coordination.k8s.io/v1/leases/waggle";
    let past = json!({ "spec": { "renewTime": "2020-01-01T00:00:00.000000Z" } });
    lab.request(Method::PATCH, path, &past).await;
    let mut second = Ledger::new(lab.access().await, None, "second");
    let next = Claim::acquire(&mut second, &namespace, &holder(MINUTE))
        .await
        .unwrap();
    // The first one's end does not remove what is the second one's now.
    assert_eq!(first.delete_all(LIMIT).await, []);
    let lease = lab.request(Method::GET, path, &Value::Null).await;
    assert_eq!(lease["metadata"]["uid"], next.lease.uid.as_str());
    assert_eq!(lease["spec"]["holderIdentity"], "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_learns_that_its_lease_is_lost() {
    let lab = Lab::new("lost").await;
    let namespace = Namespace::Given(lab.namespace.clone());
    let mut ledger = lab.ledger().await;
    let often = holder(Duration::from_secs(2));
    let claim = Claim::acquire(&mut ledger, &namespace, &often)
        .await
        .unwrap();
    // What others write into it does not matter.
    let path = "coordination.k8s.io/v1/leases/waggle";
    let note = json!({ "metadata": { "annotations": { "note": "x" } } });
    let noted = lab.request(Method::PATCH, path, &note).await;
    let renewed = async {
        loop {
            let now = lab.request(Method::GET, path, &Value::Null).await;
            if now["spec"]["renewTime"] != noted["spec"]["renewTime"] {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LIMIT, renewed)
        .await
        .expect("it is renewed");
    let mut rival = lab.request(Method::GET, path, &Value::Null).await;
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    ] {
        rival["metadata"][key] = Value::Null;
    }
    rival["spec"]["holderIdentity"] = json!("rival");
    lab.request(Method::DELETE, path, &Value::Null).await;
    lab.request(Method::POST, "coordination.k8s.io/v1/leases", &rival)
        .await;
    let why = tokio::time::timeout(LIMIT, claim.loss())
        .await
        .expect("that is seen");
    // The renewal may have come between the two.
    let begin = format!("the lease in namespace {} was ", lab.namespace);
    let ends = ["deleted", "taken by run rival"].map(|end| format!("{begin}{end}"));
    assert!(ends.contains(&why), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_renewed() {
    let lab = Lab::new("renewed").await;
    let namespace = Namespace::Given(lab.namespace.clone());
    let mut ledger = lab.ledger().await;
    let claim = Claim::acquire(&mut ledger, &namespace, &holder(Duration::from_secs(2)))
        .await
        .unwrap();
    let path = "coordination.k8s.io/v1/leases/waggle";
    let begin = lab.request(Method::GET, path, &Value::Null).await;
    let renewed = async {
        loop {
            let now = lab.request(Method::GET, path, &Value::Null).await;
            if now["spec"]["renewTime"] != begin["spec"]["renewTime"] {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let now = tokio::time::timeout(LIMIT, renewed)
        .await
        .expect("it is renewed");
    assert_eq!(now["spec"]["acquireTime"], begin["spec"]["acquireTime"]);
    // Someone deletes it.
    lab.request(Method::DELETE, path, &Value::Null).await;
    let why = tokio::time::timeout(LIMIT, claim.loss())
        .await
        .expect("that is seen");
    assert_eq!(
        why,
        format!("the lease in namespace {} was deleted", lab.namespace)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_is_made_and_removed_and_never_shared() {
    let lab = Lab::new("made").await;
    let name = format!("{}-own", lab.namespace);
    let mut first = lab.ledger().await;
    let made = Namespace::Made(name.clone());
    let claim = Claim::acquire(&mut first, &made, &holder(MINUTE))
        .await
        .unwrap();
    let mut second = Ledger::new(lab.access().await, None, "second");
    let given = Namespace::Given(name.clone());
    for namespace in [&made, &given] {
        let why = Claim::acquire(&mut second, namespace, &holder(MINUTE))
            .await
            .unwrap_err();
        let begin = format!("namespace {name} was made for run {}", lab.run);
        assert!(why.to_string().starts_with(&begin), "{why}");
    }
    // One of others is not made again.
    let theirs = Namespace::Made(lab.namespace.clone());
    let why = Claim::acquire(&mut second, &theirs, &holder(MINUTE))
        .await
        .unwrap_err();
    assert!(matches!(why, ClaimError::Exists(_)), "{why}");
    drop(claim);
    assert_eq!(first.delete_all(LIMIT).await, []);
    let path = format!("/api/v1/namespaces/{name}");
    assert!(
        lab.try_request(Method::GET, &path, &Value::Null)
            .await
            .is_err()
    );
    let gone = Namespace::Given(name.clone());
    let why = Claim::acquire(&mut second, &gone, &holder(MINUTE))
        .await
        .unwrap_err();
    assert_eq!(why.to_string(), format!("there is no namespace {name}"));
}
