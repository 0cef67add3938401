//! The cells of a study: the full product of its factors, or its rows.

use crate::{
    Level,
    mistake::{Finding, Place},
    nearest::list,
    reserved::FACTORS,
    schema::STUDY,
    tree::{Entry, Node, Value},
    walk::{is_name, walk},
};

/// Most cells of a study.
pub(crate) const MAX_CELLS: usize = 10_000;
/// Most factors of a study.
const MAX_FACTORS: usize = 16;
/// Longest level, in bytes as written.
const MAX_LEVEL_BYTES: usize = 256;

/// One level for each factor, with the place where it is written.
pub(crate) type Levels = Vec<(String, Level, Place)>;

/// What the cells are made of.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Every factor's name with its place, also one whose levels are wrong.
    pub names: Vec<(String, Place)>,
    /// At least one cell, which is empty where the factors are wrong or none are given.
    pub cells: Vec<Levels>,
    /// Whether `names` are all there are; false where the part is too broken to tell.
    pub complete: bool,
}

/// Reads `factors` or `cells`.
pub(crate) fn cells(root: &Node, findings: &mut Vec<Finding>) -> Cells {
    let before = findings.len();
    let (factors, rows) = (root.entry("factors"), root.entry("cells"));
    if let (Some(_), Some(rows)) = (factors, rows) {
        let what = "a study has factors or cells, not both";
        findings.push(Finding::new(rows.place, what).with_expected("one of the two"));
    }
    let (names, cells) = match (factors, rows) {
        (Some(factors), _) => product(factors, findings),
        (None, Some(rows)) => listed_cells(rows, findings),
        (None, None) => (Vec::new(), None),
    };
    refuse_reserved(&names, findings);
    if let Some((_, place)) = names.get(MAX_FACTORS) {
        let what = format!("the study has {} factors", names.len());
        findings.push(Finding::new(*place, what).with_expected(format!("at most {MAX_FACTORS}")));
        return Cells {
            names: names[..MAX_FACTORS].to_vec(),
            cells: vec![Levels::new()],
            complete: false,
        };
    }
    Cells {
        complete: !names.is_empty() || findings.len() == before,
        names,
        cells: cells
            .filter(|cells| !cells.is_empty())
            .unwrap_or_else(|| vec![Levels::new()]),
    }
}

/// Reports names that a row of `cells` has a meaning for.
fn refuse_reserved(names: &[(String, Place)], findings: &mut Vec<Finding>) {
    for (name, place) in names {
        if FACTORS.contains(&name.as_str()) {
            let what = format!("no factor is called {name:?}: the name is reserved for cells");
            findings.push(Finding::new(*place, what).with_expected("another name"));
        }
    }
}

/// The part with all that is wrong in it made wild.
fn walk_part(entry: &Entry, findings: &mut Vec<Finding>) -> Node {
    let mut node = entry.node.clone();
    findings.extend(walk(
        &STUDY["properties"][&entry.key],
        &mut node,
        &entry.key,
    ));
    node
}

fn product(
    entry: &Entry,
    findings: &mut Vec<Finding>,
) -> (Vec<(String, Place)>, Option<Vec<Levels>>) {
    let before = findings.len();
    let node = walk_part(entry, findings);
    let names = node
        .entries()
        .iter()
        .filter(|factor| is_name(&factor.key))
        .map(|factor| (factor.key.clone(), factor.place))
        .collect();
    let factors: Vec<_> = node
        .entries()
        .iter()
        .map(|factor| (factor, levels(factor, findings)))
        .collect();
    if findings.len() > before {
        return (names, None);
    }
    let total = factors.iter().try_fold(1_usize, |total, (_, levels)| {
        total.checked_mul(levels.len())
    });
    if total.is_none_or(|total| total > MAX_CELLS) {
        let total = total.map_or_else(|| "countless".to_owned(), |total| total.to_string());
        let what = format!("the factors make {total} cells");
        findings
            .push(Finding::new(entry.place, what).with_expected(format!("at most {MAX_CELLS}")));
        return (names, None);
    }
    let mut cells = vec![Levels::new()];
    for (factor, levels) in factors {
        cells = cells
            .iter()
            .flat_map(|cell| {
                levels.iter().map(|(level, place)| {
                    let mut longer = cell.clone();
                    longer.push((factor.key.clone(), level.clone(), *place));
                    longer
                })
            })
            .collect();
    }
    (names, Some(cells))
}

/// A factor's levels; none twice.
fn levels(factor: &Entry, findings: &mut Vec<Finding>) -> Vec<(Level, Place)> {
    let Value::List(items) = &factor.node.value else {
        return Vec::new();
    };
    if items.is_empty() {
        let what = format!("factor {} has no levels", factor.key);
        findings.push(Finding::new(factor.node.place, what).with_expected("at least one"));
    }
    if items.len() > MAX_CELLS {
        let what = format!("factor {} has {} levels", factor.key, items.len());
        findings.push(
            Finding::new(factor.node.place, what).with_expected(format!("at most {MAX_CELLS}")),
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
            findings.push(Finding::new(item.place, what).with_expected("each level once"));
        }
        levels.push((level, item.place));
    }
    levels
}

fn level(node: &Node, findings: &mut Vec<Finding>) -> Option<Level> {
    let Value::Scalar(level) = &node.value else {
        return None;
    };
    let shown = level.to_string();
    if shown.contains("${") {
        let what = "a level is a value; ${…} cannot stand in it";
        findings
            .push(Finding::new(node.place, what).with_expected("a number, true, false or text"));
        return None;
    }
    if shown.len() > MAX_LEVEL_BYTES {
        let what = format!("a level has {} bytes", shown.len());
        findings.push(
            Finding::new(node.place, what).with_expected(format!("at most {MAX_LEVEL_BYTES}")),
        );
        return None;
    }
    Some(level.clone())
}

fn listed_cells(
    entry: &Entry,
    findings: &mut Vec<Finding>,
) -> (Vec<(String, Place)>, Option<Vec<Levels>>) {
    let before = findings.len();
    let node = walk_part(entry, findings);
    let Value::List(rows) = &node.value else {
        return (Vec::new(), None);
    };
    let names: Vec<_> = rows
        .first()
        .into_iter()
        .flat_map(Node::entries)
        .map(|column| (column.key.clone(), column.place))
        .collect();
    if rows.len() > MAX_CELLS {
        let what = format!("the study has {} cells", rows.len());
        findings
            .push(Finding::new(entry.place, what).with_expected(format!("at most {MAX_CELLS}")));
        return (names, None);
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
            findings.push(Finding::new(row.place, what).with_expected("each cell once"));
        }
        cells.push(cell);
    }
    (names, (findings.len() == before).then_some(cells))
}

/// A row's levels in the order of the first row's keys.
fn row(row: &Node, names: &[(String, Place)], findings: &mut Vec<Finding>) -> Option<Levels> {
    let is_same = row.entries().len() == names.len()
        && names.iter().all(|(name, _)| row.entry(name).is_some());
    if names.is_empty() || !is_same {
        if row.value != Value::Wild {
            let what = format!(
                "this row has the keys {}",
                list(row.entries().iter().map(|entry| entry.key.as_str()))
            );
            let expected = match names {
                [] => "at least one key".to_owned(),
                _ => format!(
                    "those of the first row: {}",
                    list(names.iter().map(|(name, _)| name.as_str()))
                ),
            };
            findings.push(Finding::new(row.place, what).with_expected(expected));
        }
        return None;
    }
    names
        .iter()
        .map(|(name, _)| {
            let node = row.child(name)?;
            Some((name.clone(), level(node, findings)?, node.place))
        })
        .collect()
}

/// Bytes that a study takes over all its cells, at most.
pub(crate) fn expanded_bytes(body: &Node, cells: &[Levels]) -> usize {
    weight(body, longest_level(cells)).saturating_mul(cells.len())
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
