//! For a test: makes objects of a run, says that they are there, and waits until it is killed.
//! Arguments: kubeconfig, folder of notes, namespace, run.
#![expect(clippy::print_stdout, reason = "the test waits for the line")]

use std::{path::Path, time::Duration};

use serde_json::json;
use waggle_cluster::{Access, Claim, Holder, Kind, Ledger, Namespace, Place};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, folder, namespace, run] = &arguments[..] else {
        return Err("expected four arguments".into());
    };
    let access = Access::load(Some(Path::new(kubeconfig)), None).await?;
    let place = Place {
        folder: folder.into(),
        system: "shop".into(),
    };
    let mut ledger = Ledger::new(access, Some(&place), run);
    let holder = Holder {
        host: "laptop".into(),
        lease: Duration::from_secs(60),
    };
    let given = Namespace::Given(namespace.clone());
    let _claim = Claim::acquire(&mut ledger, &given, &holder).await?;
    ledger.anchor(namespace, &[("study", "a.yaml")]).await?;
    let name = format!("waggle-{run}");
    let secret = json!({ "metadata": { "name": name }, "stringData": { "token": "secret-token" } });
    ledger.create(Kind::Secret, Some(namespace), secret).await?;
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "shop" },
        "spec": { "ports": [{ "port": 80 }] },
    });
    let kinds = ledger.access().api_kinds("v1").await?;
    let kind = kinds.into_iter().find(|known| known.kind.kind == "Service");
    let kind = kind.ok_or("no Services")?.kind;
    ledger.apply(&kind, namespace, &service, "shop").await?;
    println!("made");
    std::future::pending().await
}
