//! A kubeconfig: the server of one of its contexts, whom to trust there, and who one is. The text has secrets, so no mistake shows a value.

use std::{fmt, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    Address, Authorization, ExternalTls, Kubeconfig, Level, Origin, Pem, Problem, Values,
    check::parse_url,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    tree::{Entry, Node, Value, parse, quote},
};

/// What a context of a kubeconfig says.
#[derive(PartialEq, Eq)]
pub(crate) struct Cluster {
    pub server: Address,
    /// `None`: its URL is http.
    pub tls: Option<ExternalTls>,
    pub authorization: Option<Authorization>,
    /// Values that are shown nowhere.
    pub secrets: Vec<String>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &self.server)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// What is wrong in a kubeconfig, with its line and column.
type Wrong = (Position, String, String);

impl Kubeconfig {
    /// Reads the file. An error is a sentence with the name of the file and the place in it.
    pub(crate) fn read(&self, values: Values<'_>) -> Result<Cluster, Problem> {
        let file = self.path(values).map_err(Problem)?;
        let text = (values.file)(&file).map_err(|why| {
            Problem(format!(
                "{why}; expected the kubeconfig of a cluster, e.g. ~/.kube/config"
            ))
        })?;
        let reading = Reading {
            folder: Path::new(&file).parent().unwrap_or(Path::new("")),
            values,
        };
        let read = reading.cluster(&text.text, self.context.as_deref());
        read.map_err(|(Position { line, column, .. }, what, expected)| {
            Problem(format!(
                "{file}:{line}:{column}: {what}; expected {expected}"
            ))
        })
    }

    /// The path, with the home folder in it.
    fn path(&self, values: Values<'_>) -> Result<String, String> {
        let path = match Origin::parse_single(&self.file) {
            Some(Origin::Variable(name)) => {
                let path = (values.variable)(&name).filter(|path| !path.is_empty());
                path.ok_or_else(|| format!("the environment variable {name} is not set"))?
            }
            _ => self.file.clone(),
        };
        if path.contains(':') {
            let what = "names several files";
            return Err(format!(
                "{what}; expected one: `kubectl config view --flatten` makes one of several"
            ));
        }
        match path.strip_prefix("~/") {
            None => Ok(path),
            Some(rest) => match (values.variable)("HOME") {
                Some(home) => Ok(format!("{home}/{rest}")),
                None => Err(format!("{path}: the environment variable HOME is not set")),
            },
        }
    }
}

/// The file that is read.
struct Reading<'a> {
    /// Files that it names are relative to this.
    folder: &'a Path,
    values: Values<'a>,
}

impl Reading<'_> {
    fn cluster(&self, text: &str, context: Option<&str>) -> Result<Cluster, Wrong> {
        let mut findings = Vec::new();
        let root = parse(text, &mut findings).map_err(wrong)?;
        if let Some(first) = findings.into_iter().next() {
            return Err(wrong(first));
        }
        let (position, context) = match (context, text_at(&root, "current-context")?) {
            (Some(name), _) => (root.position, name.to_owned()),
            (None, Some((position, name))) if !name.is_empty() => (position, name),
            (None, _) => {
                let names = names(&root, "contexts");
                let expected = format!("system.kubeconfig.context: one of {names}");
                return Err((
                    root.position,
                    "there is no current-context".into(),
                    expected,
                ));
            }
        };
        let context = find_named(&root, "context", &context, position)?;
        let (position, cluster) = require(context, "cluster")?;
        let cluster = find_named(&root, "cluster", &cluster, position)?;
        let user = match text_at(context, "user")? {
            Some((position, name)) if !name.is_empty() => {
                Some((find_named(&root, "user", &name, position)?, name))
            }
            _ => None,
        };
        let mut secrets = Vec::new();
        let (mut client, mut authorization) = (None, None);
        if let Some((user, name)) = &user {
            refuse_unsupported(user, name)?;
            client = self.client(user, name)?;
            authorization = self.authorization(user, name, &mut secrets)?;
        }
        let (server, is_tls) = server(cluster)?;
        let tls = self.tls(cluster, client)?;
        Ok(Cluster {
            server,
            tls: is_tls.then_some(tls),
            authorization,
            secrets,
        })
    }

    fn tls(&self, cluster: &Node, client: Option<(Pem, Pem)>) -> Result<ExternalTls, Wrong> {
        if let Some(entry) = entry(cluster, "proxy-url") {
            let what =
                "this cluster is behind a proxy (proxy-url), through which waggle does not send";
            let expected = "a server that is reached directly, e.g. by `kubectl proxy`";
            return Err((entry.position, what.to_owned(), expected.to_owned()));
        }
        let ca = self.pem(cluster, "certificate-authority")?;
        let skips = cluster.entry("insecure-skip-tls-verify");
        let skips = skips.filter(|entry| entry.node.value == Value::Scalar(Level::Boolean(true)));
        if let (Some(entry), Some(_)) = (skips, &ca) {
            let what = "this cluster has an authority, and insecure-skip-tls-verify trusts anybody";
            return Err((entry.position, what.to_owned(), "one of the two".to_owned()));
        }
        Ok(ExternalTls {
            insecure_skip_verify: skips.is_some(),
            ca,
            client,
            server_name: text_at(cluster, "tls-server-name")?.map(|(_, name)| name),
            resumes: true,
        })
    }

    fn client(&self, user: &Node, name: &str) -> Result<Option<(Pem, Pem)>, Wrong> {
        let certificate = self.pem(user, "client-certificate")?;
        let key = self.pem(user, "client-key")?;
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (None, None) => Ok(None),
            (certificate, _) => {
                let (has, lacks) = match certificate {
                    Some(_) => ("certificate", "client-key or client-key-data"),
                    None => ("key", "client-certificate or client-certificate-data"),
                };
                let what = format!("user {} has a client {has} alone", quote(name));
                Err((user.position, what, lacks.to_owned()))
            }
        }
    }

    /// The header of who one is; its secrets are added to `secrets`.
    fn authorization(
        &self,
        user: &Node,
        name: &str,
        secrets: &mut Vec<String>,
    ) -> Result<Option<Authorization>, Wrong> {
        let of_file = match text_at(user, "tokenFile")? {
            None => None,
            Some((position, file)) => {
                let path = self.folder.join(&file).display().to_string();
                let source = (self.values.file)(&path);
                let source = source.map_err(|why| {
                    let expected = format!("the file of the token of user {}", quote(name));
                    (position, format!("tokenFile: {why}"), expected)
                })?;
                Some((position, source.text.trim().to_owned()))
            }
        };
        let token = match of_file {
            Some(token) => Some(token),
            None => text_at(user, "token")?,
        };
        let (scheme, value) = match (token, text_at(user, "username")?) {
            (Some((position, token)), _) => {
                if token.is_empty() || !token.bytes().all(is_of_token) {
                    let what = format!("the token of user {} is none", quote(name));
                    let expected = "letters, digits and -._~+/=".to_owned();
                    return Err((position, what, expected));
                }
                ("Bearer", token)
            }
            (None, Some((_, username))) => {
                let password = text_at(user, "password")?;
                let password = password.map(|(_, password)| password).unwrap_or_default();
                let encoded = BASE64_STANDARD.encode(format!("{username}:{password}"));
                secrets.push(password);
                ("Basic", encoded)
            }
            (None, None) => return Ok(None),
        };
        let authorization = Authorization::new(format!("{scheme} {value}"));
        secrets.push(value);
        Ok(Some(authorization))
    }

    /// `KEY-data`, or the file of `KEY`.
    fn pem(&self, mapping: &Node, key: &str) -> Result<Option<Pem>, Wrong> {
        let data = format!("{key}-data");
        if let Some((position, text)) = text_at(mapping, &data)? {
            let text: String = text.split_whitespace().collect();
            return match BASE64_STANDARD.decode(text) {
                Ok(bytes) => Ok(Some(Pem::Text(bytes))),
                Err(_) => {
                    let expected = "PEM in base64".to_owned();
                    Err((position, format!("{data} is no base64"), expected))
                }
            };
        }
        let file = text_at(mapping, key)?;
        Ok(file.map(|(_, file)| Pem::File(self.folder.join(file).display().to_string())))
    }
}

/// An optional text with its position.
type Text = Option<(Position, String)>;

fn wrong(finding: Finding) -> Wrong {
    let expected = finding
        .expected
        .unwrap_or_else(|| "a kubeconfig".to_owned());
    (finding.position, finding.what, expected)
}

/// Nothing, or an empty text: as if the key were not there.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Scalar(Level::Text(text)) => text.is_empty(),
        _ => false,
    }
}

/// An entry that has a value.
fn entry<'a>(mapping: &'a Node, key: &str) -> Option<&'a Entry> {
    mapping.entry(key).filter(|entry| !is_empty(&entry.node))
}

/// The text of a key; `None`: it is not there, or empty.
fn text_at(mapping: &Node, key: &str) -> Result<Text, Wrong> {
    let Some(Entry { node, .. }) = mapping.entry(key) else {
        return Ok(None);
    };
    match &node.value {
        _ if is_empty(node) => Ok(None),
        Value::Scalar(Level::Text(text)) => Ok(Some((node.position, text.clone()))),
        _ => {
            let what = format!("{key} is no text");
            Err((node.position, what, "text in quotes".to_owned()))
        }
    }
}

fn require(mapping: &Node, key: &str) -> Result<(Position, String), Wrong> {
    let text = text_at(mapping, key)?;
    text.ok_or_else(|| {
        let what = format!("there is no {key} here");
        (mapping.position, what, format!("{key}: a text"))
    })
}

/// The context, cluster or user, as `key` says, with this name, which is written at `position`.
fn find_named<'a>(
    root: &'a Node,
    key: &str,
    name: &str,
    position: Position,
) -> Result<&'a Node, Wrong> {
    let section = format!("{key}s");
    let entry = items(root, &section)
        .iter()
        .find(|item| name_of(item) == Some(name));
    let Some(item) = entry else {
        let known = || items(root, &section).iter().filter_map(name_of);
        let near = nearest_word(name, known());
        let near = near.map(|near| format!("; did you mean {}?", quote(near)));
        let what = format!("there is no {key} {}", quote(name));
        let expected = names(root, &section) + near.as_deref().unwrap_or("");
        return Err((position, what, expected));
    };
    item.child(key).ok_or_else(|| {
        let what = format!("{} has no {key}", quote(name));
        (item.position, what, format!("{key}: a mapping"))
    })
}

fn items<'a>(root: &'a Node, section: &str) -> &'a [Node] {
    match root.child(section).map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

fn name_of(item: &Node) -> Option<&str> {
    match &item.child("name")?.value {
        Value::Scalar(Level::Text(name)) => Some(name),
        _ => None,
    }
}

fn names(root: &Node, section: &str) -> String {
    let names = list(items(root, section).iter().filter_map(name_of));
    match names.is_empty() {
        true => format!("entries in {section}; there are none"),
        false => names,
    }
}

/// Address and whether it speaks TLS.
fn server(cluster: &Node) -> Result<(Address, bool), Wrong> {
    let (position, url) = require(cluster, "server")?;
    match parse_url(&url) {
        Ok(parsed) => Ok((parsed.address(), parsed.is_tls)),
        Err(why) => {
            let expected = "https://HOST:PORT of the API server itself".to_owned();
            // Before an @ may be a password.
            let shown = match url.contains('@') {
                true => "server".to_owned(),
                false => format!("server is {}", quote(&url)),
            };
            Err((position, format!("{shown}: {why}"), expected))
        }
    }
}

/// Reports what a user has that waggle cannot be.
fn refuse_unsupported(user: &Node, name: &str) -> Result<(), Wrong> {
    let token =
        "a token in place of it: `kubectl create token SERVICEACCOUNT > FILE`, and tokenFile: FILE";
    let unsupported = [
        (
            "exec",
            "gets its identity from a program (exec), which waggle does not run",
            token,
        ),
        (
            "auth-provider",
            "gets its identity from a provider (auth-provider), which waggle does not ask",
            token,
        ),
        (
            "as",
            "acts as another user (as), which waggle does not",
            "a user of its own",
        ),
    ];
    for (key, what, expected) in unsupported {
        if let Some(entry) = entry(user, key) {
            let what = format!("user {} {what}", quote(name));
            return Err((entry.position, what, expected.to_owned()));
        }
    }
    Ok(())
}

/// Bytes of a token (RFC 6750); none of them has a meaning in a header or a template.
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

#[cfg(test)]
mod tests;
