//! From text to checked study or system: parse, fill in each cell's levels, walk by the schema, check.

use std::time::Duration;

use serde::Deserialize;

use crate::{
    Cell, Mistakes, Source, Study, System,
    cells::{self, Cells, Levels},
    check::{self, Checker},
    de::NodeReader,
    fill::{fill, uses},
    mistake::{Finding, Findings, Place},
    nearest::{list, nearest},
    raw,
    schema::{PARTS_PER_CELL, STUDY, STUDY_WIDE, SYSTEM},
    shuffle::seed_of,
    tree::{Node, Value, parse, quoted},
    walk::walk,
};

/// Most trials of a study.
const MAX_TRIALS: u64 = 100_000;
/// Most bytes of a study's text over all its cells; keeps memory and time bounded whatever the file says.
const MAX_EXPANDED_BYTES: usize = 64 * 1024 * 1024;
/// Widest 95 % interval of goodput before a cell is noisy, unless the study says otherwise.
const NOISY_ABOVE: f64 = 0.1;

/// The system a study names, so that the caller can find its file.
///
/// # Errors
/// The mistakes in the text, as far as they show without the system.
pub fn system_name(study: &Source) -> Result<String, Mistakes> {
    let examined = Examined::new(study, None);
    match examined.system {
        Some((name, _)) => Ok(name),
        None => Err(examined.findings.into_mistakes(study, examined.cells)),
    }
}

/// What is wrong with a study whose system is none of those known: that, and all else that shows without the system.
#[must_use]
pub fn unknown_system(study: &Source, known: &[String]) -> Mistakes {
    let mut examined = Examined::new(study, None);
    if let Some((name, place)) = examined.system {
        let names = || known.iter().map(String::as_str);
        let finding = Finding::new(place, format!("there is no system {name:?}"))
            .meant(nearest(&name, names()));
        let expected = if known.is_empty() {
            "a system in systems/".to_owned()
        } else {
            list(names())
        };
        examined.findings.add(finding.expected(expected));
    }
    examined.findings.into_mistakes(study, examined.cells)
}

/// Checks a system file on its own.
///
/// # Errors
/// Every mistake in it.
pub fn read_system(source: &Source) -> Result<System, Mistakes> {
    let mut found = Vec::new();
    let system = parse(&source.text, &mut found)
        .map_err(|end| found.push(end))
        .ok()
        .and_then(|mut root| {
            found.extend(walk(&SYSTEM, &mut root, "the system"));
            let raw = read_raw::<raw::System>(&root, &mut found)?;
            let mut checker = Checker::new(&root);
            let system = check::system(&mut checker, raw);
            found.append(&mut checker.findings);
            system
        });
    let mut findings = Findings::default();
    findings.add_all(found);
    system
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(source, 0))
}

/// Checks a study against its system.
///
/// # Errors
/// Every mistake in it.
pub fn read_study(source: &Source, system: &System) -> Result<Study, Mistakes> {
    let examined = Examined::new(source, Some(system));
    let (findings, cells) = (examined.findings, examined.cells);
    examined
        .study
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(source, cells))
}

/// A study text and all that was found in it.
#[derive(Default)]
struct Examined {
    /// Whole only if there are no findings.
    study: Option<Study>,
    findings: Findings,
    /// How many cells there are.
    cells: u32,
    /// `system.use` with its place.
    system: Option<(String, Place)>,
}

impl Examined {
    fn new(source: &Source, system: Option<&System>) -> Self {
        let mut examined = Self::default();
        let mut found = Vec::new();
        match parse(&source.text, &mut found) {
            Ok(root) => examined.examine(&root, system, &mut found),
            Err(end) => found.push(end),
        }
        examined.findings.add_all(found);
        examined
    }

    fn examine(&mut self, root: &Node, system: Option<&System>, found: &mut Vec<Finding>) {
        let Cells { names, cells } = cells::cells(root, found);
        let body = without_cells(root);
        check_uses(&body, &names, system, found);
        self.cells = u32::try_from(cells.len()).expect("the number of cells is limited");
        let expanded = weight(&body, longest_level(&cells)).saturating_mul(cells.len());
        if expanded > MAX_EXPANDED_BYTES {
            let what = format!(
                "the study has {expanded} bytes over its {} cells",
                cells.len()
            );
            found.push(
                Finding::new(Place::START, what).expected(format!("at most {MAX_EXPANDED_BYTES}")),
            );
            return;
        }
        let mut checked = Vec::new();
        for (number, levels) in (1..).zip(&cells) {
            let mut in_cell = Vec::new();
            let tree = filled(&body, levels, &mut in_cell);
            let raw = read_raw::<raw::Study>(&tree, &mut in_cell);
            let mut checker = Checker::new(&tree);
            if let Some(mut raw) = raw {
                checked.extend(cell(&mut checker, &mut raw, (number, levels), system));
                if number == 1 {
                    self.examine_whole(&mut checker, &raw, system);
                }
            }
            in_cell.append(&mut checker.findings);
            self.findings.add_in_cell(number, in_cell);
        }
        let factors = names.into_iter().map(|(name, _)| name).collect();
        self.study = self.study.take().map(|study| Study {
            factors,
            cells: checked,
            ..study
        });
    }

    /// What holds for the study as a whole, read from its first cell.
    fn examine_whole(
        &mut self,
        checker: &mut Checker<'_>,
        raw: &raw::Study,
        system: Option<&System>,
    ) {
        let mut own = Checker::new(checker.root());
        self.study = whole(&mut own, raw, system, self.cells);
        self.findings.add_all(own.findings);
        let name = raw.system.as_ref().and_then(|system| system.name.clone());
        self.system = name.map(|raw::Name(name)| (name, checker.at(&["system", "use"])));
    }
}

fn read_raw<'de, T: Deserialize<'de>>(root: &Node, found: &mut Vec<Finding>) -> Option<T> {
    match T::deserialize(NodeReader(root)) {
        Ok(raw) => Some(raw),
        Err(error) => {
            // The walk says it better; this is for what the walk should have seen.
            if found.is_empty() {
                found.push(Finding::new(root.place, format!("cannot be read: {error}")));
            }
            None
        }
    }
}

/// The tree of one cell, wild where it is wrong.
fn filled(body: &Node, levels: &Levels, found: &mut Vec<Finding>) -> Node {
    let mut tree = fill(body, &|name| {
        levels
            .iter()
            .find(|(known, ..)| known == name)
            .map(|(_, level, place)| (level, *place))
    });
    found.extend(walk(&STUDY, &mut tree, "the study"));
    tree
}

fn without_cells(root: &Node) -> Node {
    match &root.value {
        Value::Map(entries) => {
            let kept = entries
                .iter()
                .filter(|entry| !matches!(entry.key.as_str(), "factors" | "cells"));
            Node {
                value: Value::Map(kept.cloned().collect()),
                ..*root
            }
        }
        _ => root.clone(),
    }
}

/// Every `${name}` must name a factor and stand where a cell may differ; every factor must be used.
fn check_uses(
    body: &Node,
    names: &[(String, Place)],
    system: Option<&System>,
    found: &mut Vec<Finding>,
) {
    let words = || names.iter().map(|(name, _)| name.as_str());
    let uses = uses(body);
    for used in &uses {
        let path: Vec<_> = used.path.iter().map(String::as_str).collect();
        if path.first() == Some(&"thresholds") {
            continue;
        }
        let Some(name) = &used.name else {
            found.push(Finding::new(used.place, "a ${ without its }").expected("${factor}"));
            continue;
        };
        let may_differ = path
            .first()
            .is_some_and(|part| PARTS_PER_CELL.contains(part))
            || path.starts_with(&["system", "set"]);
        if !may_differ || STUDY_WIDE.iter().any(|wide| path == wide) {
            let what = format!(
                "{} holds for the whole study; ${{…}} cannot stand in it",
                path.join(".")
            );
            found.push(Finding::new(used.place, what).expected("a value"));
        } else if !words().any(|known| known == name) {
            let expected = match names {
                [] => "a name from factors or cells; there are none".to_owned(),
                _ => list(words()),
            };
            let what = format!("there is no factor {}", quoted(name));
            found.push(
                Finding::new(used.place, what)
                    .expected(expected)
                    .meant(nearest(name, words())),
            );
        }
    }
    let Some(system) = system else { return };
    let set = body.child("system").and_then(|system| system.child("set"));
    for (name, place) in names {
        let is_parameter = system
            .parameters
            .iter()
            .any(|parameter| parameter.name == *name);
        let is_set = set.is_some_and(|set| set.entry(name).is_some());
        if !uses.iter().any(|used| used.name.as_ref() == Some(name)) && (!is_parameter || is_set) {
            let parameters = || {
                system
                    .parameters
                    .iter()
                    .map(|parameter| parameter.name.as_str())
            };
            let what = format!("factor {name} is used nowhere");
            let expected = format!(
                "${{{name}}} in load, schedule, measure or system.set, or the name of a parameter of system {}: {}",
                system.name,
                list(parameters())
            );
            found.push(
                Finding::new(*place, what)
                    .expected(expected)
                    .meant(nearest(name, parameters())),
            );
        }
    }
}

/// Bytes a tree takes in a cell, at most.
fn weight(node: &Node, longest_level: usize) -> usize {
    const NODE: usize = 16;
    NODE + match &node.value {
        Value::Wild | Value::Null => 0,
        Value::Scalar(level) => {
            let text = level.to_string();
            text.len() + text.matches("${").count() * longest_level
        }
        Value::List(items) => items.iter().map(|item| weight(item, longest_level)).sum(),
        Value::Map(entries) => entries
            .iter()
            .map(|entry| entry.key.len() + weight(&entry.node, longest_level))
            .sum(),
    }
}

fn longest_level(cells: &[Levels]) -> usize {
    cells
        .iter()
        .flatten()
        .map(|(_, level, _)| level.to_string().len())
        .max()
        .unwrap_or(0)
}

fn cell(
    checker: &mut Checker<'_>,
    raw: &mut raw::Study,
    (number, levels): (u32, &Levels),
    system: Option<&System>,
) -> Option<Cell> {
    let set = raw.system.as_ref().and_then(|system| system.set.as_ref());
    let parameters = system.map(|system| check::parameters(checker, set, levels, system));
    let mut load = raw.load.take();
    let model = load.as_ref().and_then(|load| check::load(checker, load));
    let load_workers = load
        .as_ref()
        .zip(model.as_ref())
        .and_then(|(load, model)| check::load_workers(checker, load, model));
    let raw_request = load.as_mut().and_then(|load| load.request.take());
    let is_wild = checker.is_wild(&["load", "request", "records"]);
    let records = raw_request
        .as_ref()
        .filter(|_| !is_wild)
        .map(|request| request.records.is_some());
    let request = raw_request.and_then(|raw| check::request(checker, raw, system, model.as_ref()));
    let measure = check::measure(checker, raw.measure.as_ref(), system, records);
    let delivery = measure.delivery.as_ref();
    let schedule = raw
        .schedule
        .as_ref()
        .and_then(|raw| check::schedule(checker, raw, measure.interval, delivery));
    Some(Cell {
        number,
        levels: levels
            .iter()
            .map(|(name, level, _)| (name.clone(), level.clone()))
            .collect(),
        parameters: parameters?,
        load: model?,
        load_workers,
        request: request?,
        schedule: schedule?,
        measure: measure.whole?,
    })
}

/// The study without its cells.
fn whole(
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
        (Some(raw), Some(request)) => check::thresholds(checker, raw, &request, delivery),
        _ => Vec::new(),
    };
    let repeat_and_order = raw.schedule.as_ref().map(check::repeat_and_order);
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
            !check::is_reading(&method.to_uppercase())
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
