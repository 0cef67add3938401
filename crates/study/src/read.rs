//! From text to checked study or system: parse, fill in each cell's levels, walk by the schema, check.

use serde::Deserialize;

use crate::{
    Cell, Mistakes, Source, Study, System,
    cells::{self, Cells, Levels},
    check::{self, Checker},
    de::NodeReader,
    fill::fill,
    mistake::{Finding, Findings, Place},
    nearest::{list, nearest},
    raw,
    schema::{STUDY, SYSTEM},
    tree::{Node, Value, parse},
    uses::check_uses,
    walk::walk,
};

/// Most bytes of a study's text over all its cells; keeps memory and time bounded whatever the file says.
const MAX_EXPANDED_BYTES: usize = 64 * 1024 * 1024;

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
        let Cells {
            names,
            cells,
            complete,
        } = cells::cells(root, found);
        let body = without_cells(root);
        check_uses(&body, (&names, complete), system, found);
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
            if self.findings.is_full() {
                break;
            }
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
        self.study = check::whole(&mut own, raw, system, self.cells);
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
