//! A run of two variants over six numbers of users, as its trials would be.

use rand::{Rng, SeedableRng, rngs::StdRng};
use waggle_results::{
    CellInfo, CountsRow, FORMAT, Host, RunInfo, ScheduleInfo, TrialInfo, TrialKey,
};
use waggle_spec::{TimeKind, Times};
use waggle_stats::Verdict;

use crate::{
    recording::histogram::{TrialPercentile, TrialPercentiles},
    run::{
        drift::{self, RepetitionDrift},
        run_model::{Model, of_trials},
    },
    trial::{
        series::Series,
        trial_model::{TrialModel, TrialNumbers},
    },
};

const VARIANTS: [&str; 2] = ["old", "new"];
/// Names, which have no scaling law: its bootstrap would take most of the time of a simulation.
const USERS: [&str; 6] = ["u10", "u20", "u40", "u80", "u160", "u320"];

/// How trials scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scatter {
    /// All cells alike, by 5 %.
    Equal,
    /// One cell by 60 %, the others by 2 %.
    OneCell,
    /// The host's speed differs by 20 % between repetitions.
    Host,
    /// One trial in ten has 0.7 of the goodput.
    SlowTrials,
    /// Trials that run one after another are alike.
    Neighbours,
    /// All cells alike, by 5 %; the host loses 20 % from the first repetition to the last.
    Drifting,
}

/// A run of two variants over six numbers of users. `ratio`: what the second variant has of the first one's goodput.
pub(crate) struct Simulated {
    pub(crate) scatter: Scatter,
    pub(crate) repetitions: u32,
    pub(crate) ratio: f64,
}

impl Simulated {
    /// The report of one run, by its seed.
    pub(crate) fn model(&self, seed: u64) -> Model {
        let info = self.info();
        let trials = self.trials(&info, seed);
        of_trials(&info, [""; 2], trials, &[])
    }

    pub(super) fn trials(&self, info: &RunInfo, seed: u64) -> Vec<TrialModel> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut memory = 0.0;
        let mut trials = Vec::new();
        for repetition in 1..=self.repetitions {
            let host = match self.scatter {
                Scatter::Host => 0.2 * normal(&mut random),
                Scatter::Drifting => self.drift(repetition),
                _ => 0.0,
            };
            for cell in &info.cells {
                let noise = self.noise(&mut random, &mut memory, cell.cell);
                let key = TrialKey {
                    cell: cell.cell,
                    repetition,
                };
                let level = self.level(cell.cell) * (host + noise).exp();
                trials.push(trial(key, cell, level, &mut random));
            }
        }
        trials
    }

    /// Of the host that drifts, on the log scale, up to a repetition.
    pub(super) fn drift(&self, repetition: u32) -> f64 {
        0.8_f64.ln() * f64::from(repetition - 1) / f64::from(self.repetitions - 1)
    }

    /// What the report of one run says of the host, from the first so many cells.
    pub(super) fn host_drift(&self, cells: u32, seed: u64) -> RepetitionDrift {
        let info = self.info();
        let mut trials = self.trials(&info, seed);
        trials.retain(|trial| trial.info.key.cell <= cells);
        let drift = drift::drift(&info, &trials, &[]);
        drift.unwrap().repetitions.unwrap()
    }

    /// The goodput of a cell without noise.
    fn level(&self, cell: u32) -> f64 {
        match cell {
            1..=6 => 1_000.0,
            _ => 1_000.0 * self.ratio,
        }
    }

    /// On the log scale.
    fn noise(&self, random: &mut StdRng, memory: &mut f64, cell: u32) -> f64 {
        match self.scatter {
            Scatter::Equal | Scatter::Host | Scatter::Drifting => 0.05 * normal(random),
            Scatter::OneCell if cell == 6 => 0.6 * normal(random),
            Scatter::OneCell => 0.02 * normal(random),
            Scatter::SlowTrials => {
                let slow = if random.random::<f64>() < 0.1 {
                    0.7_f64.ln()
                } else {
                    0.0
                };
                slow + 0.01 * normal(random)
            }
            Scatter::Neighbours => {
                *memory = 0.5 * *memory + 0.75_f64.sqrt() * 0.05 * normal(random);
                *memory
            }
        }
    }

    pub(super) fn info(&self) -> RunInfo {
        let levels = VARIANTS
            .iter()
            .flat_map(|variant| USERS.map(|users| [("variant", *variant), ("users", users)]));
        let owned = |(name, level): (&str, &str)| (name.to_owned(), level.to_owned());
        let cells = levels.zip(1..).map(|(levels, cell)| CellInfo {
            cell,
            levels: levels.map(owned).to_vec(),
            derived: Vec::new(),
            name: None,
            expect_verdict: None,
            is_sentinel: false,
        });
        RunInfo {
            format: FORMAT,
            study: "simulated".to_owned(),
            seed: 1,
            cells: cells.collect(),
            schedule: ScheduleInfo {
                repeat: self.repetitions,
                warm_up_timeout_s: 1.0,
                measure_s: 10.0,
                drain_timeout_s: 1.0,
                interval_s: 1.0,
                max_ci_width: 0.2,
                ..ScheduleInfo::default()
            },
            host: host(),
            ..RunInfo::default()
        }
    }
}

fn host() -> Host {
    Host {
        cpus: 2,
        load_cpus: vec![0],
        system_cpus: vec![1],
        shared_with_system: true,
        ..Host::default()
    }
}

/// The times follow from the goodput, with a scatter of their own.
fn trial(key: TrialKey, cell: &CellInfo, goodput: f64, random: &mut StdRng) -> TrialModel {
    let mut time = |us: f64| us * 1_000.0 / goodput * (0.02 * normal(random)).exp();
    let (p50, p99) = (time(10_000.0), time(40_000.0));
    let percentile = |us| Some(TrialPercentile { us, thin: None });
    let times = TrialPercentiles {
        count: 10_000,
        p50: percentile(p50),
        p90: percentile(0.5 * p99),
        p95: percentile(0.7 * p99),
        p99: percentile(p99),
        p999: percentile(1.5 * p99),
        p9999: percentile(1.8 * p99),
        max: percentile(2.0 * p99),
        mean_us: Some(p50),
    };
    TrialModel {
        logs: Vec::new(),
        info: TrialInfo::new(key, 1, String::new()),
        levels: cell.levels.clone(),
        verdict: Verdict::Valid,
        reasons: Vec::new(),
        causes: Vec::new(),
        failure: None,
        numbers: Some(TrialNumbers {
            counts: CountsRow {
                seconds: 10.0,
                succeeded: 10_000,
                ..CountsRow::default()
            },
            goodput_per_s: goodput,
            throughput_per_s: goodput,
            times: Times::from_fn(|kind| {
                let is_of_answers = matches!(kind, TimeKind::Response | TimeKind::Service);
                is_of_answers.then(|| times.clone())
            }),
            system_cpu_us_per_request: Some(time(500.0)),
            ..TrialNumbers::default()
        }),
        intermediate_probes: Vec::new(),
        recovery: None,
        remarks: Vec::new(),
        awake_may_help: false,
        faults: None,
        side_loads: Vec::new(),
        series: Series::default(),
        half_change: None,
        interval_s: 1.0,
        system_cpus: Some(1),
    }
}

fn normal(random: &mut StdRng) -> f64 {
    let (a, b): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Share of the seeds for which something is true.
pub(crate) fn share(seeds: u64, is_true: impl Fn(u64) -> bool + Sync) -> f64 {
    let seeds: Vec<u64> = (0..seeds).collect();
    let all = waggle_results::parallel_map(&seeds, |seed| is_true(*seed));
    let count = all.iter().filter(|answer| **answer).count();
    crate::recording::histogram::as_f64(u64::try_from(count).unwrap())
        / crate::recording::histogram::as_f64(u64::try_from(seeds.len()).unwrap())
}
