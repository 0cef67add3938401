//! A command line of curl, as documentation and browsers give it → calls.

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    call::{Call, Found, name_of, split_url},
    shell,
};

/// Options with a value that change nothing in what is sent, or nothing a load needs.
const WITHOUT_MEANING: [&str; 14] = [
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--retry-delay",
    "--max-redirs",
    "-D",
    "--dump-header",
    "-c",
    "--cookie-jar",
];
/// Options without a value that change nothing in what is sent.
const FLAGS: [&str; 24] = [
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-f",
    "--fail",
    "-#",
    "--progress-bar",
    "-N",
    "--no-buffer",
    "--compressed",
    "-g",
    "--globoff",
    "--http1.1",
    "-4",
    "--ipv4",
    "-6",
    "--ipv6",
    "--fail-with-body",
    "--location-trusted",
];
/// Options with a value that cannot be carried over.
const REFUSED: [&str; 8] = [
    "-F",
    "--form",
    "-x",
    "--proxy",
    "--unix-socket",
    "-T",
    "--upload-file",
    "--socks5",
];

/// One command while it is read.
#[derive(Default)]
struct Command {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Vec<String>,
    is_json: bool,
    is_get: bool,
    is_head: bool,
    is_insecure: bool,
    left_out: Vec<String>,
}

/// Reads every curl command in the text; `read` gives the text of a file that one names.
pub(crate) fn read(text: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<Found> {
    let mut found = Found::default();
    for words in shell::commands(text)? {
        let Some((first, rest)) = words.split_first() else {
            continue;
        };
        // A prompt that was copied along.
        let (first, rest) = match (first.as_str(), rest) {
            ("$" | "%" | ">", [next, rest @ ..]) => (next, rest),
            _ => (first, rest),
        };
        if first.rsplit('/').next() != Some("curl") {
            bail!("{first:?} is not curl; expected: curl [options] URL");
        }
        for part in rest.split(|word| word == "--next" || word == "-:") {
            let command = command(part, read)?;
            found.is_insecure |= command.is_insecure;
            found.left_out.extend(command.left_out.iter().cloned());
            found.calls.extend(calls(command)?);
        }
    }
    if found.calls.is_empty() {
        bail!("there is no curl command; expected: curl [options] URL");
    }
    found.is_session = found.calls.len() > 1;
    Ok(found)
}

fn command(words: &[String], read: &dyn Fn(&str) -> Result<String>) -> Result<Command> {
    let mut command = Command::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        for (option, attached) in options(word) {
            if !option.starts_with('-') || option == "-" {
                command.urls.push(option.clone());
                continue;
            }
            let mut value = || match &attached {
                Some(value) => Ok(value.clone()),
                None => words
                    .next()
                    .cloned()
                    .with_context(|| format!("curl's {option} needs a value")),
            };
            command.apply(&option, &mut value, read)?;
        }
    }
    Ok(command)
}

/// `-sSXPUT` is `-s -S -X PUT`; a word that is no bundle is one option, or a URL.
fn options(word: &str) -> Vec<(String, Option<String>)> {
    let is_bundle = word.len() > 2 && word.starts_with('-') && !word.starts_with("--");
    if !is_bundle {
        return match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => {
                vec![(option.to_owned(), Some(value.to_owned()))]
            }
            _ => vec![(word.to_owned(), None)],
        };
    }
    let mut options = Vec::new();
    let mut rest = word[1..].chars();
    while let Some(letter) = rest.next() {
        let option = format!("-{letter}");
        let takes_none =
            FLAGS.contains(&&*option) || ["-k", "-G", "-I", "-L", "-0"].contains(&&*option);
        if takes_none {
            options.push((option, None));
        } else {
            let value = rest.as_str();
            options.push((option, (!value.is_empty()).then(|| value.to_owned())));
            break;
        }
    }
    options
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
            "-X" | "--request" => self.method = Some(value()?.to_ascii_uppercase()),
            "-H" | "--header" => self.header(&value()?),
            "-d" | "--data" | "--data-ascii" => self.data.push(ascii(&value()?, read)?),
            "--data-raw" => self.data.push(value()?),
            "--data-binary" => self.data.push(file_or_text(&value()?, read)?),
            "--data-urlencode" => self.data.push(urlencoded(&value()?, read)?),
            "--json" => {
                self.is_json = true;
                self.data.push(file_or_text(&value()?, read)?);
            }
            "-u" | "--user" => {
                let value = format!("Basic {}", STANDARD.encode(value()?));
                self.headers.push(("Authorization".to_owned(), value));
            }
            "--oauth2-bearer" => {
                let value = format!("Bearer {}", value()?);
                self.headers.push(("Authorization".to_owned(), value));
            }
            "-A" | "--user-agent" => self.headers.push(("User-Agent".to_owned(), value()?)),
            "-e" | "--referer" => self.headers.push(("Referer".to_owned(), value()?)),
            "-b" | "--cookie" => self.headers.push(("Cookie".to_owned(), value()?)),
            "-I" | "--head" => self.is_head = true,
            "-G" | "--get" => self.is_get = true,
            "-k" | "--insecure" => self.is_insecure = true,
            "-L" | "--location" => self
                .left_out
                .push("curl's -L: redirects are answers here, and are not followed".to_owned()),
            "--http2" | "--http2-prior-knowledge" | "--http3" | "-0" | "--http1.0" => self
                .left_out
                .push(format!("curl's {option}: the study says load.protocol")),
            option if FLAGS.contains(&option) => {}
            option if WITHOUT_MEANING.contains(&option) => {
                value()?;
            }
            option if REFUSED.contains(&option) => {
                bail!("curl's {option} cannot be carried over into a study")
            }
            option => bail!(
                "curl's {option} is not known here; remove it, or write it as a header or body"
            ),
        }
        Ok(())
    }

    fn header(&mut self, text: &str) {
        match text.split_once(':') {
            Some((name, value)) if !value.trim().is_empty() => self
                .headers
                .push((name.trim().to_owned(), value.trim().to_owned())),
            // `Name;` sends an empty field, `Name:` removes one of curl's own, which are not sent here.
            _ => self
                .left_out
                .push(format!("header {text:?}: it has no value")),
        }
    }
}

/// curl takes line ends out of what `-d` reads from a file.
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
fn urlencoded(value: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<String> {
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

pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn calls(command: Command) -> Result<Vec<Call>> {
    if command.urls.is_empty() {
        bail!("a curl command has no URL");
    }
    let Command {
        urls,
        method,
        mut headers,
        data,
        is_json,
        is_get,
        is_head,
        ..
    } = command;
    let has = |headers: &[(String, String)], wanted: &str| {
        headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let separator = if is_json { "" } else { "&" };
    let data = (!data.is_empty()).then(|| data.join(separator));
    let body = data.clone().filter(|_| !is_get);
    if body.is_some() && !has(&headers, "content-type") {
        let kind = if is_json {
            "application/json"
        } else {
            "application/x-www-form-urlencoded"
        };
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    if is_json && !has(&headers, "accept") {
        headers.push(("Accept".to_owned(), "application/json".to_owned()));
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
            let (origin, mut path, user) = split_url(url)?;
            if let (true, Some(data)) = (is_get, &data) {
                path.push(if path.contains('?') { '&' } else { '?' });
                path.push_str(data);
            }
            let mut headers = headers.clone();
            if let Some(user) = user.filter(|_| !has(&headers, "authorization")) {
                let value = format!("Basic {}", STANDARD.encode(user));
                headers.push(("Authorization".to_owned(), value));
            }
            Ok(Call {
                name: name_of(&method, &path),
                method: method.clone(),
                origin,
                path,
                headers,
                body: body.clone(),
                status: None,
                pause_ms: None,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::{Call, read};

    fn one(text: &str) -> Call {
        let file = |name: &str| match name {
            "body.json" => Ok("{\n \"a\": 1\n}\n".to_owned()),
            name => bail!("no file {name}"),
        };
        let mut found = read(text, &file).unwrap_or_else(|why| panic!("{text}: {why:#}"));
        assert_eq!(found.calls.len(), 1, "{text}");
        found.calls.remove(0)
    }

    const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

    fn check(text: &str, line: (&str, &str), headers: &[(&str, &str)], body: Option<&str>) {
        let call = one(text);
        let found: Vec<(&str, &str)> = call
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!((&*call.method, &*call.path), line, "{text}");
        assert_eq!(
            (found.as_slice(), call.body.as_deref()),
            (headers, body),
            "{text}"
        );
    }

    #[test]
    fn commands_say_what_is_sent() {
        check("curl http://h/a?b=c", ("GET", "/a?b=c"), &[], None);
        check("curl -sSL --compressed h", ("GET", "/"), &[], None);
        check("curl -I http://h/", ("HEAD", "/"), &[], None);
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
            &[("Accept", "a/b"), ("Authorization", "Basic bjpw")],
            None,
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
        let found = read(
            "curl -k https://h/a --next https://h/b\ncurl https://h/c",
            &nothing,
        )
        .unwrap();
        let paths: Vec<&str> = found.calls.iter().map(|call| call.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/b", "/c"]);
        assert!(found.is_session && found.is_insecure);
    }

    #[test]
    fn what_cannot_be_carried_over_is_said() {
        let nothing = |name: &str| bail!("no file {name}");
        for (text, why) in [
            ("", "no curl command"),
            ("wget http://h", "is not curl"),
            ("curl", "no URL"),
            ("curl -F a=@b http://h", "-F cannot"),
            ("curl --frobnicate http://h", "--frobnicate is not known"),
            ("curl http://h -X", "-X needs a value"),
            ("curl -d @none http://h", "no file none"),
            ("curl ftp://h", "the scheme"),
            ("curl 'http://h", "not closed"),
        ] {
            let found = format!("{:#}", read(text, &nothing).unwrap_err());
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
