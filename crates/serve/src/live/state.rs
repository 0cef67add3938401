//! What a page shows of a run that goes on: plain texts, made of the same values as the terminal's view.

/// A run at an instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveState {
    pub study: String,
    pub question: String,
    /// Since the run began.
    pub elapsed: String,
    /// `None`: it cannot be estimated yet.
    pub left: Option<String>,
    pub trials: u32,
    pub done: u32,
    pub factors: Vec<String>,
    pub cells: Vec<LiveCell>,
    /// The heading of what cells have: `goodput per second`.
    pub outcome: &'static str,
    /// `None`: between two trials.
    pub trial: Option<LiveTrial>,
    /// The latest last.
    pub notes: Vec<String>,
    /// `None`: it goes on.
    pub end: Option<LiveEnd>,
}

/// A cell of the grid.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveCell {
    pub number: u32,
    /// One for each factor.
    pub levels: Vec<String>,
    /// One for each trial that has ended.
    pub marks: Vec<LiveMark>,
    /// Trials that are still to come.
    pub left: u32,
    pub verdict: Option<&'static str>,
    /// What its trials show so far.
    pub outcome: Option<String>,
    /// Its trial goes on.
    pub is_now: bool,
}

/// How a trial ended: a verdict, or what it shows of the level of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveMark {
    pub word: &'static str,
    pub is_good: bool,
}

/// The trial that goes on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveTrial {
    /// `repetition 2 of 3`.
    pub which: String,
    pub phase: Option<LivePhase>,
    /// What a phase without load does: `10 of 30 records arrived`.
    pub text: String,
    /// One, or the two of a duet.
    pub loads: Vec<LiveLoad>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct LivePhase {
    pub name: String,
    /// `3 s of 10 s`.
    pub time: String,
    /// From 0 to 1; `None`: its length is not known.
    pub share: Option<f64>,
}

/// A load, as far as it has come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveLoad {
    /// Of a duet: the version.
    pub name: Option<String>,
    /// `GET http://127.0.0.1:8080/hello`.
    pub request: String,
    /// `closed load: 4 connections, for 10 s`.
    pub settings: String,
    /// In the latest second and since the start of the measured phase.
    pub figures: Vec<Measured>,
    pub failures: Vec<(String, String)>,
    pub statuses: Vec<(String, String)>,
    pub steps: Vec<LiveStep>,
    /// The verdict if it ended now, and why.
    pub verdict: Option<&'static str>,
    pub doubts: Vec<String>,
    /// Successes per second over time, and the 99th percentiles in µs.
    pub rates: Vec<f64>,
    pub times: Vec<Option<f64>>,
    /// The highest of each, as text.
    pub rate_max: String,
    pub time_max: String,
}

/// One line of figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    pub name: String,
    pub now: String,
    pub overall: String,
    pub is_bad: bool,
}

/// A step of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveStep {
    pub name: String,
    pub succeeded: String,
    pub failed: String,
    pub rate: String,
    pub p99: String,
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveEnd {
    pub exit_code: u8,
    /// What it printed as its result, or the mistake that ended it.
    pub text: String,
}
