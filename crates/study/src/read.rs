//! From text to checked study or system: parse, fill in each cell's levels, walk by the schema, check.

use std::{slice, sync::Arc};

use serde::Deserialize;

use crate::{
    Cell, Files, Level, LoadModel, Mistakes, Scenario, Source, Study, System, What,
    cells::{self, Cells, Levels, expanded_bytes},
    check::{self, Around, Carries, Checker, Outside, Stage},
    de::NodeReader,
    fill::{fill, uses},
    include::{include_scenario, refuse_keys_of_study},
    mistake::{Finding, Findings, Place},
    nearest::{list, nearest_word},
    origin::is_meant_from_outside,
    raw,
    schema::{SCENARIO, STUDY, SYSTEM},
    shelf::{Shelf, no_files},
    tree::{Node, Value, parse},
    uses::{check_uses, misuse_of_environment},
    walk::walk,
};

/// Most bytes of a study's text over all its cells; keeps memory and time bounded whatever the file says.
const MAX_EXPANDED_BYTES: usize = 64 * 1024 * 1024;

/// What a study says its system is.
#[derive(Debug, Clone, PartialEq)]
pub enum Named {
    /// A name, by which the caller finds the system's file.
    System(String),
    /// A server that runs already.
    Server(Box<System>),
}

/// The system a study names.
///
/// # Errors
/// The mistakes in the text, as far as they show without the system.
pub fn system_of(study: &Source) -> Result<Named, Mistakes> {
    let mut examined = Examined::default();
    examined.read(study, Beside::default());
    match (examined.system, examined.server) {
        (_, Some(server)) => Ok(Named::Server(Box::new(server))),
        (Some((name, _)), None) => Ok(Named::System(name)),
        (None, None) => Err(examined
            .findings
            .into_mistakes(slice::from_ref(study), examined.cells)),
    }
}

/// What is wrong with a study whose system is none of those known: that, and all else that shows without the system.
#[must_use]
pub fn unknown_system(study: &Source, known: &[String]) -> Mistakes {
    let mut examined = Examined::default();
    examined.read(study, Beside::default());
    if let Some((name, place)) = examined.system {
        let names = || known.iter().map(String::as_str);
        let finding = Finding::new(place, format!("there is no system {name:?}"))
            .with_suggestion(nearest_word(&name, names()));
        let expected = if known.is_empty() {
            "a system in systems/".to_owned()
        } else {
            list(names())
        };
        examined.findings.add(finding.with_expected(expected));
    }
    examined
        .findings
        .into_mistakes(slice::from_ref(study), examined.cells)
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
        .ok_or_else(|| findings.into_mistakes(slice::from_ref(source), 0))
}

/// Checks a study against its system, where all of the study stands in one text.
///
/// # Errors
/// Every mistake in it; a file of a scenario or a feed that it names is one.
pub fn read_study(source: &Source, system: &System) -> Result<Study, Mistakes> {
    read_study_and_files(source, system, &no_files)
}

/// Checks a study against its system, with the files that it names.
///
/// # Errors
/// Every mistake in it and in those files.
pub fn read_study_and_files(
    source: &Source,
    system: &System,
    files: Files<'_>,
) -> Result<Study, Mistakes> {
    let shelf = Shelf::new(source, files);
    let mut examined = Examined::default();
    let beside = Beside {
        system: Some(system),
        shelf: Some(&shelf),
    };
    examined.read(source, beside);
    let (findings, cells) = (examined.findings, examined.cells);
    examined
        .study
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(&shelf.into_sources(), cells))
}

/// Checks a scenario that stands in a file of its own, with the feeds that it names.
///
/// # Errors
/// Every mistake in it and in the feeds' files.
pub fn read_scenario(source: &Source, files: Files<'_>) -> Result<Scenario, Mistakes> {
    let shelf = Shelf::new(source, files);
    let mut found = Vec::new();
    let scenario = parse(&source.text, &mut found)
        .map_err(|end| found.push(end))
        .ok()
        .and_then(|mut root| {
            for used in uses(&root) {
                if let Some(name) = used
                    .name
                    .as_deref()
                    .filter(|name| is_meant_from_outside(name))
                {
                    let path: Vec<_> = used.path.iter().map(String::as_str).collect();
                    found.extend(misuse_of_environment(&used, name, &path));
                    continue;
                }
                let what = "${…} is filled in by a study, and this scenario stands alone";
                found.push(Finding::new(used.place, what).with_expected("a value"));
            }
            root = fill(&root, &|_| None);
            found.extend(walk(&SCENARIO, &mut root, "the scenario"));
            refuse_keys_of_study(&root, &mut found);
            let raw = read_raw::<raw::Scenario>(&root, &mut found)?;
            let mut checker = Checker::with_files(&root, Some(&shelf));
            let around = Around {
                path: &[],
                model: None,
            };
            let scenario = check::scenario(&mut checker, raw, around);
            found.append(&mut checker.findings);
            scenario
        });
    let mut findings = Findings::default();
    findings.add_all(found);
    scenario
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(&shelf.into_sources(), 0))
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
    /// What `system.url` stands for.
    server: Option<System>,
}

/// What a study is read against; nothing of it is needed for what shows without.
#[derive(Clone, Copy, Default)]
struct Beside<'a> {
    system: Option<&'a System>,
    shelf: Option<&'a Shelf<'a>>,
}

/// One of the study's cells.
#[derive(Clone, Copy)]
struct Row<'a> {
    /// Counted from 1.
    number: u32,
    levels: &'a Levels,
}

/// What holds for all cells.
#[derive(Clone, Copy)]
struct Whole<'a> {
    system: Option<&'a System>,
    cells: &'a [Levels],
}

impl Examined {
    /// Without a system only what shows without one is looked at, without a shelf no file that is named.
    fn read(&mut self, source: &Source, beside: Beside<'_>) {
        let mut found = Vec::new();
        match parse(&source.text, &mut found) {
            Ok(mut root) => {
                let scenario = include_scenario(&mut root, beside.shelf, &mut found);
                self.examine(&root, beside, &mut found);
                self.study = self.study.take().map(|study| Study {
                    scenario_file: scenario,
                    ..study
                });
            }
            Err(end) => found.push(end),
        }
        self.findings.add_all(found);
    }

    fn examine(
        &mut self,
        root: &Node,
        Beside { system, shelf }: Beside<'_>,
        found: &mut Vec<Finding>,
    ) {
        let Cells {
            names,
            cells,
            complete,
        } = cells::cells(root, found);
        let body = without_cells(root);
        check_uses(&body, (&names, complete), system, found);
        self.cells = u32::try_from(cells.len()).expect("the number of cells is limited");
        let expanded = expanded_bytes(&body, &cells);
        if expanded > MAX_EXPANDED_BYTES {
            let what = format!(
                "the study has {expanded} bytes over its {} cells",
                cells.len()
            );
            found.push(
                Finding::new(Place::START, what)
                    .with_expected(format!("at most {MAX_EXPANDED_BYTES}")),
            );
            return;
        }
        let mut checked = Vec::new();
        let mut first = None;
        for (number, levels) in (1..).zip(&cells) {
            let mut in_cell = Vec::new();
            let tree = cell_tree(&body, levels, &mut in_cell);
            let raw = read_raw::<raw::Study>(&tree, &mut in_cell);
            let mut checker = Checker::with_files(&tree, shelf);
            if let Some(mut raw) = raw {
                checked.extend(cell(&mut checker, &mut raw, Row { number, levels }, system));
                if number == 1 {
                    let whole = Whole {
                        system,
                        cells: &cells,
                    };
                    self.examine_whole(&mut checker, &raw, whole);
                    first = raw.system.map(|raw| (tree.clone(), raw));
                }
            }
            in_cell.append(&mut checker.findings);
            self.findings.add_in_cell(number, in_cell);
            if self.findings.is_full() {
                break;
            }
        }
        let factors = names.into_iter().map(|(name, _)| name).collect();
        if let Some(search) = self.study.as_ref().and_then(|study| study.search.as_ref()) {
            for cell in &mut checked {
                cell.load = cell.load.at_level(search.start);
            }
        }
        let is_whole = checked.len() == cells.len();
        let outside = self.examine_outside(first, system, is_whole.then_some(&checked));
        let system = system.map(|system| system.clone().with_external(&outside.external));
        let in_cell = |cell: &Cell| {
            let system = system.as_ref();
            let system = system.map(|system| system.configure(&cell.parameters));
            system.as_ref().map(check::system_at_most)
        };
        let system_at_most = checked.iter().filter_map(in_cell).max();
        self.study = self.study.take().map(|study| Study {
            factors,
            system_at_most: system_at_most.unwrap_or_default(),
            cells: checked,
            external: outside.external,
            secrets: outside.secrets,
            ..study
        });
    }

    /// What the study says of components that run already; `first` is the first cell's tree with what it says of the system.
    fn examine_outside(
        &mut self,
        first: Option<(Node, raw::UseSystem)>,
        system: Option<&System>,
        cells: Option<&Vec<Cell>>,
    ) -> Outside {
        let first = first.filter(|(_, raw)| raw.url.is_none());
        let (Some((tree, raw)), Some(system)) = (first, system) else {
            return Outside::default();
        };
        let mut checker = Checker::new(&tree);
        let cells = cells.map(|cells| cells.iter().map(|cell| &cell.parameters).collect());
        let outside = check::external_parts(&mut checker, raw, system, cells);
        self.findings.add_all(checker.findings);
        outside
    }

    /// What holds for the study as a whole, read from its first cell.
    fn examine_whole(
        &mut self,
        checker: &mut Checker<'_>,
        raw: &raw::Study,
        Whole { system, cells }: Whole<'_>,
    ) {
        let mut own = checker.without_findings();
        self.study = check::study_without_cells(&mut own, raw, system, cells);
        self.findings.add_all(own.findings);
        let system = raw.system.as_ref();
        let name = system.and_then(|system| system.name.clone());
        self.system = name.map(|raw::Name(name)| (name, checker.position_of(&["system", "use"])));
        let mut own = Checker::new(checker.root());
        self.server = system.and_then(|system| check::server(&mut own, system));
        self.findings.add_all(own.findings);
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
fn cell_tree(body: &Node, levels: &Levels, found: &mut Vec<Finding>) -> Node {
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

fn cell(
    checker: &mut Checker<'_>,
    raw: &mut raw::Study,
    Row { number, levels }: Row<'_>,
    system: Option<&System>,
) -> Option<Cell> {
    let set = raw.system.as_ref().and_then(|system| system.set.as_ref());
    let parameters = system.map(|system| check::parameters(checker, set, levels, system));
    // What does not exist in this configuration cannot be meant.
    let present = system
        .zip(parameters.as_ref())
        .map(|(system, parameters)| system.configure(parameters));
    let both = system.zip(present.as_ref());
    let system = present.as_ref();
    let mut load = raw.load.take();
    if let (Some(load), Some(search)) = (&mut load, &raw.search) {
        check::put_highest(checker, search, load);
    }
    let model = load.as_ref().and_then(|load| check::load(checker, load));
    let stages = load
        .as_ref()
        .and_then(|load| check::stages(checker, load, model.as_ref()));
    let load_workers = load
        .as_ref()
        .zip(model.as_ref())
        .and_then(|(load, model)| check::load_workers(checker, load, model));
    let of_request = load
        .as_ref()
        .and_then(|load| Carries::of_request(checker, load));
    let mut what = load
        .as_mut()
        .and_then(|load| request_or_scenario(checker, load, system, model.as_ref()));
    if let Some(load) = &load {
        check::put_keep_alive(checker, load, what.as_mut());
    }
    let connect_timeout = load
        .as_ref()
        .and_then(|load| check::connect_timeout(checker, load));
    let protocol = load
        .as_ref()
        .and_then(|load| check::protocol(checker, load, what.as_ref()));
    let sent = what.as_ref().and_then(|(what, _)| Carries::of_sent(what));
    let carries = sent.or(of_request);
    let delivery = check::delivery(checker, raw.delivery.as_ref(), system, carries);
    let (interval, sampling_interval) = check::intervals(checker, raw.schedule.as_ref());
    let beside = check::Beside {
        interval,
        sampling_interval,
        delivery: delivery.as_ref().and_then(Option::as_ref),
        load: model.as_ref(),
        stages: check::length_of(stages.as_deref(), model.as_ref()),
        is_external: system.map(|system| system.external.is_some()),
    };
    let schedule = raw
        .schedule
        .as_ref()
        .and_then(|raw| check::schedule(checker, raw, &beside));
    let stage = Stage::new(both, parameters.as_ref(), schedule.as_ref());
    let faults = check::faults(checker, raw, stage);
    let (what, endpoint) = what?;
    Some(Cell {
        number,
        levels: without_places(levels),
        parameters: parameters?,
        load: model?,
        stages: stages?,
        load_workers,
        protocol: protocol?,
        connect_timeout: connect_timeout?,
        endpoint,
        what,
        schedule: schedule?,
        faults: faults?,
        delivery: delivery?,
    })
}

fn without_places(levels: &Levels) -> Vec<(String, Level)> {
    let named = levels.iter();
    named
        .map(|(name, level, _)| (name.clone(), level.clone()))
        .collect()
}

/// What is sent, and the endpoint it goes to: a request or a scenario, not both.
fn request_or_scenario(
    checker: &mut Checker<'_>,
    load: &mut raw::Load,
    system: Option<&System>,
    model: Option<&LoadModel>,
) -> Option<(What, String)> {
    const PATH: [&str; 2] = ["load", "scenario"];
    match (load.request.take(), load.scenario.take()) {
        (Some(_), Some(_)) => {
            let finding = Finding::new(checker.key(&PATH), "load has both request and scenario");
            checker.report(finding.with_expected("one of the two"));
            None
        }
        (Some(raw), None) => {
            let (request, endpoint) = check::request(checker, raw, system, model)?;
            Some((What::Request(Box::new(request)), endpoint))
        }
        (None, Some(raw)) => {
            check::refuse_pipelining(checker, model);
            let endpoint = check::endpoint(checker, raw.endpoint.as_deref(), system, &PATH);
            let around = Around { path: &PATH, model };
            let scenario = check::scenario(checker, raw, around);
            Some((What::Scenario(Arc::new(scenario?)), endpoint?))
        }
        (None, None) => {
            if !checker.is_wild(&["load", "request"]) && !checker.is_wild(&PATH) {
                let finding =
                    Finding::new(checker.key(&["load"]), "load does not say what is sent");
                checker.report(finding.with_expected("request or scenario"));
            }
            None
        }
    }
}
