//! `waggle init`: a study that runs, from a URL, a curl command, a HAR file or an OpenAPI document.
//!
//! Each source becomes calls (`curl`, `har`, `openapi`), what no study can say is left out (`fit`), secrets are taken out
//! (`secrets`, by `names` and `mask`), and one writer makes the text, which is read as a study again before it is written
//! anywhere.

mod call;
mod curl;
mod fit;
mod har;
#[cfg(test)]
mod leaks;
mod mask;
mod names;
mod openapi;
mod secrets;
mod shell;
mod write;
mod yaml;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_study::{Named, Source};

use crate::{
    arguments::{Init, InitFrom},
    exit::Exit,
    input,
    load::target::Target,
    say,
};
pub(crate) use call::Call;
use call::{Found, most_called, name_of};
pub(crate) use fit::BODY_MAX_BYTES;
pub(crate) use write::{beginning, call_text, json_string, literal, question};

/// Calls of one study; what comes after them is left out.
const CALLS_MAX: usize = 100;

pub(crate) fn run(arguments: &Init) -> Result<Exit> {
    let Made {
        found,
        wanted,
        written,
    } = make_study(read_source(arguments)?, arguments)?;
    check(&written.text)?;
    let file = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.yaml", written.name)));
    if arguments.output.as_deref() == Some(Path::new("-")) {
        say::result(&format!("{}\n", written.text.trim_end()))?;
        return Ok(Exit::Fine);
    }
    put(&file, &written.text, arguments.force)?;
    say::result(&format!("{}\n", summary_text(&file, &found, &wanted)))?;
    Ok(Exit::Fine)
}

/// A call as a study can have it, without secrets; with the environment variables that it needs then, and a line for each thing
/// that was left out.
pub(crate) fn without_secrets(call: Call) -> (Call, Vec<String>, Vec<String>) {
    let mut found = Found {
        calls: vec![call],
        ..Found::default()
    };
    fit::headers(&mut found, fit::Fields::Wanted);
    let wanted = secrets::take_out(&mut found);
    let call = found.calls.pop().unwrap_or_default();
    (call, wanted, found.left_out)
}

/// A text with a mark in place of each secret that has a name, and these names.
pub(crate) fn text_without_secrets(text: &str) -> (String, Vec<String>) {
    let masked = mask::text(text);
    (masked.text, masked.names)
}

/// A study and what must be said of it.
struct Made {
    found: Found,
    wanted: Vec<String>,
    written: write::Written,
}

fn make_study(mut found: Found, arguments: &Init) -> Result<Made> {
    fit::calls(&mut found);
    one_server(&mut found)?;
    if found.calls.len() > CALLS_MAX {
        let beyond = found.calls.len() - CALLS_MAX;
        found
            .left_out
            .push(format!("{beyond} calls after the first {CALLS_MAX}"));
        found.calls.truncate(CALLS_MAX);
    }
    fit::headers(&mut found, fit::Fields::Seen);
    let wanted = secrets::take_out(&mut found);
    if let (Some(server), Some(InitFrom::Curl | InitFrom::Har)) =
        (&arguments.server, arguments.from)
    {
        to_server(&mut found, server)?;
    }
    let written = write::study(&found, &wanted);
    Ok(Made {
        found,
        wanted,
        written,
    })
}

/// In place of the server that the calls were made to.
fn to_server(found: &mut Found, server: &str) -> Result<()> {
    let server = Target::parse(server)?;
    if server.path != "/" || server.user.is_some() {
        bail!("--server has more than a server; expected http://HOST:PORT");
    }
    let origin = server.origin();
    for call in &mut found.calls {
        call.origin.clone_from(&origin);
    }
    Ok(())
}

/// Flags that would not be used.
fn refuse_unused(arguments: &Init) -> Result<()> {
    if arguments.include_writes && arguments.from != Some(InitFrom::Openapi) {
        bail!("--include-writes is for --from openapi");
    }
    if arguments.from.is_none() && arguments.server.is_some() {
        bail!("--server is for --from curl, har or openapi; without --from the URL says it");
    }
    let source = &arguments.source;
    if arguments.from.is_none() && (source == "-" || Path::new(source).is_file()) {
        bail!("{source} is a file; say what is in it: --from curl, --from har or --from openapi");
    }
    Ok(())
}

fn read_source(arguments: &Init) -> Result<Found> {
    refuse_unused(arguments)?;
    let Some(from) = arguments.from else {
        let server = Target::parse(&arguments.source)?;
        if server.user.is_some() {
            bail!(
                "the URL has a name or password; expected it in a header: write it as a curl command with -u"
            );
        }
        return Ok(Found {
            calls: vec![Call {
                name: name_of("GET", &server.path),
                method: "GET".to_owned(),
                origin: server.origin(),
                path: server.path,
                ..Call::default()
            }],
            ..Found::default()
        });
    };
    let text = text_of(&arguments.source)?;
    let beside = Path::new(&arguments.source)
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    match from {
        InitFrom::Curl => curl::read(&text, &|file| text_of_file(&beside.join(file))),
        InitFrom::Har => har::read(&text),
        InitFrom::Openapi => openapi::read(
            &text,
            openapi::Wishes {
                with_writes: arguments.include_writes,
                server: arguments.server.as_deref(),
            },
        ),
    }
    .with_context(|| format!("cannot make a study of {}", arguments.source))
}

fn text_of(source: &str) -> Result<String> {
    match source {
        "-" => {
            let what = "the standard input";
            text(input::standard_input(what)?, what)
        }
        file => text_of_file(Path::new(file)),
    }
}

fn text_of_file(path: &Path) -> Result<String> {
    let what = path.display().to_string();
    text(input::file(path, &what)?, &what)
}

fn text(bytes: Vec<u8>, what: &str) -> Result<String> {
    String::from_utf8(bytes).with_context(|| format!("{what} is no text in UTF-8"))
}

/// A study has one system: the server that most calls go to.
fn one_server(found: &mut Found) -> Result<()> {
    let Some(origin) = most_called(found.calls.iter()) else {
        let why = found.left_out.join("\n  ");
        bail!("there is no call in it that a study can make:\n  {why}");
    };
    let before = found.calls.len();
    found.calls.retain(|call| call.origin == origin);
    let others = before - found.calls.len();
    if others > 0 {
        found.left_out.push(format!(
            "{others} calls of other servers than {origin}; a study has one"
        ));
    }
    Ok(())
}

/// What is written must be a study; if it is not, that is our bug or a source that no study can say.
fn check(text: &str) -> Result<()> {
    let source = Source {
        name: "the study".to_owned(),
        text: text.to_owned(),
    };
    let checked = waggle_study::system_of(&source).and_then(|named| match named {
        Named::Server(server) => waggle_study::read_study(&source, &server).map(drop),
        Named::System(_) => Ok(()),
    });
    checked.context("what was found cannot be said in a study")
}

fn put(file: &Path, text: &str, replace: bool) -> Result<()> {
    let shown = file.display();
    let opened = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .create_new(!replace)
        .open(file);
    let mut opened = match opened {
        Err(problem) if problem.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{shown} exists; --force replaces it")
        }
        opened => opened.with_context(|| format!("cannot write {shown}"))?,
    };
    std::io::Write::write_all(&mut opened, text.as_bytes())
        .with_context(|| format!("cannot write {shown}"))
}

fn summary_text(file: &Path, found: &Found, wanted: &[String]) -> String {
    let shown = file.display();
    let calls = found.calls.len();
    let mut lines = vec![format!(
        "{shown}: {calls} request{} to {}",
        if calls == 1 { "" } else { "s" },
        found.calls[0].origin
    )];
    if !found.left_out.is_empty() {
        lines.push("left out:".to_owned());
        lines.extend(found.left_out.iter().map(|line| format!("  {line}")));
    }
    if !wanted.is_empty() {
        lines.push("to be set in the environment, since secrets are not written:".to_owned());
        lines.extend(wanted.iter().map(|name| format!("  {name}")));
    }
    lines.push(format!("see what it does: waggle plan {shown}"));
    lines.push(format!("run it:           waggle run {shown}"));
    lines.join("\n")
}
