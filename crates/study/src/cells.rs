//! The cells of a study: the full product of its factors, its rows, or each row with every combination of the factors; with the
//! levels that are derived from them.

use serde::Deserialize;
use waggle_spec::ExpectedVerdict;

use crate::{
    Cell, Level,
    de::NodeReader,
    derived::Derived,
    levels::Levels,
    mistake::{Finding, Position},
    nearest::list,
    reserved::CELL_KEYS,
    schema::STUDY,
    tree::{Entry, Node, Value},
    validate::{is_name, validate},
};

/// Most cells of a study.
pub(crate) const MAX_CELLS: usize = 10_000;
/// Most factors of a study.
const MAX_FACTORS: usize = 16;
/// Longest level, in bytes as written.
pub(crate) const MAX_LEVEL_BYTES: usize = 256;
/// Longest name of a cell.
const MAX_NAME_LETTERS: usize = 40;

/// Keys of a row that are no factor.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellLabel {
    pub name: Option<String>,
    pub expect_verdict: Option<ExpectedVerdict>,
}

/// Factors, cells and derived levels as they were read.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Every factor's name with its position; also of a factor whose levels are wrong. Those of the rows come first.
    pub names: Vec<(String, Position)>,
    /// At least one cell. It is empty if the factors are wrong or none are given.
    pub cells: Vec<Levels>,
    /// One for each cell; empty if the cells are made of factors alone.
    pub labels: Vec<CellLabel>,
    /// Whether `names` are complete; false if the part is too broken to read all of them.
    pub complete: bool,
    pub derived: Derived,
    /// Derived levels that have no value, each with the number of its cell.
    pub in_cells: Vec<(u32, Finding)>,
}

/// What `factors` or `cells` make alone, or both together.
#[derive(Default)]
struct Part {
    names: Vec<(String, Position)>,
    /// `None`: something is wrong.
    cells: Option<Vec<Levels>>,
    labels: Vec<CellLabel>,
}

/// Reads `factors`, `cells` and `derived`.
pub(crate) fn cells(root: &Node, findings: &mut Vec<Finding>) -> Cells {
    let before = findings.len();
    let rows = root.entry("cells");
    let factors = root.entry("factors");
    let of_rows = rows.map(|rows| listed_cells(rows, findings));
    let of_factors = factors.map(|factors| {
        let part = product(factors, findings);
        refuse_reserved(&part.names, findings);
        part
    });
    let part = match (of_rows, of_factors.zip(factors)) {
        (Some(rows), Some((of_factors, factors))) => cross(rows, of_factors, factors, findings),
        (Some(part), None) | (None, Some((part, _))) => part,
        (None, None) => Part::default(),
    };
    let Part {
        names,
        cells,
        labels,
    } = part;
    if let Some((_, position)) = names.get(MAX_FACTORS) {
        let what = format!("the study has {} factors", names.len());
        findings
            .push(Finding::new(*position, what).with_expected(format!("at most {MAX_FACTORS}")));
        return Cells {
            names: names[..MAX_FACTORS].to_vec(),
            cells: vec![Levels::new()],
            ..Cells::default()
        };
    }
    let complete = !names.is_empty() || findings.len() == before;
    let derived = root
        .entry("derived")
        .map(|entry| Derived::read(entry, &names, complete, findings));
    let mut all = Cells {
        complete: complete && derived.as_ref().is_none_or(|derived| derived.complete),
        derived: derived.unwrap_or_default(),
        in_cells: Vec::new(),
        labels,
        names,
        cells: Vec::new(),
    };
    match cells.filter(|cells| !cells.is_empty()) {
        Some(cells) => all.extend_by_derived(cells),
        None => all.cells.push(Levels::new()),
    }
    all
}

impl Cells {
    fn extend_by_derived(&mut self, cells: Vec<Levels>) {
        for (number, mut cell) in (1..).zip(cells) {
            let mut findings = Vec::new();
            self.derived.extend(&mut cell, &mut findings);
            let findings = findings.into_iter().map(|finding| (number, finding));
            self.in_cells.extend(findings);
            self.cells.push(cell);
        }
    }
}

/// Every row with every combination of the factors' levels, row by row.
fn cross(rows: Part, of_factors: Part, entry: &Entry, findings: &mut Vec<Finding>) -> Part {
    let before = findings.len();
    for (name, position) in &of_factors.names {
        if rows.names.iter().any(|(key, _)| key == name) {
            let what = format!("{name} is in factors and a key of the rows of cells");
            findings.push(Finding::new(*position, what).with_expected("each name in one of them"));
        }
    }
    let names = [&rows.names[..], &of_factors.names].concat();
    let (Some(row_cells), Some(combinations)) = (rows.cells, of_factors.cells) else {
        return Part {
            names,
            ..Part::default()
        };
    };
    let total = row_cells.len().saturating_mul(combinations.len());
    if total > MAX_CELLS {
        let what = format!("the rows of cells and the factors make {total} cells");
        findings
            .push(Finding::new(entry.position, what).with_expected(format!("at most {MAX_CELLS}")));
    }
    if findings.len() > before {
        return Part {
            names,
            ..Part::default()
        };
    }
    let (mut cells, mut labels) = (Vec::with_capacity(total), Vec::with_capacity(total));
    for (row, label) in row_cells.iter().zip(&rows.labels) {
        for combination in &combinations {
            cells.push([&row[..], combination].concat());
            labels.push(CellLabel {
                name: crossed_name(label, combination, &combinations),
                ..label.clone()
            });
        }
    }
    refuse_equal_names(&labels, entry, findings);
    Part {
        names,
        cells: Some(cells),
        labels,
    }
}

/// The name of a row with the levels of the factors that vary: `half, technology=go`.
fn crossed_name(label: &CellLabel, combination: &Levels, all: &[Levels]) -> Option<String> {
    let varies = |index: usize| {
        all.iter()
            .any(|other| other[index].1 != combination[index].1)
    };
    let levels = combination.iter().enumerate();
    let levels = levels.filter(|(index, _)| varies(*index));
    let levels = levels.map(|(_, (factor, level, _))| format!(", {factor}={level}"));
    Some(label.name.clone()? + &levels.collect::<String>())
}

/// Reports names that are equal only because of what the crossing adds to them.
fn refuse_equal_names(labels: &[CellLabel], entry: &Entry, findings: &mut Vec<Finding>) {
    let mut seen = std::collections::HashSet::new();
    let mut names = labels.iter().filter_map(|label| label.name.as_ref());
    if let Some(name) = names.find(|name| !seen.insert(*name)) {
        let what = format!("two cells are called {name:?}");
        let expected = "names of rows that differ with the factors' levels behind them";
        findings.push(Finding::new(entry.position, what).with_expected(expected));
    }
}

/// Puts the labels of the rows on their cells.
pub(crate) fn label_cells(cells: &mut [Cell], labels: &[CellLabel]) {
    for cell in cells {
        if let Some(label) = labels.get(cell.number as usize - 1) {
            cell.short_name.clone_from(&label.name);
            cell.expect_verdict = label.expect_verdict;
        }
    }
}

/// Reports names that are reserved in a row of `cells`.
fn refuse_reserved(names: &[(String, Position)], findings: &mut Vec<Finding>) {
    for (name, position) in names {
        if CELL_KEYS.contains(&name.as_str()) {
            let what = format!("no factor is called {name:?}: the name is reserved for cells");
            findings.push(Finding::new(*position, what).with_expected("another name"));
        }
    }
}

/// Validates the part; returns it with every invalid node marked.
pub(crate) fn validate_part(entry: &Entry, findings: &mut Vec<Finding>) -> Node {
    let mut node = entry.node.clone();
    findings.extend(validate(
        &STUDY["properties"][&entry.key],
        &mut node,
        &entry.key,
    ));
    node
}

fn product(entry: &Entry, findings: &mut Vec<Finding>) -> Part {
    let before = findings.len();
    let node = validate_part(entry, findings);
    let names = node
        .entries()
        .iter()
        .filter(|factor| is_name(&factor.key))
        .map(|factor| (factor.key.clone(), factor.position))
        .collect();
    let factors: Vec<_> = node
        .entries()
        .iter()
        .map(|factor| (factor, levels(factor, findings)))
        .collect();
    let without_cells = |names| Part {
        names,
        ..Part::default()
    };
    if findings.len() > before {
        return without_cells(names);
    }
    let total = factors.iter().try_fold(1_usize, |total, (_, levels)| {
        total.checked_mul(levels.len())
    });
    if total.is_none_or(|total| total > MAX_CELLS) {
        let total = total.map_or_else(|| "countless".to_owned(), |total| total.to_string());
        let what = format!("the factors make {total} cells");
        findings
            .push(Finding::new(entry.position, what).with_expected(format!("at most {MAX_CELLS}")));
        return without_cells(names);
    }
    let mut cells = vec![Levels::new()];
    for (factor, levels) in factors {
        cells = cells
            .iter()
            .flat_map(|cell| {
                levels.iter().map(|(level, position)| {
                    let mut longer = cell.clone();
                    longer.push((factor.key.clone(), level.clone(), *position));
                    longer
                })
            })
            .collect();
    }
    Part {
        names,
        cells: Some(cells),
        labels: Vec::new(),
    }
}

/// A factor's levels; none twice.
fn levels(factor: &Entry, findings: &mut Vec<Finding>) -> Vec<(Level, Position)> {
    let Value::List(items) = &factor.node.value else {
        return Vec::new();
    };
    if items.is_empty() {
        let what = format!("factor {} has no levels", factor.key);
        findings.push(Finding::new(factor.node.position, what).with_expected("at least one"));
    }
    if items.len() > MAX_CELLS {
        let what = format!("factor {} has {} levels", factor.key, items.len());
        findings.push(
            Finding::new(factor.node.position, what).with_expected(format!("at most {MAX_CELLS}")),
        );
        return Vec::new();
    }
    let mut seen = std::collections::HashSet::new();
    let mut levels = Vec::new();
    for item in items {
        let Some(level) = level(item, findings) else {
            continue;
        };
        if !seen.insert(level.to_string()) {
            let what = format!("factor {} has the level {level} twice", factor.key);
            findings.push(Finding::new(item.position, what).with_expected("each level once"));
        }
        levels.push((level, item.position));
    }
    levels
}

fn level(node: &Node, findings: &mut Vec<Finding>) -> Option<Level> {
    let Value::Scalar(level) = &node.value else {
        return None;
    };
    let shown = level.to_string();
    if shown.contains("${") {
        let what = "a level is a value; ${…} is not allowed in it";
        findings
            .push(Finding::new(node.position, what).with_expected("a number, true, false or text"));
        return None;
    }
    if shown.len() > MAX_LEVEL_BYTES {
        let what = format!("a level has {} bytes", shown.len());
        findings.push(
            Finding::new(node.position, what).with_expected(format!("at most {MAX_LEVEL_BYTES}")),
        );
        return None;
    }
    Some(level.clone())
}

fn listed_cells(entry: &Entry, findings: &mut Vec<Finding>) -> Part {
    let before = findings.len();
    let node = validate_part(entry, findings);
    let Value::List(rows) = &node.value else {
        return Part::default();
    };
    let labels = labels(rows, findings);
    let rows: Vec<Node> = rows.iter().map(without_label).collect();
    let names: Vec<_> = rows
        .first()
        .into_iter()
        .flat_map(Node::entries)
        .map(|column| (column.key.clone(), column.position))
        .collect();
    if rows.len() > MAX_CELLS {
        let what = format!("the study has {} cells", rows.len());
        findings
            .push(Finding::new(entry.position, what).with_expected(format!("at most {MAX_CELLS}")));
        return Part {
            names,
            ..Part::default()
        };
    }
    let mut seen = std::collections::HashMap::new();
    let mut cells = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let Some(cell) = self::row(row, &names, findings) else {
            continue;
        };
        let shown: Vec<_> = cell.iter().map(|(_, level, _)| level.to_string()).collect();
        if let Some(earlier) = seen.insert(shown, index + 1) {
            let what = format!("row {} is the same as row {earlier}", index + 1);
            findings.push(Finding::new(row.position, what).with_expected("each cell once"));
        }
        cells.push(cell);
    }
    Part {
        names,
        cells: (findings.len() == before).then_some(cells),
        labels,
    }
}

/// A row's factors.
fn without_label(row: &Node) -> Node {
    let Value::Map(entries) = &row.value else {
        return row.clone();
    };
    let factors = entries
        .iter()
        .filter(|entry| !CELL_KEYS.contains(&entry.key.as_str()));
    Node {
        value: Value::Map(factors.cloned().collect()),
        ..*row
    }
}

/// The label of each row; no name twice.
fn labels(rows: &[Node], findings: &mut Vec<Finding>) -> Vec<CellLabel> {
    let [name, expect_verdict] = CELL_KEYS;
    let mut labels: Vec<CellLabel> = Vec::new();
    for (row, number) in rows.iter().zip(1..) {
        let label = CellLabel {
            name: row.child(name).and_then(|node| cell_name(node, findings)),
            expect_verdict: row.child(expect_verdict).and_then(|node| {
                let path = format!("cells[{number}].{expect_verdict}");
                cell_verdict(node, &path, findings)
            }),
        };
        let position = row.child(name).map(|node| node.position);
        if let (Some(name), Some(position)) = (&label.name, position)
            && labels.iter().any(|earlier| earlier.name == label.name)
        {
            let what = format!("two cells are called {name:?}");
            findings.push(Finding::new(position, what).with_expected("each name once"));
        }
        labels.push(label);
    }
    labels
}

fn cell_name(node: &Node, findings: &mut Vec<Finding>) -> Option<String> {
    let Value::Scalar(name) = &node.value else {
        return None;
    };
    let name = name.to_string();
    let is_short = (1..=MAX_NAME_LETTERS).contains(&name.chars().count());
    if is_short && !name.chars().any(char::is_control) && name.trim() == name {
        return Some(name);
    }
    let what = format!("the name of a cell is {name:?}");
    let expected = format!("a text of 1 to {MAX_NAME_LETTERS} letters in one line");
    findings.push(Finding::new(node.position, what).with_expected(expected));
    None
}

fn cell_verdict(node: &Node, path: &str, findings: &mut Vec<Finding>) -> Option<ExpectedVerdict> {
    let mut node = node.clone();
    let schema = &STUDY["properties"]["expect_verdict"];
    findings.extend(validate(schema, &mut node, path));
    ExpectedVerdict::deserialize(NodeReader::new(&node)).ok()
}

/// A row's levels in the order of the first row's keys.
fn row(row: &Node, names: &[(String, Position)], findings: &mut Vec<Finding>) -> Option<Levels> {
    let is_same = row.entries().len() == names.len()
        && names.iter().all(|(name, _)| row.entry(name).is_some());
    if names.is_empty() || !is_same {
        if row.value != Value::Invalid {
            let what = match row.entries() {
                [] => "this row has no factor".to_owned(),
                factors => format!(
                    "this row has the keys {}",
                    list(factors.iter().map(|entry| entry.key.as_str()))
                ),
            };
            let expected = match names {
                [] => "at least one key".to_owned(),
                _ => format!(
                    "those of the first row: {}",
                    list(names.iter().map(|(name, _)| name.as_str()))
                ),
            };
            findings.push(Finding::new(row.position, what).with_expected(expected));
        }
        return None;
    }
    names
        .iter()
        .map(|(name, _)| {
            let node = row.child(name)?;
            Some((name.clone(), level(node, findings)?, node.position))
        })
        .collect()
}

/// Bytes that a study takes over all its cells, at most.
pub(crate) fn expanded_bytes(body: &Node, cells: &[Levels]) -> usize {
    max_bytes(body, longest_level(cells)).saturating_mul(cells.len())
}

/// Bytes a tree takes in a cell, at most.
fn max_bytes(node: &Node, longest_level: usize) -> usize {
    const NODE: usize = 16;
    NODE + match &node.value {
        Value::Invalid | Value::Null => 0,
        Value::Scalar(level) => {
            let text = level.to_string();
            text.len() + text.matches("${").count() * longest_level
        }
        Value::List(items) => items
            .iter()
            .map(|item| max_bytes(item, longest_level))
            .sum(),
        Value::Map(entries) => entries
            .iter()
            .map(|entry| entry.key.len() + max_bytes(&entry.node, longest_level))
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
