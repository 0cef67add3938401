//! Writes a runnable study from a URL, a curl command, a HAR file, an OpenAPI document or data to send.
//!
//! Each source becomes calls (`curl`, `har`, `openapi`). `simplify` leaves out what a study cannot express, and `secrets` (with
//! `names` and `mask`) removes secrets. `write` renders the text, which is checked as a study.

pub(crate) mod call;
mod cmd;
mod correlation;
mod curl;
mod data;
mod exact;
mod form_body;
mod har;
#[cfg(test)]
mod leaks;
pub(crate) mod mask;
mod names;
mod openapi;
mod records_yaml;
mod secrets;
mod shell;
mod simplify;
mod slot;
pub(crate) mod write;
mod yaml;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use call::{Call, ImportedCalls, most_called, name_of};
use mask::MARK;
pub use records_yaml::lines as record_lines;
pub use simplify::BODY_MAX_BYTES;
use waggle_report::wording::format::plural;
use waggle_spec::RecordsFormat;
use waggle_study::{Named, Source};
use write::Written;
pub use write::{beginning, call_text, json_string, literal, question};

use crate::{input, target::Target};

/// Maximum number of calls of a study; further ones are left out.
const CALLS_MAX: usize = 100;

/// Maximum size of a file that a curl command names, line ends that are dropped included.
const COMMAND_FILE_MAX_BYTES: u64 = 1024 * 1024;

/// What a study is made from, and what is wanted of it.
#[derive(Debug, Clone, Default)]
pub struct StudyOptions {
    /// The URL of the server, or the file to read; `-` is the standard input.
    pub source: String,
    /// `None`: the source is a URL.
    pub from: Option<Origin>,
    /// Of data; `None`: it is found.
    pub format: Option<RecordsFormat>,
    /// The file to which the study will be written.
    pub output: Option<PathBuf>,
    /// Of an OpenAPI document: include operations that change something.
    pub include_writes: bool,
    /// Instead of the server in the file.
    pub server: Option<String>,
}

/// What a file is from which a study is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Curl,
    Har,
    Openapi,
    /// A file of records.
    Data,
}

/// A study as text, which is valid, and what is said of it.
pub struct NewStudy {
    pub written: Written,
    pub summary: Summary,
}

/// Makes a study from a URL or a file.
///
/// # Errors
/// The source cannot be read, or a study cannot express it.
pub fn study(options: &StudyOptions) -> Result<NewStudy> {
    let new = if options.from == Some(Origin::Data) {
        data::study(options)?
    } else {
        let StudyOfCalls {
            imported,
            wanted,
            written,
        } = make_study(read_source(options)?, options)?;
        NewStudy {
            written,
            summary: Summary::of_calls(&imported, &wanted),
        }
    };
    check(&new.written.text)?;
    Ok(new)
}

/// Simplifies a call and removes its secrets. Returns the call, the environment variables that it needs, and one line for each
/// thing that was left out.
pub fn without_secrets(mut call: Call) -> (Call, Vec<String>, Vec<String>) {
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
pub fn text_without_secrets(text: &str) -> (String, Vec<String>) {
    let (masked, names) = with_marks(|masking| masking.text(text));
    (slot::with_exact_digits(&masked), names)
}

/// Replaces the secrets of a body in a file, which has no variables, by a mark; returns the text and the names.
///
/// # Errors
/// The secrets cannot be found; why.
pub fn file_without_secrets(
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

/// A study of calls, and the content of its summary.
struct StudyOfCalls {
    imported: ImportedCalls,
    wanted: Vec<String>,
    written: Written,
}

fn make_study(mut imported: ImportedCalls, options: &StudyOptions) -> Result<StudyOfCalls> {
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
    if let (Some(server), Some(Origin::Curl | Origin::Har)) = (&options.server, options.from) {
        to_server(&mut imported, server)?;
    }
    let written = write::study(&imported, &wanted);
    Ok(StudyOfCalls {
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

fn read_source(options: &StudyOptions) -> Result<ImportedCalls> {
    let Some(from) = options.from else {
        let server = Target::parse(&options.source)?;
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
    let text = &*text_of(&options.source)?;
    let folder = Path::new(&options.source)
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    let imported = match from {
        Origin::Curl => curl::read(text, &|file| text_of_command_file(&folder.join(file))),
        Origin::Har => har::read(text),
        Origin::Openapi => openapi::read(
            text,
            openapi::Options {
                with_writes: options.include_writes,
                server: options.server.as_deref(),
                folder: (options.source != "-").then_some(if folder.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    &folder
                }),
            },
        ),
        Origin::Data => bail!("a file of records has no calls"),
    };
    let mut imported =
        imported.with_context(|| format!("cannot create a study from {}", options.source))?;
    if from == Origin::Curl {
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

/// What is said of a study that was written.
pub struct Summary {
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

    /// The text, for a study that is written to this file.
    pub fn text(&self, file: &Path) -> String {
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
