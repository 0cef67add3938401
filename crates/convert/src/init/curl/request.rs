//! A parsed command → the calls that curl would make.

use anyhow::{Result, bail};

use super::{
    super::{
        call::{Call, name_of},
        form_body,
    },
    Command, Upload, glob,
};
use crate::target::{Target, basic};

/// The calls of a command, one for each of its URLs.
pub(super) fn calls(mut command: Command) -> Result<Vec<Call>> {
    check(&command)?;
    let data = command.data.take();
    let (mut body, mut query) = (None, command.query.join("&"));
    let mut kind = match command.is_json {
        true => "application/json".to_owned(),
        false => "application/x-www-form-urlencoded".to_owned(),
    };
    if command.is_get {
        if let Some(data) = data {
            // As in curl: data comes in place of --url-query.
            query = data;
        }
    } else if !command.form.is_empty() {
        let (media_type, text) = form_body::body(&command.form);
        kind = media_type;
        body = Some(text);
    } else {
        body = data;
    }
    let mut shared = Fields::of_command(&command);
    if body.is_some() || command.is_json {
        shared.add("Content-Type", &kind);
    }
    if command.is_json {
        shared.add("Accept", "application/json");
    }
    if command.is_compressed {
        shared.add("Accept-Encoding", "gzip, deflate");
    }
    let default = match (command.is_head, &command.upload, &body) {
        (true, ..) => "HEAD",
        (_, Some(_), _) => "PUT",
        (.., Some(_)) => "POST",
        _ => "GET",
    };
    let method = command.method.clone().unwrap_or_else(|| default.to_owned());
    if let Some(upload) = &command.upload {
        body = Some(upload.content.clone());
    }
    let mut calls = Vec::new();
    for url in &command.urls {
        let urls = match command.is_literal_url {
            true => vec![url.clone()],
            false => glob::urls(url)?,
        };
        for url in urls {
            let target = Target::parse(&with_query(&url, &query))?;
            let mut fields = shared.clone();
            if let Some(user) = &target.user {
                fields.add("Authorization", &basic(user));
            }
            let path = match &command.upload {
                Some(upload) => upload_path(&target.path, upload),
                None => target.path.clone(),
            };
            calls.push(Call {
                name: name_of(&method, &path),
                method: method.clone(),
                origin: target.origin(),
                path,
                headers: fields.sent,
                body: body.clone(),
                ..Call::default()
            });
        }
    }
    Ok(calls)
}

/// Refuses what curl refuses.
fn check(command: &Command) -> Result<()> {
    if command.urls.is_empty() {
        bail!("a curl command has no URL");
    }
    let sources = [
        (command.data.is_some(), "-d"),
        (!command.form.is_empty(), "-F"),
        (command.upload.is_some(), "-T"),
        (command.is_head && !command.is_get, "-I"),
    ];
    let mut given = sources.iter().filter(|(is_given, _)| *is_given);
    if let (Some((_, first)), Some((_, second))) = (given.next(), given.next()) {
        bail!("a curl command has both {first} and {second}, which curl refuses; expected one");
    }
    Ok(())
}

/// The headers of a request.
#[derive(Clone)]
struct Fields {
    sent: Vec<(String, String)>,
    /// Names in lower case of given and removed headers, which no default replaces.
    set: Vec<String>,
}

impl Fields {
    fn of_command(command: &Command) -> Self {
        let given = command.headers.iter().map(|(name, _)| name);
        let names = given.chain(&command.removed);
        let mut fields = Self {
            set: names.map(|name| name.to_ascii_lowercase()).collect(),
            sent: command.headers.clone(),
        };
        let is_empty_kept = |name: &str| name == "Basic" || name == "Authorization";
        // A bearer token comes before a user.
        let mut by_option: Vec<_> = command.by_option.iter().collect();
        by_option.sort_by_key(|(name, _)| *name == "Basic");
        for (name, value) in by_option {
            let field = if *name == "Basic" {
                "Authorization"
            } else {
                name
            };
            if value.is_empty() && !is_empty_kept(name) {
                // As in curl: an empty value removes the header.
                fields.set.push(field.to_ascii_lowercase());
            } else {
                fields.add(field, value);
            }
        }
        if !command.cookies.is_empty() {
            fields.add("Cookie", &command.cookies.join(";"));
        }
        fields
    }

    /// Adds a default header, unless it is given or removed.
    fn add(&mut self, name: &str, value: &str) {
        let lower = name.to_ascii_lowercase();
        if !self.set.contains(&lower) {
            self.set.push(lower);
            self.sent.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// Appends to the query, as curl's `-G` and `--url-query` do.
fn with_query(url: &str, query: &str) -> String {
    if query.is_empty() {
        return url.to_owned();
    }
    let url = url.split('#').next().unwrap_or_default();
    let sign = match url.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    format!("{url}{sign}{}", query.replace('#', "%23"))
}

/// A path that ends in `/` gets the name of the file.
fn upload_path(path: &str, upload: &Upload) -> String {
    let (before, query) = match path.split_once('?') {
        Some((before, query)) => (before, format!("?{query}")),
        None => (path, String::new()),
    };
    match before.ends_with('/') {
        true => format!(
            "{before}{}{query}",
            super::percent_encoded(&upload.file_name)
        ),
        false => path.to_owned(),
    }
}
