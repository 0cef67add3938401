//! Writes one trial: rows and histograms by interval, then `trial.json`, then the folder's name.
//!
//! A crash at any instant leaves either the hidden `.partial` folder, which readers ignore, or the whole trial.
//! Nothing here runs per request: the busiest call is once an interval.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};
use waggle_spec::{StepTimes, TimeKind, Times};

use crate::{
    BacklogRow, DelayHistograms, IntervalRow, ResourceRow, SystemMetricRow, TrialInfo, TrialKey,
    WriteError,
    files::{
        disk::{json, sync_folder, write_synced},
        names::{
            BACKLOG, DELIVERY_DELAY, INTERMEDIATE, INTERVALS, LOGS, METRICS, PARTIAL, RESOURCES,
            STEPS, TRIAL_FILE, folder_name, step_folder, times_file,
        },
        trial_files::OutputFile,
    },
    histograms::{hlog, hlog::LineHead, intermediate_probes::ProbeFiles},
    private_file,
};

/// The histograms of one interval, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct IntervalHistograms<'a> {
    /// `None`: not noted, in this interval as in every other. What every load has is noted as empty.
    pub times: Times<Option<&'a Histogram<u64>>>,
    /// As many as the load was started with.
    pub steps: &'a [StepTimes<&'a Histogram<u64>>],
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
    /// Those that not every load has are opened by the first interval that has them.
    times: Times<Option<OutputFile>>,
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
    times: StepTimes<OutputFile>,
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
        private_file::create_folder(&folder).map_err(WriteError::io("create", &folder))?;
        Ok(Self {
            tag: hlog::tag_of(name),
            times: Times::try_from_fn(|kind| open_times(&folder, kind, started_unix_s))?,
        })
    }
}

/// The log of one kind of times.
fn open_times(
    folder: &Path,
    kind: TimeKind,
    started_unix_s: f64,
) -> Result<OutputFile, WriteError> {
    OutputFile::log(folder, &times_file(kind), started_unix_s)
}

impl Load {
    fn outs(&mut self) -> impl Iterator<Item = &mut OutputFile> {
        let times = self.times.iter_mut();
        let steps = self.steps.iter_mut();
        let steps = steps.flat_map(|step| step.times.iter_mut().map(|(_, out)| out));
        times
            .filter_map(|(_, out)| out.as_mut())
            .chain([&mut self.delivery_delay])
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
        for (kind, out) in self.times.iter_mut() {
            let Some(histogram) = histograms.times[kind] else {
                continue;
            };
            let out = match out {
                Some(out) => out,
                None => out.insert(open_times(partial, kind, self.started_unix_s)?),
            };
            out.histogram(serializer, head, histogram)?;
        }
        for (step, histograms) in self.steps.iter_mut().zip(histograms.steps) {
            let head = LineHead {
                tag: &step.tag,
                ..head
            };
            for (out, histogram) in step.times.zip_mut(histograms) {
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
        let partial = trials.join(format!(".{name}{PARTIAL}"));
        for left in [&whole, &partial] {
            if left.exists() {
                fs::remove_dir_all(left).map_err(WriteError::io("remove", left))?;
            }
        }
        let logs = partial.join(LOGS);
        private_file::create_folder(&logs).map_err(WriteError::io("create", &logs))?;
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
            times: Times::try_from_fn(|kind| {
                let is_needed = kind.is_of_every_load();
                let open = is_needed.then(|| open_times(&self.partial, kind, started_unix_s));
                open.transpose()
            })?,
            delivery_delay: OutputFile::log(&self.partial, DELIVERY_DELAY, started_unix_s)?,
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
            .map(|step| &step.times[TimeKind::Response].path)
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
