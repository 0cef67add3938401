//! A trial as it is written: its intervals and its `trial.json`.

use std::{
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use jiff::Timestamp;
use waggle_results::{
    CountsRow, ImportedTrialInfo, IntervalHistograms, IntervalRow, LoadStart, PhaseInfo, PhaseName,
    StepCounts, StepInfo, TrialInfo, TrialKey, TrialWriter, UnknownFact,
};
use waggle_spec::{StepTimes, TimeKind, Times};

use super::{
    ab::Summary,
    load_model,
    survey::{Reader, Requests, Surveyed},
    tally::{TalliedInterval, Tally},
    timeline::Timeline,
};

/// What every import lacks.
const ALWAYS_UNKNOWN: [UnknownFact; 5] = [
    UnknownFact::DueTimes,
    UnknownFact::Generator,
    UnknownFact::Machine,
    UnknownFact::SystemResources,
    UnknownFact::Delivery,
];
/// Starts in the files of `ab -g` are whole seconds.
const AB_START_US: u64 = 1_000_000;
const US_PER_S: u64 = 1_000_000;

/// How trials are written.
pub(crate) struct Plan<'a> {
    pub(crate) reader: &'a Reader,
    /// Of the study; tags the histograms.
    pub(crate) name: &'a str,
    /// Empty: all requests are alike.
    pub(crate) steps: &'a [String],
    pub(crate) warm_up_us: u64,
}

/// Which trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) key: TrialKey,
    pub(crate) position: u32,
}

/// A trial whose files can be imported.
pub(crate) enum Trial {
    Requests(Box<Requests>, Timeline),
    Summary(PathBuf, Box<Summary>),
}

/// A trial that can be written, with its requests by interval.
pub(crate) struct TalliedTrial<'a> {
    trial: &'a Trial,
    /// `None` without single requests.
    tally: Option<Tally>,
}

/// Counts of the measured phase and of all.
#[derive(Default)]
struct Sums {
    measured: CountsRow,
    totals: CountsRow,
    /// (measured, all) of each step.
    steps: Vec<(StepCounts, StepCounts)>,
}

impl Trial {
    /// Checks that something is measured.
    pub(crate) fn prepare(surveyed: Surveyed, plan: &Plan<'_>) -> Result<Self> {
        let requests = match surveyed {
            Surveyed::Requests(requests) => requests,
            Surveyed::Summary(path, _) if plan.warm_up_us > 0 => bail!(
                "{} has no single requests, so --warm-up cannot leave any out: add the file of ab -g",
                path.display()
            ),
            Surveyed::Summary(path, summary) => return Ok(Self::Summary(path, summary)),
        };
        let is_ab = *plan.reader == Reader::AbRequests;
        let mut measure_us = requests.start_us.saturating_add(plan.warm_up_us);
        if is_ab && plan.warm_up_us > 0 {
            measure_us = measure_us.next_multiple_of(AB_START_US);
        }
        if measure_us >= requests.end_us {
            bail!(
                "{}: --warm-up leaves out everything: the load took {} s",
                requests.path.display(),
                seconds(requests.end_us - requests.start_us)
            );
        }
        let span = (requests.start_us, requests.end_us);
        let mut timeline = Timeline::new(span, measure_us);
        if is_ab {
            timeline.grid_us = measure_us.next_multiple_of(AB_START_US);
            timeline = timeline.with_intervals_from(AB_START_US);
        }
        Ok(Self::Requests(requests, timeline))
    }

    /// Reads the requests again, into intervals that are so long that memory suffices.
    pub(crate) fn read(&self, plan: &Plan<'_>) -> Result<TalliedTrial<'_>> {
        let Self::Requests(requests, timeline) = self else {
            return Ok(TalliedTrial {
                trial: self,
                tally: None,
            });
        };
        let mut timeline = *timeline;
        loop {
            let tally = tally(plan, &requests.path, timeline)?;
            if tally.is_some() {
                return Ok(TalliedTrial { trial: self, tally });
            }
            timeline = timeline.with_intervals_from(timeline.interval_us.saturating_add(1));
        }
    }

    /// Length of the intervals and of the measured phase, in seconds.
    pub(crate) fn lengths_s(&self) -> (f64, f64) {
        match self {
            Self::Requests(_, line) => {
                let measured_us = line.end_us - line.measure_us;
                (seconds(line.interval_us), seconds(measured_us))
            }
            Self::Summary(_, summary) => (summary.seconds, summary.seconds),
        }
    }

    pub(crate) fn resolution_us(&self) -> f64 {
        match self {
            Self::Requests(requests, _) => requests.facts.resolution_us,
            Self::Summary(_, summary) => summary.resolution_us,
        }
    }

    pub(crate) fn unknown(&self, plan: &Plan<'_>) -> Vec<UnknownFact> {
        let mut unknown = ALWAYS_UNKNOWN.to_vec();
        let mut lacks = |fact, lacks: bool| {
            if lacks {
                unknown.push(fact);
            }
        };
        lacks(UnknownFact::WarmUp, plan.warm_up_us == 0);
        match self {
            Self::Requests(requests, _) => {
                let is_counted = requests.summary.is_some() && plan.warm_up_us == 0;
                let has_received = requests.facts.has_bytes_received || is_counted;
                lacks(UnknownFact::StartTime, !requests.facts.has_start_time);
                lacks(UnknownFact::BytesSent, !requests.facts.has_bytes_sent);
                lacks(UnknownFact::BytesReceived, !has_received);
            }
            Self::Summary(_, summary) => {
                lacks(UnknownFact::SingleRequests, true);
                lacks(UnknownFact::FailedRequests, summary.failed > 0);
                lacks(UnknownFact::StartTime, true);
                lacks(UnknownFact::BytesSent, summary.bytes_sent.is_none());
            }
        }
        unknown
    }

    /// When the load started, in µs since 1970; if the files do not say it, by the date of the file.
    fn start_us(&self) -> u64 {
        match self {
            Self::Requests(requests, _) => requests.start_us,
            Self::Summary(path, _) => modified_us(path).unwrap_or(0),
        }
    }

    pub(crate) fn started_utc(&self) -> String {
        let micros = i64::try_from(self.start_us()).unwrap_or(i64::MAX);
        Timestamp::from_microsecond(micros).map_or_else(
            |_| String::new(),
            |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        )
    }
}

impl TalliedTrial<'_> {
    /// Refuses files that show a closed load.
    pub(crate) fn check_open(&self) -> Result<()> {
        match (self.trial, &self.tally) {
            (Trial::Requests(requests, _), Some(tally)) => {
                load_model::check_open(&requests.path.display().to_string(), tally)
            }
            _ => Ok(()),
        }
    }

    /// Writes the trial.
    pub(crate) fn write(
        &self,
        mut writer: TrialWriter,
        plan: &Plan<'_>,
        place: Place,
        files: &[PathBuf],
    ) -> Result<()> {
        writer.load_started(&LoadStart {
            name: plan.name,
            steps: plan.steps,
            intermediate_probes: &[],
            started_unix_ns: self.trial.start_us().saturating_mul(1_000),
        })?;
        let (sums, phases) = match (self.trial, &self.tally) {
            (Trial::Requests(requests, _), Some(tally)) => {
                let mut sums = write_intervals(&mut writer, tally, plan)?;
                // ab counts bytes in its text alone, and of the whole load.
                if let Some(summary) = &requests.summary {
                    sums.totals.bytes_received = summary.bytes_received;
                    if plan.warm_up_us == 0 {
                        sums.measured.bytes_received = summary.bytes_received;
                    }
                }
                (sums, phases(&tally.timeline))
            }
            (Trial::Requests(..), None) => (Sums::default(), Vec::new()),
            (Trial::Summary(_, summary), _) => {
                let counts = summary_counts(summary);
                write_summary(&mut writer, &counts, plan.steps)?;
                let sums = Sums {
                    measured: counts.clone(),
                    totals: counts,
                    steps: vec![<(StepCounts, StepCounts)>::default(); plan.steps.len()],
                };
                (sums, vec![phase(PhaseName::Measure, 0.0, summary.seconds)])
            }
        };
        writer.finish(&TrialInfo {
            phases,
            ..self.trial.info(plan, place, sums, files)
        })?;
        Ok(())
    }
}

impl Trial {
    /// Without its phases.
    fn info(&self, plan: &Plan<'_>, place: Place, sums: Sums, files: &[PathBuf]) -> TrialInfo {
        let (remarks, quantiles) = match self {
            Self::Requests(requests, _) => {
                let facts = &requests.facts;
                (facts.remarks.clone(), None)
            }
            Self::Summary(_, summary) => (summary.remarks.clone(), Some(summary.quantiles.clone())),
        };
        let steps = plan.steps.iter().zip(sums.steps);
        TrialInfo {
            measured: sums.measured,
            totals: sums.totals,
            remarks,
            steps: steps
                .map(|(name, (measured, totals))| StepInfo {
                    name: name.clone(),
                    measured,
                    totals,
                })
                .collect(),
            imported: Some(ImportedTrialInfo {
                files: files.iter().map(|path| file_name(path)).collect(),
                resolution_us: self.resolution_us(),
                unknown: self.unknown(plan),
                quantiles,
            }),
            ..TrialInfo::new(place.key, place.position, self.started_utc())
        }
    }
}

/// When a file was written, in µs since 1970.
pub(crate) fn modified_us(path: &Path) -> Option<u64> {
    let modified = path
        .metadata()
        .and_then(|metadata| metadata.modified())
        .ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_micros()).ok()
}

fn phases(line: &Timeline) -> Vec<PhaseInfo> {
    let (measure_s, end_s) = (line.seconds(line.measure_us), line.seconds(line.end_us));
    let warm_up = (measure_s > 0.0).then(|| phase(PhaseName::WarmUp, 0.0, measure_s));
    let measure = phase(PhaseName::Measure, measure_s, end_s);
    warm_up.into_iter().chain([measure]).collect()
}

/// Writes the intervals and adds them up.
fn write_intervals(writer: &mut TrialWriter, tally: &Tally, plan: &Plan<'_>) -> Result<Sums> {
    let mut sums = Sums {
        steps: vec![<(StepCounts, StepCounts)>::default(); plan.steps.len()],
        ..Sums::default()
    };
    let warm_up = tally.timeline.warm_up_intervals();
    let is_whole = plan.steps.is_empty();
    for (index, interval) in (0u64..).zip(tally.intervals()) {
        sums.add(&interval, index >= warm_up, is_whole);
        write_interval(writer, interval, is_whole)?;
    }
    Ok(sums)
}

/// `None`: the intervals are too short for the memory.
fn tally(plan: &Plan<'_>, path: &Path, timeline: Timeline) -> Result<Option<Tally>> {
    let mut tally = Tally::new(timeline, plan.steps);
    let mut is_too_fine = false;
    plan.reader.read(path, &mut |request| {
        is_too_fine = is_too_fine || tally.add(request).is_err();
        Ok(())
    })?;
    Ok((!is_too_fine).then_some(tally))
}

impl Sums {
    fn add(&mut self, interval: &TalliedInterval, is_measured: bool, is_whole: bool) {
        self.totals.follow(&interval.counts);
        if is_measured {
            self.measured.follow(&interval.counts);
        }
        if is_whole {
            return;
        }
        for ((measured, totals), step) in self.steps.iter_mut().zip(&interval.steps) {
            totals.follow(&step.counts);
            if is_measured {
                measured.follow(&step.counts);
            }
        }
    }
}

fn write_interval(
    writer: &mut TrialWriter,
    interval: TalliedInterval,
    is_whole: bool,
) -> Result<()> {
    let none = Histogram::new(3)?;
    let (mut times, mut failed) = (none.clone(), none.clone());
    for step in &interval.steps {
        times.add(&step.times)?;
        failed.add(&step.failed_times)?;
    }
    let shown = if is_whole {
        &[][..]
    } else {
        &interval.steps[..]
    };
    let steps = shown.iter();
    let steps: Vec<StepTimes<&Histogram<u64>>> = steps
        .map(|step| answer_times(&step.times, &step.failed_times))
        .collect();
    let row = IntervalRow {
        start_s: interval.start_s,
        counts: interval.counts,
        in_flight: interval.in_flight,
        in_flight_mean: interval.in_flight_mean,
        steps: shown.iter().map(|step| step.counts.clone()).collect(),
        ..IntervalRow::default()
    };
    let histograms = IntervalHistograms {
        times: Times::from_fn(|kind| match kind {
            TimeKind::Response | TimeKind::Service => Some(&times),
            TimeKind::Failed => Some(&failed),
            _ => kind.is_of_every_load().then_some(&none),
        }),
        steps: &steps,
    };
    writer.interval(&row, histograms)?;
    Ok(())
}

/// Response times are known, and service times are the same.
fn answer_times<'a>(
    times: &'a Histogram<u64>,
    failed: &'a Histogram<u64>,
) -> StepTimes<&'a Histogram<u64>> {
    Times::from_fn(|kind| match kind {
        TimeKind::Failed => failed,
        _ => times,
    })
}

/// One interval, whose times are not known.
fn write_summary(writer: &mut TrialWriter, counts: &CountsRow, steps: &[String]) -> Result<()> {
    let none = Histogram::new(3)?;
    let row = IntervalRow {
        counts: counts.clone(),
        steps: vec![StepCounts::default(); steps.len()],
        ..IntervalRow::default()
    };
    let histograms = IntervalHistograms {
        times: Times::from_fn(|kind| kind.is_of_every_load().then_some(&none)),
        steps: &vec![Times::from_fn(|_| &none); steps.len()],
    };
    writer.interval(&row, histograms)?;
    Ok(())
}

fn summary_counts(summary: &Summary) -> CountsRow {
    CountsRow {
        seconds: summary.seconds,
        due: summary.complete,
        sent: summary.complete,
        succeeded: summary.complete - summary.failed,
        failed: summary.failed,
        bytes_sent: summary.bytes_sent.unwrap_or(0),
        bytes_received: summary.bytes_received,
        failures: summary.failures.clone(),
        ..CountsRow::default()
    }
}

fn phase(phase: PhaseName, start_s: f64, end_s: f64) -> PhaseInfo {
    PhaseInfo {
        phase,
        start_s,
        end_s,
    }
}

/// The name of a file, without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[expect(clippy::cast_precision_loss, reason = "a span of µs is far below 2^53")]
fn seconds(us: u64) -> f64 {
    us as f64 / US_PER_S as f64
}
