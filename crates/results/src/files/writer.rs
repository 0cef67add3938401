//! Writes one trial: rows and histograms by interval, then `trial.json`, then the folder's name.
//!
//! A crash at any instant leaves either the hidden `.partial` folder, which readers ignore, or the whole trial.
//! Nothing here runs per request: the busiest call is once an interval.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{
    BacklogRow, DelayHistograms, IntervalRow, ResourceRow, SystemMetricRow, TrialInfo, TrialKey,
    WriteError,
    files::{
        disk::{json, sync_folder, write_synced},
        names::{
            BACKLOG, CONNECT_TIME, DELIVERY_DELAY, FAILED_TIME, FIRST_BYTE_TIME, HANDSHAKE_TIME,
            INTERMEDIATE, INTERVALS, LAG, LOGS, METRICS, RESOURCES, RESPONSE_TIME, SERVICE_TIME,
            SESSION_DURATION, STEPS, TRIAL_FILE, folder_name, step_folder,
        },
        trial_files::OutputFile,
    },
    histograms::{hlog, hlog::LineHead, intermediate_probes::ProbeFiles},
};

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
    /// Until the first byte of an answer; `None`: not noted, in this interval as in every other.
    pub first_byte_time: Option<&'a Histogram<u64>>,
    /// Of completed sessions; `None`: not noted, in this interval as in every other.
    pub session_duration: Option<&'a Histogram<u64>>,
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
    /// Names of a scenario's steps; none if the load is one request.
    pub steps: &'a [String],
    /// Names of the probes on the records' way to where they must arrive.
    pub intermediate_probes: &'a [String],
    pub started_unix_ns: u64,
}

/// Writes one trial. Dropped before [`TrialWriter::finish`], it leaves what a crash would leave.
#[derive(Debug)]
pub struct TrialWriter {
    partial: PathBuf,
    whole: PathBuf,
    intervals: OutputFile,
    resources: OutputFile,
    backlog: OutputFile,
    /// Opened by the first row.
    metrics: Option<OutputFile>,
    load: Option<Load>,
}

/// The files that are open after the load has started.
struct Load {
    tag: String,
    started_unix_s: f64,
    steps: Vec<StepFiles>,
    intermediate_probes: Vec<ProbeFiles>,
    /// Opened by the first interval that has them.
    connect_time: Option<OutputFile>,
    handshake_time: Option<OutputFile>,
    first_byte_time: Option<OutputFile>,
    session_duration: Option<OutputFile>,
    response_time: OutputFile,
    service_time: OutputFile,
    failed_time: OutputFile,
    lag: OutputFile,
    delivery_delay: OutputFile,
    /// Those that not every probe has.
    optional_delays: Vec<OutputFile>,
    serializer: V2DeflateSerializer,
    /// End of the last interval.
    end_s: f64,
}

/// The files of one step.
struct StepFiles {
    tag: String,
    response_time: OutputFile,
    service_time: OutputFile,
    failed_time: OutputFile,
}

impl std::fmt::Debug for Load {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Load")
            .field("tag", &self.tag)
            .field("end_s", &self.end_s)
            .finish_non_exhaustive()
    }
}

impl StepFiles {
    fn open(
        partial: &Path,
        index: usize,
        name: &str,
        started_unix_s: f64,
    ) -> Result<Self, WriteError> {
        let folder = partial.join(step_folder(index, name));
        fs::create_dir_all(&folder).map_err(WriteError::io("create", &folder))?;
        let open = |file| OutputFile::log(&folder, file, started_unix_s);
        Ok(Self {
            tag: hlog::tag_of(name),
            response_time: open(RESPONSE_TIME)?,
            service_time: open(SERVICE_TIME)?,
            failed_time: open(FAILED_TIME)?,
        })
    }
}

impl Load {
    fn outs(&mut self) -> impl Iterator<Item = &mut OutputFile> {
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
            .chain(&mut self.first_byte_time)
            .chain(&mut self.session_duration)
            .chain(&mut self.optional_delays)
            .chain(
                self.intermediate_probes
                    .iter_mut()
                    .flat_map(ProbeFiles::outs),
            )
            .chain(steps)
    }

    fn write(
        &mut self,
        partial: &Path,
        (start_s, length_s): (f64, f64),
        histograms: IntervalHistograms<'_>,
    ) -> Result<(), WriteError> {
        let head = LineHead {
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
            out.histogram(serializer, head, histogram)?;
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
            (
                FIRST_BYTE_TIME,
                &mut self.first_byte_time,
                histograms.first_byte_time,
            ),
            (
                SESSION_DURATION,
                &mut self.session_duration,
                histograms.session_duration,
            ),
        ] {
            let Some(histogram) = histogram else { continue };
            let out = match out {
                Some(out) => out,
                None => out.insert(OutputFile::log(partial, name, self.started_unix_s)?),
            };
            out.histogram(serializer, head, histogram)?;
        }
        for (step, histograms) in self.steps.iter_mut().zip(histograms.steps) {
            let head = LineHead {
                tag: &step.tag,
                ..head
            };
            for (out, histogram) in [
                (&mut step.response_time, histograms.response_time),
                (&mut step.service_time, histograms.service_time),
                (&mut step.failed_time, histograms.failed_time),
            ] {
                out.histogram(serializer, head, histogram)?;
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
            intervals: OutputFile::create(&partial, INTERVALS)?,
            resources: OutputFile::create(&partial, RESOURCES)?,
            backlog: OutputFile::create(&partial, BACKLOG)?,
            partial,
            whole,
            metrics: None,
            load: None,
        })
    }

    /// Where the components' logs go until the trial is finished.
    #[must_use]
    pub fn logs_folder(&self) -> PathBuf {
        self.partial.join(LOGS)
    }

    /// Opens the files of the load; must be called before the first interval.
    ///
    /// # Errors
    /// If writing fails.
    pub fn load_started(&mut self, start: &LoadStart<'_>) -> Result<(), WriteError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a time of day to the microsecond is enough"
        )]
        let started_unix_s = start.started_unix_ns as f64 / 1e9;
        let open = |name| OutputFile::log(&self.partial, name, started_unix_s);
        let steps = start.steps.iter().enumerate();
        self.load = Some(Load {
            tag: hlog::tag_of(start.name),
            started_unix_s,
            steps: steps
                .map(|(index, name)| StepFiles::open(&self.partial, index, name, started_unix_s))
                .collect::<Result<_, _>>()?,
            intermediate_probes: (0..)
                .zip(start.intermediate_probes)
                .map(|(index, name)| ProbeFiles::open(&self.partial, index, name, started_unix_s))
                .collect::<Result<_, _>>()?,
            connect_time: None,
            handshake_time: None,
            first_byte_time: None,
            session_duration: None,
            response_time: open(RESPONSE_TIME)?,
            service_time: open(SERVICE_TIME)?,
            failed_time: open(FAILED_TIME)?,
            lag: open(LAG)?,
            delivery_delay: open(DELIVERY_DELAY)?,
            optional_delays: Vec::new(),
            serializer: V2DeflateSerializer::new(),
            end_s: 0.0,
        });
        Ok(())
    }

    /// One interval of the load, in order of their starts.
    ///
    /// # Errors
    /// If the load was not started, or with other steps; if the row has a number that is not finite, or writing fails.
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
    /// If the row has a number that is not finite, or writing fails.
    pub fn resource(&mut self, row: &ResourceRow) -> Result<(), WriteError> {
        self.resources.row(row)
    }

    /// How far the probe where records must arrive was at one poll.
    ///
    /// # Errors
    /// If the row has a number that is not finite, or writing fails.
    pub fn backlog(&mut self, row: &BacklogRow) -> Result<(), WriteError> {
        self.backlog.row(row)
    }

    /// How far an intermediate probe was at one poll; probes count from 0.
    ///
    /// # Errors
    /// If the load was not started with that probe, the row has a number that is not finite, or writing fails.
    pub fn intermediate_backlog(
        &mut self,
        index: usize,
        row: &BacklogRow,
    ) -> Result<(), WriteError> {
        let (out, _, _) = self.probe(index)?;
        out.backlog.row(row)
    }

    /// A metric of the system at one instant.
    ///
    /// # Errors
    /// If the row has a number that is not finite, or writing fails.
    pub fn metric(&mut self, row: &SystemMetricRow) -> Result<(), WriteError> {
        let out = match &mut self.metrics {
            Some(out) => out,
            None => self
                .metrics
                .insert(OutputFile::create(&self.partial, METRICS)?),
        };
        out.row(row)
    }

    /// The delays at the probe where records must arrive; once, after the last interval.
    ///
    /// # Errors
    /// If the load was not started, or writing fails.
    pub fn delays(&mut self, delays: &DelayHistograms<'_>) -> Result<(), WriteError> {
        let Some(load) = &mut self.load else {
            return Err(WriteError::NotStarted {
                path: self.partial.clone(),
            });
        };
        let head = LineHead {
            tag: &load.tag,
            start_s: 0.0,
            length_s: load.end_s,
        };
        let serializer = &mut load.serializer;
        load.delivery_delay
            .histogram(serializer, head, delays.delivery)?;
        load.optional_delays =
            delays.write_optional(&self.partial, load.started_unix_s, serializer, head)?;
        Ok(())
    }

    /// The same of an intermediate probe; probes count from 0.
    ///
    /// # Errors
    /// If the load was not started with that probe, or writing fails.
    pub fn intermediate_delays(
        &mut self,
        index: usize,
        delays: &DelayHistograms<'_>,
    ) -> Result<(), WriteError> {
        let (out, serializer, head) = self.probe(index)?;
        out.write_delays(serializer, head, delays)
    }

    fn probe(
        &mut self,
        index: usize,
    ) -> Result<(&mut ProbeFiles, &mut V2DeflateSerializer, LineHead<'_>), WriteError> {
        let not_started = || WriteError::NotStarted {
            path: self.partial.clone(),
        };
        let load = self.load.as_mut().ok_or_else(not_started)?;
        let out = load
            .intermediate_probes
            .get_mut(index)
            .ok_or_else(not_started)?;
        let head = LineHead {
            tag: &load.tag,
            start_s: 0.0,
            length_s: load.end_s,
        };
        Ok((out, &mut load.serializer, head))
    }

    /// Makes everything durable, writes `trial.json` and gives the folder its name, which is returned.
    /// The components' logs are as durable as the components made them.
    ///
    /// # Errors
    /// If `info` has a number that is not finite, or writing fails; the trial then counts as not done.
    pub fn finish(mut self, info: &TrialInfo) -> Result<PathBuf, WriteError> {
        let load = self.load.iter_mut().flat_map(Load::outs);
        for out in [&mut self.intervals, &mut self.resources, &mut self.backlog]
            .into_iter()
            .chain(&mut self.metrics)
            .chain(load)
        {
            out.sync()?;
        }
        let trial_file = self.partial.join(TRIAL_FILE);
        write_synced(&trial_file, &json(&trial_file, info)?)?;
        let steps = self.load.iter().flat_map(|load| &load.steps);
        let probes = self.load.iter().flat_map(|load| &load.intermediate_probes);
        let paths = steps
            .map(|step| &step.response_time.path)
            .chain(probes.map(|probe| &probe.backlog.path));
        for folder in paths.filter_map(|path| path.parent()) {
            sync_folder(folder)?;
        }
        for folder in [STEPS, INTERMEDIATE].map(|name| self.partial.join(name)) {
            if folder.exists() {
                sync_folder(&folder)?;
            }
        }
        sync_folder(&self.partial)?;
        fs::rename(&self.partial, &self.whole).map_err(WriteError::io("rename", &self.partial))?;
        if let Some(trials) = self.whole.parent() {
            sync_folder(trials)?;
        }
        Ok(self.whole)
    }
}
