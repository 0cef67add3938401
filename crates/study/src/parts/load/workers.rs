//! The threads and the processes that make the load.

use waggle_spec::{LoadKind, LoadModel};

use super::{Load, agents::Agents};
use crate::{
    at::{At, Key},
    check::Checker,
};

/// Most generators that are processes of this machine.
const PROCESSES_MAX: u32 = 10;

/// Load worker threads; each needs a connection of its own, and each generator needs a worker.
pub(crate) fn load_workers(
    checker: &mut Checker<'_>,
    keys: &Load,
    model: &LoadModel,
) -> Option<u32> {
    let workers = keys.workers.content()?;
    limit_by_connections(checker, model, "workers", workers);
    let generators = keys.generators.value().copied().unwrap_or(1);
    if workers.value < generators {
        let what = format!("is {} with {generators} generators", workers.value);
        let expected = format!("a worker for each generator: workers: {generators}");
        checker.report(workers.place.mistake(what).with_expected(expected));
    }
    Some(workers.value)
}

/// Processes or agents that make the load; each needs a connection of its own.
pub(crate) fn generators(
    checker: &mut Checker<'_>,
    keys: &Load,
    agents: &Key<Agents>,
    model: &LoadModel,
) -> u32 {
    if let Some(generators) = keys.generators.content() {
        limit_by_connections(checker, model, "generators", generators);
    }
    limit_generators(checker, &keys.generators, agents, model)
}

fn limit_by_connections(
    checker: &mut Checker<'_>,
    model: &LoadModel,
    key: &str,
    At { place, value }: &At<u32>,
) {
    // Those of a client are of one worker.
    let (most, _) = model.groups();
    let word = match model.kind() {
        LoadKind::Closed | LoadKind::Open => "connections",
        kind @ (LoadKind::Users | LoadKind::Clients) => kind.name(),
    };
    if *value > most {
        let mistake = place.mistake(format!("is {value} with {most} {word}"));
        checker.report(mistake.with_expected(format!("at most as many {key} as {word}")));
    }
}

/// How many generators make the load: as many as there are agents, unless the load says fewer.
fn limit_generators(
    checker: &mut Checker<'_>,
    given: &Key<u32>,
    agents: &Key<Agents>,
    model: &LoadModel,
) -> u32 {
    let Some(agents) = agents.content() else {
        if let Some(At { place, value }) = given.content()
            && *value > PROCESSES_MAX
        {
            let mistake = place.mistake(format!("is {value}, on this machine"));
            let expected = format!("at most {PROCESSES_MAX}, or agents on other hosts");
            checker.report(mistake.with_expected(expected));
        }
        return given.value().copied().unwrap_or(1);
    };
    let (most, place) = match (&agents.value.count, &agents.value.ssh) {
        (Key::Given(count), _) => (count.value, &count.place),
        (_, Key::Given(hosts)) => {
            let hosts_count = u32::try_from(hosts.value.len()).unwrap_or(u32::MAX);
            (hosts_count, &hosts.place)
        }
        _ => return given.value().copied().unwrap_or(1),
    };
    match given.content() {
        None => {
            let all = At {
                place: place.clone(),
                value: most,
            };
            limit_by_connections(checker, model, "agents", &all);
            most
        }
        Some(At { place, value }) => {
            if *value > most {
                let mistake = place.mistake(format!("is {value} with {most} agents"));
                checker.report(mistake.with_expected("at most as many generators as agents"));
            }
            *value
        }
    }
}
