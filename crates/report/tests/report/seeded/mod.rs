//! A run's folder from seeded numbers: a make-believe gateway with group commit, and everything that can go wrong.
//!
//! Shared by the golden tests and by the example that the browser test opens. Decides no verdict: what is wrong is
//! put into the numbers, and the report has to find it.
// long: every study that is drawn in tests, one beside the other, and what all of them share.

#![expect(
    clippy::unwrap_used,
    reason = "made-up numbers that cannot be written are a failed test"
)]

mod broker;
mod cluster;
mod grid;
mod growth;
mod load_drop;
pub(crate) mod reference;
mod side_loads;
mod steps;
mod technologies;
mod transports;
mod trial;

use std::path::Path;

pub(crate) use self::cluster::Cluster;
use waggle_results::{
    AtStartInfo, CellInfo, ComponentInfo, FORMAT, FeedInfo, FlowInfo, Host, NamedText,
    RecoveryInfo, RunFolder, RunInfo, ScenarioInfo, ScheduleInfo, SystemMetricInfo, TrialKey,
};
use waggle_spec::{
    BestAndWorst, Comparison, FeedOrder, LevelKind, LoadKind, OperatingPoints, Reference, Scaling,
    Threshold,
};
use waggle_stats::{Answer, Levels, Search, Settings};

/// What to make up.
pub(crate) struct Seeded {
    pub(crate) question: String,
    pub(crate) factors: Vec<(String, Vec<String>)>,
    pub(crate) repeat: u32,
    /// Trials of the order that have run; `None`: all.
    pub(crate) ran: Option<usize>,
    /// Conditions beside the study's two; of a number alone it is that it must be at least 0. A limit is in the base unit.
    pub(crate) thresholds: Vec<String>,
    /// Paths of metrics.
    pub(crate) asks: Vec<Vec<String>>,
    /// A log line of the trial that fails.
    pub(crate) log_line: String,
    /// Cells in which something is wrong, by number.
    pub(crate) wrong: Vec<(u32, Wrong)>,
    /// The steps of a scenario in place of the request, each with its share of the requests and how much longer than
    /// the mean it takes.
    pub(crate) steps: Vec<(&'static str, f64, f64)>,
    /// Records go by a broker, and its consumer's lag is read.
    pub(crate) has_broker: bool,
    /// Figures that somebody reference.
    pub(crate) reference: Option<Reference>,
    /// By what trials are the best and the worst of their cell.
    pub(crate) best_and_worst: Option<BestAndWorst>,
    /// What is asked of scaling curves.
    pub(crate) scaling: Option<Scaling>,
    /// The highest number of connections is searched for; `repeat` is how many trials a cell may have.
    pub(crate) is_searched: bool,
    /// The shares of the capacity of a search at which each cell has three further trials, which are the last ones of `repeat`.
    pub(crate) operating_shares: Vec<f64>,
    /// How the load drops after the measured phase.
    pub(crate) recovery: Option<RecoveryInfo>,
    /// With idle polling.
    pub(crate) idle_poll: bool,
    /// Half of each response time is a wait in the client.
    pub(crate) waits: bool,
    /// The gateway has limits, and is throttled in a quarter of the periods.
    pub(crate) has_limits: bool,
    /// Its load is one of clients, of which one ended early in each trial.
    pub(crate) has_clients: bool,
    /// Whether answers are inspected.
    pub(crate) inspects: bool,
    /// A further draw of the same study, in which trials differ by up to 15 % more; 0: the one that goldens show.
    pub(crate) draw: u64,
    pub(crate) machine: Machine,
    /// Its system is pods of manifests; `None`: processes.
    pub(crate) cluster: Option<Cluster>,
}

/// What else a machine of two CPUs does during a run.
#[allow(dead_code, reason = "the example has none of them")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Machine {
    /// It is not known.
    Unknown,
    Quiet,
    /// Another program uses most of a CPU all the time.
    Neighbour,
    /// It does so for part of the time, in stretches of a half to two seconds.
    OnOff,
    /// Nothing else runs, and the rate of each interval differs by itself, by up to this share.
    Noise(f64),
}

/// What is wrong in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The last repetition never becomes ready.
    Fails,
    /// The second repetition loses three records.
    Loses,
    /// One record is stored twice.
    Doubles,
    /// Some requests get 503 or a reset.
    Errors,
    /// Every request gets 503.
    Refuses,
    /// The system slows to half in the middle.
    Slows,
    /// The store falls further and further behind.
    FallsBehind,
    /// The load generator has no CPU left.
    Starved,
    /// The machine's host takes its CPUs, and the generator comes late.
    Stolen,
    /// The repetitions differ widely.
    Scatters,
    /// Two requests are in no account.
    Miscounts,
    /// It is killed on purpose, and loses what it had not synced.
    Killed,
    /// It is killed on purpose, and is never ready again.
    DiesWhenKilled,
}

impl Seeded {
    /// The ingest study: 4 × 3 cells, three repetitions, most of it well.
    pub(crate) fn ingest() -> Self {
        Self {
            question: "How many readings per second does one gateway take, and how soon can each be read back?".to_owned(),
            factors: vec![
                ("connections".to_owned(), ["1", "10", "50", "100"].map(str::to_owned).to_vec()),
                ("pipelining".to_owned(), ["1", "10", "50"].map(str::to_owned).to_vec()),
            ],
            repeat: 3,
            ran: None,
            thresholds: Vec::new(),
            asks: Vec::new(),
            log_line: "error: store.db: disk is full".to_owned(),
            wrong: vec![
                (2, Wrong::Scatters),
                (4, Wrong::Errors),
                (6, Wrong::Slows),
                (8, Wrong::Doubles),
                (9, Wrong::Fails),
                (10, Wrong::Starved),
                (11, Wrong::Loses),
                (12, Wrong::FallsBehind),
            ],
            steps: Vec::new(),
            has_broker: false,
            reference: None,
            best_and_worst: None,
            scaling: None,
            is_searched: false,
            operating_shares: Vec::new(),
            recovery: None,
            idle_poll: false,
            waits: false,
            has_limits: false,
            has_clients: false,
            inspects: false,
            draw: 0,
            machine: Machine::Unknown,
            cluster: None,
        }
    }

    /// Records that go to a store by way of a broker, in one cell too fast for it.
    pub(crate) fn pipeline() -> Self {
        Self {
            question: "How late do records come to the store?".to_owned(),
            wrong: vec![(2, Wrong::FallsBehind)],
            has_broker: true,
            // The figures are of writers alone.
            reference: Some(reference::reference_info()),
            ..Self::plain(&[("writer", &["sink", "telegraf"])], 3)
        }
    }

    /// A gateway that is killed in mid-trial, and one that is not.
    pub(crate) fn with_kill() -> Self {
        Self {
            question: "What is lost when the gateway is killed?".to_owned(),
            wrong: vec![(2, Wrong::Killed)],
            ..Self::plain(&[("victim", &["none", "gateway"])], 3)
        }
    }

    /// A search of the highest number of connections, whose cells end in different ways.
    pub(crate) fn search() -> Self {
        Self {
            question: "How many connections can one gateway serve within 10 ms?".to_owned(),
            wrong: vec![(3, Wrong::Starved)],
            is_searched: true,
            ..Self::plain(&[("pipelining", &["1", "10", "25", "50"])], 14)
        }
    }

    /// A search of the number of users, and trials at shares of it; one cell has no capacity.
    pub(crate) fn operating_points() -> Self {
        let asks = [
            "system.cpu_per_request",
            "put-readings.response_time.p99",
            "put-readings.goodput",
        ];
        let path = |ask: &str| ask.split('.').map(str::to_owned).collect();
        Self {
            question: "What does a request cost at half of what each technology can serve?"
                .to_owned(),
            wrong: vec![(3, Wrong::Starved), (5, Wrong::Refuses)],
            is_searched: true,
            operating_shares: vec![0.5, 0.8],
            asks: asks.map(path).to_vec(),
            ..Self::plain(
                &[(
                    "technology",
                    &["flask-uwsgi", "go", "ktor", "micronaut", "tornado"],
                )],
                20,
            )
        }
    }

    /// Sessions of three steps against a shop, at three numbers of connections.
    pub(crate) fn shopping_study() -> Self {
        Self {
            question: "How many sessions per second does the shop take?".to_owned(),
            thresholds: [
                "shopping.goodput",
                "login.response_time.p99",
                "orders.failed",
                "sessions.goodput",
                "sessions.completed",
            ]
            .map(str::to_owned)
            .to_vec(),
            wrong: vec![(2, Wrong::Errors)],
            steps: vec![
                ("login", 0.2, 2.4),
                ("orders", 0.6, 0.5),
                ("order", 0.2, 1.1),
            ],
            ..Self::plain(&[("connections", &["10", "50", "100"])], 3)
        }
    }

    /// Every text that a user or a system can put in, as an attack on the page.
    pub(crate) fn hostile() -> Self {
        let attack = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!--";
        Self {
            question: format!("Is it safe? {attack}"),
            factors: vec![
                (
                    format!("a{attack}"),
                    vec![format!("1{attack}"), "=HYPERLINK(\"x\")".to_owned()],
                ),
                (
                    "b|`*_".to_owned(),
                    vec!["x\"'&<b>".to_owned(), "y".to_owned()],
                ),
            ],
            log_line: attack.to_owned(),
            wrong: vec![(2, Wrong::Fails), (3, Wrong::Errors)],
            ..Self::ingest()
        }
    }

    /// Pods on three nodes, at two rates.
    pub(crate) fn in_cluster(cluster: Cluster) -> Self {
        Self {
            question: "How much do the nodes of a cluster take?".to_owned(),
            cluster: Some(cluster),
            ..Self::plain(&[("connections", &["10", "50"])], 3)
        }
    }

    /// As many factors as levels are given for, nothing wrong.
    pub(crate) fn plain(factors: &[(&str, &[&str])], repeat: u32) -> Self {
        Self {
            factors: factors
                .iter()
                .map(|(name, levels)| {
                    (
                        (*name).to_owned(),
                        levels.iter().map(|level| (*level).to_owned()).collect(),
                    )
                })
                .collect(),
            repeat,
            wrong: Vec::new(),
            ..Self::ingest()
        }
    }

    /// Writes the run's folder.
    pub(crate) fn write(&self, folder: &Path) {
        let text = self.study_text();
        let mut info = self.info();
        if let Some(cluster) = self.cluster {
            cluster::add_run(cluster, &mut info);
        }
        info.at_start = Some(AtStartInfo::of_run(&info, &text));
        let run = RunFolder::create(folder, &info, &text, "system: ingest\n").unwrap();
        if self.is_searched {
            return self.write_search(folder, &run, &info);
        }
        let ran = self.ran.unwrap_or(info.order.len());
        for (place, key) in info.order.iter().enumerate().take(ran) {
            let wrong = self
                .wrong
                .iter()
                .find(|(cell, _)| *cell == key.cell)
                .map(|(_, wrong)| *wrong);
            let cell = info.cell(key.cell).unwrap();
            trial::write(
                run.begin(*key).unwrap(),
                self,
                &trial::Made::new(cell, *key, place, wrong).draw(self.draw),
            );
        }
    }

    /// Each trial at the level that follows from those before it, as the runner does it.
    fn write_search(&self, folder: &Path, run: &RunFolder, info: &RunInfo) {
        let asked = info.search.as_ref().unwrap();
        for cell in &info.cells {
            let mut search = Search::new(Settings {
                start: asked.start,
                min: asked.min,
                max: asked.max,
                precision: asked.precision,
                confirmations: asked.confirmations,
                max_trials: asked.max_trials,
                max_connections: asked.max_connections,
                levels: Levels::Whole,
            })
            .unwrap();
            while let Some(level) = search.next().level() {
                let repetition = u32::try_from(search.trials().len() + 1).unwrap();
                let key = TrialKey {
                    cell: cell.cell,
                    repetition,
                };
                let place = usize::try_from(info.position(key).unwrap()).unwrap() - 1;
                let wrong = self.wrong.iter().find(|(cell, _)| *cell == key.cell);
                let made = trial::Made::new(cell, key, place, wrong.map(|(_, wrong)| *wrong));
                trial::write(run.begin(key).unwrap(), self, &made.at_level(level));
                search.report(waggle_analysis::evidence(folder, key).unwrap().tried);
            }
            self.write_points(run, info, (cell, &search.answer()));
        }
    }

    /// The trials of a cell at shares of the capacity that its search found.
    fn write_points(&self, run: &RunFolder, info: &RunInfo, (cell, answer): (&CellInfo, &Answer)) {
        let asked = info.search.as_ref().unwrap();
        let keys = info.order.iter().filter(|key| key.cell == cell.cell);
        for key in keys {
            let level = asked
                .operating_share(key.repetition)
                .and_then(|share| waggle_analysis::operating_level(asked, answer, share));
            let Some(level) = level else { continue };
            let place = usize::try_from(info.position(*key).unwrap()).unwrap() - 1;
            let wrong = self.wrong.iter().find(|(cell, _)| *cell == key.cell);
            let made = trial::Made::new(cell, *key, place, wrong.map(|(_, wrong)| *wrong));
            trial::write(run.begin(*key).unwrap(), self, &made.at_level(level));
        }
    }

    fn search_info(&self) -> Option<waggle_spec::Search> {
        let condition = |number: &str, op: Comparison, value: f64, shown: &str| Threshold {
            text: format!("{number} {op} {shown}"),
            metric: number.split('.').map(str::to_owned).collect(),
            op,
            value,
        };
        let limit_us = match self.operating_shares.is_empty() {
            true => 10e3,
            false => 200e3,
        };
        let limit = format!("{}ms", limit_us / 1e3);
        let points = (!self.operating_shares.is_empty()).then(|| OperatingPoints {
            shares: self.operating_shares.clone(),
            repeat: 3,
        });
        let shares = |points: &OperatingPoints| u32::try_from(points.shares.len()).unwrap();
        self.is_searched.then(|| waggle_spec::Search {
            maximize: match self.operating_shares.is_empty() {
                true => LevelKind::Connections,
                false => LevelKind::Users,
            },
            conditions: vec![
                condition(
                    "put-readings.response_time.p99",
                    Comparison::Less,
                    limit_us,
                    &limit,
                ),
                condition("delivery.loss_rate", Comparison::LessOrEqual, 0.01, "1%"),
            ],
            start: 16.0,
            min: 8.0,
            max: 512.0,
            precision: 0.1,
            confirmations: 2,
            max_trials: self.repeat - points.as_ref().map_or(0, |points| 3 * shares(points)),
            max_connections: None,
            operating_points: points,
        })
    }

    fn cells(&self) -> Vec<CellInfo> {
        let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for (name, levels) in &self.factors {
            all = all
                .iter()
                .flat_map(|cell| {
                    levels.iter().map(|level| {
                        let mut cell = cell.clone();
                        cell.push((name.clone(), level.clone()));
                        cell
                    })
                })
                .collect();
        }
        all.into_iter()
            .zip(1..)
            .map(|(levels, cell)| CellInfo {
                cell,
                levels,
                derived: Vec::new(),
                name: None,
                expect_verdict: None,
                is_sentinel: false,
            })
            .collect()
    }

    pub(crate) fn intermediate_probes(&self) -> Vec<String> {
        self.has_broker
            .then(|| "broker".to_owned())
            .into_iter()
            .collect()
    }

    /// With one factor it ran already, so that its CPU is not known.
    pub(crate) fn starts_broker(&self) -> bool {
        self.has_broker && self.factors.len() > 1
    }

    #[expect(clippy::too_many_lines, reason = "a line a field")]
    fn info(&self) -> RunInfo {
        let cells = self.cells();
        // An order that is no order: cells in steps of five, another start in each repetition.
        let count = u32::try_from(cells.len()).unwrap();
        let step = if count.is_multiple_of(5) { 1 } else { 5 };
        let order = (1..=self.repeat)
            .flat_map(|repetition| {
                (0..count).map(move |place| TrialKey {
                    cell: (place * step + repetition * 3) % count + 1,
                    repetition,
                })
            })
            .collect();
        RunInfo {
            asks: self.asks.clone(),
            format: FORMAT,
            waggle_version: "0.1.0".to_owned(),
            study: "ingest".to_owned(),
            question: self.question.clone(),
            study_file: "studies/ingest.yaml".to_owned(),
            seed: 1,
            started_utc: "2026-01-12T09:30:00Z".to_owned(),
            system: "ingest".to_owned(),
            system_summary:
                "One gateway takes readings by HTTP and answers when its store has them on disk."
                    .to_owned(),
            components: components(self.has_broker && !self.starts_broker()),
            order,
            cells,
            schedule: ScheduleInfo {
                repeat: self.repeat,
                warm_up_timeout_s: 2.0,
                measure_s: 3.0,
                drain_timeout_s: 10.0,
                interval_s: 0.25,
                max_ci_width: 0.2,
                recovery: self.recovery,
                ramp_up: self.recovery.map(load_drop::ramp_up),
                ..ScheduleInfo::default()
            },
            thresholds: self.thresholds(),
            load_model: if self.recovery.is_some() {
                LoadKind::Open
            } else {
                LoadKind::Closed
            },
            host: Host {
                idle_poll: self.idle_poll,
                ..host()
            },
            records_file: self
                .steps
                .is_empty()
                .then(|| "host-metrics.lp (10,000 records)".to_owned()),
            delivery_probe: self.steps.is_empty().then(|| "store".to_owned()),
            scenario: (!self.steps.is_empty()).then(|| self.scenario()),
            search: self.search_info(),
            intermediate_probes: self.intermediate_probes(),
            metrics: self
                .has_broker
                .then(|| SystemMetricInfo {
                    comparison: None,
                    unit: None,
                    name: "lag".to_owned(),
                    summary: "messages not yet committed by the writer".to_owned(),
                })
                .into_iter()
                .collect(),
            reference: self.reference.clone(),
            best_and_worst: self.best_and_worst.clone(),
            scaling: self.scaling.clone(),
            ..RunInfo::default()
        }
    }

    fn scenario(&self) -> ScenarioInfo {
        ScenarioInfo {
            name: "shopping".to_owned(),
            file: Some(NamedText {
                name: "shopping.yaml".to_owned(),
                text: "name: shopping\n".to_owned(),
            }),
            steps: self.step_names(),
            flows: vec![
                FlowInfo {
                    name: "buy".to_owned(),
                    weight: 3,
                },
                FlowInfo {
                    name: "look".to_owned(),
                    weight: 1,
                },
            ],
            feeds: vec![FeedInfo {
                name: "users".to_owned(),
                order: FeedOrder::PerUser,
                rows: 1_000,
                from: Some("users.csv".to_owned()),
            }],
        }
    }

    pub(crate) fn step_names(&self) -> Vec<String> {
        self.steps
            .iter()
            .map(|(name, ..)| (*name).to_owned())
            .collect()
    }

    fn thresholds(&self) -> Vec<Threshold> {
        let threshold = |number: &str, op: Comparison, value: f64, shown: &str| Threshold {
            text: format!("{number} {op} {shown}"),
            metric: number.split('.').map(str::to_owned).collect(),
            op,
            value,
        };
        let asked = self.thresholds.iter();
        let asked = asked.map(|text| {
            if let Some(number) = text.strip_suffix(" == 0") {
                threshold(number, Comparison::Equal, 0.0, "0")
            } else if let Some((number, value)) = text.split_once(" < ") {
                threshold(number, Comparison::Less, value.parse().unwrap(), value)
            } else {
                threshold(text, Comparison::GreaterOrEqual, 0.0, "0")
            }
        });
        if !self.steps.is_empty() {
            let limit = threshold("orders.response_time.p99", Comparison::Less, 1e3, "1ms");
            return asked.chain([limit]).collect();
        }
        asked
            .chain([
                threshold("delivery.missing", Comparison::Equal, 0.0, "0"),
                threshold(
                    "put-readings.response_time.p99",
                    Comparison::Less,
                    500e3,
                    "500ms",
                ),
            ])
            .collect()
    }

    fn study_text(&self) -> String {
        let mut text = format!(
            "study: ingest\nquestion: {}\nsystem:\n  use: ingest\nfactors:\n",
            self.question
        );
        for (name, levels) in &self.factors {
            text.push_str(&format!("  {name}: [{}]\n", levels.join(", ")));
        }
        text
    }
}

/// SplitMix64: the same on every machine and with every version of every crate.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 1, give or take `spread`.
    pub(crate) fn jitter(&mut self, spread: f64) -> f64 {
        1.0 + spread * (2.0 * self.share() - 1.0)
    }
}

/// A gateway that was started; a broker ran already.
fn components(has_broker: bool) -> Vec<ComponentInfo> {
    let gateway = ComponentInfo {
        name: "gateway".to_owned(),
        version: "waggle-gateway 0.1.0".to_owned(),
        external: Vec::new(),
    };
    let broker = ComponentInfo {
        name: "kafka".to_owned(),
        version: "unknown".to_owned(),
        external: vec!["broker kafka-0.lab:9092, kafka-1.lab:9092".to_owned()],
    };
    let broker = has_broker.then_some(broker);
    std::iter::once(gateway).chain(broker).collect()
}

fn host() -> Host {
    Host {
        name: "bench-1".to_owned(),
        kernel: "Linux 6.12.9".to_owned(),
        cpu_model: "Example CPU at 3.0 GHz".to_owned(),
        cpus: 2,
        memory_bytes: 8 << 30,
        open_files_max: 65_536,
        load_cpus: vec![0],
        system_cpus: vec![1],
        shared_with_system: true,
        idle_poll: false,
    }
}
