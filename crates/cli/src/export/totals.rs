//! The sums of a run so far, from its events. Pure: events in, families of metrics out.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use waggle_load::Interval;
use waggle_results::{LedgerInfo, PhaseName, TrialKey};
use waggle_runner::{
    Event,
    counts::{Carried, interval_row},
};
use waggle_study::{Cell, Study, System};

use super::{
    buckets::Buckets,
    catalogue::{
        self, CELL, ERROR_TYPE, Family, Labels, Metric, NAME, OUTCOME, PHASE, STEP, Series,
    },
    cells::{CELLS_MAX, CellLabels, OTHER},
    loads::{LoadTotals, RequestTotals},
    now::{Now, Preparing},
};
use crate::trial::sides::{Side, Sides};

/// All phases of a trial.
const PHASES: [PhaseName; 12] = [
    PhaseName::Up,
    PhaseName::Ready,
    PhaseName::Verify,
    PhaseName::Prepare,
    PhaseName::WarmUp,
    PhaseName::Measure,
    PhaseName::Recovery,
    PhaseName::Finish,
    PhaseName::Drain,
    PhaseName::Collect,
    PhaseName::Down,
    PhaseName::CoolDown,
];

/// The cell of a series; `None`: one of those without their own.
type CellNumber = Option<u32>;

/// The sums of a run.
#[derive(Debug)]
pub(super) struct Totals {
    study: String,
    run_folder: PathBuf,
    cells: Vec<(CellLabels, Carried)>,
    /// Those that have series of their own, in the order of their first trial.
    seen: Vec<u32>,
    planned: u32,
    resumed: u32,
    completed: u64,
    failed: u64,
    running: Sides<Now>,
    phase: Option<PhaseName>,
    loads: BTreeMap<(CellNumber, PhaseName), LoadTotals>,
    accounts: BTreeMap<CellNumber, LedgerInfo>,
    pushes: Option<Pushes>,
}

/// Pushes by OTLP so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pushes {
    pub(super) accepted: u64,
    pub(super) failed: u64,
}

impl Totals {
    /// Before the first event.
    pub(super) fn new(study: &Study, system: &System, run_folder: &Path) -> Self {
        let labels = |cell: &Cell| {
            let labels = CellLabels::from_cell(cell, study, system);
            (labels, Carried::from_cell(cell))
        };
        Self {
            study: study.name.clone(),
            run_folder: run_folder.to_path_buf(),
            cells: study.cells.iter().map(labels).collect(),
            seen: Vec::new(),
            planned: 0,
            resumed: 0,
            completed: 0,
            failed: 0,
            running: Sides::default(),
            phase: None,
            loads: BTreeMap::new(),
            accounts: BTreeMap::new(),
            pushes: None,
        }
    }

    pub(super) fn set_pushes(&mut self, pushes: Pushes) {
        self.pushes = Some(pushes);
    }

    /// Applies an event.
    pub(super) fn apply(&mut self, event: &Event) {
        let (side, event) = Side::split(event);
        match event {
            Event::RunStarted {
                trials,
                already_done,
                ..
            } => (self.planned, self.resumed) = (*trials, *already_done),
            Event::TrialStarted { position, key, .. } => {
                let now = self.begin_trial(*position, *key);
                self.running.start(side, now);
            }
            Event::Phase { phase, .. } if side == Side::First => self.phase = Some(*phase),
            Event::Interval { phase, interval } => {
                let now = self.running.side_mut(side);
                let cell = now.map(|now| now.follow(interval));
                self.add_interval(cell, *phase, interval);
            }
            Event::Preparing {
                load,
                done,
                sessions,
                ..
            } => {
                if let Some(now) = self.running.side_mut(side) {
                    now.preparing = Some(Preparing {
                        name: load.clone(),
                        done: *done,
                        sessions: *sessions,
                    });
                }
            }
            Event::Draining { visible, accepted } => {
                if let Some(now) = self.running.side_mut(side) {
                    now.draining = Some((*visible, *accepted));
                }
            }
            Event::TrialEnded { failure, .. } => {
                match failure {
                    None => self.completed += 1,
                    Some(_) => self.failed += 1,
                }
                self.running.end();
                self.phase = None;
            }
            Event::TrialsAdded(added) => {
                self.planned += u32::try_from(added.len()).unwrap_or(u32::MAX);
            }
            Event::Found { not_needed, .. } => {
                self.planned = self.planned.saturating_sub(*not_needed);
            }
            Event::Calibrating(_)
            | Event::WaitingForServer { .. }
            | Event::Phase { .. }
            | Event::Partner(_)
            | Event::Machine { .. }
            | Event::WaitingForQuiet { .. }
            | Event::FaultBegan { .. }
            | Event::UpAgain { .. }
            | Event::Searched(_)
            | Event::Notice(_)
            | Event::Warning(_) => {}
        }
    }

    fn begin_trial(&mut self, position: u32, key: TrialKey) -> Now {
        if self.seen.len() < CELLS_MAX && !self.seen.contains(&key.cell) {
            self.seen.push(key.cell);
        }
        Now::new(position, key)
    }

    /// Adds the account of a trial that has ended.
    pub(super) fn add_account(&mut self, cell: u32, ledger: &LedgerInfo) {
        let cell = self.cell_number(cell);
        let sum = self.accounts.entry(cell).or_default();
        sum.sent += ledger.sent;
        sum.accepted += ledger.accepted;
        sum.rejected += ledger.rejected;
        sum.unknown += ledger.unknown;
        sum.delivered += ledger.delivered;
        sum.missing += ledger.missing;
        sum.duplicates += ledger.duplicates;
    }

    fn cell_number(&self, cell: u32) -> CellNumber {
        self.seen.contains(&cell).then_some(cell)
    }

    fn add_interval(&mut self, cell: Option<u32>, phase: PhaseName, interval: &Interval) {
        let Some(cell) = cell else {
            return;
        };
        let mut cells = self.cells.iter();
        let Some((labels, carried)) = cells.find(|(labels, _)| labels.number == cell) else {
            return;
        };
        let row = interval_row(interval, 0, carried).counts;
        let number = self.cell_number(cell);
        let series = match number {
            Some(_) => labels.requests.len(),
            None => 1,
        };
        let load = self.loads.entry((number, phase)).or_default();
        load.add(interval, &row, series);
    }

    /// All metrics at this moment.
    pub(super) fn families(&self) -> Vec<Family> {
        let mut families = self.families_of_the_run();
        families.extend(self.families_of_loads());
        families.extend(self.families_of_scenarios());
        families.extend(self.families_of_preparation());
        families.extend(self.families_of_records());
        families
    }

    fn families_of_the_run(&self) -> Vec<Family> {
        let run = self.run_folder.file_name().unwrap_or_default();
        let info = vec![
            (catalogue::STUDY, self.study.clone()),
            (catalogue::RUN, run.to_string_lossy().into_owned()),
            (catalogue::VERSION, env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let named = self
            .cells
            .iter()
            .filter(|(labels, _)| self.seen.contains(&labels.number));
        let named = named.map(|(entry, _)| (Some(entry.number), &*entry.name));
        let has_others = self.loads.keys().any(|(cell, _)| cell.is_none());
        let named = named.chain(has_others.then_some((None, "others")));
        let named = named.map(|(cell, name)| (vec![cell_label(cell), (NAME, name.to_owned())], 1));
        let finished = [("completed", self.completed), ("failed", self.failed)];
        let phase = PHASES.map(|phase| {
            let labels = vec![(PHASE, phase_label(phase).to_owned())];
            (labels, i64::from(self.phase == Some(phase)))
        });
        let now = self.running.main_trial();
        let number = |pick: fn(&Now) -> u32| now.map_or(0, |now| i64::from(pick(now)));
        let count = |pick: fn(&Now) -> u64| {
            i64::try_from(self.running.iter().map(pick).sum::<u64>()).unwrap_or(i64::MAX)
        };
        let mut families = vec![
            gauges(&catalogue::RUN_INFO, vec![(info, 1)]),
            gauges(&catalogue::CELL_INFO, named.collect()),
            gauge(&catalogue::TRIALS_PLANNED, self.planned.into()),
            gauge(&catalogue::TRIALS_RESUMED, self.resumed.into()),
            counters(
                &catalogue::TRIALS_FINISHED,
                by_outcome(&Labels::new(), finished),
            ),
            gauge(&catalogue::TRIAL_POSITION, number(|now| now.position)),
            gauge(&catalogue::TRIAL_CELL, number(|now| now.key.cell)),
            gauge(
                &catalogue::TRIAL_REPETITION,
                number(|now| now.key.repetition),
            ),
            gauges(&catalogue::RUN_PHASE, phase.into()),
            gauge(
                &catalogue::ACTIVE_REQUESTS,
                count(|now| now.active_requests),
            ),
            gauge(
                &catalogue::CONNECTIONS_OPEN,
                count(|now| now.connections_open),
            ),
        ];
        if let Some(pushes) = self.pushes {
            let pushes = [("accepted", pushes.accepted), ("failed", pushes.failed)];
            families.push(counters(
                &catalogue::PUSHES,
                by_outcome(&Labels::new(), pushes),
            ));
        }
        families
    }

    fn families_of_loads(&self) -> Vec<Family> {
        let errors = self.loads.iter().flat_map(|((cell, phase), load)| {
            load.errors.iter().map(|(kind, count)| {
                let mut labels = load_labels(*cell, *phase);
                labels.push((ERROR_TYPE, kind.clone()));
                (labels, *count)
            })
        });
        vec![
            self.histogram(&catalogue::DURATION, |times| times.duration),
            self.histogram(&catalogue::RESPONSE_TIME, |times| times.response_time),
            self.by_load(&catalogue::DUE, |load| load.counts.due),
            self.by_load(&catalogue::SENT, |load| load.counts.sent),
            self.by_load(&catalogue::SUCCEEDED, |load| load.counts.succeeded),
            self.by_load(&catalogue::FAILED, |load| load.counts.failed),
            self.by_load(&catalogue::SKIPPED, |load| load.counts.skipped),
            counters(&catalogue::ERRORS, errors.collect()),
            self.by_load(&catalogue::CONNECTIONS_OPENED, |load| load.connects),
            self.by_load(&catalogue::BYTES_SENT, |load| load.counts.bytes_sent),
            self.by_load(&catalogue::BYTES_RECEIVED, |load| {
                load.counts.bytes_received
            }),
        ]
    }

    fn by_load(&self, metric: &'static Metric, pick: fn(&LoadTotals) -> u64) -> Family {
        let mut series = Vec::new();
        for ((cell, phase), load) in &self.loads {
            series.push((load_labels(*cell, *phase), pick(load)));
        }
        counters(metric, series)
    }

    fn histogram(&self, metric: &'static Metric, pick: fn(&RequestTotals) -> Buckets) -> Family {
        let mut series = Vec::new();
        for ((cell, phase), load) in &self.loads {
            for (index, request) in load.requests.iter().enumerate() {
                let mut labels = load_labels(*cell, *phase);
                labels.extend(self.request_labels(*cell, index));
                series.push((labels, pick(request)));
            }
        }
        Family {
            metric,
            series: Series::Histogram(series),
        }
    }

    fn request_labels(&self, cell: CellNumber, index: usize) -> Labels {
        let mut cells = self.cells.iter().map(|(labels, _)| labels);
        match cell {
            Some(cell) => {
                let labels = cells.find(|labels| labels.number == cell);
                let labels = labels.and_then(|labels| labels.requests.get(index));
                labels.cloned().unwrap_or_default()
            }
            None => CellLabels::other_request_labels(
                cells.next().and_then(|labels| labels.requests.first()),
            ),
        }
    }

    /// None of a study without a scenario.
    fn families_of_scenarios(&self) -> Vec<Family> {
        if !self.cells.iter().any(|(labels, _)| labels.has_steps()) {
            return Vec::new();
        }
        let (mut sessions, mut steps) = (Vec::new(), Vec::new());
        for ((cell, phase), load) in &self.loads {
            let labels = load_labels(*cell, *phase);
            let counts = [
                ("started", load.sessions.started),
                ("completed", load.sessions.completed),
                ("failed", load.sessions.failed),
            ];
            sessions.extend(by_outcome(&labels, counts));
            for (index, request) in load.requests.iter().enumerate() {
                let mut labels = labels.clone();
                let of_request = self.request_labels(*cell, index);
                labels.extend(of_request.into_iter().filter(|(label, _)| *label == STEP));
                let counts = [
                    ("sent", request.counts.sent),
                    ("succeeded", request.counts.succeeded),
                    ("failed", request.counts.failed),
                ];
                steps.extend(by_outcome(&labels, counts));
            }
        }
        vec![
            counters(&catalogue::SESSIONS, sessions),
            counters(&catalogue::STEP_REQUESTS, steps),
        ]
    }

    /// None if no load of a preparation runs.
    fn families_of_preparation(&self) -> Vec<Family> {
        let loads: Vec<_> = self
            .running
            .iter()
            .filter_map(|now| now.preparing.as_ref())
            .collect();
        if loads.is_empty() {
            return Vec::new();
        }
        let sessions = loads.iter().flat_map(|load| {
            let labels = vec![(NAME, load.name.clone())];
            let counts = [("planned", load.sessions), ("done", load.done)];
            by_outcome(&labels, counts)
        });
        let sessions =
            sessions.map(|(labels, count)| (labels, i64::try_from(count).unwrap_or(i64::MAX)));
        vec![gauges(&catalogue::PREPARATION, sessions.collect())]
    }

    /// None of a study without records.
    fn families_of_records(&self) -> Vec<Family> {
        let carries = |carried: &Carried| match carried {
            Carried::ByEach(records) => *records > 0,
            Carried::BySteps(steps) => !steps.is_empty(),
        };
        if !self.cells.iter().any(|(_, carried)| carries(carried)) {
            return Vec::new();
        }
        let mut account = Vec::new();
        for (cell, ledger) in &self.accounts {
            let counts = [
                ("sent", ledger.sent),
                ("accepted", ledger.accepted),
                ("rejected", ledger.rejected),
                ("unknown", ledger.unknown),
                ("delivered", ledger.delivered),
                ("missing", ledger.missing),
                ("duplicates", ledger.duplicates),
            ];
            account.extend(by_outcome(&vec![cell_label(*cell)], counts));
        }
        let draining = self.running.iter().filter_map(|now| now.draining);
        let draining = draining.reduce(|a, b| (a.0 + b.0, a.1 + b.1));
        let draining = draining.into_iter().flat_map(|(visible, accepted)| {
            [("visible", visible), ("accepted", accepted)].map(|(outcome, count)| {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                (vec![(OUTCOME, outcome.to_owned())], count)
            })
        });
        vec![
            self.by_load(&catalogue::RECORDS_SUCCEEDED, |load| {
                load.counts.records_succeeded
            }),
            counters(&catalogue::RECORDS, account),
            gauges(&catalogue::DRAIN, draining.collect()),
        ]
    }
}

fn load_labels(cell: CellNumber, phase: PhaseName) -> Labels {
    vec![cell_label(cell), (PHASE, phase_label(phase).to_owned())]
}

fn cell_label(cell: CellNumber) -> (catalogue::Label, String) {
    let text = cell.map_or_else(|| OTHER.to_owned(), |number| number.to_string());
    (CELL, text)
}

/// As in `trial.json`.
fn phase_label(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Up => "up",
        PhaseName::Ready => "ready",
        PhaseName::Verify => "verify",
        PhaseName::Prepare => "prepare",
        PhaseName::WarmUp => "warm_up",
        PhaseName::Measure => "measure",
        PhaseName::Recovery => "recovery",
        PhaseName::Finish => "finish",
        PhaseName::Drain => "drain",
        PhaseName::Collect => "collect",
        PhaseName::Down => "down",
        PhaseName::CoolDown => "cool_down",
    }
}

/// The series of these labels, for each outcome.
fn by_outcome<const N: usize>(labels: &Labels, counts: [(&str, u64); N]) -> Vec<(Labels, u64)> {
    let series = counts.map(|(outcome, count)| {
        let mut labels = labels.clone();
        labels.push((OUTCOME, outcome.to_owned()));
        (labels, count)
    });
    series.into()
}

fn counters(metric: &'static Metric, series: Vec<(Labels, u64)>) -> Family {
    let series = Series::Counter(series);
    Family { metric, series }
}

fn gauges(metric: &'static Metric, series: Vec<(Labels, i64)>) -> Family {
    let series = Series::Gauge(series);
    Family { metric, series }
}

fn gauge(metric: &'static Metric, value: i64) -> Family {
    gauges(metric, vec![(Labels::new(), value)])
}
