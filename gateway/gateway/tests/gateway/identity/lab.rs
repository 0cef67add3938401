//! A gateway that knows clients by tokens, and requests to it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::support::{Answer, Gateway, command, store};

pub(super) const RECORDS: &str = "/api/v1/topics/plant.7/records";
pub(super) const LATEST: &str = "/api/v1/topics/plant.7/latest?series=m";
pub(super) const QUERY: &str = "/api/v1/query?topic=plant.7&measurement=m";
pub(super) const ALL_RIGHTS: &str = "  write: ['*']\n  read: ['*']\n";

/// A new token, and the digest that belongs into the file.
pub(super) fn token(name: &str) -> (String, String) {
    let made = run(&["token", "new", name]);
    assert!(made.status.success());
    let (token, entry) = (text(&made.stdout), text(&made.stderr));
    assert!(entry.starts_with(&format!("- name: {name}\n")), "{entry}");
    let digest = entry.split_once('[').unwrap().1.split_once(']').unwrap().0;
    assert!(!entry.contains(token.trim()));
    (token.trim().to_owned(), digest.to_owned())
}

pub(super) fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
    command.args(arguments).output().unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A gateway with a client that has these rights and budgets.
pub(super) struct Lab {
    pub(super) gateway: Gateway,
    pub(super) token: String,
    pub(super) digest: String,
    pub(super) clients: PathBuf,
    _folder: tempfile::TempDir,
}

impl Lab {
    pub(super) fn start(rights: &str, flags: &[&str]) -> Self {
        let (folder, file) = store();
        let (token, digest) = token("press");
        let clients = folder.path().join("clients.yaml");
        write_clients(&clients, &digest, rights);
        let mut start = command(&file, flags);
        start.arg("--clients").arg(&clients);
        start.stderr(Stdio::piped());
        Self {
            gateway: Gateway::start_by(&mut start),
            token,
            digest,
            clients,
            _folder: folder,
        }
    }

    pub(super) fn ask(&self, method: &str, target: &str, fields: &str, body: &str) -> Answer {
        self.gateway.ask(&request(method, target, fields, body))
    }

    pub(super) fn ask_with_token(&self, method: &str, target: &str, body: &str) -> Answer {
        self.ask(method, target, &self.bearer(), body)
    }

    /// Ends the gateway; returns what it has said, and the lines of the audit in it.
    pub(super) fn end(&mut self) -> (String, Vec<serde_json::Value>) {
        let text = self.gateway.end();
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let events = events.collect();
        (text, events)
    }

    pub(super) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }
}

pub(super) fn write_clients(file: &Path, digest: &str, rights: &str) {
    let text = format!("clients:\n- name: press\n  tokens: [{digest}]\n{rights}");
    // As an editor does: the gateway never sees a half of it.
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, file).unwrap();
}

pub(super) fn request(method: &str, target: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {target} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
}
