//! Credentials that a program gives: those of EKS, GKE and AKS, and of many companies. It is run here and not by `kube`, so that it ends
//! after a time and what it writes is in no message.

use std::{io, process::Stdio, time::Duration};

use jiff::Timestamp;
use kube::config::{AuthInfo, ExecConfig};
use serde::Deserialize;
use serde_json::json;
use tokio::{process::Command, time::timeout};

use super::AccessError;

/// A program may ask a server of its own.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(60);

/// The program of a user in a kubeconfig.
pub(super) struct Credential {
    pub program: String,
    exec: ExecConfig,
    place: String,
    user: String,
}

/// What it writes.
#[derive(Deserialize)]
struct ExecCredential {
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

impl Credential {
    pub(super) fn new(exec: ExecConfig, place: String, user: String) -> Result<Self, AccessError> {
        let Some(program) = exec.command.clone().filter(|command| !command.is_empty()) else {
            let why = format!("user \"{user}\" has exec without a command");
            return Err(AccessError::File { place, why });
        };
        Ok(Self {
            program,
            exec,
            place,
            user,
        })
    }

    /// Runs the program, and puts its credentials in place of what it gave before. Returns until when they hold.
    pub(super) async fn renew(
        &self,
        user: &mut AuthInfo,
    ) -> Result<Option<Timestamp>, AccessError> {
        let output = timeout(PROGRAM_TIMEOUT, self.command()?.output()).await;
        let output = match output {
            Err(_) => {
                let seconds = PROGRAM_TIMEOUT.as_secs();
                return Err(self.failure(format!("did not end within {seconds} s")));
            }
            Ok(Err(why)) => return Err(self.failure(self.not_started(&why))),
            Ok(Ok(output)) => output,
        };
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            let said =
                last.map_or_else(String::new, |line| format!(", and wrote: {}", line.trim()));
            return Err(self.failure(format!("ended with {}{said}", output.status)));
        }
        let given: Result<ExecCredential, _> = serde_json::from_slice(&output.stdout);
        let status = given.ok().and_then(|given| given.status);
        let Some(status) = status else {
            return Err(self.failure("did not write an ExecCredential with a status".to_owned()));
        };
        self.take(status, user)
    }

    fn take(&self, status: Status, user: &mut AuthInfo) -> Result<Option<Timestamp>, AccessError> {
        let has_certificate =
            status.client_certificate_data.is_some() && status.client_key_data.is_some();
        if status.token.is_none() && !has_certificate {
            return Err(
                self.failure("gave neither a token nor a certificate with its key".to_owned())
            );
        }
        user.token = status.token.map(Into::into);
        if has_certificate {
            user.client_certificate_data = status.client_certificate_data.map(|pem| encode(&pem));
            user.client_key_data = status.client_key_data.map(|pem| encode(&pem).into());
        }
        match status.expiration_timestamp.map(|text| text.parse()) {
            None => Ok(None),
            Some(Ok(until)) => Ok(Some(until)),
            Some(Err(_)) => {
                Err(self.failure("gave an expirationTimestamp that is no time".to_owned()))
            }
        }
    }

    fn command(&self) -> Result<Command, AccessError> {
        let exec = &self.exec;
        let mut spec = json!({ "interactive": false });
        if exec.provide_cluster_info {
            let cluster = serde_json::to_value(&exec.cluster);
            spec["cluster"] = cluster
                .map_err(|why| self.failure(format!("cannot be told of the cluster: {why}")))?;
        }
        let info = json!({
            "apiVersion": exec.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1"),
            "kind": "ExecCredential",
            "spec": spec,
        });
        let mut command = Command::new(&self.program);
        command
            .args(exec.args.iter().flatten())
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for variable in exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        Ok(command)
    }

    fn not_started(&self, why: &io::Error) -> String {
        match &self.exec.install_hint {
            Some(hint) if why.kind() == io::ErrorKind::NotFound => {
                format!("is not there; the kubeconfig says: {}", hint.trim())
            }
            _ => format!("cannot be started: {why}"),
        }
    }

    fn failure(&self, why: String) -> AccessError {
        AccessError::Credentials {
            place: self.place.clone(),
            program: self.program.clone(),
            user: self.user.clone(),
            why,
        }
    }
}

/// Certificates are in base64 in a kubeconfig, and in PEM in what a program writes.
fn encode(pem: &str) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    BASE64_STANDARD.encode(pem)
}
