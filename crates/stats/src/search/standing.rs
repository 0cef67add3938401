//! How each level stands after its trials: it holds, it stops the search, or it wavers between the two.

use super::{Evidence, SILENT_AT_MOST, Settings, Tried, is_same_level};

/// What stops the search at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    NotMet,
    InstrumentLimited,
    /// Its trials say nothing, time after time.
    Silent,
}

impl Stop {
    /// What the trials that stop it there showed.
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
pub(super) struct Standing {
    pub(super) level: f64,
    pub(super) met: u32,
    pub(super) not_met: u32,
    pub(super) limited: u32,
    pub(super) silent: u32,
    pub(super) stop: Option<Stop>,
    /// Which trial of all showed last what stops the search here.
    pub(super) stopped_by: Option<usize>,
    settled: bool,
}

impl Standing {
    /// Every trial that says something of the system held, and one did.
    pub(super) fn holds(&self) -> bool {
        self.met > 0 && self.not_met == 0 && self.stop.is_none()
    }

    /// Nothing is known of it yet: every trial so far said nothing.
    pub(super) fn is_open(&self) -> bool {
        self.met + self.inconclusive_trials() == 0 && self.stop.is_none()
    }

    /// The generator was the limit, in too few trials to turn away for that.
    pub(super) fn is_doubtful(&self) -> bool {
        self.stop == Some(Stop::InstrumentLimited)
            && self.not_met == 0
            && self.trials() < SILENT_AT_MOST
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

/// Every level that was tried, in ascending order.
pub(super) fn standings(settings: &Settings, tried: &[Tried]) -> Vec<Standing> {
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

fn level_state(settings: &Settings, level: f64, tried: &[Tried]) -> Standing {
    let mut seen = Standing {
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
    for (_, one) in of_level() {
        match one.evidence {
            Evidence::Met => seen.met += 1,
            Evidence::NotMet => seen.not_met += 1,
            Evidence::InstrumentLimited => seen.limited += 1,
            Evidence::Nothing => seen.silent += 1,
        }
        if one.evidence != Evidence::Nothing {
            held_first.get_or_insert(one.evidence == Evidence::Met);
        }
    }
    let stopped = seen.inconclusive_trials();
    // Stopped once and held twice: that one trial was no evidence of a limit. What the generator stopped says nothing of the
    // system and is forgotten; what the system did not hold is so only where it came first, for a level that fails at its
    // confirmation is no answer; and not at the highest level, above which there is nothing to go on with.
    let only_limited = seen.not_met == 0;
    let rescued = stopped == 1
        && seen.met >= 2
        && (only_limited || (held_first == Some(false) && !is_same_level(level, settings.at_most)));
    seen.stop = match stopped {
        0 if seen.silent >= SILENT_AT_MOST => Some(Stop::Silent),
        0 => None,
        _ if rescued => None,
        _ if seen.not_met >= seen.limited => Some(Stop::NotMet),
        _ => Some(Stop::InstrumentLimited),
    };
    seen.stopped_by = seen.stop.and_then(|stop| {
        let mut showing = of_level().filter(|(_, one)| one.evidence == stop.evidence());
        showing.next_back().map(|(place, _)| place)
    });
    seen.settled = seen.silent >= SILENT_AT_MOST
        || settings.confirm == 1
        || stopped >= 2
        || (held_first == Some(true) && !only_limited)
        || (stopped == 1 && seen.met >= 2);
    seen
}

/// The two ends of the interval.
pub(super) struct Ends<'a> {
    /// The highest level below `stops` at which every trial held.
    pub(super) holds: Option<&'a Standing>,
    /// The lowest level that the search does not go beyond.
    pub(super) stops: Option<&'a Standing>,
}

impl<'a> Ends<'a> {
    pub(super) fn new(standings: &'a [Standing]) -> Self {
        let stops = standings.iter().position(|seen| seen.stop.is_some());
        let below = &standings[..stops.unwrap_or(standings.len())];
        Self {
            holds: below.iter().rev().find(|seen| seen.holds()),
            stops: stops.map(|index| &standings[index]),
        }
    }
}
