//! From text to checked study or system: parse, fill in each cell's levels, validate by the schema, check.

use std::slice;

use serde::Deserialize;

use crate::{
    Cell, Files, Mistakes, Oauth2, Scenario, Source, Study, System,
    at::At,
    cells::{self, Cells, expanded_bytes, label_cells},
    check::{self, Checker, ExternalParts},
    de::NodeReader,
    fill::{fill, uses},
    include::{include_scenario, refuse_keys_of_study},
    levels::Levels,
    mistake::{Finding, Findings, Position},
    nearest::{list, nearest_word},
    origin::{Origin, is_meant_from_outside},
    parts::{self, oauth2::oauth2},
    raw,
    schema::{SCENARIO, STUDY, SYSTEM},
    sources::{Sources, no_files},
    tree::{Node, Value, parse},
    uses::{KnownNames, check_uses, misuse_of_environment},
    validate::validate,
};

/// Most bytes of a study's text over all its cells; limits memory and time for any file.
const MAX_EXPANDED_BYTES: usize = 64 * 1024 * 1024;

/// The system of a study.
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
/// The mistakes in the text that can be found without the system.
pub fn system_of(study: &Source) -> Result<Named, Mistakes> {
    let mut examined = Examined::default();
    examined.read(study, Inputs::default());
    match (examined.system, examined.server) {
        (_, Some(server)) => Ok(Named::Server(Box::new(server))),
        (Some((name, _)), None) => Ok(Named::System(name)),
        (None, None) => Err(examined
            .findings
            .into_mistakes(slice::from_ref(study), examined.cells)),
    }
}

/// The mistakes of a study whose system is not known: the unknown name, and all others that can be found without the system.
#[must_use]
pub fn unknown_system(study: &Source, known: &[String]) -> Mistakes {
    let mut examined = Examined::default();
    examined.read(study, Inputs::default());
    if let Some((name, position)) = examined.system {
        let names = || known.iter().map(String::as_str);
        let finding = Finding::new(position, format!("there is no system {name:?}"))
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
    let mut mistakes = Vec::new();
    let system = system_in(&source.text, &mut mistakes);
    let mut findings = Findings::default();
    findings.add_all(mistakes);
    system
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(slice::from_ref(source), 0))
}

fn system_in(text: &str, mistakes: &mut Vec<Finding>) -> Option<System> {
    let mut root = parse_root(text, mistakes)?;
    mistakes.extend(validate(&SYSTEM, &mut root, "the system"));
    let raw = read_raw::<At<raw::System>>(&root, mistakes)?;
    let mut checker = Checker::new(&root);
    let system = check::system(&mut checker, &raw);
    mistakes.append(&mut checker.findings);
    system
}

fn parse_root(text: &str, mistakes: &mut Vec<Finding>) -> Option<Node> {
    let root = parse(text, mistakes);
    root.map_err(|end| mistakes.push(end)).ok()
}

/// Checks a study in a single text against its system.
///
/// # Errors
/// Every mistake in it; it is a mistake to name a file of a scenario or a feed.
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
    let sources = Sources::new(source, files);
    let mut examined = Examined::default();
    let inputs = Inputs {
        system: Some(system),
        sources: Some(&sources),
    };
    examined.read(source, inputs);
    let (findings, cells) = (examined.findings, examined.cells);
    examined
        .study
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(&sources.into_sources(), cells))
}

/// Checks a scenario in a file of its own, with the feeds that it names.
///
/// # Errors
/// Every mistake in it and in the feeds' files.
pub fn read_scenario(source: &Source, files: Files<'_>) -> Result<Scenario, Mistakes> {
    let sources = Sources::new(source, files);
    let mut mistakes = Vec::new();
    let scenario = scenario_in(&source.text, &sources, &mut mistakes);
    let mut findings = Findings::default();
    findings.add_all(mistakes);
    scenario
        .filter(|_| findings.is_empty())
        .ok_or_else(|| findings.into_mistakes(&sources.into_sources(), 0))
}

fn scenario_in(text: &str, sources: &Sources<'_>, mistakes: &mut Vec<Finding>) -> Option<Scenario> {
    let mut root = parse_root(text, mistakes)?;
    refuse_values_of_study(&root, mistakes);
    root = fill(&root, &|_| None);
    mistakes.extend(validate(&SCENARIO, &mut root, "the scenario"));
    refuse_keys_of_study(&root, mistakes);
    let raw = read_raw::<At<parts::scenario::Scenario>>(&root, mistakes)?;
    let mut checker = Checker::with_files(&root, Some(sources));
    let scenario = parts::scenario::scenario(&mut checker, &raw, None);
    mistakes.append(&mut checker.findings);
    scenario
}

/// Reports each `${…}` that only a study fills in.
fn refuse_values_of_study(root: &Node, mistakes: &mut Vec<Finding>) {
    for used in uses(root) {
        let name = used.name.as_deref();
        let Some(name) = name.filter(|name| is_meant_from_outside(name)) else {
            let what = "${…} is filled in by a study, and this scenario belongs to no study";
            mistakes.push(Finding::new(used.position, what).with_expected("a value"));
            continue;
        };
        let path: Vec<_> = used.path.iter().map(String::as_str).collect();
        mistakes.extend(misuse_of_environment(&used, name, &path));
        if Origin::parse(name).is_some_and(|origin| !origin.is_outside_system()) {
            let what = "secrets and tokens belong to a study, and this scenario belongs to none";
            let finding = Finding::new(used.position, what);
            mistakes.push(finding.with_expected("${env.NAME} or ${file:PATH}"));
        }
    }
}

/// What was read from the text of a study, and all findings.
#[derive(Default)]
struct Examined {
    /// Complete only if there are no findings.
    study: Option<Study>,
    findings: Findings,
    /// How many cells there are.
    cells: u32,
    /// `system.use` with its position.
    system: Option<(String, Position)>,
    /// The system that `system.url` describes.
    server: Option<System>,
}

/// The other inputs of reading a study. Without one of them, the mistakes that depend on it are not found.
#[derive(Clone, Copy, Default)]
struct Inputs<'a> {
    system: Option<&'a System>,
    sources: Option<&'a Sources<'a>>,
}

/// Whether the keys are those of a scenario in a file of its own.
fn is_scenario(root: &Node) -> bool {
    root.entry("flows").is_some() && root.entry("study").is_none() && root.entry("load").is_none()
}

/// Whether the keys are those of a system file.
fn is_system(root: &Node) -> bool {
    root.entry("components").is_some()
        && root.entry("study").is_none()
        && root.entry("load").is_none()
}

/// What all cells share.
#[derive(Clone, Copy)]
struct AllCells<'a> {
    system: Option<&'a System>,
    cells: &'a [Levels],
    factors: &'a [String],
}

impl Examined {
    /// Without a system, only what does not depend on it is checked. Without sources, no file that the study names is read.
    fn read(&mut self, source: &Source, inputs: Inputs<'_>) {
        let mut findings = Vec::new();
        match parse(&source.text, &mut findings) {
            Ok(root) if is_scenario(&root) => findings.push(
                Finding::new(root.position, "this is a scenario, and not a study").with_expected(
                    "a study that names it (load: { scenario: { file: … } }); `waggle load URL --scenario FILE` runs it without one",
                ),
            ),
            Ok(root) if is_system(&root) => findings.push(
                Finding::new(root.position, "this is a system, and not a study").with_expected(
                    "a study that names it (system: NAME, with the file in systems/NAME/system.yaml); `waggle system` runs it without one",
                ),
            ),
            Ok(mut root) => {
                let scenario = include_scenario(&mut root, inputs.sources, &mut findings);
                self.examine(&root, inputs, &mut findings);
                self.study = self.study.take().map(|study| Study {
                    scenario_file: scenario,
                    ..study
                });
            }
            Err(end) => findings.push(end),
        }
        self.findings.add_all(findings);
    }

    fn examine(
        &mut self,
        root: &Node,
        Inputs { system, sources }: Inputs<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let Cells {
            names,
            cells,
            labels,
            complete,
            derived,
            in_cells,
        } = cells::cells(root, findings);
        let body = without_cells(root);
        let known = KnownNames {
            factors: &names,
            derived: &derived,
            complete,
        };
        check_uses(&body, &known, system, findings);
        for (cell, finding) in in_cells {
            self.findings.add_in_cell(cell, [finding]);
        }
        self.cells = u32::try_from(cells.len()).expect("the number of cells is limited");
        let expanded = expanded_bytes(&body, &cells);
        if expanded > MAX_EXPANDED_BYTES {
            let what = format!(
                "the study has {expanded} bytes over its {} cells",
                cells.len()
            );
            findings.push(
                Finding::new(Position::START, what)
                    .with_expected(format!("at most {MAX_EXPANDED_BYTES}")),
            );
            return;
        }
        let factors: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        let all_cells = AllCells {
            system,
            cells: &cells,
            factors: &factors,
        };
        let (mut checked, first) = self.examine_cells(&body, all_cells, sources);
        label_cells(&mut checked, &labels);
        if let Some(search) = self.study.as_ref().and_then(|study| study.search.as_ref()) {
            for cell in &mut checked {
                cell.load = cell.load.at_level(search.start);
            }
        }
        let is_complete = checked.len() == cells.len();
        let oauth2 = self.examine_oauth2(first.as_ref(), system);
        let external = self.examine_external(first, system, is_complete.then_some(&checked));
        let system = system.map(|system| system.clone().with_external(&external.external));
        let in_cell = |cell: &Cell| {
            let system = system.as_ref();
            let system = system.map(|system| system.configure(&cell.parameters));
            system.as_ref().map(check::system_at_most)
        };
        let system_at_most = checked.iter().filter_map(in_cell).max();
        if let Some(study) = &mut self.study {
            study.factors = factors;
            study.derived = derived.levels();
            study.system_at_most = system_at_most.unwrap_or_default();
            study.cells = checked;
            study.external = external.external;
            study.kubeconfig = external.kubeconfig;
            study.oauth2 = oauth2;
            study.secrets = external.secrets;
        }
    }

    /// Checks each cell. Returns those without mistakes, and the first cell's tree with its part `system`.
    fn examine_cells(
        &mut self,
        body: &Node,
        all_cells: AllCells<'_>,
        sources: Option<&Sources<'_>>,
    ) -> (Vec<Cell>, Option<(Node, At<raw::UseSystem>)>) {
        let mut checked = Vec::new();
        let mut first = None;
        for (number, levels) in (1..).zip(all_cells.cells) {
            let row = check::CellRow {
                number,
                levels,
                factors: all_cells.factors.len(),
            };
            let mut in_cell = Vec::new();
            let tree = cell_tree(body, levels, &mut in_cell);
            let raw = read_raw::<raw::Study>(&tree, &mut in_cell);
            let mut checker = Checker::with_files(&tree, sources);
            if let Some(mut raw) = raw {
                checked.extend(check::cell(&mut checker, &mut raw, row, all_cells.system));
                if number == 1 {
                    self.examine_study(&mut checker, &raw, all_cells);
                    first = raw.system.take().map(|raw| (tree.clone(), raw));
                }
            }
            in_cell.append(&mut checker.findings);
            self.findings.add_in_cell(number, in_cell);
            if self.findings.is_full() {
                break;
            }
        }
        (checked, first)
    }

    /// Reads the components that already run; `first` is the first cell's tree with its part `system`.
    fn examine_external(
        &mut self,
        first: Option<(Node, At<raw::UseSystem>)>,
        system: Option<&System>,
        cells: Option<&Vec<Cell>>,
    ) -> ExternalParts {
        let first = first.filter(|(_, raw)| !raw.value.url.is_some());
        let (Some((tree, raw)), Some(system)) = (first, system) else {
            return ExternalParts::default();
        };
        let mut checker = Checker::new(&tree);
        let cells = cells.map(|cells| cells.iter().map(|cell| &cell.parameters).collect());
        let external = check::external_parts(&mut checker, &raw, system, cells);
        self.findings.add_all(checker.findings);
        external
    }

    /// Reads where tokens come from.
    fn examine_oauth2(
        &mut self,
        first: Option<&(Node, At<raw::UseSystem>)>,
        system: Option<&System>,
    ) -> Option<Oauth2> {
        let ((tree, raw), system) = (first?, system?);
        let mut checker = Checker::new(tree);
        let has_network = tree.child("network").is_some();
        let oauth2 = oauth2(&mut checker, raw, system, has_network);
        self.findings.add_all(checker.findings);
        oauth2
    }

    /// What holds for the study as a whole, read from its first cell.
    fn examine_study(
        &mut self,
        checker: &mut Checker<'_>,
        raw: &raw::Study,
        AllCells {
            system,
            cells,
            factors,
        }: AllCells<'_>,
    ) {
        let mut part_checker = checker.without_findings();
        self.study = check::study_without_cells(&mut part_checker, raw, system, cells, factors);
        self.findings.add_all(part_checker.findings);
        let system = raw.system.content();
        let name = system.and_then(|system| system.value.name.content());
        self.system = name.map(|name| (name.value.0.clone(), name.place.value));
        let mut part_checker = Checker::new(checker.root());
        self.server = system.and_then(|system| check::server(&mut part_checker, system));
        self.findings.add_all(part_checker.findings);
    }
}

fn read_raw<'de, T: Deserialize<'de>>(root: &Node, findings: &mut Vec<Finding>) -> Option<T> {
    match T::deserialize(NodeReader::new(root)) {
        Ok(raw) => Some(raw),
        Err(error) => {
            // The validation has better messages; this one is for a mistake that the validation missed.
            if findings.is_empty() {
                findings.push(Finding::new(
                    root.position,
                    format!("cannot be read: {error}"),
                ));
            }
            None
        }
    }
}

/// The tree of one cell, with every invalid node marked.
fn cell_tree(body: &Node, levels: &Levels, findings: &mut Vec<Finding>) -> Node {
    let mut tree = fill(body, &|name| {
        levels
            .iter()
            .find(|(known, ..)| known == name)
            .map(|(_, level, position)| (level, *position))
    });
    findings.extend(validate(&STUDY, &mut tree, "the study"));
    tree
}

fn without_cells(root: &Node) -> Node {
    match &root.value {
        Value::Map(entries) => {
            let kept = entries
                .iter()
                .filter(|entry| !matches!(entry.key.as_str(), "factors" | "cells" | "derived"));
            Node {
                value: Value::Map(kept.cloned().collect()),
                ..*root
            }
        }
        _ => root.clone(),
    }
}
