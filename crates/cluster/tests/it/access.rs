//! Kubeconfigs: contexts, programs for credentials, and messages without secrets.

use std::{fs, path::Path};

use serde_json::json;
use tempfile::TempDir;
use waggle_cluster::Access;

use crate::server::Lab;

async fn error(file: &Path, context: Option<&str>) -> String {
    let access = Access::load(Some(file), context).await;
    access.expect_err("an error").to_string()
}

/// A kubeconfig whose user has this program.
fn with_program(folder: &TempDir, script: &str) -> std::path::PathBuf {
    let program = folder.path().join("give-token");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": [program, "an argument"],
        "env": [{ "name": "GIVEN", "value": "token-of-the-admin" }],
        "interactiveMode": "Never",
        "installHint": "install it",
    });
    let file = folder.path().join("kubeconfig");
    fs::write(&file, Lab::kubeconfig("cloud", &json!({ "exec": exec }))).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gives_the_token_and_is_named() {
    let lab = Lab::new("exec").await;
    let folder = TempDir::new().unwrap();
    let answer = r#"echo run >> "$(dirname "$0")/runs"
echo "$KUBERNETES_EXEC_INFO" | grep -q '"kind":"ExecCredential"' || exit 3
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s","expirationTimestamp":"UNTIL"}}' "$GIVEN""#;
    let runs = || {
        fs::read_to_string(folder.path().join("runs"))
            .unwrap()
            .lines()
            .count()
    };
    let file = with_program(&folder, &answer.replace("UNTIL", "2090-01-01T00:00:00Z"));
    let access = Access::load(Some(&file), None).await.unwrap();
    assert_eq!(access.origin.credential_program.as_deref(), Some("sh"));
    assert_eq!(access.origin.context.as_deref(), Some("cloud"));
    for _ in 0..3 {
        assert_eq!(access.events(&lab.namespace).await.unwrap(), []);
    }
    assert_eq!(runs(), 1, "the token holds");
    // One that ends within a minute is asked for again.
    let file = with_program(&folder, &answer.replace("UNTIL", "2020-01-01T00:00:00Z"));
    let access = Access::load(Some(&file), None).await.unwrap();
    access.events(&lab.namespace).await.unwrap();
    assert_eq!(runs(), 3, "it is renewed");
    let refused = Access::load_without_program(Some(&file), None).await;
    let expected = format!(
        "{}, context \"cloud\": credentials are given by the program sh, and a plan starts no programs",
        file.display()
    );
    assert_eq!(refused.unwrap_err().to_string(), expected);
    assert_eq!(runs(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_fails_is_named_without_what_it_gave() {
    let _lab = Lab::new("exec").await;
    let folder = TempDir::new().unwrap();
    let file = with_program(
        &folder,
        "echo secret-token; echo 'session expired' >&2; exit 7",
    );
    let place = format!("{}, context \"cloud\"", file.display());
    assert_eq!(
        error(&file, None).await,
        format!(
            "{place}: the program sh, which gives the credentials of user \"cloud\", ended with exit status: 7, and wrote: session \
             expired"
        )
    );
    let file = with_program(&folder, "echo secret-token");
    assert_eq!(
        error(&file, None).await,
        format!(
            "{place}: the program sh, which gives the credentials of user \"cloud\", did not write an ExecCredential with a status"
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_a_kubeconfig_name_the_file_and_no_value() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kubeconfig");
    let name = file.display().to_string();
    let text = error(&file, None).await;
    assert!(
        text.starts_with(&format!(
            "{name}: the kubeconfig {name} cannot be read: No such file"
        )),
        "{text}"
    );
    fs::write(
        &file,
        "users:\n- name: a\n  user: { token: secret-token\n  wrong",
    )
    .unwrap();
    let text = error(&file, None).await;
    assert!(
        text.starts_with(&format!("{name}: it is no kubeconfig: line ")),
        "{text}"
    );
    assert!(!text.contains("secret-token"), "{text}");
    let user = json!({ "token": "secret-token" });
    fs::write(&file, Lab::kubeconfig("one", &user)).unwrap();
    assert_eq!(
        error(&file, Some("two")).await,
        format!("{name}: there is no context \"two\"; it has one")
    );
    let text = format!("{:?}", Access::load(Some(&file), None).await.unwrap());
    assert!(!text.contains("secret-token"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_the_server_does_not_know_are_refused() {
    let lab = Lab::new("unknown").await;
    let access = lab.access_with("stranger", "no-such-token").await;
    let why = access.events(&lab.namespace).await.unwrap_err().to_string();
    assert!(why.contains("does not accept the credentials"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_given_up_on() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kubeconfig");
    let text = json!({
        "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:9" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c" } }],
        "current-context": "c",
    });
    fs::write(&file, text.to_string()).unwrap();
    let access = Access::load(Some(&file), None).await.unwrap();
    let why = access.events("default").await.unwrap_err().to_string();
    assert!(
        why.starts_with("cannot list events in namespace default: no answer after 5 attempts: "),
        "{why}"
    );
    assert!(why.contains("onnection refused"), "{why}");
}
