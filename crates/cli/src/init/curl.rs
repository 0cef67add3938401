//! curl command lines, as in documentation and from browsers → calls.

mod headers;
mod options;
mod powershell;

use anyhow::{Context, Result, bail};

use self::options::{FLAGS, IN_HEADERS, REFUSED, WITHOUT_MEANING, options};
use super::{
    call::{Call, ImportedCalls, is_token, name_of},
    cmd,
    names::percent_encoded,
    shell::{self, EXPANSION},
};
use crate::load::target::{Target, basic};

/// A command that is being parsed.
#[derive(Default)]
struct Command {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Names of default headers that are not sent.
    removed: Vec<String>,
    data: Vec<String>,
    is_json: bool,
    is_get: bool,
    is_head: bool,
    is_insecure: bool,
    is_compressed: bool,
    left_out: Vec<String>,
}

/// Parses every curl command in the text; `read` returns the text of a file that a command names.
pub(crate) fn read(text: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<ImportedCalls> {
    let mut imported = ImportedCalls::default();
    let commands = match cmd::is_cmd(text) {
        true => cmd::commands(text)?,
        false => {
            powershell::refuse(text)?;
            shell::commands(text)?
        }
    };
    for words in commands {
        let Some((first, rest)) = words.split_first() else {
            continue;
        };
        // Skips a copied shell prompt.
        let (first, rest) = match (first.as_str(), rest) {
            ("$" | "%" | ">", [next, rest @ ..]) => (next, rest),
            _ => (first, rest),
        };
        let program = first.rsplit(['/', '\\']).next();
        if !matches!(program, Some("curl" | "curl.exe")) {
            // Hides the value of an assignment such as TOKEN=…, which may be secret.
            let shown = first.split('=').next().unwrap_or_default();
            bail!("{shown:?} is not curl; expected: curl [options] URL");
        }
        for part in rest.split(|word| word == "--next" || word == "-:") {
            let command = command(part, read)?;
            imported.is_insecure |= command.is_insecure;
            imported.left_out.extend(command.left_out.iter().cloned());
            imported.calls.extend(calls(command)?);
        }
    }
    if imported.calls.is_empty() {
        bail!("there is no curl command; expected: curl [options] URL");
    }
    imported.is_session = imported.calls.len() > 1;
    Ok(imported)
}

fn command(words: &[String], read: &dyn Fn(&str) -> Result<String>) -> Result<Command> {
    let mut command = Command::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        for (option, attached) in options(word) {
            if !option.starts_with('-') || option == "-" {
                refuse_expansion("URL", &option)?;
                command.urls.push(option.clone());
                continue;
            }
            let mut value = || {
                let value = match &attached {
                    Some(value) => value,
                    None => words
                        .next()
                        .with_context(|| format!("curl's {option} needs a value"))?,
                };
                let is_read = !WITHOUT_MEANING.contains(&&*option);
                let may_have_variables = IN_HEADERS.contains(&&*option);
                if is_read && !(may_have_variables && shell::are_variables(value)) {
                    refuse_expansion(&option, value)?;
                }
                Ok(value.clone())
            };
            command.apply(&option, &mut value, read)?;
        }
    }
    Ok(command)
}

/// Refuses a value that a shell would expand: the result of the expansion is not known here.
///
/// `what` names the option or the URL.
fn refuse_expansion(what: &str, text: &str) -> Result<()> {
    let Some(at) = text.find(EXPANSION) else {
        return Ok(());
    };
    let behind = text[at + 1..].trim_start_matches('{');
    let end = behind.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let expanded = match &behind[..end.unwrap_or(behind.len())] {
        "" => "a command".to_owned(),
        name => format!("${name}"),
    };
    bail!(
        "curl's {what} contains {expanded}, which a shell would expand; expected its value, or single quotes around a literal $"
    )
}

impl Command {
    fn apply(
        &mut self,
        option: &str,
        value: &mut dyn FnMut() -> Result<String>,
        read: &dyn Fn(&str) -> Result<String>,
    ) -> Result<()> {
        match option {
            "--url" => self.urls.push(value()?),
            "-X" | "--request" => self.method = Some(value()?),
            "-H" | "--header" => self.headers_of(&value()?, read)?,
            "-d" | "--data" | "--data-ascii" => self.data.push(ascii(&value()?, read)?),
            "--data-raw" => self.data.push(value()?),
            "--data-binary" => self.data.push(file_or_text(&value()?, read)?),
            "--data-urlencode" => self.data.push(urlencode(&value()?, read)?),
            "--json" => {
                self.is_json = true;
                self.data.push(file_or_text(&value()?, read)?);
            }
            "-u" | "--user" => {
                let value = basic(&value()?);
                self.headers.push(("Authorization".to_owned(), value));
            }
            "--oauth2-bearer" => {
                let value = format!("Bearer {}", value()?);
                self.headers.push(("Authorization".to_owned(), value));
            }
            "-A" | "--user-agent" => self.headers.push(("User-Agent".to_owned(), value()?)),
            "-e" | "--referer" => self.headers.push(("Referer".to_owned(), value()?)),
            "-b" | "--cookie" => {
                let value = value()?;
                if value.contains(['=', EXPANSION]) {
                    self.headers.push(("Cookie".to_owned(), value));
                } else {
                    let what = "curl's -b: a cookie file is not read".to_owned();
                    self.left_out.push(what);
                }
            }
            "--compressed" => self.is_compressed = true,
            "-I" | "--head" => self.is_head = true,
            "-G" | "--get" => self.is_get = true,
            "-k" | "--insecure" => self.is_insecure = true,
            "-L" | "--location" | "--location-trusted" => self
                .left_out
                .push("curl's -L: redirects are not followed".to_owned()),
            "--http2" | "--http2-prior-knowledge" | "--http3" | "-0" | "--http1.0" => {
                self.left_out.push(format!(
                    "curl's {option}: load.protocol of the study sets the protocol"
                ))
            }
            option if FLAGS.contains(&option) => {}
            option if WITHOUT_MEANING.contains(&option) => {
                value()?;
            }
            option if REFUSED.contains(&option) => {
                bail!("curl's {option} has no equivalent in a study")
            }
            option => bail!(
                "curl's {option} is not supported; remove it, or write it as a header or body"
            ),
        }
        Ok(())
    }
}

/// Removes line ends from a file, as curl's `-d` does.
fn ascii(value: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    match value.strip_prefix('@') {
        Some(file) => Ok(read(file)?.replace(['\r', '\n'], "")),
        None => Ok(value.to_owned()),
    }
}

fn file_or_text(value: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    match value.strip_prefix('@') {
        Some(file) => read(file),
        None => Ok(value.to_owned()),
    }
}

/// `content`, `=content`, `name=content`, `@file`, `name@file`.
fn urlencode(value: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let (name, content) = match value.find(['=', '@']) {
        Some(at) if value.as_bytes()[at] == b'=' => (&value[..at], value[at + 1..].to_owned()),
        Some(at) => (&value[..at], read(&value[at + 1..])?),
        None => ("", value.to_owned()),
    };
    let encoded = percent_encoded(&content);
    Ok(if name.is_empty() {
        encoded
    } else {
        format!("{name}={encoded}")
    })
}

fn calls(command: Command) -> Result<Vec<Call>> {
    if command.urls.is_empty() {
        bail!("a curl command has no URL");
    }
    let Command {
        urls,
        method,
        headers: given,
        removed,
        data,
        is_json,
        is_get,
        is_head,
        is_compressed,
        ..
    } = command;
    let separator = if is_json { "" } else { "&" };
    let data = (!data.is_empty()).then(|| data.join(separator));
    let (body, query) = match is_get {
        true => (None, data),
        false => (data, None),
    };
    let mut headers = given.clone();
    // Adds a default header, unless it is given or removed.
    let add = |headers: &mut Vec<(String, String)>, name: &str, value: &str| {
        let mut set = given.iter().map(|(name, _)| name).chain(&removed);
        if !set.any(|set| set.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    if body.is_some() {
        let kind = match is_json {
            true => "application/json",
            false => "application/x-www-form-urlencoded",
        };
        add(&mut headers, "Content-Type", kind);
    }
    if is_json {
        add(&mut headers, "Accept", "application/json");
    }
    if is_compressed {
        add(&mut headers, "Accept-Encoding", "gzip, deflate");
    }
    let method = method.unwrap_or_else(|| {
        match (is_head, body.is_some()) {
            (true, _) => "HEAD",
            (_, true) => "POST",
            _ => "GET",
        }
        .to_owned()
    });
    urls.iter()
        .map(|url| {
            let target = Target::parse(&match &query {
                Some(query) => with_query(url, query),
                None => url.clone(),
            })?;
            let mut headers = headers.clone();
            if let Some(user) = &target.user {
                add(&mut headers, "Authorization", &basic(user));
            }
            Ok(Call {
                name: name_of(&method, &target.path),
                method: method.clone(),
                origin: target.origin(),
                path: target.path,
                headers,
                body: body.clone(),
                ..Call::default()
            })
        })
        .collect()
}

/// Appends data to the query, as curl's `-G` does.
fn with_query(url: &str, query: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}{}", query.replace('#', "%23"))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::{Call, read};

    fn parse_one(text: &str) -> Call {
        let file = |name: &str| match name {
            "body.json" => Ok("{\n \"a\": 1\n}\n".to_owned()),
            name => bail!("no file {name}"),
        };
        let mut imported = read(text, &file).unwrap_or_else(|why| panic!("{text}: {why:#}"));
        assert_eq!(imported.calls.len(), 1, "{text}");
        imported.calls.remove(0)
    }

    const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

    fn check(text: &str, line: (&str, &str), headers: &[(&str, &str)], body: Option<&str>) {
        let call = parse_one(text);
        let sent: Vec<(&str, &str)> = call
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!((&*call.method, &*call.path), line, "{text}");
        assert_eq!(
            (sent.as_slice(), call.body.as_deref()),
            (headers, body),
            "{text}"
        );
    }

    #[test]
    fn commands_say_what_is_sent() {
        check("curl http://h/a?b=c", ("GET", "/a?b=c"), &[], None);
        check(
            "curl -sSL h 2>/dev/null > out | jq .",
            ("GET", "/"),
            &[],
            None,
        );
        check(
            "curl -s --compressed h",
            ("GET", "/"),
            &[("Accept-Encoding", "gzip, deflate")],
            None,
        );
        check("curl -I http://h/", ("HEAD", "/"), &[], None);
        check(
            "curl.exe ^\"http://h/a?x=1^&y=2^\" ^\n -d ^\"^{^}^\"",
            ("POST", "/a?x=1&y=2"),
            &[FORM],
            Some("{}"),
        );
        check(
            "curl -d a=1 -d b=2 http://h/",
            ("POST", "/"),
            &[FORM],
            Some("a=1&b=2"),
        );
        check(
            "curl -G -d a=1 http://h/x?y",
            ("GET", "/x?y&a=1"),
            &[],
            None,
        );
        check(
            "curl -da=1 -XPUT http://h/",
            ("PUT", "/"),
            &[FORM],
            Some("a=1"),
        );
        check(
            "curl --data-urlencode 'q=a b&c' http://h/",
            ("POST", "/"),
            &[FORM],
            Some("q=a%20b%26c"),
        );
        check(
            "curl -d @body.json h",
            ("POST", "/"),
            &[FORM],
            Some("{ \"a\": 1}"),
        );
        check(
            "curl --json @body.json h",
            ("POST", "/"),
            &[
                ("Content-Type", "application/json"),
                ("Accept", "application/json"),
            ],
            Some("{\n \"a\": 1\n}\n"),
        );
    }

    #[test]
    fn headers_and_names_are_taken_along() {
        check(
            "$ curl 'http://h/x' -H 'Accept: a/b' -H 'Empty;' -u n:p \\\n  --max-time 3 -o out",
            ("GET", "/x"),
            &[
                ("Accept", "a/b"),
                ("Empty", ""),
                ("Authorization", "Basic bjpw"),
            ],
            None,
        );
        check(
            "curl -X purge http://h/ --json 1 -H 'content-type:' -H Accept:",
            ("purge", "/"),
            &[],
            Some("1"),
        );
        check(
            "curl --request=DELETE http://h/1",
            ("DELETE", "/1"),
            &[],
            None,
        );
        check(
            "curl http://n:p@h/",
            ("GET", "/"),
            &[("Authorization", "Basic bjpw")],
            None,
        );
    }

    #[test]
    fn several_commands_are_one_session() {
        let nothing = |_: &str| bail!("no files here");
        let imported = read(
            "curl -k https://h/a --next https://h/b\ncurl https://h/c",
            &nothing,
        )
        .unwrap();
        let paths: Vec<&str> = imported
            .calls
            .iter()
            .map(|call| call.path.as_str())
            .collect();
        assert_eq!(paths, ["/a", "/b", "/c"]);
        assert!(imported.is_session && imported.is_insecure);
    }

    #[test]
    fn unsupported_commands_are_explained() {
        let nothing = |name: &str| bail!("no file {name}");
        for (text, why) in [
            ("", "no curl command"),
            ("wget http://h", "is not curl"),
            ("curl", "no URL"),
            ("curl -F a=@b http://h", "-F has no equivalent"),
            (
                "curl --frobnicate http://h",
                "--frobnicate is not supported",
            ),
            ("curl http://h -X", "-X needs a value"),
            ("curl -d @none http://h", "no file none"),
            ("curl ftp://h", "the scheme"),
            ("curl 'http://h", "not closed"),
            ("curl \"http://h/$ID\"", "URL contains $ID"),
            ("curl h -d \"${A:-b}\"", "-d contains $A"),
            ("curl h -H \"a: $(cat b)\"", "-H contains a command"),
            ("curl -d @- h << EOF\na\nEOF", "here-document"),
            ("A=b curl h", "\"A\" is not curl"),
            (
                "Invoke-WebRequest -Uri \"http://h\" `\n -Method POST",
                "copy it as cURL (bash)",
            ),
            ("curl.exe http://h `\n -X POST", "copy it as cURL (bash)"),
        ] {
            let error = format!("{:#}", read(text, &nothing).unwrap_err());
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
