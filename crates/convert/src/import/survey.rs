//! The first pass over the files: what they are, whether they can be read to their end, and what their requests span.

use std::{
    cmp::Ordering,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_results::QuantilePoint;

use super::{
    ab::{self, Kind, Summary},
    columns::{self, Mapping},
    foreign, hey, jmeter, k6,
    request::{FileFacts, Request, Visit},
    text,
    trial::modified_us,
    vegeta,
};

/// More labels than this are no steps.
pub(crate) const STEPS_MAX: usize = 50;
/// A load that is shorter than this has no rate.
const SPAN_MIN_US: u64 = 1_000;
/// Most lines above the first output of ab.
const LINES_ABOVE_AB_MAX: usize = 100;
/// Starts in the files of `ab -g` are whole seconds.
const AB_SECOND_US: u64 = 1_000_000;

/// How the requests of a file are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reader {
    AbRequests,
    K6,
    Jmeter,
    Vegeta,
    Hey,
    Columns(Mapping),
}

impl Reader {
    /// Reads all requests of a file.
    pub(crate) fn read(&self, path: &Path, visit: &mut Visit<'_>) -> Result<FileFacts> {
        match self {
            Self::AbRequests => ab::read_requests(text::open(path)?, visit),
            Self::K6 => k6::read(text::open(path)?, visit),
            Self::Jmeter => jmeter::read(path, &first_line(path)?, visit),
            Self::Vegeta => vegeta::read(text::open(path)?, visit),
            Self::Hey => {
                let base_us = modified_us(path).unwrap_or(0);
                hey::read(path, &first_line(path)?, base_us, visit)
            }
            Self::Columns(mapping) => {
                columns::read(text::open(path)?, &first_line(path)?, mapping, visit)
            }
        }
    }
}

/// A file of single requests.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
    pub(crate) count: u64,
    /// From the first start to the last answer.
    pub(crate) start_us: u64,
    pub(crate) end_us: u64,
    /// In the order in which they first come; one more than [`STEPS_MAX`] at most.
    pub(crate) labels: Vec<String>,
    /// What ab says of the same load.
    pub(crate) summary: Option<Summary>,
}

/// A trial, as its files have it.
#[derive(Debug)]
pub(crate) enum Surveyed {
    Requests(Box<Requests>),
    /// Only ab's summary; the path is that of its text.
    Summary(PathBuf, Box<Summary>),
}

/// A trial of a tool whose files have single requests.
pub(crate) fn requests(reader: &Reader, files: &[PathBuf]) -> Result<Surveyed> {
    let [path] = files else {
        bail!(
            "{} are several files: only those of ab can be one trial",
            names(files)
        );
    };
    foreign::refuse(path)?;
    survey(reader, path, None)
}

fn survey(reader: &Reader, path: &Path, summary: Option<Summary>) -> Result<Surveyed> {
    let mut seen = Seen::new();
    let facts = reader.read(path, &mut |request| {
        seen.add(request);
        Ok(())
    })?;
    let (start_us, end_us) = match &summary {
        Some(summary) => ab_span(summary.seconds, seen.first, seen.last),
        None => (seen.first.0, seen.end_us),
    };
    let count = seen.count;
    if end_us - start_us < SPAN_MIN_US {
        bail!(
            "{}: its {count} requests span less than 1 ms, so they have no rate",
            path.display()
        );
    }
    Ok(Surveyed::Requests(Box::new(Requests {
        path: path.to_owned(),
        facts,
        count,
        start_us,
        end_us,
        labels: seen.labels,
        summary,
    })))
}

/// The requests of a file so far.
struct Seen {
    count: u64,
    /// The first start, and how many requests have it.
    first: (u64, u64),
    /// The same of the last start.
    last: (u64, u64),
    end_us: u64,
    labels: Vec<String>,
}

impl Seen {
    fn new() -> Self {
        Self {
            count: 0,
            first: (u64::MAX, 0),
            last: (0, 0),
            end_us: 0,
            labels: Vec::new(),
        }
    }

    fn add(&mut self, request: &Request<'_>) {
        self.count += 1;
        let at_us = request.start_us;
        self.first = match at_us.cmp(&self.first.0) {
            Ordering::Less => (at_us, 1),
            Ordering::Equal => (at_us, self.first.1 + 1),
            Ordering::Greater => self.first,
        };
        self.last = match at_us.cmp(&self.last.0) {
            Ordering::Greater => (at_us, 1),
            Ordering::Equal => (at_us, self.last.1 + 1),
            Ordering::Less => self.last,
        };
        self.end_us = self.end_us.max(request.end_us());
        let is_known = self.labels.iter().any(|label| label == request.label);
        if !is_known && self.labels.len() <= STEPS_MAX {
            self.labels.push(request.label.to_owned());
        }
    }
}

/// Start and end of a test of ab that took so many seconds. Of its first and its last request the second is known in which they
/// were sent, and how many others were sent in it; the rate is taken to be the same in both.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^52, and the reader refuses times that are negative or too long"
)]
fn ab_span(seconds: f64, first: (u64, u64), last: (u64, u64)) -> (u64, u64) {
    let length_us = (seconds * 1e6).round().max(1.0) as u64;
    let whole_us = (last.0 - first.0).saturating_sub(AB_SECOND_US);
    let ends_us = length_us.saturating_sub(whole_us);
    let start_us = if last.0 > first.0 {
        let share = first.1 as f64 / (first.1 + last.1) as f64;
        let in_first_us = (ends_us as f64 * share).round() as u64;
        first.0 + AB_SECOND_US - in_first_us.clamp(1, AB_SECOND_US)
    } else {
        first.0
    };
    (start_us, start_us + length_us)
}

/// The files of one trial of ab, by their kinds.
#[derive(Default)]
struct AbFiles {
    text: Option<PathBuf>,
    quantiles: Option<PathBuf>,
    requests: Option<PathBuf>,
}

/// A trial of ab: the text, the files of `-e` and `-g`, or several of them. A text with the output of several tests is as many
/// trials.
pub(crate) fn ab(files: &[PathBuf], all_succeeded: bool) -> Result<Vec<Surveyed>> {
    for path in files {
        foreign::refuse(path)?;
    }
    let inputs = ab_files(files)?;
    let Some(path) = &inputs.text else {
        return Ok(vec![ab_test(files, inputs, None, all_succeeded)?]);
    };
    let mut summaries = ab::read_text(text::open(path)?)?;
    if let ([_, _, ..], [_, _, ..]) = (&summaries[..], files) {
        bail!(
            "{} has the output of {} tests: only that of one is joined with other files",
            path.display(),
            summaries.len()
        );
    }
    match (summaries.pop(), &summaries[..]) {
        (last, []) => Ok(vec![ab_test(files, inputs, last, all_succeeded)?]),
        (last, _) => Ok((summaries.into_iter().chain(last))
            .map(|summary| Surveyed::Summary(path.clone(), Box::new(summary)))
            .collect()),
    }
}

/// `summary`: what the text says.
fn ab_test(
    files: &[PathBuf],
    inputs: AbFiles,
    mut summary: Option<Summary>,
    all_succeeded: bool,
) -> Result<Surveyed> {
    let text = inputs.text.as_ref();
    if let (Some(path), Some(summary)) = (&inputs.quantiles, &mut summary) {
        let points: Vec<QuantilePoint> = ab::read_quantiles(text::open(path)?)?;
        summary.quantiles.points = points;
        summary.resolution_us = 1.0;
    }
    match (inputs.requests, text, summary) {
        (Some(requests), None, _) if !all_succeeded => bail!(
            "{} does not say which requests failed: add ab's text output, as TEXT,{}; if none failed, --all-succeeded",
            requests.display(),
            requests.display()
        ),
        (Some(requests), _, summary) => with_requests(&requests, summary),
        (None, Some(text), Some(summary)) => Ok(Surveyed::Summary(text.clone(), Box::new(summary))),
        (None, ..) => bail!(
            "{} has neither counts nor a duration: add ab's text output, as TEXT,{}",
            names(files),
            names(files)
        ),
    }
}

fn with_requests(path: &Path, summary: Option<Summary>) -> Result<Surveyed> {
    if let Some(summary) = &summary
        && summary.failed > 0
    {
        bail!(
            "{} does not say which {} requests failed: import the text output alone",
            path.display(),
            summary.failed
        );
    }
    let complete = summary.as_ref().map(|summary| summary.complete);
    let surveyed = survey(&Reader::AbRequests, path, summary)?;
    if let (Some(complete), Surveyed::Requests(requests)) = (complete, &surveyed)
        && complete != requests.count
    {
        bail!(
            "{} has {} requests, but the text output {complete}: they are not of the same test",
            path.display(),
            requests.count
        );
    }
    Ok(surveyed)
}

fn ab_files(files: &[PathBuf]) -> Result<AbFiles> {
    let mut inputs = AbFiles::default();
    for path in files {
        let first = first_line(path)?;
        let kind = ab::kind(&first).or(has_ab_text(path)?.then_some(Kind::Text));
        let slot = match kind {
            Some(Kind::Text) => &mut inputs.text,
            Some(Kind::Quantiles) => &mut inputs.quantiles,
            Some(Kind::Requests) => &mut inputs.requests,
            None => bail!(
                "{}:1:1: expected ab's text output, or a file of ab -e or ab -g, found {}",
                path.display(),
                text::show_text(&first)
            ),
        };
        if slot.replace(path.clone()).is_some() {
            bail!(
                "{}: two files of the same kind are two trials",
                names(files)
            );
        }
    }
    Ok(inputs)
}

/// The first line that is not empty; empty if there is none.
fn first_line(path: &Path) -> Result<String> {
    let mut lines = text::open(path)?;
    loop {
        let is_line = lines.next_line();
        let is_line = is_line.with_context(|| format!("cannot import {}", path.display()))?;
        if !is_line || !lines.text.trim().is_empty() {
            return Ok(lines.text);
        }
    }
}

/// Whether the output of a test of ab begins within the first lines: a script may have written others above it.
fn has_ab_text(path: &Path) -> Result<bool> {
    let mut lines = text::open(path)?;
    for _ in 0..LINES_ABOVE_AB_MAX {
        if !lines.next_line()? {
            return Ok(false);
        }
        if ab::begins_text(&lines.text) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(",")
}
