//! Cells laid out along one factor: a line for each combination of the other factors' levels. Decides nothing of what is drawn.

use crate::{cell::cell_model::CellModel, factors::levels::numbers, info::factor::Factor};

/// The factor that goes along an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Over {
    pub factor: String,
    /// Ascending where they are numbers, else as the study has them.
    pub levels: Vec<String>,
    /// The levels as numbers, where all of them are.
    pub at: Option<Vec<f64>>,
}

/// A combination of the other factors' levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `rest`, or `rest, workers 2`; empty where no other factor varies.
    pub name: String,
    /// Places of the levels in their factors, in the order of the factors that make the lines.
    pub places: Vec<usize>,
}

/// The cells at each level of [`Over`], line by line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub(crate) over: Over,
    /// Names of the factors that make the lines.
    pub(crate) others: Vec<String>,
    pub(crate) lines: Vec<Line>,
    /// Of each line, at each level, the place of the cell.
    pub(crate) cells: Vec<Vec<Option<usize>>>,
}

impl Over {
    pub(crate) fn from_factor(factor: &Factor) -> Self {
        let Some(positions) = numbers(&factor.levels) else {
            return Self {
                factor: factor.name.clone(),
                levels: factor.levels.clone(),
                at: None,
            };
        };
        let mut sorted: Vec<(f64, &String)> = positions.into_iter().zip(&factor.levels).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            factor: factor.name.clone(),
            levels: sorted.iter().map(|(_, level)| (*level).clone()).collect(),
            at: Some(sorted.iter().map(|(positions, _)| *positions).collect()),
        }
    }
}

impl Layout {
    /// Every combination of the levels of `others` is a line, also one without cells; the last of `others` changes first.
    pub(crate) fn new(over: Over, others: &[&Factor], cells: &[CellModel]) -> Self {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for other in others {
            all = all
                .iter()
                .flat_map(|line| {
                    (0..other.levels.len()).map(|level| [&line[..], &[level]].concat())
                })
                .collect();
        }
        Self {
            cells: all
                .iter()
                .map(|places| line_cells(&over, others, places, cells))
                .collect(),
            lines: all
                .into_iter()
                .map(|places| Line {
                    name: combination_name(others, &places),
                    places,
                })
                .collect(),
            others: others.iter().map(|other| other.name.clone()).collect(),
            over,
        }
    }

    /// Every cell with its line and its level.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let lines = self.cells.iter().enumerate();
        lines.flat_map(|(line, cells)| {
            let levels = cells.iter().enumerate();
            levels.filter_map(move |(level, cell)| Some((line, level, (*cell)?)))
        })
    }
}

/// At each level the place of the cell that has these levels of the other factors.
fn line_cells(
    over: &Over,
    others: &[&Factor],
    places: &[usize],
    cells: &[CellModel],
) -> Vec<Option<usize>> {
    let is_in_line = |cell: &CellModel| {
        let mut pairs = others.iter().zip(places);
        pairs.all(|(other, place)| has_level(cell, &other.name, &other.levels[*place]))
    };
    let cell_index = |level: &String| {
        let is_there = |cell: &CellModel| is_in_line(cell) && has_level(cell, &over.factor, level);
        cells.iter().position(is_there)
    };
    over.levels.iter().map(cell_index).collect()
}

fn has_level(cell: &CellModel, factor: &str, level: &str) -> bool {
    let mut levels = cell.levels.iter();
    let known = levels.find(|(name, _)| name == factor);
    known.is_some_and(|(_, cell_level)| cell_level == level)
}

/// What levels of several factors are called together: one that is a number says nothing without its factor.
pub(crate) fn combination_name(factors: &[&Factor], places: &[usize]) -> String {
    let pairs = factors.iter().zip(places);
    let named: Vec<String> = pairs
        .map(|(other, place)| level_name(&other.name, &other.levels[*place]))
        .collect();
    named.join(", ")
}

/// `rest`, but `workers 2`.
pub(crate) fn level_name(factor: &str, level: &str) -> String {
    let is_word = level.starts_with(char::is_alphabetic) && !matches!(level, "true" | "false");
    if is_word {
        level.to_owned()
    } else {
        format!("{factor} {level}")
    }
}
