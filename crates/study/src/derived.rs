//! Derived levels: levels of a cell that formulas compute from its other levels. They are no factors.

use std::collections::BTreeMap;

use waggle_spec::DerivedLevel;

use crate::{
    Level,
    cells::{MAX_LEVEL_BYTES, validate_part},
    formula::{Formula, FormulaError, Place},
    levels::Levels,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    reserved::CELL_KEYS,
    tree::{Entry, Node, Value, quote},
    validate::is_name,
};

/// Most derived levels of a study.
const MAX_DERIVED: usize = 16;
/// Whole numbers up to here are exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A name with its position.
type Named = (String, Position);

/// The part `derived`, as it was read.
#[derive(Debug)]
pub(crate) struct Derived {
    /// Each after those that it needs.
    ordered: Vec<Read>,
    /// Every name with its position, in the order of the file.
    pub names: Vec<Named>,
    /// Whether the part was read without a mistake, or there is none.
    pub complete: bool,
}

/// A formula that was read.
#[derive(Debug)]
struct Read {
    name: String,
    formula: Formula,
    written: Written,
}

/// The text of a formula and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    text: String,
    position: Position,
}

impl Written {
    /// The position of a part, exact unless the text has escapes or several lines.
    fn position(&self, place: Place) -> Position {
        let length = self.text.chars().count();
        let before = match (self.position.width as usize).checked_sub(length) {
            Some(0) => 0,
            // Quotes on both sides.
            Some(2) => 1,
            _ => return self.position,
        };
        let fit = |number: usize| u32::try_from(number).unwrap_or(u32::MAX / 2);
        Position {
            column: self
                .position
                .column
                .saturating_add(fit(before + place.start)),
            width: fit(place.width),
            ..self.position
        }
    }

    fn finding(&self, name: &str, error: FormulaError) -> Finding {
        let what = format!("derived.{name}: {}", error.what);
        Finding::new(self.position(error.place), what).with_expected(error.expected)
    }
}

impl Default for Derived {
    /// There is no such part.
    fn default() -> Self {
        Self {
            ordered: Vec::new(),
            names: Vec::new(),
            complete: true,
        }
    }
}

impl Derived {
    /// Reads the part; `factors` are the study's factors with their positions, and whether they are complete.
    pub(crate) fn read(
        entry: &Entry,
        factors: &[Named],
        is_complete: bool,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let before = findings.len();
        let node = validate_part(entry, findings);
        let entries = node.entries();
        let names: Vec<_> = entries
            .iter()
            .filter(|entry| is_name(&entry.key))
            .map(|entry| (entry.key.clone(), entry.position))
            .collect();
        check_names(entry, &names, factors, findings);
        let read: Vec<Read> = entries
            .iter()
            .filter_map(|entry| formula(entry, findings))
            .collect();
        let is_read = findings.len() == before;
        if is_complete {
            check_uses(&read, factors, &names, findings);
        }
        let ordered = match is_read && findings.len() == before {
            true => sort_by_need(read, findings),
            false => Vec::new(),
        };
        Self {
            ordered,
            names,
            complete: findings.len() == before,
        }
    }

    /// Whether a formula has the name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let mut used = self.ordered.iter().flat_map(|read| read.formula.names());
        used.any(|(used, _)| used == name)
    }

    /// The derived levels of the study, in the order of the file.
    pub(crate) fn levels(&self) -> Vec<DerivedLevel> {
        let mut factors: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for read in &self.ordered {
            let mut dependencies: Vec<String> = Vec::new();
            for (used, _) in read.formula.names() {
                let through = factors.get(used.as_str());
                for factor in through.cloned().unwrap_or_else(|| vec![used.clone()]) {
                    if !dependencies.contains(&factor) {
                        dependencies.push(factor);
                    }
                }
            }
            factors.insert(&read.name, dependencies);
        }
        let mut levels = Vec::new();
        for (name, _) in &self.names {
            let read = self.ordered.iter().find(|read| read.name == *name);
            if let (Some(read), Some(factors)) = (read, factors.get(name.as_str())) {
                levels.push(DerivedLevel {
                    name: name.clone(),
                    formula: read.written.text.clone(),
                    factors: factors.clone(),
                });
            }
        }
        levels
    }

    /// Adds the derived levels to those of a cell, in the order of the file. A level whose formula has no value there is left out,
    /// and is a finding.
    pub(crate) fn extend(&self, cell: &mut Levels, findings: &mut Vec<Finding>) {
        let mut results: BTreeMap<&str, (Level, Position)> = BTreeMap::new();
        for read in &self.ordered {
            let names = read.formula.names();
            let level_of = |name: &str| known_level(name, cell, &results);
            if names.iter().any(|(name, _)| level_of(name).is_none()) {
                continue;
            }
            let value = |name: &str| number(name, level_of(name));
            match read.formula.evaluate(&value) {
                Ok(value) => match level(value) {
                    Some(level) => {
                        results.insert(&read.name, (level, read.written.position));
                    }
                    None => {
                        let what = format!("derived.{} is {value}", read.name);
                        let expected = format!(
                            "a whole number up to {MAX_EXACT}, or a fraction of at most {MAX_LEVEL_BYTES} digits"
                        );
                        let finding = Finding::new(read.written.position, what);
                        findings.push(finding.with_expected(expected));
                    }
                },
                Err(error) => findings.push(read.written.finding(&read.name, error)),
            }
        }
        let levels = self.names.iter().filter_map(|(name, _)| {
            let (level, position) = results.remove(name.as_str())?;
            Some((name.clone(), level, position))
        });
        cell.extend(levels);
    }
}

/// The level of a factor in a cell, or the one that a formula has there.
fn known_level<'l>(
    name: &str,
    cell: &'l Levels,
    results: &'l BTreeMap<&str, (Level, Position)>,
) -> Option<&'l Level> {
    let factor = cell.iter().find(|(factor, ..)| factor == name);
    let result = || results.get(name).map(|(level, _)| level);
    factor.map(|(_, level, _)| level).or_else(result)
}

/// The value of a level in a formula.
fn number(name: &str, level: Option<&Level>) -> Result<f64, String> {
    match level {
        #[expect(
            clippy::cast_precision_loss,
            reason = "formulas compute in double precision"
        )]
        Some(Level::Integer(number)) => Ok(*number as f64),
        Some(Level::Float(number)) => Ok(*number),
        Some(other) => Err(format!("{name} is {}", quote(&other.to_string()))),
        None => Err(format!("{name} has no level")),
    }
}

/// A whole number is an integer.
fn level(value: f64) -> Option<Level> {
    if value.fract() == 0.0 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole and far below 2^63"
        )]
        return (value.abs() <= MAX_EXACT).then_some(Level::Integer(value as i64));
    }
    let level = Level::Float(value);
    (level.to_string().len() <= MAX_LEVEL_BYTES).then_some(level)
}

/// Reports names that are reserved or those of a factor, and too many names.
fn check_names(entry: &Entry, names: &[Named], factors: &[Named], findings: &mut Vec<Finding>) {
    if let Some((_, position)) = names.get(MAX_DERIVED) {
        let what = format!("the study has {} derived levels", names.len());
        let expected = format!("at most {MAX_DERIVED}");
        findings.push(Finding::new(*position, what).with_expected(expected));
    }
    if names.is_empty() && matches!(entry.node.value, Value::Map(_)) {
        let finding = Finding::new(entry.node.position, "derived has no names");
        findings.push(finding.with_expected("a name with its formula"));
    }
    for (name, position) in names {
        let what = if CELL_KEYS.contains(&name.as_str()) {
            format!("no derived level is called {name:?}: the name is reserved for cells")
        } else if factors.iter().any(|(factor, _)| factor == name) {
            format!("{name} is a factor and a derived level")
        } else {
            continue;
        };
        findings.push(Finding::new(*position, what).with_expected("another name"));
    }
}

/// Reads one formula; a value that is no text was reported.
fn formula(entry: &Entry, findings: &mut Vec<Finding>) -> Option<Read> {
    let Node {
        value: Value::Scalar(Level::Text(text)),
        position,
        ..
    } = &entry.node
    else {
        return None;
    };
    let written = Written {
        text: text.clone(),
        position: *position,
    };
    match Formula::parse(text) {
        Ok(formula) => Some(Read {
            name: entry.key.clone(),
            formula,
            written,
        }),
        Err(error) => {
            findings.push(written.finding(&entry.key, error));
            None
        }
    }
}

/// Reports names in formulas that are neither a factor nor a derived level.
fn check_uses(read: &[Read], factors: &[Named], derived: &[Named], findings: &mut Vec<Finding>) {
    let known = || {
        let all = factors.iter().chain(derived);
        all.map(|(name, _)| name.as_str())
    };
    for read in read {
        for (name, place) in read.formula.names() {
            if known().any(|known| known == name) {
                continue;
            }
            let others = || known().filter(|known| *known != read.name);
            let what = format!("derived.{}: there is no factor {}", read.name, quote(name));
            let expected = match others().next() {
                Some(_) => list(others()),
                None => "a name from factors or cells; there are none".to_owned(),
            };
            findings.push(
                Finding::new(read.written.position(*place), what)
                    .with_expected(expected)
                    .with_suggestion(nearest_word(name, others())),
            );
        }
    }
}

/// Each formula after those that it needs; one that depends on itself is reported.
fn sort_by_need(mut waiting: Vec<Read>, findings: &mut Vec<Finding>) -> Vec<Read> {
    let mut ordered: Vec<Read> = Vec::with_capacity(waiting.len());
    loop {
        let is_waiting = |name: &str| waiting.iter().any(|read| read.name == name);
        let needs_none = |read: &Read| {
            let mut names = read.formula.names().iter();
            !names.any(|(name, _)| is_waiting(name))
        };
        match waiting.iter().position(needs_none) {
            Some(next) => ordered.push(waiting.remove(next)),
            None => break,
        }
    }
    if let Some(first) = waiting.first() {
        let (path, position) = cycle(&waiting, first);
        let what = format!("derived.{} depends on itself: {path}", first.name);
        let expected = "formulas that need no other one that needs them";
        findings.push(Finding::new(position, what).with_expected(expected));
    }
    ordered
}

/// The way from a formula back to one on it, as `a → b → a`, and the position of the name with which it begins.
fn cycle(waiting: &[Read], first: &Read) -> (String, Position) {
    let next = successor(waiting, first);
    let position = next.map_or(first.written.position, |(_, position)| position);
    let mut way = vec![first.name.as_str()];
    let mut last = first;
    while let Some((successor, _)) = successor(waiting, last) {
        let is_closed = way.contains(&successor.name.as_str());
        way.push(&successor.name);
        last = successor;
        if is_closed {
            break;
        }
    }
    (way.join(" → "), position)
}

/// The first formula that a formula waits for, and the position of its name in it.
fn successor<'r>(waiting: &'r [Read], read: &Read) -> Option<(&'r Read, Position)> {
    let mut names = read.formula.names().iter();
    names.find_map(|(name, place)| {
        let successor = waiting.iter().find(|other| other.name == *name)?;
        Some((successor, read.written.position(*place)))
    })
}
