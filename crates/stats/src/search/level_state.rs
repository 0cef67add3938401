//! The state of each level after its trials: it holds, it stops the search, or its trials disagree.

use crate::search::{Evidence, MAX_SILENT_TRIALS, SearchTrial, Settings, is_same_level};

/// So many trials that were unsteady, and none that held, show that a level does not hold.
const UNSTEADY_TRIALS: usize = 3;

/// What stops the search at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    NotMet,
    /// The pool of connections was the limit, and cannot be larger.
    PoolLimited,
    /// Its trials say nothing, time after time.
    Silent,
}

impl Stop {
    /// The evidence of the trials that stop the search there.
    fn evidence(self) -> Evidence {
        match self {
            Self::NotMet => Evidence::NotMet,
            Self::PoolLimited => Evidence::PoolLimited,
            Self::Silent => Evidence::Nothing,
        }
    }
}

/// One level and its trials.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LevelState {
    pub(super) level: f64,
    pub(super) met: u32,
    pub(super) not_met: u32,
    pub(super) pool_limited: u32,
    pub(super) limited: u32,
    pub(super) silent: u32,
    pub(super) stop: Option<Stop>,
    /// Index of the last trial that showed what stops the search here, or that the generator was the limit.
    pub(super) stopped_by: Option<usize>,
    /// How late the generator was in the trials in which it was the limit: their median, in microseconds.
    pub(super) lag_us: Option<f64>,
    settled: bool,
}

impl LevelState {
    /// Every trial that says something of the system held, and one did.
    pub(super) fn holds(&self) -> bool {
        self.met > 0 && self.failing_trials() == 0 && self.stop.is_none()
    }

    /// Nothing is known of it yet, and it is not given up.
    pub(super) fn is_open(&self) -> bool {
        self.is_without_evidence() && self.stop.is_none() && !self.is_limited()
    }

    /// Given up, because the generator was the limit in all of its trials that showed anything.
    pub(super) fn is_limited(&self) -> bool {
        self.is_without_evidence() && self.limited > self.silent && self.is_given_up()
    }

    /// Given up, for other reasons.
    fn is_silent(&self) -> bool {
        self.is_without_evidence() && self.is_given_up() && !self.is_limited()
    }

    /// It stopped the search in too few trials to go below it.
    pub(super) fn is_doubtful(&self) -> bool {
        match self.stop {
            Some(Stop::NotMet | Stop::PoolLimited) => !self.settled,
            Some(Stop::Silent) | None => false,
        }
    }

    /// Whether more than one trial says that the search stops here.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    pub(super) fn trials(&self) -> u32 {
        self.met + self.failing_trials() + self.limited + self.silent
    }

    fn failing_trials(&self) -> u32 {
        self.not_met + self.pool_limited
    }

    fn is_without_evidence(&self) -> bool {
        self.met + self.failing_trials() == 0
    }

    fn is_given_up(&self) -> bool {
        self.limited + self.silent >= MAX_SILENT_TRIALS
    }
}

/// Trials with their indices among all trials of the search.
type Counted = [(usize, SearchTrial)];

/// Every level that was tried, in ascending order.
pub(super) fn level_states(settings: &Settings, tried: &Counted) -> Vec<LevelState> {
    let mut levels: Vec<f64> = Vec::new();
    for (_, trial) in tried {
        if !levels
            .iter()
            .any(|level| is_same_level(*level, trial.level))
        {
            levels.push(trial.level);
        }
    }
    levels.sort_by(f64::total_cmp);
    levels
        .into_iter()
        .map(|level| level_state(settings, level, tried))
        .collect()
}

fn level_state(settings: &Settings, level: f64, tried: &Counted) -> LevelState {
    let of_level = || {
        let all = tried.iter();
        all.filter(|(_, trial)| is_same_level(trial.level, level))
    };
    let shown = of_level()
        .map(|(_, trial)| trial.evidence)
        .collect::<Vec<_>>();
    let count = |evidence| shown.iter().filter(|trial| **trial == evidence).count();
    // One trial that is unsteady may be the machine's doing; a level at which none is steady does not hold.
    let is_never_steady = count(Evidence::Unsteady) >= UNSTEADY_TRIALS && count(Evidence::Met) == 0;
    let shown = shown.into_iter().map(|evidence| match evidence {
        Evidence::Unsteady if is_never_steady => Evidence::NotMet,
        Evidence::Unsteady => Evidence::Nothing,
        evidence => evidence,
    });
    let shown: Vec<Evidence> = shown.collect();
    let count = |evidence| {
        let count = shown.iter().filter(|trial| **trial == evidence).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let mut seen = LevelState {
        level,
        met: count(Evidence::Met),
        not_met: count(Evidence::NotMet),
        pool_limited: count(Evidence::PoolLimited),
        limited: count(Evidence::InstrumentLimited),
        silent: count(Evidence::Nothing),
        stop: None,
        stopped_by: None,
        lag_us: median_lag(of_level()),
        settled: false,
    };
    let mut held = shown.iter().filter_map(|evidence| match evidence {
        Evidence::Met => Some(true),
        Evidence::NotMet | Evidence::PoolLimited => Some(false),
        _ => None,
    });
    let held_first = held.next();
    let failing = seen.failing_trials();
    // Failed once, at first, and held twice: that one trial was no evidence of a limit. A level that fails at its confirmation is no
    // answer; and above the highest level no level is left to try.
    let is_rescued = failing == 1
        && seen.met >= 2
        && held_first == Some(false)
        && !is_same_level(level, settings.max);
    seen.stop = match failing {
        0 if seen.silent >= MAX_SILENT_TRIALS || seen.is_silent() => Some(Stop::Silent),
        0 => None,
        _ if is_rescued => None,
        _ if seen.not_met >= seen.pool_limited => Some(Stop::NotMet),
        _ => Some(Stop::PoolLimited),
    };
    let shows = |evidence: Evidence| match seen.stop {
        Some(stop) => evidence == stop.evidence() || evidence == Evidence::Unsteady,
        None => evidence == Evidence::InstrumentLimited,
    };
    let mut showing = of_level().filter(|(_, trial)| shows(trial.evidence));
    seen.stopped_by = showing.next_back().map(|(index, _)| *index);
    seen.settled = settings.confirmations == 1
        || failing >= 2
        || held_first == Some(true)
        || (failing == 1 && seen.met >= 2)
        // More trials show no more.
        || seen.limited + seen.silent >= MAX_SILENT_TRIALS;
    seen
}

/// Of the trials in which the generator was the limit.
fn median_lag<'a>(tried: impl Iterator<Item = &'a (usize, SearchTrial)>) -> Option<f64> {
    let limited = tried.filter(|(_, trial)| trial.evidence == Evidence::InstrumentLimited);
    let mut lags: Vec<f64> = limited.filter_map(|(_, trial)| trial.lag_us).collect();
    lags.sort_by(f64::total_cmp);
    lags.get(lags.len() / 2).copied()
}

/// The two ends of the interval.
pub(super) struct Ends<'a> {
    /// The highest level below `stops` at which every trial held.
    pub(super) holds: Option<&'a LevelState>,
    /// The lowest level that the search does not go beyond.
    pub(super) stops: Option<&'a LevelState>,
}

impl<'a> Ends<'a> {
    pub(super) fn new(level_states: &'a [LevelState]) -> Self {
        let stops = level_states.iter().position(|seen| seen.stop.is_some());
        let below = &level_states[..stops.unwrap_or(level_states.len())];
        Self {
            holds: below.iter().rev().find(|seen| seen.holds()),
            stops: stops.map(|index| &level_states[index]),
        }
    }

    /// Levels between the ends at which the generator always was the limit, the lowest first.
    pub(super) fn limited_trials(&self, level_states: &'a [LevelState]) -> Vec<&'a LevelState> {
        let above = self.holds.map_or(0.0, |held| held.level);
        let below = self.stops.map_or(f64::INFINITY, |stops| stops.level);
        let all = level_states.iter().filter(|seen| seen.is_limited());
        all.filter(|seen| above < seen.level && seen.level < below)
            .collect()
    }
}
