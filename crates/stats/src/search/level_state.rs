//! The state of each level after its trials: it holds, it stops the search, or its trials disagree.

use super::{Evidence, MAX_SILENT_TRIALS, SearchTrial, Settings, is_same_level};

/// So many trials that were unsteady, and none that held, show that a level does not hold.
const UNSTEADY_TRIALS: usize = 3;

/// What stops the search at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    NotMet,
    InstrumentLimited,
    /// Its trials say nothing, time after time.
    Silent,
}

impl Stop {
    /// The evidence of the trials that stop the search there.
    fn evidence(self) -> Evidence {
        match self {
            Self::NotMet => Evidence::NotMet,
            Self::InstrumentLimited => Evidence::InstrumentLimited,
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
    pub(super) limited: u32,
    pub(super) silent: u32,
    pub(super) stop: Option<Stop>,
    /// Index of the last trial that showed what stops the search here.
    pub(super) stopped_by: Option<usize>,
    settled: bool,
}

impl LevelState {
    /// Every trial that says something of the system held, and one did.
    pub(super) fn holds(&self) -> bool {
        self.met > 0 && self.not_met == 0 && self.stop.is_none()
    }

    /// Nothing is known of it yet: no trial so far was evidence.
    pub(super) fn is_open(&self) -> bool {
        self.met + self.inconclusive_trials() == 0 && self.stop.is_none()
    }

    /// It stopped the search in too few trials to go below it: the load generator was the limit, or one trial did not hold.
    pub(super) fn is_doubtful(&self) -> bool {
        match self.stop {
            Some(Stop::InstrumentLimited) => self.not_met == 0 && self.trials() < MAX_SILENT_TRIALS,
            Some(Stop::NotMet) => !self.settled,
            Some(Stop::Silent) | None => false,
        }
    }

    /// Whether more than one trial says that the search stops here.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    pub(super) fn trials(&self) -> u32 {
        self.met + self.inconclusive_trials() + self.silent
    }

    fn inconclusive_trials(&self) -> u32 {
        self.not_met + self.limited
    }
}

fn count<'a>(tried: impl Iterator<Item = (usize, &'a SearchTrial)>, evidence: Evidence) -> usize {
    tried.filter(|(_, one)| one.evidence == evidence).count()
}

/// Every level that was tried, in ascending order.
pub(super) fn level_states(settings: &Settings, tried: &[SearchTrial]) -> Vec<LevelState> {
    let mut levels: Vec<f64> = Vec::new();
    for one in tried {
        if !levels.iter().any(|level| is_same_level(*level, one.level)) {
            levels.push(one.level);
        }
    }
    levels.sort_by(f64::total_cmp);
    levels
        .into_iter()
        .map(|level| level_state(settings, level, tried))
        .collect()
}

fn level_state(settings: &Settings, level: f64, tried: &[SearchTrial]) -> LevelState {
    let mut seen = LevelState {
        level,
        met: 0,
        not_met: 0,
        limited: 0,
        silent: 0,
        stop: None,
        stopped_by: None,
        settled: false,
    };
    let mut held_first = None;
    let of_level = || {
        let all = tried.iter().enumerate();
        all.filter(|(_, one)| is_same_level(one.level, level))
    };
    let unsteady = count(of_level(), Evidence::Unsteady);
    let has_met = of_level().any(|(_, one)| one.evidence == Evidence::Met);
    // One trial that is unsteady may be the machine's doing; a level at which none is steady does not hold.
    let is_never_steady = unsteady >= UNSTEADY_TRIALS && !has_met;
    for (_, one) in of_level() {
        let evidence = match one.evidence {
            Evidence::Unsteady if is_never_steady => Evidence::NotMet,
            Evidence::Unsteady => Evidence::Nothing,
            evidence => evidence,
        };
        match evidence {
            Evidence::Met => seen.met += 1,
            Evidence::NotMet => seen.not_met += 1,
            Evidence::InstrumentLimited => seen.limited += 1,
            Evidence::Nothing | Evidence::Unsteady => seen.silent += 1,
        }
        if evidence != Evidence::Nothing {
            held_first.get_or_insert(evidence == Evidence::Met);
        }
    }
    let stopped = seen.inconclusive_trials();
    // Stopped once and held twice: that one trial was no evidence of a limit. If the load generator was the limit, the trial
    // shows nothing about the system and is ignored. If the conditions failed, it is ignored only if it came first, because a
    // level that fails at its confirmation is no answer; and not at the highest level, above which no level is left to try.
    let only_limited = seen.not_met == 0;
    let rescued = stopped == 1
        && seen.met >= 2
        && (only_limited || (held_first == Some(false) && !is_same_level(level, settings.max)));
    seen.stop = match stopped {
        0 if seen.silent >= MAX_SILENT_TRIALS => Some(Stop::Silent),
        0 => None,
        _ if rescued => None,
        _ if seen.not_met >= seen.limited => Some(Stop::NotMet),
        _ => Some(Stop::InstrumentLimited),
    };
    seen.stopped_by = seen.stop.and_then(|stop| {
        let shows = |evidence: Evidence| {
            evidence == stop.evidence()
                || (stop != Stop::InstrumentLimited && evidence == Evidence::Unsteady)
        };
        let mut showing = of_level().filter(|(_, one)| shows(one.evidence));
        showing.next_back().map(|(index, _)| index)
    });
    seen.settled = seen.silent >= MAX_SILENT_TRIALS
        || settings.confirmations == 1
        || stopped >= 2
        || (held_first == Some(true) && !only_limited)
        || (stopped == 1 && seen.met >= 2);
    seen
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
}
