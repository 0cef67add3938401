//! One trial on its way to disk: rows and histograms by interval, then `trial.json`, then the folder's name.
//!
//! A crash at any instant leaves either the hidden `.partial` folder, which readers ignore, or the whole trial.
//! Nothing here runs per request: the busiest call is once an interval.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    BacklogRow, IntervalRow, ResourceRow, TrialInfo, TrialKey, WriteError,
    folder::{json, sync_folder, unreadable, write_synced},
    hlog::{self, Place},
};

pub(crate) const TRIAL_FILE: &str = "trial.json";
pub(crate) const INTERVALS: &str = "intervals.ndjson";
pub(crate) const RESOURCES: &str = "resources.ndjson";
pub(crate) const BACKLOG: &str = "backlog.ndjson";
pub(crate) const RESPONSE_TIME: &str = "response_time.hlog";
pub(crate) const SERVICE_TIME: &str = "service_time.hlog";
pub(crate) const FAILED_TIME: &str = "failed_time.hlog";
pub(crate) const LAG: &str = "lag.hlog";
pub(crate) const DELIVERY_DELAY: &str = "delivery_delay.hlog";
pub(crate) const CONNECT_TIME: &str = "connect_time.hlog";
pub(crate) const HANDSHAKE_TIME: &str = "handshake_time.hlog";
pub(crate) const LOGS: &str = "logs";
const STEPS: &str = "steps";
/// Most letters of a step's name in its folder's name.
const STEP_LETTERS_MAX: usize = 64;

/// The histograms of one interval, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct IntervalHistograms<'a> {
    pub response_time: &'a Histogram<u64>,
    pub service_time: &'a Histogram<u64>,
    pub failed_time: &'a Histogram<u64>,
    pub lag: &'a Histogram<u64>,
    /// Opening a connection, and its TLS handshake; `None`: not noted, in this interval as in every other.
    pub connect_time: Option<&'a Histogram<u64>>,
    pub handshake_time: Option<&'a Histogram<u64>>,
    /// As many as the load was started with.
    pub steps: &'a [StepHistograms<'a>],
}

/// The histograms of one step in one interval, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct StepHistograms<'a> {
    pub response_time: &'a Histogram<u64>,
    pub service_time: &'a Histogram<u64>,
    pub failed_time: &'a Histogram<u64>,
}

/// What is known of a load when it starts.
#[derive(Debug, Clone, Copy)]
pub struct LoadStart<'a> {
    /// Of the request or the scenario; tags the histograms.
    pub name: &'a str,
    /// Names of a scenario's steps; none where the load is one request.
    pub steps: &'a [String],
    pub started_unix_ns: u64,
}

/// Writes one trial. Dropped before [`TrialWriter::finish`], it leaves what a crash would leave.
#[derive(Debug)]
pub struct TrialWriter {
    partial: PathBuf,
    whole: PathBuf,
    intervals: Out,
    resources: Out,
    backlog: Out,
    load: Option<Load>,
}

/// What is open once the load has started.
struct Load {
    tag: String,
    started_unix_s: f64,
    steps: Vec<StepOut>,
    /// Opened by the first interval that has them.
    connect_time: Option<Out>,
    handshake_time: Option<Out>,
    response_time: Out,
    service_time: Out,
    failed_time: Out,
    lag: Out,
    delivery_delay: Out,
    serializer: V2DeflateSerializer,
    /// End of the last interval.
    end_s: f64,
}

/// The files of one step.
struct StepOut {
    tag: String,
    response_time: Out,
    service_time: Out,
    failed_time: Out,
}

impl std::fmt::Debug for Load {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Load")
            .field("tag", &self.tag)
            .field("end_s", &self.end_s)
            .finish_non_exhaustive()
    }
}

/// A file being written, with its path for messages.
#[derive(Debug)]
struct Out {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Out {
    fn create(folder: &Path, name: &str) -> Result<Self, WriteError> {
        let path = folder.join(name);
        let file = File::create(&path).map_err(WriteError::io("create", &path))?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
        })
    }

    /// Writes one row, after making sure that it can be read again.
    fn row<T: Serialize + DeserializeOwned>(&mut self, row: &T) -> Result<(), WriteError> {
        let mut line =
            serde_json::to_string(row).map_err(|error| unreadable(&self.path, &error))?;
        serde_json::from_str::<T>(&line).map_err(|error| unreadable(&self.path, &error))?;
        line.push('\n');
        self.file
            .write_all(line.as_bytes())
            .map_err(WriteError::io("write", &self.path))
    }

    /// A log of histograms, begun.
    fn log(folder: &Path, name: &str, started_unix_s: f64) -> Result<Self, WriteError> {
        let mut out = Self::create(folder, name)?;
        hlog::write_head(&mut out.file, started_unix_s)
            .map_err(WriteError::io("write", &out.path))?;
        Ok(out)
    }

    /// One histogram of a log.
    fn histogram(
        &mut self,
        serializer: &mut V2DeflateSerializer,
        place: Place<'_>,
        histogram: &Histogram<u64>,
    ) -> Result<(), WriteError> {
        hlog::write_line(&mut self.file, serializer, place, histogram)
            .map_err(WriteError::io("write", &self.path))
    }

    fn sync(&mut self) -> Result<(), WriteError> {
        self.file
            .flush()
            .map_err(WriteError::io("write", &self.path))?;
        self.file
            .get_ref()
            .sync_all()
            .map_err(WriteError::io("sync", &self.path))
    }
}

/// `0007-c03-r1`.
pub(crate) fn folder_name(key: TrialKey, position: u32) -> String {
    format!("{position:04}-c{:02}-r{}", key.cell, key.repetition)
}

/// `steps/01-login`: whatever the step is called, its folder's name is one that every file system takes.
pub(crate) fn step_folder(place: usize, name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(STEP_LETTERS_MAX).map(plain).collect();
    format!("{STEPS}/{:02}-{name}", place + 1)
}

impl StepOut {
    fn open(
        partial: &Path,
        place: usize,
        name: &str,
        started_unix_s: f64,
    ) -> Result<Self, WriteError> {
        let folder = partial.join(step_folder(place, name));
        fs::create_dir_all(&folder).map_err(WriteError::io("create", &folder))?;
        let open = |file| Out::log(&folder, file, started_unix_s);
        Ok(Self {
            tag: hlog::tag_of(name),
            response_time: open(RESPONSE_TIME)?,
            service_time: open(SERVICE_TIME)?,
            failed_time: open(FAILED_TIME)?,
        })
    }
}

impl Load {
    fn outs(&mut self) -> impl Iterator<Item = &mut Out> {
        let whole = [
            &mut self.response_time,
            &mut self.service_time,
            &mut self.failed_time,
            &mut self.lag,
            &mut self.delivery_delay,
        ];
        let steps = self.steps.iter_mut().flat_map(|step| {
            [
                &mut step.response_time,
                &mut step.service_time,
                &mut step.failed_time,
            ]
        });
        whole
            .into_iter()
            .chain(&mut self.connect_time)
            .chain(&mut self.handshake_time)
            .chain(steps)
    }

    fn write(
        &mut self,
        partial: &Path,
        (start_s, length_s): (f64, f64),
        histograms: IntervalHistograms<'_>,
    ) -> Result<(), WriteError> {
        let place = Place {
            tag: &self.tag,
            start_s,
            length_s,
        };
        let serializer = &mut self.serializer;
        for (out, histogram) in [
            (&mut self.response_time, histograms.response_time),
            (&mut self.service_time, histograms.service_time),
            (&mut self.failed_time, histograms.failed_time),
            (&mut self.lag, histograms.lag),
        ] {
            out.histogram(serializer, place, histogram)?;
        }
        for (name, out, histogram) in [
            (
                CONNECT_TIME,
                &mut self.connect_time,
                histograms.connect_time,
            ),
            (
                HANDSHAKE_TIME,
                &mut self.handshake_time,
                histograms.handshake_time,
            ),
        ] {
            let Some(histogram) = histogram else { continue };
            let out = match out {
                Some(out) => out,
                None => out.insert(Out::log(partial, name, self.started_unix_s)?),
            };
            out.histogram(serializer, place, histogram)?;
        }
        for (step, histograms) in self.steps.iter_mut().zip(histograms.steps) {
            let place = Place {
                tag: &step.tag,
                ..place
            };
            for (out, histogram) in [
                (&mut step.response_time, histograms.response_time),
                (&mut step.service_time, histograms.service_time),
                (&mut step.failed_time, histograms.failed_time),
            ] {
                out.histogram(serializer, place, histogram)?;
            }
        }
        self.end_s = start_s + length_s;
        Ok(())
    }
}

impl TrialWriter {
    pub(crate) fn begin(trials: &Path, key: TrialKey, position: u32) -> Result<Self, WriteError> {
        let name = folder_name(key, position);
        let whole = trials.join(&name);
        if whole.join(TRIAL_FILE).exists() {
            return Err(WriteError::AlreadyFinished { key, path: whole });
        }
        let partial = trials.join(format!(".{name}.partial"));
        for left in [&whole, &partial] {
            if left.exists() {
                fs::remove_dir_all(left).map_err(WriteError::io("remove", left))?;
            }
        }
        let logs = partial.join(LOGS);
        fs::create_dir_all(&logs).map_err(WriteError::io("create", &logs))?;
        Ok(Self {
            intervals: Out::create(&partial, INTERVALS)?,
            resources: Out::create(&partial, RESOURCES)?,
            backlog: Out::create(&partial, BACKLOG)?,
            partial,
            whole,
            load: None,
        })
    }

    /// Where the components' logs go until the trial is finished.
    #[must_use]
    pub fn logs_folder(&self) -> PathBuf {
        self.partial.join(LOGS)
    }

    /// Says that the load starts now; due before the first interval.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn load_started(&mut self, start: &LoadStart<'_>) -> Result<(), WriteError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a time of day to the microsecond is enough"
        )]
        let started_unix_s = start.started_unix_ns as f64 / 1e9;
        let open = |name| Out::log(&self.partial, name, started_unix_s);
        let steps = start.steps.iter().enumerate();
        self.load = Some(Load {
            tag: hlog::tag_of(start.name),
            started_unix_s,
            steps: steps
                .map(|(place, name)| StepOut::open(&self.partial, place, name, started_unix_s))
                .collect::<Result<_, _>>()?,
            connect_time: None,
            handshake_time: None,
            response_time: open(RESPONSE_TIME)?,
            service_time: open(SERVICE_TIME)?,
            failed_time: open(FAILED_TIME)?,
            lag: open(LAG)?,
            delivery_delay: open(DELIVERY_DELAY)?,
            serializer: V2DeflateSerializer::new(),
            end_s: 0.0,
        });
        Ok(())
    }

    /// One interval of the load, in order of their starts.
    ///
    /// # Errors
    /// Where the load was not started or with other steps, the row holds a number that is not finite, or the disk refuses.
    pub fn interval(
        &mut self,
        row: &IntervalRow,
        histograms: IntervalHistograms<'_>,
    ) -> Result<(), WriteError> {
        let Some(load) = &mut self.load else {
            return Err(WriteError::NotStarted {
                path: self.partial.clone(),
            });
        };
        let steps = load.steps.len();
        if row.steps.len() != steps || histograms.steps.len() != steps {
            return Err(WriteError::Unreadable {
                path: self.intervals.path.clone(),
                problem: format!(
                    "counts of {} steps and histograms of {}, of a load with {steps}",
                    row.steps.len(),
                    histograms.steps.len()
                ),
            });
        }
        self.intervals.row(row)?;
        load.write(&self.partial, (row.start_s, row.counts.seconds), histograms)
    }

    /// CPU and memory of one component over one sampling period.
    ///
    /// # Errors
    /// Where the row holds a number that is not finite, or the disk refuses.
    pub fn resource(&mut self, row: &ResourceRow) -> Result<(), WriteError> {
        self.resources.row(row)
    }

    /// How far the store was at one look.
    ///
    /// # Errors
    /// Where the row holds a number that is not finite, or the disk refuses.
    pub fn backlog(&mut self, row: &BacklogRow) -> Result<(), WriteError> {
        self.backlog.row(row)
    }

    /// The delays until visible, in microseconds, over the whole load; once, after the last interval.
    ///
    /// # Errors
    /// Where the load was not started, or the disk refuses.
    pub fn delivery_delay(&mut self, histogram: &Histogram<u64>) -> Result<(), WriteError> {
        let Some(load) = &mut self.load else {
            return Err(WriteError::NotStarted {
                path: self.partial.clone(),
            });
        };
        let place = Place {
            tag: &load.tag,
            start_s: 0.0,
            length_s: load.end_s,
        };
        load.delivery_delay
            .histogram(&mut load.serializer, place, histogram)
    }

    /// Makes everything durable, writes `trial.json` and gives the folder its name, which is returned.
    /// The components' logs are as durable as the components made them.
    ///
    /// # Errors
    /// Where `info` holds a number that is not finite, or the disk refuses; the trial then counts as not done.
    pub fn finish(mut self, info: &TrialInfo) -> Result<PathBuf, WriteError> {
        let load = self.load.iter_mut().flat_map(Load::outs);
        for out in [&mut self.intervals, &mut self.resources, &mut self.backlog]
            .into_iter()
            .chain(load)
        {
            out.sync()?;
        }
        let trial_file = self.partial.join(TRIAL_FILE);
        write_synced(&trial_file, &json(&trial_file, info)?)?;
        let steps = self.load.iter().flat_map(|load| &load.steps);
        for folder in steps.filter_map(|step| step.response_time.path.parent()) {
            sync_folder(folder)?;
        }
        let steps_folder = self.partial.join(STEPS);
        if steps_folder.exists() {
            sync_folder(&steps_folder)?;
        }
        sync_folder(&self.partial)?;
        fs::rename(&self.partial, &self.whole).map_err(WriteError::io("rename", &self.partial))?;
        if let Some(trials) = self.whole.parent() {
            sync_folder(trials)?;
        }
        Ok(self.whole)
    }
}
