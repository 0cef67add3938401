//! `waggle load --find`: load after load, each at the level that follows from those before it, until the highest level
//! is known at which the conditions hold. What comes next is decided by `stats::Search`; here it is carried out.

use anyhow::{Result, bail};
use waggle_runner::cpu_time::CpuClocks;
use waggle_stats::{Answer, End, Evidence, Levels, Search, Settings, Tried, Verdict};
use waggle_study::Threshold;

use super::{
    arguments::{self, Load},
    conditions,
    found::{FORMAT, FindResult, FindStep},
    job::{self, Planned},
    parse::SoughtName,
    result::{self, Beside},
    series::Series,
    summary::{LoadResult, ThresholdResult},
    target::{Reached, Target},
    view::View,
    watch,
};
use crate::{exit::Exit, interrupts::Interrupts};

/// Where nothing is said: how long a load is measured, and how long it runs before that.
const DURATION: std::time::Duration = std::time::Duration::from_secs(5);
const WARM_UP: std::time::Duration = std::time::Duration::from_secs(1);
const CONDITIONS: [&str; 2] = ["failed == 0", "achieved_share >= 99%"];
const FROM_PER_S: f64 = 1_000.0;
const FROM_COUNT: f64 = 10.0;
/// The bounds of the levels, as shares and multiples of the first one.
const AT_LEAST: f64 = 0.01;
const AT_MOST: f64 = 1_000.0;
/// Most users and connections, and the highest rate, as in studies.
const COUNT_MAX: f64 = 100_000.0;
const RATE_MAX_PER_S: f64 = 10_000_000.0;
const PRECISION: f64 = 0.05;
const CONFIRM: u32 = 3;
const TRIALS_AT_MOST: u32 = 30;

/// Searches to the end, or to an interrupt; `told` sees each step.
pub(super) fn run(
    flags: &Load,
    (what, conditions): (SoughtName, &[Threshold]),
    (target, reached, clocks): (&Target, &Reached, &CpuClocks),
    told: impl Fn(&FindStep),
) -> Result<FindResult> {
    let mut flags = flags.clone();
    prepare(&mut flags, what)?;
    let settings = settings(&flags.search, what)?;
    let Some(mut search) = Search::new(settings) else {
        bail!(
            "--at-least {}, --from {} and --at-most {} are not in this order, or are no {}",
            settings.at_least,
            settings.from,
            settings.at_most,
            what.level_kind()
        );
    };
    let interrupts = super::interrupts()?;
    let mut steps = Vec::new();
    while let Some(level) = search.next().level() {
        put_level(&mut flags.model, what, level);
        let planned = job::planned(&flags, target, reached.address)?;
        let beside = Beside {
            url: &target.url,
            thresholds: conditions,
            remarks: reached.remark.iter().cloned().collect(),
            with_series: false,
            time_bound_us: conditions::time_bound_us(conditions),
        };
        let result = one(&planned, beside, (&interrupts, clocks))?;
        if result.interrupted {
            // Cut short it shows nothing.
            break;
        }
        let step = step(level, result);
        told(&step);
        search.tell(step.tried);
        steps.push(step);
    }
    let answer = search.answer();
    Ok(found(
        (what, target),
        &settings,
        conditions,
        (answer, steps),
    ))
}

/// Nothing else is asked for that a search cannot have, and what was left out is filled in.
fn prepare(flags: &mut Load, what: SoughtName) -> Result<()> {
    let given = match what {
        SoughtName::Rate => flags.model.rate.map(|_| "--rate"),
        SoughtName::Users => flags.model.users.map(|_| "--users"),
        SoughtName::Connections => flags.model.connections.map(|_| "--connections"),
    };
    if let Some(flag) = given {
        bail!(
            "{flag} is what --find {} searches for; --from says where it begins",
            what.level_kind()
        );
    }
    let other = match what {
        SoughtName::Rate => flags.model.users.map(|_| "--users"),
        SoughtName::Users => flags.model.rate.map(|_| "--rate"),
        SoughtName::Connections => flags
            .model
            .rate
            .map(|_| "--rate")
            .or(flags.model.users.map(|_| "--users")),
    };
    if let Some(flag) = other {
        bail!(
            "{flag} makes another load than the one of which --find {} searches the highest",
            what.level_kind()
        );
    }
    let ignored = match what {
        // Each user has a connection of its own, and one request under way.
        SoughtName::Users => (flags.model.connections.map(|_| "--connections"))
            .or(flags.model.pipelining.map(|_| "--pipelining")),
        SoughtName::Rate | SoughtName::Connections => None,
    };
    if let Some(flag) = ignored {
        bail!("{flag} makes no difference to users, who have a connection each");
    }
    if flags.output.no_live {
        bail!("--no-live: a search has no live view; --quiet leaves out its lines of progress");
    }
    flags.until.duration.get_or_insert(DURATION);
    flags.until.warm_up.get_or_insert(WARM_UP);
    Ok(())
}

/// What must hold, or what is taken where nothing is said.
///
/// # Errors
/// One is no condition on a load with these steps.
pub(super) fn conditions(flags: &arguments::Search, steps: &[String]) -> Result<Vec<Threshold>> {
    if flags.conditions.is_empty() {
        conditions::conditions("--where", &CONDITIONS.map(str::to_owned), steps)
    } else {
        conditions::conditions("--where", &flags.conditions, steps)
    }
}

fn settings(flags: &arguments::Search, what: SoughtName) -> Result<Settings> {
    let (from, least, most, levels) = match what {
        SoughtName::Rate => (FROM_PER_S, AT_LEAST, RATE_MAX_PER_S, Levels::Fine),
        SoughtName::Users | SoughtName::Connections => (FROM_COUNT, 0.0, COUNT_MAX, Levels::Whole),
    };
    let from = flags.from.unwrap_or(from);
    let at_least = match levels {
        Levels::Fine => from * least,
        Levels::Whole => 1.0,
    };
    let settings = Settings {
        from,
        at_least: flags.at_least.unwrap_or(at_least),
        at_most: flags.at_most.unwrap_or((from * AT_MOST).min(most)),
        precision: flags.precision.unwrap_or(PRECISION),
        confirm: flags.confirm.unwrap_or(CONFIRM),
        trials_at_most: flags.trials_at_most.unwrap_or(TRIALS_AT_MOST),
        levels,
    };
    if settings.at_most > most {
        bail!(
            "--at-most {} is more than {most}, the most that is tried",
            settings.at_most
        );
    }
    Ok(settings)
}

fn put_level(model: &mut arguments::Model, what: SoughtName, level: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "levels of users and connections are whole, from 1 to COUNT_MAX"
    )]
    let count = level.round() as u32;
    match what {
        SoughtName::Rate => model.rate = Some(level),
        SoughtName::Users => model.users = Some(count),
        SoughtName::Connections => model.connections = Some(count),
    }
}

fn one(
    planned: &Planned,
    beside: Beside<'_>,
    (interrupts, clocks): (&Interrupts, &CpuClocks),
) -> Result<LoadResult> {
    let mut series = Series::create(None, None)?;
    let shown = (&mut series, &mut View::Quiet);
    let watched = watch::watch(planned, shown, interrupts, clocks)?;
    Ok(result::result(planned, watched, beside))
}

fn step(level: f64, result: LoadResult) -> FindStep {
    let verdict = verdict(&result.verdict);
    let holds = result.thresholds.iter().all(|condition| condition.holds);
    let evidence = Evidence::of(verdict, holds);
    let why = if verdict.counts_for_thresholds() {
        let failing = result.thresholds.iter().filter(|one| !one.holds);
        failing.map(why_not).collect()
    } else {
        result.verdict_reasons.clone()
    };
    FindStep {
        level,
        evidence: waggle_report::wording::words::evidence(evidence).to_owned(),
        why,
        tried: Tried { level, evidence },
        result,
    }
}

fn why_not(condition: &ThresholdResult) -> String {
    let text = &condition.condition;
    match (&condition.reason, condition.observed) {
        (Some(reason), _) => format!("{text}: {reason}"),
        (None, Some(value)) => format!("{text}: it was {}", super::text::observed_as(text, value)),
        (None, None) => text.clone(),
    }
}

fn verdict(name: &str) -> Verdict {
    let all = [
        Verdict::Valid,
        Verdict::Noisy,
        Verdict::Unsteady,
        Verdict::Overloaded,
        Verdict::Incomplete,
        Verdict::InstrumentLimited,
        Verdict::Inconsistent,
        Verdict::Failed,
    ];
    all.into_iter()
        .find(|verdict| verdict.name() == name)
        .expect("a result's verdict is the name of one")
}

fn found(
    (what, target): (SoughtName, &Target),
    settings: &Settings,
    conditions: &[Threshold],
    (answer, steps): (Answer, Vec<FindStep>),
) -> FindResult {
    let why = answer.stopped_by.and_then(|place| steps.get(place));
    let why = why.map(|step| step.why.clone()).unwrap_or_default();
    FindResult {
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        url: target.url.clone(),
        find: what.level_kind(),
        conditions: conditions.iter().map(|one| one.text.clone()).collect(),
        from: settings.from,
        at_least: settings.at_least,
        at_most: settings.at_most,
        precision: settings.precision,
        confirm: settings.confirm,
        trials_at_most: settings.trials_at_most,
        answer: waggle_report::wording::search::sentence(
            what.level_kind(),
            &answer,
            why.first().map(String::as_str),
            "",
        ),
        ended: answer.end.name().to_owned(),
        holds_at: answer.holds.map(|held| held.level),
        holds_trials: answer.holds.map_or(0, |held| held.trials),
        fails_at: answer.fails,
        stopped_at: answer.stopped_at,
        stopped_because: why,
        steps,
        end: answer.end,
        says_nothing: answer.says_nothing(),
    }
}

/// What a search says in its exit code: nothing holds, or nothing can be said.
pub(super) fn exit(found: &FindResult) -> Exit {
    match (found.end, found.holds_at) {
        (End::Unfinished, _) => Exit::Interrupted,
        (_, Some(_)) => Exit::Fine,
        (_, None) if found.says_nothing => Exit::NotValid,
        (_, None) => Exit::Threshold,
    }
}
