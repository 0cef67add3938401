//! What is done to the system before the load that is measured.

use std::{sync::Arc, time::Duration};

use waggle_spec::{Arrivals, LoadModel, Restart, Threshold};

use super::{Checker, known_metrics::Known, threshold::conditions};
use crate::{
    KeptRows, Preparation, PrepareLoad, Scenario, System,
    at::{At, Key, Place},
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::{
        load::check_rate,
        request::{endpoint, feeds::Feed},
        scenario::{Alone, flow_alone},
        schedule::PHASE,
        settle::settle,
    },
    raw,
};

const CONNECTIONS: u32 = 10;
const RETRIES: u32 = 10;
const TIMEOUT: Duration = Duration::from_secs(3600);
const VERIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// The loads in their order, and what follows them.
pub(crate) fn preparation(
    checker: &mut Checker<'_>,
    keys: &raw::Prepare,
    system: Option<&System>,
) -> Option<Preparation> {
    let settle = (keys.settle).check(|given| settle(checker, given, system));
    let mut names: Vec<&str> = Vec::new();
    let mut loads = Vec::new();
    for given in keys.loads.value()? {
        if let Some(At { place, value }) = given.value.name.content() {
            let raw::Name(name) = value;
            if names.contains(&name.as_str()) {
                let finding = Finding::new(place.value, format!("there are two loads {name:?}"));
                checker.report(finding.with_expected("each name once"));
            }
            names.push(name);
        }
        loads.push(load(checker, given, system));
    }
    Some(Preparation {
        loads: loads.into_iter().collect::<Option<_>>()?,
        settle: settle?,
        snapshot: keys.snapshot.or_default(false)?,
    })
}

fn load(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<raw::PrepareLoad>,
    system: Option<&System>,
) -> Option<PrepareLoad> {
    let name = keys.name.value().map(|raw::Name(name)| name);
    let model = model(checker, keys);
    let endpoint = endpoint(checker, &keys.endpoint, place, system);
    let retries = keys.retries.or_default(RETRIES);
    let findings = &mut checker.findings;
    let timeout = keys.timeout.check_bounds(TIMEOUT, PHASE, findings);
    let verify_timeout = (keys.verify_timeout).check_bounds(VERIFY_TIMEOUT, PHASE, findings);
    let alone = Alone {
        name: name.cloned(),
        feeds: &keys.feeds,
        steps: &keys.steps,
        key: "steps",
        place,
    };
    let scenario = flow_alone(checker, alone, model.as_ref());
    let sessions = keys.sessions.value().copied();
    if let (Some(scenario), Some(sessions)) = (&scenario, sessions) {
        refuse_too_few_rows(checker, scenario, sessions, &keys.feeds);
    }
    let keep = keys.keep.value().map_or(&[][..], Vec::as_slice);
    if let Some(scenario) = &scenario {
        let steps = keys.steps.place().unwrap_or(place);
        refuse_what_is_of_load(checker, scenario, place, steps);
        refuse_unknown_variables(checker, keep, scenario);
    }
    let keep: Vec<String> = keep.iter().map(|name| name.value.clone()).collect();
    if let (Some(load), false) = (name, keep.is_empty()) {
        // A wrong number was reported.
        let sessions = sessions.unwrap_or(1);
        checker.kept.get_or_insert_default().push(KeptRows {
            load: load.clone(),
            columns: keep.clone(),
            count: usize::try_from(sessions).unwrap_or(usize::MAX),
        });
    }
    let alone = Alone {
        name: name.cloned(),
        feeds: &Key::Missing,
        steps: &keys.verify,
        key: "verify",
        place,
    };
    let verify = (keys.verify)
        .check(|_| flow_alone(checker, alone, model.as_ref()))
        .map(|verify| verify.map(Arc::new));
    Some(PrepareLoad {
        scenario: Arc::new(scenario?),
        endpoint: endpoint?,
        sessions: sessions?,
        model: model?,
        retries: retries?,
        timeout: timeout?,
        keep,
        verify: verify?,
        verify_timeout: verify_timeout?,
    })
}

fn model(checker: &mut Checker<'_>, keys: &raw::PrepareLoad) -> Option<LoadModel> {
    let connections = keys.connections.or_default(CONNECTIONS)?;
    let At { place, value } = match &keys.rate {
        Key::Missing => {
            return Some(LoadModel::Closed {
                connections,
                pipelining: 1,
            });
        }
        Key::Invalid => return None,
        Key::Given(rate) => rate,
    };
    let raw::Rate(rate_per_s) = *value;
    check_rate(checker, place, rate_per_s);
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
fn refuse_what_is_of_load(
    checker: &mut Checker<'_>,
    scenario: &Scenario,
    load: &Place,
    steps: &Place,
) {
    if !scenario.steps_with_record().is_empty() {
        let mistake = load.mistake_in(steps.key, "has a step with {{record.key}}");
        let expected = "{{session}} or a column of a feed: records belong to the measured load";
        checker.report(mistake.with_expected(expected));
    }
    if scenario.may_continue() {
        let mistake = load.mistake_in(steps.key, "has a step with on_failure: continue");
        let expected = "steps that succeed in the end; expect and retries say how";
        checker.report(mistake.with_expected(expected));
    }
}

/// Reports each kept variable that no step captures.
fn refuse_unknown_variables(checker: &mut Checker<'_>, keep: &[At<String>], scenario: &Scenario) {
    let captured = scenario.captured_names();
    let names = || captured.iter().map(String::as_str);
    for (index, At { place, value: name }) in keep.iter().enumerate() {
        let is_twice = keep[..index].iter().any(|known| known.value == *name);
        if names().any(|known| known == name) && !is_twice {
            continue;
        }
        let position = place.value;
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
    let loads = raw.prepare.value().and_then(|raw| raw.loads.value());
    let mut all = Vec::new();
    for At { value: load, .. } in loads.into_iter().flatten() {
        let (Some(raw::Name(name)), Some(texts)) = (load.name.value(), load.thresholds.value())
        else {
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
