//! Two levels of a factor against each other, at each level of another: ratios with intervals, and who is ahead where.
//!
//! Each ratio is of one cell to another and rests on the trials of these two alone, for near overload cells scatter very
//! differently. Shares of failed requests are compared as differences: a ratio to nothing says nothing.

mod sentence;

use waggle_results::RunInfo;
use waggle_stats::{Estimate, Verdict, ratio, share_difference, side_of};

use super::{
    CellModel, Factor, TrialModel,
    curves::failed_parts,
    layout::{Layout, Line, Over, level_name},
    outcome::{Better, Outcome, outcomes},
};
use crate::words;

/// Lines of a comparison: more of them make no sentence that anybody reads.
const LINES_AT_MOST: usize = 4;

/// Most levels along the axis; of more there is a chart of the outcomes themselves.
const LEVELS_AT_MOST: usize = 60;

/// Two levels of one factor over another.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonModel {
    pub factor: String,
    /// The one that is compared with, and the one that is compared, as they are called: `rest`, or `workers 2`.
    pub levels: [String; 2],
    pub over: Over,
    /// Names of the factors that make the lines.
    pub others: Vec<String>,
    pub lines: Vec<Line>,
    pub outcomes: Vec<Compared>,
    /// Which outcomes show no difference at any level.
    pub even: Option<String>,
    /// Of each line, at each level, the cells that are not valid: level and verdict.
    pub doubtful: Vec<Vec<Vec<(String, Verdict)>>>,
}

/// One outcome of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub name: String,
    pub better: Better,
    pub measure: Measure,
    /// Of each line, at each level; `None` where one of the two has no number, or is nothing on average.
    pub at: Vec<Vec<Option<Estimate>>>,
    /// A sentence for each line; none where nobody is ahead anywhere.
    pub sentences: Vec<String>,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The second ÷ the first.
    Ratio,
    /// The second - the first, of shares.
    Difference,
}

impl Measure {
    /// What two equal numbers give.
    #[must_use]
    pub fn even(self) -> f64 {
        match self {
            Self::Ratio => 1.0,
            Self::Difference => 0.0,
        }
    }
}

/// Who is ahead at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    First,
    Second,
    /// The interval contains that they are even.
    Neither,
    /// There is nothing to compare.
    Unknown,
}

impl Compared {
    /// Who is ahead, by what is wished for.
    #[must_use]
    pub fn ahead(&self, found: Option<&Estimate>) -> Ahead {
        let Some(found) = found else {
            return Ahead::Unknown;
        };
        match side_of(found, self.measure.even()) {
            None => Ahead::Neither,
            Some(above) if above == (self.better == Better::Higher) => Ahead::Second,
            Some(_) => Ahead::First,
        }
    }
}

impl ComparisonModel {
    /// Who is ahead where, outcome by outcome; last those without any difference.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        let told = self.outcomes.iter().flat_map(|outcome| &outcome.sentences);
        told.chain(&self.even).map(String::as_str)
    }

    /// Whether it is of this factor at each level of that one.
    #[must_use]
    pub fn is_of(&self, factor: &str, over: &str) -> bool {
        self.factor == factor && self.over.factor == over
    }
}

/// Every factor of two levels over `axis`, the factor that charts have along their axis; without one, in a study of two factors,
/// over the other.
pub(crate) fn comparisons(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    axis: Option<&str>,
) -> Vec<ComparisonModel> {
    let varying: Vec<&Factor> = factors.iter().filter(|one| one.levels.len() > 1).collect();
    let mut all = Vec::new();
    for factor in varying.iter().filter(|one| one.levels.len() == 2) {
        let beside: Vec<&Factor> = varying
            .iter()
            .copied()
            .filter(|other| other.name != factor.name)
            .collect();
        let over = match axis {
            Some(axis) => beside.iter().find(|other| other.name == axis),
            None => beside.first().filter(|_| beside.len() == 1),
        };
        let Some(over) = over.filter(|over| over.levels.len() <= LEVELS_AT_MOST) else {
            continue;
        };
        let others: Vec<&Factor> = beside
            .iter()
            .copied()
            .filter(|other| other.name != over.name)
            .collect();
        let pairs = Pairs::new(factor, over, &others, cells);
        all.extend(comparison(&pairs, info, cells, trials));
    }
    all
}

/// The cells of the two levels, side by side.
struct Pairs<'a> {
    factor: &'a Factor,
    over: Over,
    others: Vec<String>,
    lines: Vec<Line>,
    /// Of each line, at each level, the places of the two cells.
    cells: Vec<Vec<Option<(usize, usize)>>>,
}

impl<'a> Pairs<'a> {
    fn new(factor: &'a Factor, over: &Factor, others: &[&Factor], cells: &[CellModel]) -> Self {
        let of_both = [&[factor][..], others].concat();
        let both = Layout::new(Over::of(over), &of_both, cells);
        let lines = Layout::new(Over::of(over), others, cells).lines;
        // The factor's level changes last: its lines stand in two halves.
        let (first, second) = both.cells.split_at(lines.len());
        let pair = |(a, b): (&Option<usize>, &Option<usize>)| a.zip(*b);
        let cells = first.iter().zip(second);
        Self {
            cells: cells
                .map(|(a, b)| a.iter().zip(b).map(pair).collect())
                .collect(),
            others: others.iter().map(|other| other.name.clone()).collect(),
            factor,
            over: both.over,
            lines,
        }
    }

    fn map<T>(&self, of: impl Fn(usize, usize) -> T) -> Vec<Vec<Option<T>>> {
        let pair = |pair: &Option<(usize, usize)>| pair.map(|(first, second)| of(first, second));
        let lines = self.cells.iter();
        lines.map(|line| line.iter().map(pair).collect()).collect()
    }
}

/// `None` where there are too many lines, or nothing to compare.
fn comparison(
    pairs: &Pairs<'_>,
    info: &RunInfo,
    cells: &[CellModel],
    trials: &[TrialModel],
) -> Option<ComparisonModel> {
    if pairs.lines.len() > LINES_AT_MOST {
        return None;
    }
    let all: Vec<&CellModel> = cells.iter().collect();
    let levels = [0, 1].map(|at| level_name(&pairs.factor.name, &pairs.factor.levels[at]));
    let mut found = Vec::new();
    for outcome in outcomes(&all, info.delivery_at.as_deref()) {
        found.push(ratios(pairs, cells, trials, &outcome));
        if outcome.path == ["response_time", "p99"] {
            found.extend(errors(pairs, cells, trials));
        }
    }
    found.retain(|one| one.at.iter().flatten().any(Option::is_some));
    if found.is_empty() {
        return None;
    }
    let is_even = |one: &Compared| {
        let mut all = one.at.iter().flatten();
        all.all(|found| one.ahead(found.as_ref()) == Ahead::Neither)
    };
    let even: Vec<&str> = found
        .iter()
        .filter(|one| is_even(one))
        .map(|one| one.name.as_str())
        .collect();
    let even = sentence::even(&even);
    for one in found.iter_mut().filter(|one| !is_even(one)) {
        let lines = pairs.lines.iter().zip(&one.at);
        one.sentences = lines
            .map(|(line, at)| {
                sentence::of(&sentence::Told {
                    compared: one,
                    levels: &levels,
                    over: &pairs.over,
                    line: &line.name,
                    at,
                })
            })
            .collect();
    }
    let doubtful = pairs.map(|first, second| {
        let sides = [first, second].into_iter().zip(&levels);
        let doubtful = sides.filter_map(|(at, level)| {
            let verdict = cells[at]
                .verdict
                .filter(|verdict| *verdict != Verdict::Valid)?;
            Some((level.clone(), verdict))
        });
        doubtful.collect::<Vec<_>>()
    });
    let or_none = |line: Vec<Option<Vec<(String, Verdict)>>>| {
        line.into_iter().map(Option::unwrap_or_default).collect()
    };
    Some(ComparisonModel {
        factor: pairs.factor.name.clone(),
        even,
        doubtful: doubtful.into_iter().map(or_none).collect(),
        levels,
        over: pairs.over.clone(),
        others: pairs.others.clone(),
        lines: pairs.lines.clone(),
        outcomes: found,
    })
}

fn ratios(
    pairs: &Pairs<'_>,
    cells: &[CellModel],
    trials: &[TrialModel],
    outcome: &Outcome,
) -> Compared {
    let of = |first: usize, second: usize| {
        let values = |at: usize| outcome.of_cell(&cells[at], trials);
        let found = ratio(&values(second), &values(first))?;
        // With a zero among the values the arithmetic may go below what a ratio of such numbers can be.
        let interval = found.interval.map(|(low, high)| (low.max(0.0), high));
        Some(Estimate { interval, ..found })
    };
    let at = pairs.map(of);
    Compared {
        name: outcome.name.clone(),
        better: outcome.better,
        measure: Measure::Ratio,
        at: flattened(at),
        sentences: Vec::new(),
    }
}

/// `None` where no request failed.
fn errors(pairs: &Pairs<'_>, cells: &[CellModel], trials: &[TrialModel]) -> Option<Compared> {
    let places = pairs.cells.iter().flatten().flatten();
    let mut both = places.flat_map(|(first, second)| [*first, *second]);
    if !both.any(|at| cells[at].failed > 0) {
        return None;
    }
    let of = |first: usize, second: usize| {
        let parts = |at: usize| failed_parts(&cells[at], trials);
        share_difference(&parts(second), &parts(first))
    };
    Some(Compared {
        name: "Failed requests".to_owned(),
        better: Better::FewerErrors,
        measure: Measure::Difference,
        at: flattened(pairs.map(of)),
        sentences: Vec::new(),
    })
}

fn flattened(lines: Vec<Vec<Option<Option<Estimate>>>>) -> Vec<Vec<Option<Estimate>>> {
    let line = |line: Vec<Option<Option<Estimate>>>| line.into_iter().map(Option::flatten);
    lines.into_iter().map(|of| line(of).collect()).collect()
}

/// Which cells are in the numbers though they may not be believed.
pub(crate) fn caution(comparison: &ComparisonModel) -> Option<String> {
    let mut named = Vec::new();
    for (line, of_line) in comparison.lines.iter().zip(&comparison.doubtful) {
        for (level, doubtful) in comparison.over.levels.iter().zip(of_line) {
            for (which, verdict) in doubtful {
                let with = if line.name.is_empty() {
                    String::new()
                } else {
                    format!(", {}", line.name)
                };
                named.push(format!(
                    "{which} at {level}{with} ({})",
                    words::verdict(*verdict)
                ));
            }
        }
    }
    sentence::caution(&named)
}
