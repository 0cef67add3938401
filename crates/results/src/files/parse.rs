//! Bytes of one file → its checked form, with line and column of what is wrong. No file is touched here.

use serde::{Deserialize, de::DeserializeOwned};
use thiserror::Error;

use crate::{BacklogRow, FORMAT, IntervalRow, ResourceRow, RunInfo, SystemMetricRow, TrialInfo};

/// Most rows of one `.ndjson` file.
const MAX_ROWS: usize = 10_000_000;

/// What is wrong with a file's text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TextError {
    #[error("written in format {found}; this waggle reads format {FORMAT}")]
    OtherFormat { found: u64 },
    /// Line and column count from 1; column 0: the line as a whole.
    #[error("line {line}, column {column}: {problem}")]
    At {
        line: usize,
        column: usize,
        problem: String,
    },
}

impl TextError {
    pub(crate) fn at_line(line: usize, problem: impl Into<String>) -> Self {
        Self::At {
            line,
            column: 0,
            problem: problem.into(),
        }
    }

    fn json(error: &serde_json::Error, line_before: usize) -> Self {
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let problem = text.strip_suffix(&place).unwrap_or(&text).to_owned();
        Self::At {
            line: line_before + error.line().max(1),
            column: error.column(),
            problem,
        }
    }
}

/// Reads `run.json` and checks that its parts fit each other.
///
/// # Errors
/// See [`TextError`].
pub fn read_run_info(text: &[u8]) -> Result<RunInfo, TextError> {
    let info = parse_versioned(text, |info: &RunInfo| info.format)?;
    check_run(&info).map_err(|problem| TextError::at_line(1, problem))?;
    Ok(info)
}

/// Reads `trial.json`.
///
/// # Errors
/// See [`TextError`].
pub fn read_trial_info(text: &[u8]) -> Result<TrialInfo, TextError> {
    let info = parse_versioned(text, |info: &TrialInfo| info.format)?;
    if info.generator.is_none() && info.imported.is_none() {
        let problem = "missing field `generator` in a trial that was not imported";
        return Err(TextError::at_line(1, problem.to_owned()));
    }
    match info.phases.iter().find(|phase| phase.end_s < phase.start_s) {
        None => Ok(info),
        Some(phase) => Err(TextError::at_line(
            1,
            format!("phase {:?} ends before it starts", phase.phase),
        )),
    }
}

/// Reads `intervals.ndjson`; starts must increase.
///
/// # Errors
/// See [`TextError`].
pub fn read_intervals(text: &[u8]) -> Result<Vec<IntervalRow>, TextError> {
    let rows: Vec<IntervalRow> = rows(text)?;
    match rows
        .windows(2)
        .position(|pair| pair[1].start_s <= pair[0].start_s)
    {
        None => Ok(rows),
        Some(index) => Err(TextError::at_line(
            index + 2,
            "`start_s` is not after the one of the line before",
        )),
    }
}

/// Reads `resources.ndjson`.
///
/// # Errors
/// See [`TextError`].
pub fn read_resources(text: &[u8]) -> Result<Vec<ResourceRow>, TextError> {
    rows(text)
}

/// Reads `backlog.ndjson`.
///
/// # Errors
/// See [`TextError`].
pub fn read_backlog(text: &[u8]) -> Result<Vec<BacklogRow>, TextError> {
    rows(text)
}

/// Reads `metrics.ndjson`.
///
/// # Errors
/// See [`TextError`].
pub fn read_metrics(text: &[u8]) -> Result<Vec<SystemMetricRow>, TextError> {
    rows(text)
}

pub(crate) fn utf8(text: &[u8]) -> Result<&str, TextError> {
    std::str::from_utf8(text).map_err(|error| {
        let valid = &text[..error.valid_up_to()];
        let ends = valid.iter().filter(|&&byte| byte == b'\n');
        TextError::at_line(1 + ends.count(), "not UTF-8")
    })
}

/// The lines of a text, each of which must have its line end: a last line without one was cut short.
pub(crate) fn whole_lines(text: &str) -> Result<std::str::Lines<'_>, TextError> {
    if text.is_empty() || text.ends_with('\n') {
        return Ok(text.lines());
    }
    Err(TextError::at_line(
        text.lines().count(),
        "the last line is cut short",
    ))
}

fn rows<T: DeserializeOwned>(text: &[u8]) -> Result<Vec<T>, TextError> {
    let mut rows = Vec::new();
    for (before, line) in whole_lines(utf8(text)?)?.enumerate() {
        if before == MAX_ROWS {
            return Err(TextError::at_line(
                before + 1,
                format!("more than {MAX_ROWS} rows"),
            ));
        }
        rows.push(serde_json::from_str(line).map_err(|error| TextError::json(&error, before))?);
    }
    Ok(rows)
}

/// A document of a known version. The content of another format is not known: if it cannot be read, only its version is checked.
fn parse_versioned<T: DeserializeOwned>(
    text: &[u8],
    format: impl Fn(&T) -> u32,
) -> Result<T, TextError> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u64,
    }
    let failed = |error| TextError::json(&error, 0);
    match serde_json::from_slice(text) {
        Ok(document) => refuse_other(format(&document).into()).map(|()| document),
        Err(error) => {
            let versioned: Versioned = serde_json::from_slice(text).map_err(failed)?;
            refuse_other(versioned.format)?;
            Err(failed(error))
        }
    }
}

fn refuse_other(format: u64) -> Result<(), TextError> {
    if format == u64::from(FORMAT) {
        return Ok(());
    }
    Err(TextError::OtherFormat { found: format })
}

fn check_run(info: &RunInfo) -> Result<(), String> {
    let mut cells: Vec<u32> = info.cells.iter().map(|cell| cell.cell).collect();
    cells.sort_unstable();
    if let Some(pair) = cells.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("cell {} is twice in `cells`", pair[0]));
    }
    let mut order = info.order.clone();
    order.sort_unstable();
    if let Some(pair) = order.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("{} is twice in `order`", pair[0]));
    }
    match order
        .iter()
        .find(|key| cells.binary_search(&key.cell).is_err())
    {
        None => Ok(()),
        Some(key) => Err(format!(
            "{key} is in `order`, but there is no such cell in `cells`"
        )),
    }
}
