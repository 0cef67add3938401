//! An entry of the folder → its row. A file of it that is too long, or of another kind, is a reason and no row.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    time::SystemTime,
};

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use waggle_results::{VersionDesign, private_file, read_notes, run_info};

use super::{
    row::{Content, RunFacts},
    running::has_socket,
    stamp::FileStamp,
};

const REPORT: &str = "report.json";
const REPORT_MAX_BYTES: u64 = 64 << 20;
/// Longest sentence of an answer that is kept.
const ANSWER_MAX_LETTERS: usize = 400;
/// Longest text of `run.json` that is kept.
const TEXT_MAX_LETTERS: usize = 200;
/// Versions that are kept.
const VERSIONS_MAX: usize = 8;

/// What tells whether an entry has changed since it was read: itself, `run.json`, its trials and its notes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryStamp([Option<FileStamp>; 4]);

impl EntryStamp {
    /// The name of each file of a run leaves its time in the folder's own, because a file is written under another name first.
    pub(super) fn read(entry: &Path) -> Self {
        let files = ["", "run.json", "trials", "notes"];
        Self(files.map(|file| FileStamp::read_link(&entry.join(file))))
    }

    /// Whether who began to read it at that time has read it as it is now.
    pub(super) fn is_settled(&self, begun: SystemTime) -> bool {
        let mut files = self.0.iter().flatten();
        files.all(|file| file.is_settled(begun))
    }
}

/// What of `report.json` is shown.
#[derive(Debug, Default, Deserialize)]
struct Report {
    answer: Vec<String>,
    conclusion: String,
    cells: Vec<ReportCell>,
}

#[derive(Debug, Default, Deserialize)]
struct ReportCell {
    verdict: Option<String>,
}

/// The metrics of a run, by their columns in `tables.csv`.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Those that the study asks about.
    pub(crate) asked: BTreeSet<String>,
    pub(crate) all: BTreeSet<String>,
}

/// What of `report.json` says which metrics there are.
#[derive(Debug, Deserialize)]
struct MetricReport {
    cells: Vec<MetricCell>,
}

#[derive(Debug, Deserialize)]
struct MetricCell {
    #[serde(default)]
    asked: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    metrics: BTreeMap<String, IgnoredAny>,
}

/// The metrics of a run; none if it has no report that can be read.
pub(crate) fn columns(run: &Path) -> Columns {
    let mut columns = Columns::default();
    let Ok(Some(report)) = report::<MetricReport>(run) else {
        return columns;
    };
    for cell in report.cells {
        columns.all.extend(cell.metrics.into_keys());
        columns.asked.extend(cell.asked.into_keys());
    }
    columns.asked = &columns.asked & &columns.all;
    columns
}

/// Reads an entry; `None`: it is nothing that could be a run.
pub(super) fn content(entry: &Path) -> Option<Content> {
    let about = match fs::symlink_metadata(entry) {
        Ok(about) => about,
        Err(why) => return Some(Content::Refused(missing_reason(entry, &why))),
    };
    if about.is_symlink() {
        let why = "it is a link, and links are not followed";
        return Some(Content::Refused(why.to_owned()));
    }
    if !about.is_dir() {
        return None;
    }
    if !entry.join("run.json").exists() {
        let has_begun = entry.join("study.yaml").exists() || entry.join(".lock").exists();
        let why = match has_begun {
            true => {
                "half written: it has no run.json, which is written when the files before it are whole"
            }
            false => "no run: it has no run.json",
        };
        return Some(Content::Refused(why.to_owned()));
    }
    Some(match facts(entry) {
        Ok(facts) => Content::Run(Box::new(facts)),
        Err(why) => Content::Refused(why),
    })
}

/// Why an entry that is in the folder cannot be looked at.
fn missing_reason(entry: &Path, why: &io::Error) -> String {
    let has_shown_name = !entry
        .to_string_lossy()
        .contains(char::REPLACEMENT_CHARACTER);
    match has_shown_name {
        true => format!("cannot be read: {why}"),
        false => "its name is not UTF-8, so that it has no address: rename it".to_owned(),
    }
}

fn facts(run: &Path) -> Result<RunFacts, String> {
    let info = run_info(run).map_err(|why| {
        let why = why.to_string();
        let folder = format!("{}/", run.display());
        why.replace(&folder, "")
    })?;
    let report: Option<Report> = report(run)?;
    let notes = read_notes(run);
    let versions = info.components.iter().take(VERSIONS_MAX);
    let (selection, compared) = (info.selection.as_ref(), info.versions.as_ref());
    let kind = match (selection, &info.imported) {
        (Some(part), _) if part.quick => Some("quick".to_owned()),
        (Some(part), _) if part.pilot => Some("pilot".to_owned()),
        (_, Some(imported)) => Some(format!("imported from {}", imported.tool)),
        _ => None,
    };
    Ok(RunFacts {
        study: shorten(&info.study, TEXT_MAX_LETTERS),
        question: shorten(&info.question, ANSWER_MAX_LETTERS),
        study_file: shorten(&info.study_file, TEXT_MAX_LETTERS),
        system: shorten(&info.system, TEXT_MAX_LETTERS),
        versions: versions
            .map(|part| shorten(&format!("{} {}", part.name, part.version), TEXT_MAX_LETTERS))
            .collect(),
        host: shorten(&info.host.name, TEXT_MAX_LETTERS),
        waggle_version: shorten(&info.waggle_version, TEXT_MAX_LETTERS),
        started_utc: shorten(&info.started_utc, TEXT_MAX_LETTERS),
        cells: info.cells.len(),
        trials: finished_trials(run),
        planned: info.order.len(),
        kind: kind.map(|kind| shorten(&kind, TEXT_MAX_LETTERS)),
        filters: selection.map_or_else(Vec::new, |part| part.filters.clone()),
        changes: compared.map_or_else(Vec::new, |compared| compared.changes.clone()),
        is_duet: compared.is_some_and(|compared| compared.design != VersionDesign::Blocks),
        answer: report
            .as_ref()
            .map(|report| report.answer.first().cloned().unwrap_or_default())
            .map(|answer| shorten(&answer, ANSWER_MAX_LETTERS)),
        verdicts: report.as_ref().map_or_else(Vec::new, verdicts),
        conclusion: report.map(|report| shorten(&report.conclusion, TEXT_MAX_LETTERS)),
        notes: notes.len(),
        is_accepted: notes.iter().any(|note| note.accepts),
        has_socket: has_socket(run),
        is_running: false,
    })
}

/// `None`: the run has none.
fn report<T: DeserializeOwned>(run: &Path) -> Result<Option<T>, String> {
    let bytes = match private_file::read_file(&run.join(REPORT), REPORT_MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(format!("{REPORT}: {why}")),
    };
    let report = serde_json::from_slice(&bytes);
    report.map(Some).map_err(|why| format!("{REPORT}: {why}"))
}

/// In the order in which they first come.
fn verdicts(report: &Report) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for verdict in report.cells.iter().filter_map(|cell| cell.verdict.as_ref()) {
        let verdict = shorten(verdict, TEXT_MAX_LETTERS);
        match counts.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((verdict, 1)),
        }
    }
    counts
}

/// By their folders: whether one can be read shows when the run is opened.
fn finished_trials(run: &Path) -> usize {
    let trials = run.join("trials");
    if trials.is_symlink() {
        return 0;
    }
    let entries = fs::read_dir(trials).into_iter().flatten().flatten();
    let is_finished =
        |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
    entries.filter(is_finished).count()
}

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
