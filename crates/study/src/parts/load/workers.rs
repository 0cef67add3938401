//! The threads and the processes that make the load.

use waggle_spec::{LoadKind, LoadModel};

use super::{
    Load,
    agents::{Agents, limit_generators},
};
use crate::{
    at::{At, Key},
    check::Checker,
};

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

pub(super) fn limit_by_connections(
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
