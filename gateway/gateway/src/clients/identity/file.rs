//! The file of `--clients`: YAML, checked as a whole before any of it is in force.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Deserializer};

use super::{
    jwt::{self, Issuer, RawIssuer},
    known_client::{Identity, Usage},
    rights::Patterns,
    table::Table,
    token,
};
use crate::{clients::memory::ClientMax, ingest::TOPIC_MAX_BYTES};

/// Largest file that is read.
const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why a file of clients is not in force.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    #[error("reading the clients {file}: {source}")]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("the clients {file}: {problem}")]
    Syntax { file: PathBuf, problem: String },
    #[error("the clients {file}: {}", problems.join("; "))]
    Content {
        file: PathBuf,
        problems: Vec<String>,
    },
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    issuers: Vec<RawIssuer>,
    clients: Vec<RawClient>,
}

/// The entry of a client, as it is written.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    name: String,
    /// Digests of its tokens: the old and the new one while a client changes over.
    #[serde(default)]
    tokens: Vec<String>,
    /// Names in its certificates.
    #[serde(default)]
    certificates: Vec<String>,
    /// Subjects of the tokens of issuers, by the issuer's name.
    #[serde(default)]
    subjects: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    write: Vec<String>,
    #[serde(default)]
    read: Vec<String>,
    /// Topics that it may create; without it, those that it may write to.
    #[serde(default, deserialize_with = "present_value")]
    create: Option<Vec<String>>,
    #[serde(default)]
    delete: Vec<String>,
    #[serde(default, deserialize_with = "present_value")]
    requests_per_second: Option<u64>,
    #[serde(default, deserialize_with = "present_value")]
    bytes_per_second: Option<u64>,
    #[serde(default, deserialize_with = "present_value")]
    connections: Option<usize>,
}

/// A key that is there has a value: without one it would give more than who leaves it empty may think.
fn present_value<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads the file; clients that were in force keep what they have used. `max` is what each may take of memory.
pub(super) fn read(file: &Path, before: &Table, max: ClientMax) -> Result<Table, ClientsError> {
    let text = waggle_fetch::read_text(file, FILE_MAX_BYTES);
    let text = text.map_err(|source| ClientsError::Read {
        file: file.to_owned(),
        source,
    })?;
    let raw: RawFile = serde_saphyr::from_str(&text).map_err(|error| ClientsError::Syntax {
        file: file.to_owned(),
        problem: first_line(&error.to_string()),
    })?;
    check(raw, before, max).map_err(|problems| ClientsError::Content {
        file: file.to_owned(),
        problems,
    })
}

/// Further lines of an error quote the file. Words for programmers become words for who writes the file.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    let mut said = line.strip_prefix("error: ").unwrap_or(line).to_owned();
    for (words, instead) in [
        (
            "cannot deserialize null into string; use Option<String>",
            "expected a text, found none",
        ),
        (", set DuplicateKeyPolicy in Options if acceptable", ""),
        ("invalid u64", "expected a whole number of at least 0"),
        ("invalid usize", "expected a whole number of at least 0"),
        ("expected sequence start", "expected a list"),
        ("expected mapping start", "expected keys with values"),
        ("expected string scalar", "expected a text"),
    ] {
        said = said.replace(words, instead);
    }
    if said.contains("anchor or alias") {
        said.push_str("; a pattern that begins with * is in quotes, as '*'");
    }
    said
}

fn check(raw: RawFile, before: &Table, max: ClientMax) -> Result<Table, Vec<String>> {
    let (mut table, mut problems) = (Table::default(), Vec::new());
    for (number, raw) in (1..).zip(&raw.issuers) {
        match Issuer::new(raw, &before.issuers) {
            Ok(issuer) => table.issuers.push(issuer),
            Err(problem) => problems.push(format!("issuer {number} ({:?}): {problem}", raw.name)),
        }
    }
    problems.extend(jwt::duplicates(&raw.issuers));
    let issuers: Vec<&str> = raw.issuers.iter().map(|raw| &*raw.name).collect();
    for (number, client) in (1..).zip(raw.clients) {
        let place = format!("client {number} ({:?})", client.name);
        check_client(&client, &place, &mut problems);
        let identity = Arc::new(identity(client, before, max));
        if !table.add(&identity) {
            problems.push(format!("{place}: another client has this name"));
        }
        add_credentials(&identity, &place, &issuers, &mut table, &mut problems);
    }
    if problems.is_empty() {
        Ok(table)
    } else {
        Err(problems)
    }
}

/// The client of an entry, with what it has used before.
fn identity(client: RawClient, before: &Table, max: ClientMax) -> Identity {
    let patterns = |texts: &[String]| Patterns(texts.iter().map(|text| (&**text).into()).collect());
    let known = before.by_name(&client.name);
    Identity {
        name: (&*client.name).into(),
        write: patterns(&client.write),
        read: patterns(&client.read),
        create: patterns(client.create.as_ref().unwrap_or(&client.write)),
        delete: patterns(&client.delete),
        requests_per_second: client.requests_per_second.unwrap_or(u64::MAX),
        bytes_per_second: client.bytes_per_second.unwrap_or(u64::MAX),
        connections: client.connections.unwrap_or(usize::MAX),
        usage: match known {
            Some(identity) => Arc::clone(&identity.usage),
            None => Arc::new(Usage::new(max)),
        },
        entry: client,
    }
}

fn add_credentials(
    identity: &Arc<Identity>,
    place: &str,
    issuers: &[&str],
    table: &mut Table,
    problems: &mut Vec<String>,
) {
    let twice = |what: &str| format!("{place}: {what} is that of another client or given twice");
    for text in &identity.entry.tokens {
        match token::read_digest(text) {
            None => problems.push(format!(
                "{place}: expected tokens to be SHA-256 digests of 64 hexadecimal digits, as `waggle-gateway token new` prints them"
            )),
            Some(digest) if digest == token::digest_of(b"") => {
                problems.push(format!("{place}: expected tokens that are not empty"));
            }
            Some(digest) => {
                if !table.add_token(digest, identity) {
                    problems.push(twice("a token"));
                }
            }
        }
    }
    for name in &identity.entry.certificates {
        if name.is_empty() {
            problems.push(format!(
                "{place}: expected certificates to be names that are in them"
            ));
        } else if !table.add_certificate(name, identity) {
            problems.push(twice(&format!("the certificate {name:?}")));
        }
    }
    for (issuer, subjects) in &identity.entry.subjects {
        if !issuers.contains(&&**issuer) {
            problems.push(format!(
                "{place}: there is no issuer {issuer:?} with this name"
            ));
        }
        for subject in subjects {
            if !table.add_subject(issuer, subject, identity) {
                problems.push(twice(&format!("the subject {subject:?}")));
            }
        }
    }
}

/// Reads the name of a client.
///
/// # Errors
/// If no client can have it.
pub fn read_name(name: &str) -> Result<String, &'static str> {
    let is_visible = |character: char| character.is_ascii_graphic();
    if (1..=100).contains(&name.len()) && name.chars().all(is_visible) {
        Ok(name.to_owned())
    } else {
        Err("expected a name of 1 to 100 visible ASCII characters")
    }
}

fn check_client(client: &RawClient, place: &str, problems: &mut Vec<String>) {
    if let Err(problem) = read_name(&client.name) {
        problems.push(format!("{place}: {problem}"));
    }
    let has_subjects = client
        .subjects
        .values()
        .any(|subjects| !subjects.is_empty());
    if client.tokens.is_empty() && client.certificates.is_empty() && !has_subjects {
        problems.push(format!(
            "{place}: expected at least one of tokens, certificates and subjects"
        ));
    }
    let create = client.create.iter().flatten();
    let others = create.chain(&client.delete);
    for pattern in client.write.iter().chain(&client.read).chain(others) {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-*".contains(&byte);
        let is_pattern =
            (1..=TOPIC_MAX_BYTES).contains(&pattern.len()) && pattern.bytes().all(is_allowed);
        if !is_pattern {
            problems.push(format!(
                "{place}: {pattern:?} is no pattern of topics: expected the characters A-Z a-z 0-9 . _ - and * for any of them"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(text: &str, expected: &[&str]) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let said = match read(file.path(), &Table::default(), ClientMax::UNLIMITED) {
            Ok(table) => format!("{} clients", table.len()),
            Err(error) => error.to_string(),
        };
        for part in expected {
            assert!(said.contains(part), "{said:?} has no {part:?}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let client = |more: &str| format!("clients:\n- name: a\n  tokens: [{digest}]\n{more}");
        check_file("clients: []", &["0 clients"]);
        check_file(
            &client("  write: [plant.*]\n  read: ['*']\n"),
            &["1 clients"],
        );
        check_file(&client("  rights: []\n"), &["rights", "line 4"]);
        check_file(&client("  write: 7\n"), &["line 4", "expected a list"]);
        check_file(
            &client("  read: [*]\n"),
            &["line 4", "is in quotes, as '*'"],
        );
        check_file(&client("  create:\n"), &["line 4"]);
        check_file(&client("  connections: ~\n"), &["line 4"]);
        let budget = client("  requests_per_second: 1.5\n");
        check_file(&budget, &["line 4", "expected a whole number"]);
        check_file(
            &client("  write: ['a/b']\n"),
            &["client 1 (\"a\")", "a/b", "pattern"],
        );
        check_file(
            "clients:\n- name: a\n  tokens: [abc]\n",
            &["client 1", "SHA-256"],
        );
        check_file(
            "clients:\n- name: ''\n  tokens: []\n",
            &["visible", "tokens, certificates and subjects"],
        );
        let twice = client(&format!("- name: a\n  tokens: [{digest}]\n"));
        check_file(
            &client("").replace(digest, empty),
            &["client 1", "not empty"],
        );
        check_file(&twice, &["client 2", "has this name", "another client"]);
        check_file(
            "clients:\n- name: a\n  certificates: [x, '', x]\n",
            &[
                "client 1",
                "names that are in them",
                "\"x\" is that of another",
            ],
        );
        let issuer = |keys: &str| {
            format!(
                "issuers:\n- name: plant\n  issuer: https://login\n  audiences: [a]\n  keys: /no/file\n{keys}"
            )
        };
        let with_subject = client("  subjects: { plan: [x] }\n");
        check_file(
            &format!("{}{with_subject}", issuer("  algorithms: [HS256]\n")),
            &["issuer 1 (\"plant\")", "HS256", "no issuer \"plan\""],
        );
        let other = "- name: other\n  issuer: https://login\n  audiences: [b]\n  algorithms: [ES256]\n  keys: /no/file\n";
        let two = issuer(&format!("  algorithms: [ES256]\n{other}"));
        check_file(
            &format!("{two}clients: []\n"),
            &["two entries have the issuer \"https://login\""],
        );
        check_file(
            &format!("{}{with_subject}", issuer("  algorithms: [none]\n")),
            &["\"none\" is no algorithm"],
        );
        check_file(
            &format!("{}{with_subject}", issuer("  algorithms: [ES256]\n")),
            &["/no/file"],
        );
        check_file("", &["the clients"]);
    }
}
