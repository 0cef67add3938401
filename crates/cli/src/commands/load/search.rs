//! `waggle load --search`: finds the highest level at which the conditions hold, with one load per level. The runner searches,
//! as in a study; this module turns its steps into the result.

use anyhow::{Context, Result, bail};
use waggle_analysis::{SearchStep, Shortfall};
use waggle_report::wording::search::{limiting_key, sentence, shortfall};
use waggle_spec::Threshold;
use waggle_stats::{Answer, End, Levels as LevelsAre, Search, Settings as Levels};
use waggle_study::{MAX_CONNECTIONS, MAX_RATE_PER_S, SEARCH_MAX_CONNECTIONS};

use super::{
    follow::{
        drive::{self, Environment, Step},
        outcome::{self, ResultInputs},
    },
    result::{
        conditions,
        search_result::{FORMAT, FittedRange, SearchResult, SearchResultStep},
        summary::{LoadResult, Settings},
    },
    study::{planned::Planned, text::SearchSettings},
};
use crate::{
    arguments::{
        load::{self, Load},
        parse::SearchVariable,
    },
    process::exit::Exit,
};

/// Defaults of the measured time and of the warm-up.
const DURATION: std::time::Duration = std::time::Duration::from_secs(5);
const WARM_UP: std::time::Duration = std::time::Duration::from_secs(1);
const CONDITIONS: [&str; 2] = ["failed == 0", "achieved_ratio >= 99%"];
const START_PER_S: f64 = 1_000.0;
const START_COUNT: f64 = 10.0;
/// Bounds of the levels, as multiples of the first one.
const MIN: f64 = 0.01;
const MAX: f64 = 1_000.0;
const PRECISION: f64 = 0.05;
const CONFIRMATIONS: u32 = 3;
const MAX_TRIALS: u32 = 30;

/// The search that `--search` and its flags ask for, with defaults; the model of `flags` gets the first level.
///
/// # Errors
/// Flags that cannot be used with a search, or levels that are out of order.
pub(super) fn search_settings(
    flags: &mut Load,
    what: SearchVariable,
    conditions: Vec<Threshold>,
) -> Result<SearchSettings> {
    prepare(flags, what)?;
    let levels = levels(flags, what)?;
    if Search::new(levels).is_none() {
        bail!(
            "--min {}, --start {} and --max {} must be in this order, and must be valid {}",
            levels.min,
            levels.start,
            levels.max,
            what.level_kind()
        );
    }
    put_level(&mut flags.model, what, levels.start);
    Ok(SearchSettings {
        what,
        levels,
        conditions,
    })
}

/// A search whose study is checked.
#[derive(Clone, Copy)]
pub(super) struct SearchLoad<'a> {
    pub(super) planned: &'a Planned,
    pub(super) search: &'a SearchSettings,
    pub(super) url: &'a str,
    pub(super) environment: Environment<'a>,
}

impl SearchLoad<'_> {
    /// Searches to the end or to an interrupt; calls `on_step` for each step.
    pub(super) fn run(self, on_step: impl Fn(&SearchResultStep)) -> Result<SearchResult> {
        let mut steps = Vec::new();
        drive::drive_search(self.planned, self.environment, |step| {
            let step = self.result_of_step(step);
            on_step(&step);
            steps.push(step);
        })?;
        let mut replayed = Search::new(self.search.levels).context("the levels are in order")?;
        for step in &steps {
            replayed.report(step.tried);
        }
        for (step, evidence) in steps.iter_mut().zip(replayed.evidence()) {
            step.evidence = label(evidence);
        }
        Ok(search_result(
            self.search,
            self.url,
            &replayed.answer(),
            steps,
        ))
    }

    fn result_of_step(self, step: Step) -> SearchResultStep {
        let Self {
            planned, search, ..
        } = self;
        let Step { showed, load } = step;
        let inputs = ResultInputs {
            url: self.url,
            settings: Settings {
                connections: (showed.tried.connections).or(planned.settings.connections),
                ..at_level(planned.settings.clone(), search.what, showed.level)
            },
            thresholds: &search.conditions,
            remarks: self.environment.remarks(),
            interrupted: false,
            intervals: None,
        };
        let result = outcome::result(planned, &load, inputs);
        self::step(planned, &showed, result)
    }
}

/// Refuses flags that cannot be used with a search, and sets defaults.
fn prepare(flags: &mut Load, what: SearchVariable) -> Result<()> {
    let given = match what {
        SearchVariable::Rate => flags.model.rate.map(|_| "--rate"),
        SearchVariable::Users => flags.model.users.map(|_| "--users"),
        SearchVariable::Connections => flags.model.connections.map(|_| "--connections"),
    };
    if let Some(flag) = given {
        bail!(
            "--search {} varies {flag}; --start gives its first level",
            what.level_kind()
        );
    }
    let other = match what {
        SearchVariable::Rate => flags.model.users.map(|_| "--users"),
        SearchVariable::Users => flags.model.rate.map(|_| "--rate"),
        SearchVariable::Connections => flags
            .model
            .rate
            .map(|_| "--rate")
            .or(flags.model.users.map(|_| "--users")),
    };
    if let Some(flag) = other {
        bail!("{flag} cannot be used with --search {}", what.level_kind());
    }
    let ignored = match what {
        // Each user has one connection and one request in flight.
        SearchVariable::Users => (flags.model.connections.map(|_| "--connections"))
            .or(flags.model.pipelining.map(|_| "--pipelining")),
        SearchVariable::Rate | SearchVariable::Connections => None,
    };
    if let Some(flag) = ignored {
        bail!("{flag} has no effect on users: each has one connection");
    }
    if flags.output.no_live {
        bail!("--no-live: a search has no live view; --quiet omits its lines of progress");
    }
    flags.until.duration.get_or_insert(DURATION);
    flags.until.warm_up.get_or_insert(WARM_UP);
    Ok(())
}

/// The conditions that must hold, or the default ones.
///
/// # Errors
/// A text is not a condition on a load with these steps.
pub(super) fn conditions(flags: &load::Search, steps: &[String]) -> Result<Vec<Threshold>> {
    if flags.conditions.is_empty() {
        conditions::conditions("--condition", &CONDITIONS.map(str::to_owned), steps)
    } else {
        conditions::conditions("--condition", &flags.conditions, steps)
    }
}

fn levels(flags: &Load, what: SearchVariable) -> Result<Levels> {
    let connections = flags.model.connections;
    let flags = &flags.search;
    let (from, least, most, kind) = match what {
        SearchVariable::Rate => (START_PER_S, MIN, MAX_RATE_PER_S, LevelsAre::Fine),
        SearchVariable::Users | SearchVariable::Connections => (
            START_COUNT,
            0.0,
            f64::from(MAX_CONNECTIONS),
            LevelsAre::Whole,
        ),
    };
    let from = flags.start.unwrap_or(from);
    let at_least = match kind {
        LevelsAre::Fine => from * least,
        LevelsAre::Whole => 1.0,
    };
    let levels = Levels {
        start: from,
        min: flags.min.unwrap_or(at_least),
        max: flags.max.unwrap_or((from * MAX).min(most)),
        precision: flags.precision.unwrap_or(PRECISION),
        confirmations: flags.confirmations.unwrap_or(CONFIRMATIONS),
        max_trials: flags.max_trials.unwrap_or(MAX_TRIALS),
        max_connections: max_connections(flags.max_connections, connections, what)?,
        levels: kind,
    };
    if levels.max > most {
        bail!(
            "--max {} is more than {most}, the highest level that can be tried",
            levels.max
        );
    }
    Ok(levels)
}

/// How far the pool of connections may grow; only a rate has one beside its level.
fn max_connections(
    most: Option<u32>,
    connections: Option<u32>,
    what: SearchVariable,
) -> Result<Option<u32>> {
    let connections = connections.unwrap_or(1);
    match (what, most) {
        (SearchVariable::Rate, Some(most)) if most < connections => {
            bail!("--max-connections {most} is less than --connections {connections}")
        }
        (SearchVariable::Rate, most) => Ok(Some(
            most.unwrap_or(SEARCH_MAX_CONNECTIONS.max(connections)),
        )),
        (_, None) => Ok(None),
        (_, Some(_)) => bail!(
            "--max-connections cannot be used with --search {}, whose levels are the connections themselves; --max limits them",
            what.level_kind()
        ),
    }
}

/// A level of users or connections as an integer.
fn level_as_count(level: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "levels of users and connections are integers from 1 to MAX_CONNECTIONS"
    )]
    let count = level.round() as u32;
    count
}

fn put_level(model: &mut load::Model, what: SearchVariable, level: f64) {
    match what {
        SearchVariable::Rate => model.rate = Some(level),
        SearchVariable::Users => model.users = Some(level_as_count(level)),
        SearchVariable::Connections => model.connections = Some(level_as_count(level)),
    }
}

fn at_level(settings: Settings, what: SearchVariable, level: f64) -> Settings {
    match what {
        SearchVariable::Rate => Settings {
            rate_per_s: Some(level),
            ..settings
        },
        SearchVariable::Users => Settings {
            users: Some(level_as_count(level)),
            ..settings
        },
        SearchVariable::Connections => Settings {
            connections: Some(level_as_count(level)),
            ..settings
        },
    }
}

fn label(evidence: waggle_stats::Evidence) -> String {
    waggle_report::wording::labels::evidence(evidence).to_owned()
}

fn step(planned: &Planned, showed: &SearchStep, result: LoadResult) -> SearchResultStep {
    // Conditions are printed as given, without the name of the request.
    let name = format!("{}.", planned.study.cells[0].name());
    let sentence = |why: &Shortfall| {
        let why = shortfall(why);
        why.strip_prefix(&name).unwrap_or(&why).to_owned()
    };
    SearchResultStep {
        level: showed.level,
        evidence: label(showed.evidence),
        connections: showed.tried.connections,
        why: showed.why.iter().map(sentence).collect(),
        tried: showed.tried,
        result,
    }
}

fn search_result(
    search: &SearchSettings,
    url: &str,
    answer: &Answer,
    steps: Vec<SearchResultStep>,
) -> SearchResult {
    let (what, levels) = (search.what.level_kind(), &search.levels);
    let why = answer.stopped_by.and_then(|index| steps.get(index));
    let why = why.map(|step| step.why.clone()).unwrap_or_default();
    let conditions = search.conditions.iter();
    SearchResult {
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        url: url.to_owned(),
        maximize: what,
        conditions: conditions.map(|condition| condition.text.clone()).collect(),
        start: levels.start,
        min: levels.min,
        max: levels.max,
        precision: levels.precision,
        confirmations: levels.confirmations,
        max_trials: levels.max_trials,
        max_connections: levels.max_connections,
        answer: sentence(what, answer, why.first().map(String::as_str), ""),
        ended: answer.end.name().to_owned(),
        holds_at: answer.holds.map(|held| held.level),
        holds_trials: answer.holds.map_or(0, |held| held.trials),
        is_lower_bound: answer.is_lower_bound(),
        limited_by: limiting_key(answer).map(str::to_owned),
        fitted: answer.fitted_level().map(|fitted| FittedRange {
            level: fitted.level,
            low: fitted.low,
            high: fitted.high,
            loads: fitted.trials,
        }),
        instrument_limited_loads: answer.limited_trials,
        fails_at: answer.fails,
        stopped_at: answer.stopped_at,
        stopped_because: why,
        steps,
        end: answer.end,
        is_open: answer.is_open(),
    }
}

/// The exit code of a search.
pub(super) fn exit(result: &SearchResult) -> Exit {
    match (result.end, result.holds_at) {
        (End::Unfinished, _) => Exit::Interrupted,
        _ if result.is_open => Exit::NotValid,
        (_, Some(_)) => Exit::Fine,
        (_, None) => Exit::Threshold,
    }
}
