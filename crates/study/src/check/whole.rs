//! What holds for a study as a whole: name, repetitions, thresholds, and whether it fits the system at all.

use std::time::Duration;

use super::{
    Checker,
    request::{RESERVED_NAMES, is_reading},
    schedule::repeat_and_order,
    threshold::thresholds,
};
use crate::{Study, System, mistake::Finding, raw, shuffle::seed_of, tree::Value};

/// Most trials of a study.
const MAX_TRIALS: u64 = 100_000;
/// Widest 95 % interval of goodput before a cell is noisy, unless the study says otherwise.
const NOISY_ABOVE: f64 = 0.1;

/// The study without its cells.
pub(crate) fn whole(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    system: Option<&System>,
    cells: u32,
) -> Option<Study> {
    let tree = checker.root();
    let request = tree.child("load").and_then(|load| load.child("request"));
    let name_of_request = request
        .and_then(|request| request.child("name"))
        .and_then(|name| match &name.value {
            Value::Scalar(level) => Some(level.to_string()),
            _ => None,
        });
    let delivery = tree
        .child("measure")
        .is_some_and(|measure| measure.child("delivery").is_some());
    let thresholds = match (&raw.thresholds, name_of_request) {
        (Some(raw), Some(request)) if !RESERVED_NAMES.contains(&request.as_str()) => {
            thresholds(checker, raw, &request, delivery)
        }
        _ => Vec::new(),
    };
    let repeat_and_order = raw.schedule.as_ref().map(repeat_and_order);
    let trials = repeat_and_order.map_or(0, |(repeat, _)| u64::from(repeat) * u64::from(cells));
    if trials > MAX_TRIALS {
        let what = format!("{cells} cells, each repeated, make {trials} trials");
        checker.report(
            Finding::new(checker.at(&["schedule", "repeat"]), what)
                .expected(format!("at most {MAX_TRIALS}")),
        );
    }
    let system = system?;
    check_system(checker, raw, system);
    let name = raw.study.clone()?.0;
    let (repeat, order) = repeat_and_order?;
    Some(Study {
        question: raw.question.clone()?,
        system: system.name.clone(),
        seed: raw.seed.map_or_else(|| seed_of(&name), i64::unsigned_abs),
        name,
        factors: Vec::new(),
        cells: Vec::new(),
        repeat,
        order,
        noisy_above: raw.noisy_above.unwrap_or(NOISY_ABOVE),
        thresholds,
        system_at_most: system_at_most(system),
    })
}

fn check_system(checker: &mut Checker<'_>, raw: &raw::Study, system: &System) {
    if let Some(raw::Name(name)) = raw.system.as_ref().and_then(|raw| raw.name.as_ref())
        && *name != system.name
    {
        let what = format!(
            "system.use is {name:?}, but the system's file calls itself {:?}",
            system.name
        );
        checker
            .report(Finding::new(checker.at(&["system", "use"]), what).expected("the same name"));
    }
    let request = checker
        .root()
        .child("load")
        .and_then(|load| load.child("request"));
    let writing = ["put", "post", "delete", "patch"]
        .into_iter()
        .find(|method| {
            !is_reading(&method.to_uppercase())
                && request.is_some_and(|request| request.entry(method).is_some())
        });
    if let Some(method) = writing.filter(|_| system.verify.is_empty()) {
        let what = format!(
            "system {} has no functional check, without which nothing is written to it",
            system.name
        );
        let place = checker.key(&["load", "request", method]);
        checker.report(Finding::new(place, what).expected("verify in the system's file"));
    }
}

fn system_at_most(system: &System) -> Duration {
    let verify: Duration = system.verify.iter().map(|check| check.within).sum();
    verify
        + system
            .components
            .iter()
            .map(|component| component.stop_within)
            .sum::<Duration>()
}
