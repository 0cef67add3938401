//! What is done to the system before the load that is measured.

use std::{sync::Arc, time::Duration};

use waggle_spec::{Arrivals, LoadModel, Restart, Threshold};

use super::{
    Alone, Around, Checker, flow_alone, known_metrics::Known, path::Path, request::endpoint,
    threshold::conditions,
};
use crate::{
    KeptRows, Preparation, PrepareLoad, Scenario, System,
    at::{At, Key},
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::{load::MAX_RATE_PER_S, request::feeds::Feed, schedule::PHASE, settle::settle},
    raw,
};

const LOADS: [&str; 2] = ["prepare", "loads"];
const CONNECTIONS: u32 = 10;
const RETRIES: u32 = 10;
const TIMEOUT: Duration = Duration::from_secs(3600);
const VERIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// The loads in their order, and what follows them. Their steps and feeds are taken out of `raw`.
pub(crate) fn preparation(
    checker: &mut Checker<'_>,
    raw: &mut raw::Prepare,
    system: Option<&System>,
) -> Option<Preparation> {
    let settle = (raw.settle).check(|given| settle(checker, given, system));
    let mut names: Vec<String> = Vec::new();
    let mut loads = Vec::new();
    let given = raw.loads.as_mut()?;
    for (index, raw) in given.iter_mut().enumerate() {
        let path = Path::new(&LOADS).entry(index);
        let name = raw.name.clone().map(|raw::Name(name)| name);
        if let Some(name) = name.as_ref().filter(|name| names.contains(name)) {
            let what = format!("there are two loads {name:?}");
            let position = checker.position_of(&path.child("name").steps());
            checker.report(Finding::new(position, what).with_expected("each name once"));
        }
        names.extend(name);
        loads.push(load(checker, raw, system, &path));
    }
    Some(Preparation {
        loads: loads.into_iter().collect::<Option<_>>()?,
        settle: settle?,
        snapshot: raw.snapshot.or_default(false)?,
    })
}

fn load(
    checker: &mut Checker<'_>,
    raw: &mut raw::PrepareLoad,
    system: Option<&System>,
    path: &Path,
) -> Option<PrepareLoad> {
    let name = raw.name.clone().map(|raw::Name(name)| name);
    let model = model(checker, raw, path);
    let endpoint = endpoint(checker, raw.endpoint.as_deref(), system, &path.steps());
    let retries = checker.value_or_default(raw.retries, &path.child("retries").steps(), RETRIES);
    let here = path.child("timeout");
    let timeout = checker.duration(raw.timeout, &here.steps(), TIMEOUT, PHASE);
    let here = path.child("verify_timeout");
    let verify_timeout = checker.duration(raw.verify_timeout, &here.steps(), VERIFY_TIMEOUT, PHASE);
    let around = path.steps();
    let around = Around {
        path: &around,
        model: model.as_ref(),
    };
    let alone = Alone {
        name: name.clone(),
        feeds: &raw.feeds,
        steps: raw.steps.take(),
        key: "steps",
    };
    let scenario = flow_alone(checker, alone, around);
    if let (Some(scenario), Some(sessions)) = (&scenario, raw.sessions) {
        refuse_too_few_rows(checker, scenario, sessions, &raw.feeds);
    }
    let keep = raw.keep.clone().unwrap_or_default();
    if let Some(scenario) = &scenario {
        refuse_what_is_of_load(checker, scenario, path);
        refuse_unknown_variables(checker, &keep, scenario, path);
    }
    if let (Some(load), false) = (&name, keep.is_empty()) {
        // A wrong number was reported.
        let sessions = raw.sessions.unwrap_or(1);
        checker.kept.get_or_insert_default().push(KeptRows {
            load: load.clone(),
            columns: keep.clone(),
            count: usize::try_from(sessions).unwrap_or(usize::MAX),
        });
    }
    let verify = match raw.verify.take() {
        Some(steps) => {
            let alone = Alone {
                name,
                feeds: &Key::Missing,
                steps: Some(steps),
                key: "verify",
            };
            flow_alone(checker, alone, around).map(|verify| Some(Arc::new(verify)))
        }
        None => checker.value_or_default(None, &path.child("verify").steps(), None),
    };
    Some(PrepareLoad {
        scenario: Arc::new(scenario?),
        endpoint: endpoint?,
        sessions: raw.sessions?,
        model: model?,
        retries: retries?,
        timeout: timeout?,
        keep,
        verify: verify?,
        verify_timeout: verify_timeout?,
    })
}

fn model(checker: &mut Checker<'_>, raw: &raw::PrepareLoad, path: &Path) -> Option<LoadModel> {
    let here = path.child("connections");
    let connections = checker.value_or_default(raw.connections, &here.steps(), CONNECTIONS)?;
    let here = path.child("rate");
    let Some(raw::Rate(rate_per_s)) = raw.rate else {
        return (!checker.is_invalid(&here.steps())).then_some(LoadModel::Closed {
            connections,
            pipelining: 1,
        });
    };
    if !(rate_per_s > 0.0 && rate_per_s <= MAX_RATE_PER_S) {
        let what = format!("{} is {rate_per_s} per second", here.to_text(""));
        let expected = format!("more than 0 and at most {MAX_RATE_PER_S}");
        let position = checker.position_of(&here.steps());
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    Some(LoadModel::Open {
        rate_per_s,
        arrivals: Arrivals::Uniform,
        connections,
        pipelining: 1,
    })
}

/// Reports a feed whose rows end before the sessions do.
fn refuse_too_few_rows(
    checker: &mut Checker<'_>,
    scenario: &Scenario,
    sessions: u64,
    given: &Key<Vec<At<Feed>>>,
) {
    let given = given.value().into_iter().flatten();
    for (feed, given) in scenario.feeds.iter().zip(given) {
        let rows = feed.rows.count() as u64;
        if feed.order == waggle_spec::FeedOrder::Once && rows < sessions {
            let what = format!("feed {} has {rows} rows for {sessions} sessions", feed.name);
            let expected = "at least as many rows as sessions, or order: cycle";
            let order = given.value.order.place();
            let position = order.map_or(given.place.key, |order| order.value);
            checker.report(Finding::new(position, what).with_expected(expected));
        }
    }
}

/// Reports what a load of a preparation cannot have: records, which are followed under the measured load, and steps that may fail.
fn refuse_what_is_of_load(checker: &mut Checker<'_>, scenario: &Scenario, path: &Path) {
    let position = checker.key(&path.child("steps").steps());
    if !scenario.steps_with_record().is_empty() {
        let what = format!("{} has a step with {{{{record.key}}}}", path.to_text(""));
        let expected = "{{session}} or a column of a feed: records belong to the measured load";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    if scenario.may_continue() {
        let what = format!("{} has a step with on_failure: continue", path.to_text(""));
        let expected = "steps that succeed in the end; expect and retries say how";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
}

/// Reports each kept variable that no step captures.
fn refuse_unknown_variables(
    checker: &mut Checker<'_>,
    keep: &[String],
    scenario: &Scenario,
    path: &Path,
) {
    let captured = scenario.captured_names();
    let names = || captured.iter().map(String::as_str);
    for (index, name) in keep.iter().enumerate() {
        let is_twice = keep[..index].contains(name);
        if names().any(|known| known == name) && !is_twice {
            continue;
        }
        let here = path.child("keep").entry(index);
        let position = checker.position_of(&here.steps());
        let finding = match (is_twice, captured.is_empty()) {
            (true, _) => Finding::new(position, format!("keep has {name:?} twice"))
                .with_expected("each variable once"),
            (false, true) => Finding::new(position, format!("no step captures {name:?}"))
                .with_expected("a step with capture"),
            (false, false) => Finding::new(position, format!("no step captures {name:?}"))
                .with_expected(list(names()))
                .with_suggestion(nearest_word(name, names())),
        };
        checker.report(finding);
    }
}

/// The conditions on the loads, with the whole paths of their metrics.
pub(crate) fn load_thresholds(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    known: &[Known],
) -> Vec<Threshold> {
    let loads = raw.prepare.value().and_then(|raw| raw.loads.as_ref());
    let mut all = Vec::new();
    for load in loads.into_iter().flatten() {
        let (Some(raw::Name(name)), Some(texts)) = (&load.name, load.thresholds.value()) else {
            continue;
        };
        let whole = texts.iter().map(|text| At {
            place: text.place.clone(),
            value: format!("prepare.{name}.{}", text.value.trim()),
        });
        let whole: Vec<_> = whole.collect();
        let conditions = conditions(checker, &whole, known, false);
        all.extend(conditions.into_iter().map(|condition| condition.value));
    }
    all
}

/// Reports a snapshot of a system that waggle does not start, or that grows.
fn refuse_snapshot(checker: &mut Checker<'_>, raw: &raw::Study) {
    let Some(prepare) = raw.prepare.value() else {
        return;
    };
    let Some(At { place, value: true }) = prepare.snapshot.content() else {
        return;
    };
    let system = raw.system.value();
    let runs_already = system
        .is_some_and(|raw| raw.url.is_some() || raw.external.is_some() || raw.kubeconfig.is_some());
    let has_secrets = system.is_some_and(|raw| raw.secrets.is_some());
    let grows = prepare.grow.is_some();
    let (what, expected) = match (runs_already || has_secrets, grows) {
        (true, _) if has_secrets => (
            "prepare.snapshot keeps the files of a system, with the secrets in them, and this study gives some (system.secrets)",
            "a study without one of them",
        ),
        (true, _) => (
            "prepare.snapshot keeps the files of a system, and this one is not started by waggle",
            "a study without one of them",
        ),
        (false, true) => (
            "prepare.snapshot and prepare.grow are both given: a system that grows is not the same from level to level",
            "one of the two",
        ),
        (false, false) => return,
    };
    checker.report(Finding::new(place.key, what).with_expected(expected));
}

/// The factor from one level of which to the next the prepared system grows; it is known after all cells.
pub(crate) fn grow(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    restart: Restart,
    factors: &[String],
) -> Option<String> {
    refuse_snapshot(checker, raw);
    let At { place, value } = raw.prepare.value()?.grow.content()?;
    let (raw::Name(factor), position) = (value.clone(), place.value);
    let names: Vec<&str> = factors.iter().map(String::as_str).collect();
    let finding = if !names.contains(&factor.as_str()) {
        let what = format!("prepare.grow is {factor:?}, which is no factor");
        let expected = match names.is_empty() {
            true => "a factor of the study, which has none".to_owned(),
            false => list(names.iter().copied()),
        };
        Finding::new(position, what)
            .with_expected(expected)
            .with_suggestion(nearest_word(&factor, names.iter().copied()))
    } else if restart != Restart::EveryCell {
        Finding::new(position, "prepare.grow needs a system that is kept up")
            .with_expected("schedule.restart: every_cell")
    } else if raw.search.is_some() {
        Finding::new(position, "prepare.grow belongs to studies without search")
            .with_expected("a study without one of them")
    } else {
        return Some(factor);
    };
    checker.report(finding);
    None
}
