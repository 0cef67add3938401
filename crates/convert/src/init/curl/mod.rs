//! curl command lines, as in documentation and from browsers → calls.

mod data;
mod form;
mod glob;
mod headers;
mod options;
mod powershell;
mod request;

use anyhow::{Context, Result, bail};

use self::{
    data::{ascii, file, file_or_text, url_query, urlencode},
    options::{FLAGS, IN_HEADERS, REFUSED, WITHOUT_MEANING, options},
};
use super::{
    call::{ImportedCalls, is_token},
    cmd, form_body,
    names::percent_encoded,
    shell::{self, EXPANSION},
};

/// Maximum number of requests of all commands together.
const CALLS_MAX: usize = 1_000;

/// A command that is being parsed.
#[derive(Default)]
struct Command {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Names of default headers that are not sent.
    removed: Vec<String>,
    /// Headers by other options than `-H`, which come before them.
    by_option: Vec<(&'static str, String)>,
    cookies: Vec<String>,
    data: Option<String>,
    /// `--url-query`.
    query: Vec<String>,
    form: Vec<form_body::Part>,
    upload: Option<Upload>,
    is_literal_url: bool,
    /// Options that do not change the request.
    ignored: Vec<String>,
    is_json: bool,
    is_get: bool,
    is_head: bool,
    is_insecure: bool,
    /// As `load.protocol` has it.
    protocol: Option<&'static str>,
    is_compressed: bool,
    left_out: Vec<String>,
}

/// The file of `-T`.
struct Upload {
    file_name: String,
    content: String,
}

/// Parses every curl command in the text; `read` returns the text of a file that a command names.
pub(crate) fn read(text: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<ImportedCalls> {
    let mut imported = ImportedCalls::default();
    let mut ignored: Vec<String> = Vec::new();
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
            imported.protocol = imported.protocol.or(command.protocol);
            for option in &command.ignored {
                if !ignored.contains(option) {
                    ignored.push(option.clone());
                }
            }
            for line in &command.left_out {
                imported.leave_out(line.clone());
            }
            imported.calls.extend(request::calls(command)?);
            if imported.calls.len() > CALLS_MAX {
                bail!("the commands are more than {CALLS_MAX} requests; expected fewer");
            }
        }
    }
    if !ignored.is_empty() {
        let names = ignored.join(", ");
        imported.leave_out(format!("curl's {names}: without effect on the request"));
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
            let mut value = || option_value(&option, attached.as_ref(), &mut words);
            command.apply(&option, &mut value, read)?;
        }
    }
    Ok(command)
}

/// The value that is attached to an option, or the next word.
fn option_value(
    option: &str,
    attached: Option<&String>,
    words: &mut std::slice::Iter<'_, String>,
) -> Result<String> {
    let value = attached
        .or_else(|| words.next())
        .with_context(|| format!("curl's {option} needs a value"))?;
    let is_read = !WITHOUT_MEANING.contains(&option);
    let may_have_variables = IN_HEADERS.contains(&option);
    if is_read && !(may_have_variables && shell::are_variables(value)) {
        refuse_expansion(option, value)?;
    }
    Ok(value.clone())
}

/// Refuses a value that a shell would expand: the result of the expansion is not known here.
///
/// `what` names the option or the URL.
fn refuse_expansion(what: &str, text: &str) -> Result<()> {
    let Some(position) = text.find(EXPANSION) else {
        return Ok(());
    };
    let behind = text[position + 1..].trim_start_matches('{');
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
            "-d" | "--data" | "--data-ascii" => self.data(&ascii(&value()?, read)?, "&"),
            "--data-raw" => self.data(&value()?, "&"),
            "--data-binary" => self.data(&file_or_text(&value()?, read)?, "&"),
            "--data-urlencode" => self.data(&urlencode(&value()?, read)?, "&"),
            "--json" => {
                self.is_json = true;
                self.data(&file_or_text(&value()?, read)?, "");
            }
            "--url-query" => self.query.push(url_query(&value()?, read)?),
            "-F" | "--form" => self.form.push(form::part(&value()?, read)?),
            "--form-string" => self.form.push(form::literal_part(&value()?)?),
            "-T" | "--upload-file" => self.upload(&value()?, read)?,
            "-g" | "--globoff" => self.is_literal_url = true,
            option if IN_HEADERS.contains(&option) => self.header_by_option(option, value()?)?,
            "--compressed" => self.is_compressed = true,
            "-I" | "--head" => self.is_head = true,
            "-G" | "--get" => self.is_get = true,
            "-k" | "--insecure" => self.is_insecure = true,
            "-L" | "--location" | "--location-trusted" => self
                .left_out
                .push("curl's -L: redirects are not followed".to_owned()),
            // curl takes what the server chooses, too.
            "--http2" => self.protocol = Some("auto"),
            "--http2-prior-knowledge" => self.protocol = Some("http2"),
            "--http3" | "-0" | "--http1.0" => self.left_out.push(format!(
                "curl's {option}: load.protocol of the study sets the protocol"
            )),
            option if FLAGS.contains(&option) => self.ignored.push(option.to_owned()),
            option if WITHOUT_MEANING.contains(&option) => {
                value()?;
                self.ignored.push(option.to_owned());
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

    /// Appends data behind a separator.
    fn data(&mut self, text: &str, separator: &str) {
        match &mut self.data {
            Some(data) => data.extend([separator, text]),
            None => self.data = Some(text.to_owned()),
        }
    }

    fn upload(&mut self, name: &str, read: data::Files<'_>) -> Result<()> {
        if self.upload.is_some() || name.contains(['{', '[']) {
            bail!("curl's -T has several files; expected one");
        }
        let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
        self.upload = Some(Upload {
            file_name: base.to_owned(),
            content: file(name, read)?,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::{super::call::Call, read};

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
            Some("q=a+b%26c"),
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
        assert_eq!(imported.protocol, None);
    }

    #[test]
    fn the_version_of_http_is_that_of_the_load() {
        let nothing = |_: &str| bail!("no files here");
        for (option, protocol) in [
            ("--http2", Some("auto")),
            ("--http2-prior-knowledge", Some("http2")),
            ("--http1.1", None),
            ("--http3", None),
        ] {
            let imported = read(&format!("curl {option} https://h/a"), &nothing).unwrap();
            assert_eq!(imported.protocol, protocol, "{option}");
            let is_left_out = !imported.left_out.is_empty();
            assert_eq!(is_left_out, protocol.is_none(), "{option}");
            let text = crate::init::write::study(&imported, &[]).text;
            let line = protocol.map(|protocol| format!("  protocol: {protocol}\n"));
            assert!(line.is_none_or(|line| text.contains(&line)), "{text}");
        }
    }

    #[test]
    fn unsupported_commands_are_explained() {
        let nothing = |name: &str| bail!("no file {name}");
        for (text, why) in [
            ("", "no curl command"),
            ("wget http://h", "is not curl"),
            ("curl", "no URL"),
            ("curl -F a=@b http://h", "no file b"),
            ("curl -F 'a=b;headers=c' h", ";headers is not supported"),
            ("curl -x p http://h", "-x has no equivalent"),
            ("curl -d a -F b=c h", "both -d and -F"),
            ("curl -d @- h", "standard input"),
            ("curl 'h/?a[b]=c'", "no range"),
            ("curl -u n h", "expected name:password"),
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
