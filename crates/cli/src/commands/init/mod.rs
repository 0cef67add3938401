//! `waggle init`: writes a runnable study from a URL, a curl command, a HAR file, an OpenAPI document or data to send.
//!
//! Each source becomes calls (`curl`, `har`, `openapi`). `simplify` leaves out what a study cannot express, and `secrets` (with
//! `names` and `mask`) removes secrets. `write` renders the text, which is checked as a study before it is written to a file.

mod call;
mod cmd;
mod correlation;
mod curl;
mod data;
mod exact;
mod har;
#[cfg(test)]
mod leaks;
mod mask;
mod multipart;
mod names;
mod openapi;
pub(crate) mod records_yaml;
mod secrets;
mod shell;
mod simplify;
mod slot;
mod write;
mod yaml;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_report::wording::format::plural;
use waggle_study::{Named, Source};

use crate::{
    arguments::{Init, InitFrom, target::Target},
    inputs::study::MARK,
    output,
    process::{exit::Exit, input},
};
pub(crate) use call::Call;
use call::{ImportedCalls, most_called, name_of};
pub(crate) use simplify::BODY_MAX_BYTES;
pub(crate) use write::{beginning, call_text, json_string, literal, question};

/// Maximum number of calls of a study; further ones are left out.
const CALLS_MAX: usize = 100;

/// Maximum size of a file that a curl command names, line ends that are dropped included.
const COMMAND_FILE_MAX_BYTES: u64 = 1024 * 1024;

pub(crate) fn run(arguments: &Init) -> Result<Exit> {
    refuse_unused(arguments)?;
    let (written, summary) = if arguments.from == Some(InitFrom::Data) {
        let data::DataStudy { written, summary } = data::study(arguments)?;
        (written, summary)
    } else {
        let NewStudy {
            imported,
            wanted,
            written,
        } = make_study(read_source(arguments)?, arguments)?;
        (written, Summary::of_calls(&imported, &wanted))
    };
    check(&written.text)?;
    let file = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.yaml", written.name)));
    if arguments.output.as_deref() == Some(Path::new("-")) {
        output::print_result(&format!("{}\n", written.text.trim_end()))?;
        return Ok(Exit::Fine);
    }
    put(&file, &written.text, arguments.force)?;
    output::print_text(&format!("{}\n", summary.text(&file)))?;
    Ok(Exit::Fine)
}

/// Simplifies a call and removes its secrets. Returns the call, the environment variables that it needs, and one line for each
/// thing that was left out.
pub(crate) fn without_secrets(mut call: Call) -> (Call, Vec<String>, Vec<String>) {
    call.drop_noncharacters();
    let mut imported = ImportedCalls {
        calls: vec![call],
        ..ImportedCalls::default()
    };
    simplify::drop_headers(&mut imported, simplify::Fields::Given);
    let wanted = secrets::remove_secrets(&mut imported);
    let call = imported.calls.pop().unwrap_or_default();
    (call, wanted, imported.left_out)
}

/// Replaces named secrets in a text by a mark; returns the text and the names.
pub(crate) fn text_without_secrets(text: &str) -> (String, Vec<String>) {
    let (masked, names) = with_marks(|masking| masking.text(text));
    (slot::with_exact_digits(&masked), names)
}

/// Replaces the secrets of a body in a file, which has no variables, by a mark; returns the text and the names.
///
/// # Errors
/// The secrets cannot be found; why.
pub(crate) fn file_without_secrets(
    body: &str,
    media_type: &str,
) -> Result<(String, Vec<String>), &'static str> {
    let (masked, names) = with_marks(|masking| secrets::masked_body(masking, body, media_type));
    masked.map(|text| (slot::with_exact_digits(&text), names))
}

fn with_marks<T>(mask: impl FnOnce(&mut mask::Masking<'_>) -> T) -> (T, Vec<String>) {
    let mut names = Vec::new();
    let mut replace = |name: &str, _: &str| {
        names.push(name.to_owned());
        MARK.to_owned()
    };
    let masked = mask(&mut mask::Masking::new(&mut replace));
    (masked, names)
}

/// A study, and the content of its summary.
struct NewStudy {
    imported: ImportedCalls,
    wanted: Vec<String>,
    written: write::Written,
}

fn make_study(mut imported: ImportedCalls, arguments: &Init) -> Result<NewStudy> {
    simplify::drop_calls(&mut imported);
    one_server(&mut imported)?;
    if imported.calls.len() > CALLS_MAX {
        let beyond = imported.calls.len() - CALLS_MAX;
        imported.left_out.push(format!(
            "{} after the first {CALLS_MAX}",
            plural(beyond, "call")
        ));
        imported.calls.truncate(CALLS_MAX);
    }
    correlation::correlate(&mut imported);
    simplify::drop_headers(&mut imported, simplify::Fields::Recorded);
    let wanted = secrets::remove_secrets(&mut imported);
    correlation::drop_unused(&mut imported);
    if let (Some(server), Some(InitFrom::Curl | InitFrom::Har)) =
        (&arguments.server, arguments.from)
    {
        to_server(&mut imported, server)?;
    }
    let written = write::study(&imported, &wanted);
    Ok(NewStudy {
        imported,
        wanted,
        written,
    })
}

/// Sends the calls to this server instead of the recorded one.
fn to_server(imported: &mut ImportedCalls, server: &str) -> Result<()> {
    let server = Target::parse(server)?;
    if server.path != "/" || server.user.is_some() {
        bail!("--server has a path or a user; expected http://HOST:PORT");
    }
    let origin = server.origin();
    for call in &mut imported.calls {
        call.origin.clone_from(&origin);
    }
    Ok(())
}

/// Refuses flags that have no effect.
fn refuse_unused(arguments: &Init) -> Result<()> {
    if arguments.include_writes && arguments.from != Some(InitFrom::Openapi) {
        bail!("--include-writes requires --from openapi");
    }
    if arguments.format.is_some() && arguments.from != Some(InitFrom::Data) {
        bail!("--format requires --from data");
    }
    if arguments.from.is_none() && arguments.server.is_some() {
        bail!(
            "--server requires --from curl, har, openapi or data; without --from the URL is the server"
        );
    }
    let source = &arguments.source;
    if arguments.from.is_none() && (source == "-" || Path::new(source).is_file()) {
        bail!(
            "{source} is a file; its format is required: --from curl, --from har, --from openapi or --from data"
        );
    }
    Ok(())
}

fn read_source(arguments: &Init) -> Result<ImportedCalls> {
    let Some(from) = arguments.from else {
        let server = Target::parse(&arguments.source)?;
        if server.user.is_some() {
            bail!(
                "the URL has a user or password, which a study has in a header: use a curl command with -u instead"
            );
        }
        return Ok(ImportedCalls {
            calls: vec![Call {
                name: name_of("GET", &server.path),
                method: "GET".to_owned(),
                origin: server.origin(),
                path: server.path,
                ..Call::default()
            }],
            ..ImportedCalls::default()
        });
    };
    let text = &*text_of(&arguments.source)?;
    let folder = Path::new(&arguments.source)
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    let imported = match from {
        InitFrom::Curl => curl::read(text, &|file| text_of_command_file(&folder.join(file))),
        InitFrom::Har => har::read(text),
        InitFrom::Openapi => openapi::read(
            text,
            openapi::Options {
                with_writes: arguments.include_writes,
                server: arguments.server.as_deref(),
                folder: (arguments.source != "-").then_some(if folder.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    &folder
                }),
            },
        ),
        InitFrom::Data => bail!("a file of records has no calls"),
    };
    let mut imported =
        imported.with_context(|| format!("cannot create a study from {}", arguments.source))?;
    if from == InitFrom::Curl {
        imported.calls.iter_mut().for_each(Call::drop_noncharacters);
    }
    Ok(imported)
}

fn text_of(source: &str) -> Result<String> {
    match source {
        "-" => {
            let what = "the standard input";
            input::text(input::standard_input(what)?, what)
        }
        file => input::text(input::file(Path::new(file), file)?, file),
    }
}

/// A file that a curl command names, as it is.
fn text_of_command_file(path: &Path) -> Result<String> {
    let what = path.display().to_string();
    let bytes = input::file_within(path, &what, COMMAND_FILE_MAX_BYTES)?;
    String::from_utf8(bytes).with_context(|| format!("{what} is not UTF-8 text"))
}

/// Keeps the calls to the server that has most of them: a study has one system.
fn one_server(imported: &mut ImportedCalls) -> Result<()> {
    let Some(origin) = most_called(imported.calls.iter()) else {
        let why = imported.left_out.join("\n  ");
        bail!("the source has no call that a study can make:\n  {why}");
    };
    let before = imported.calls.len();
    imported.calls.retain(|call| call.origin == origin);
    let others = before - imported.calls.len();
    if others > 0 {
        imported.left_out.push(format!(
            "{} to other servers than {origin}; a study has one",
            plural(others, "call")
        ));
    }
    Ok(())
}

/// Checks that the text is a valid study. If not, it is a bug, or a source that a study cannot express.
fn check(text: &str) -> Result<()> {
    let source = Source {
        name: "the study".to_owned(),
        text: text.to_owned(),
    };
    let checked = waggle_study::system_of(&source).and_then(|named| match named {
        Named::Server(server) => waggle_study::read_study(&source, &server).map(drop),
        Named::System(_) => Ok(()),
    });
    checked.context("a study cannot express these calls")
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

/// What is said of a study that was written.
struct Summary {
    /// One line for each thing to know about it.
    lines: Vec<String>,
    next: Next,
}

/// What is to be done before the study is run.
enum Next {
    /// These environment variables are set.
    Run { wanted: Vec<String> },
    /// The file of records cannot be read as the study says.
    CorrectRecords,
}

impl Summary {
    fn of_calls(imported: &ImportedCalls, wanted: &[String]) -> Self {
        let calls = imported.calls.len();
        let mut lines = vec![format!(
            "{calls} request{} to {}",
            if calls == 1 { "" } else { "s" },
            imported.calls[0].origin
        )];
        if !imported.left_out.is_empty() {
            lines.push("left out:".to_owned());
            lines.extend(imported.left_out.iter().map(|line| format!("  {line}")));
        }
        let next = Next::Run {
            wanted: wanted.to_vec(),
        };
        Self { lines, next }
    }

    fn text(&self, file: &Path) -> String {
        let shown = file.display();
        let lines = self.lines.join("\n");
        match &self.next {
            Next::CorrectRecords => format!(
                "{shown}: {lines}\ncannot be run yet: correct records in {shown}, then check it: waggle plan {shown}"
            ),
            Next::Run { wanted } => {
                let mut text = format!("{shown}: {lines}\nshow the plan: waggle plan {shown}");
                if !wanted.is_empty() {
                    let wanted = wanted.join(", ");
                    text.push_str(&format!(
                        "\nset first, because secrets are not written: {wanted}"
                    ));
                }
                text.push_str(&format!("\nrun it:        waggle run {shown}"));
                text
            }
        }
    }
}
