//! `waggle init --from data`: a study that sends the records of a file.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use waggle_report::wording::format::plural;
use waggle_runner::{RecordsFound, look_at_records};
use waggle_spec::RecordsFormat;
use waggle_study::RecordsBody;

use super::{
    NewStudy, Next, StudyOptions, Summary,
    call::to_name,
    records_yaml,
    write::{EDITOR_SCHEMA, Written, beginning, json_string, literal, question},
};
use crate::target::Target;

/// Where the system `ingest` takes records that its probes follow.
const GATEWAY_PATH: &str = "/api/v1/topics/plant/records";

pub(super) fn study(options: &StudyOptions) -> Result<NewStudy> {
    let file = Path::new(&options.source);
    let format = (options.format).or_else(|| RecordsFormat::of_file_name(&options.source));
    if format.is_none() && !RecordsFormat::is_open_in(&options.source) {
        bail!(
            "the ending of {} does not say its format; expected --format csv, ndjson, json or line-protocol, or {}; of .dat, .txt and .log it is found",
            options.source,
            RecordsFormat::ENDINGS
        );
    }
    let server = options.server.as_deref().map(Target::parse).transpose()?;
    if server.as_ref().is_some_and(|server| server.user.is_some()) {
        bail!("--server has a user or password; expected http://HOST:PORT/PATH");
    }
    let name = name_of(file);
    let findings = look_at_records(file, format, &name)?;
    let text = text(
        &name,
        file,
        options.output.as_deref(),
        server.as_ref(),
        &findings,
    );
    Ok(NewStudy {
        summary: summary(file, &findings),
        written: Written { name, text },
    })
}

/// The name of the file without its endings.
fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let name = to_name(stem);
    if name.is_empty() {
        "data".to_owned()
    } else {
        name
    }
}

fn text(
    name: &str,
    file: &Path,
    output: Option<&Path>,
    server: Option<&Target>,
    findings: &RecordsFound,
) -> String {
    let written = beginning("waggle init; check it before you run it.", &[], &[]);
    let mut text = format!("{EDITOR_SCHEMA}{written}");
    for note in &findings.notes {
        let _ = writeln!(text, "# Check: {}", note.replace(char::is_control, " "));
    }
    if let Err(problem) = &findings.records {
        text.push_str(
            "# Cannot be run yet: the records are not read as written here. Correct them:\n",
        );
        for line in problem.to_string().lines() {
            let _ = writeln!(text, "#   {}", line.replace(char::is_control, " "));
        }
    }
    let (origin, path) = match server {
        Some(server) => (server.origin(), server.path.clone()),
        None => ("the gateway".to_owned(), GATEWAY_PATH.to_owned()),
    };
    question(&mut text, name, &origin);
    match server {
        Some(_) => {
            let _ = writeln!(text, "system:\n  url: {}", json_string(&origin));
        }
        None => text.push_str("system: { use: ingest, set: { backend: embedded } }\n"),
    }
    let method = if server.is_some() { "post" } else { "put" };
    let _ = write!(
        text,
        "load:\n  model: closed # also: open (with rate: 100/s)\n  connections: 2\n  request:\n    name: send\n    {method}: {}\n    records:\n",
        literal(&path)
    );
    for line in records_yaml::lines(&findings.body, &file_in_study(file, output)) {
        let _ = writeln!(text, "      {line}");
    }
    if server.is_none() {
        text.push_str("    expect: { status: 204 }\n");
    }
    text.push_str("schedule:\n  warm_up: 2s\n  measure: 10s\n  interval: 250ms\n");
    if server.is_none() {
        text.push_str(
            "delivery: { probes: store, poll_interval: 100ms }\nthresholds:\n  - delivery.missing == 0\n",
        );
    }
    text
}

/// The name of the file in the study: relative if it is in the same folder.
fn file_in_study(file: &Path, output: Option<&Path>) -> String {
    let study = output
        .filter(|output| *output != Path::new("-"))
        .unwrap_or(Path::new("study.yaml"));
    let is_beside = match (absolute_folder(file), absolute_folder(study)) {
        (Ok(file), Ok(study)) => file == study,
        _ => false,
    };
    let path = if is_beside {
        PathBuf::from(file.file_name().unwrap_or_default())
    } else {
        std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
    };
    literal(&path.display().to_string())
}

fn absolute_folder(file: &Path) -> std::io::Result<PathBuf> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::path::absolute(folder),
        _ => std::path::absolute("."),
    }
}

fn summary(file: &Path, findings: &RecordsFound) -> Summary {
    let shown = file.display();
    let (mut lines, next) = match &findings.records {
        Ok(count) => {
            let line = format!(
                "{shown}: {}, read as {}",
                plural(*count, "record"),
                roles(&findings.body)
            );
            (vec![line], Next::Run { wanted: Vec::new() })
        }
        Err(problem) => {
            let line = format!("{shown}: not all of it is read:");
            (vec![line, problem.to_string()], Next::CorrectRecords)
        }
    };
    if !findings.widened.is_empty() {
        lines.push(format!(
            "integers and floats, sent as floats: {}",
            findings.widened.join(", ")
        ));
    }
    lines.extend(findings.notes.iter().map(|note| format!("check: {note}")));
    Summary { lines, next }
}

fn roles(body: &RecordsBody) -> String {
    let table = &body.table;
    if table.measurement.is_none() {
        return body.format.name().to_owned();
    }
    let time = match &table.time {
        None => "no time".to_owned(),
        Some(time) => {
            let format = time.format.as_ref();
            let format = format.map_or_else(String::new, |format| format!(" ({format})"));
            format!("time {}{format}", time.columns.join(" and "))
        }
    };
    let mut parts = vec![body.format.name().to_owned(), time];
    if !table.tags.is_empty() {
        parts.push(format!("tags {}", table.tags.join(", ")));
    }
    if !table.leave_out.is_empty() {
        parts.push(format!("without {}", table.leave_out.join(", ")));
    }
    parts.join("; ")
}
