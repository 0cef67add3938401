//! The effects in sentences that go no further than the numbers.

use waggle_stats::{Estimate, Source, Variation};

use super::{CHANCE_BELOW, Comparison, EffectsModel, OutcomeEffects};
use crate::{Factor, text, words};

/// Cells within this ratio of each other hardly differ, whatever goes with what.
const LITTLE: f64 = 1.05;

/// How many factors that depend on another one are told of: of the outcome that says most, and of the others.
const DEPENDENCES: (usize, usize) = (3, 1);

/// What matters for one outcome.
pub(super) fn of(factors: &[Factor], outcome: &OutcomeEffects, is_first: bool) -> String {
    let (low, high) = outcome.span;
    if high / low < LITTLE {
        return format!(
            "{} hardly differs: the highest cell is {} of the lowest.",
            outcome.name,
            text::times(high / low)
        );
    }
    let mut told = vec![strongest(factors, outcome)];
    let mut all: Vec<&Comparison> = outcome
        .comparisons
        .iter()
        .filter(|one| is_told(outcome, one))
        .collect();
    all.sort_by(|a, b| together(outcome, b).total_cmp(&together(outcome, a)));
    let most = match is_first {
        true => DEPENDENCES.0,
        false => DEPENDENCES.1,
    };
    let sentences = all.into_iter().take(most);
    told.extend(sentences.map(|one| dependence(factors, outcome, one)));
    told.extend(unexplained(outcome));
    told.join(" ")
}

/// The share of what a comparison's two factors do together.
fn together(outcome: &OutcomeEffects, one: &Comparison) -> f64 {
    let pair = Source::Pair(one.factor.min(one.by), one.factor.max(one.by));
    outcome.part(pair).map_or(0.0, |part| part.share)
}

/// The factor with the largest share of those that stand out from the scatter between trials.
fn strongest(factors: &[Factor], outcome: &OutcomeEffects) -> String {
    let stands_out = |part: &Variation| part.chance.is_none_or(|chance| chance < CHANCE_BELOW);
    let mains = |wanted: &dyn Fn(&Variation) -> bool| {
        let mains = outcome.parts.iter().filter_map(|part| match part.of {
            Source::Factor(factor) if wanted(part) => Some((factor, part.share)),
            _ => None,
        });
        mains.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    if let Some((factor, share)) = mains(&stands_out) {
        let (level, ratio) = furthest(&outcome.ratios[factor]);
        let of = &factors[factor];
        return format!(
            "{} depends most on {} ({} of the variation): with {} it is {} of that with {}{}.",
            outcome.name,
            of.name,
            text::percent(share),
            of.levels[level],
            text::ratio(&ratio),
            of.levels[0],
            if outcome.degrees == 0 {
                "; one trial a cell, so how sure that is nobody knows"
            } else {
                ""
            }
        );
    }
    let largest = mains(&|_| true).map_or_else(String::new, |(factor, share)| {
        let name = &factors[factor].name;
        format!(
            "; the largest, {name} ({} of the variation), may be chance",
            text::percent(share)
        )
    });
    format!(
        "{}: no factor's effect stands out from the scatter between trials{largest}.",
        outcome.name
    )
}

/// The level furthest from the first, on the log scale; levels count from 0.
fn furthest(ratios: &[Estimate]) -> (usize, Estimate) {
    let far = |ratio: &Estimate| ratio.point.ln().abs();
    let levels = (1..).zip(ratios.iter().copied());
    levels
        .max_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))
        .expect("a factor with effects has two levels and more")
}

/// Of several levels of one factor by another, the one whose ratios differ most; a comparison that was made for its own sake
/// only where the ratio changes sides.
fn is_told(outcome: &OutcomeEffects, one: &Comparison) -> bool {
    let spread = |one: &Comparison| {
        let logs = || one.ratios.iter().map(|ratio| ratio.point.ln());
        logs().fold(f64::NEG_INFINITY, f64::max) - logs().fold(f64::INFINITY, f64::min)
    };
    let alike = outcome
        .comparisons
        .iter()
        .filter(|other| (other.factor, other.by) == (one.factor, one.by));
    let is_widest = alike.map(spread).fold(0.0, f64::max) <= spread(one);
    is_widest && (one.is_larger || !one.turns.is_empty())
}

fn dependence(factors: &[Factor], outcome: &OutcomeEffects, one: &Comparison) -> String {
    let (factor, by) = (&factors[one.factor], &factors[one.by]);
    let more = match one.is_larger {
        true => format!(", more than {} alone", factor.name),
        false => String::new(),
    };
    let unsure = match outcome.degrees {
        0 => "; with one trial a cell that may be chance",
        _ => "",
    };
    let at: Vec<String> = by
        .levels
        .iter()
        .zip(&one.ratios)
        .map(|(level, ratio)| format!("{} at {level}", text::ratio(ratio)))
        .collect();
    let turns: Vec<String> = one
        .turns
        .iter()
        .map(|(before, after)| {
            format!(
                "; it turns round between {} and {}",
                by.levels[*before], by.levels[*after]
            )
        })
        .collect();
    format!(
        "What {} does depends on {} ({} of the variation together{more}): {} against {} is {}{}{unsure}.",
        factor.name,
        by.name,
        text::percent(together(outcome, one)),
        factor.levels[one.level],
        factor.levels[0],
        at.join(", "),
        turns.concat(),
    )
}

/// Where the largest part of the variation is one that no factor or pair of factors explains.
fn unexplained(outcome: &OutcomeEffects) -> Option<String> {
    let largest = outcome
        .parts
        .iter()
        .max_by(|a, b| a.share.total_cmp(&b.share))?;
    let share = text::percent(largest.share);
    match largest.of {
        Source::Trials => Some(format!(
            "The largest part of the variation ({share}) is between trials of the same cell."
        )),
        Source::Further => Some(format!(
            "The largest part of the variation ({share}) goes with three factors and more together: single cells are unlike the rest."
        )),
        Source::Factor(_) | Source::Pair(..) => None,
    }
}

/// Most cells that a caution names.
const NAMED: usize = 4;

/// Which cells are in the numbers though they may not be believed; the table of cells has all verdicts.
pub(super) fn caution(model: &EffectsModel) -> Option<String> {
    let named: Vec<String> = model
        .doubtful
        .iter()
        .map(|(levels, verdict)| format!("{levels} ({})", words::verdict(*verdict)))
        .collect();
    let (is, it) = match named.len() {
        0 => return None,
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let (shown, rest) = named.split_at(named.len().min(NAMED));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "{} of the {} cells {is} not valid and in these numbers all the same, for to leave {it} out would be to choose among results: {}{more}.",
        named.len(),
        model.cells,
        shown.join(", ")
    ))
}

/// How it was worked out, and what is not shown.
pub(super) fn notes(model: &EffectsModel) -> Vec<String> {
    let sure = if model.trials > model.cells {
        "Intervals are 95 %, from the scatter between trials of the same cell."
    } else {
        "Each cell has one trial, so nothing has an interval, and chance is in the share of what most factors do together."
    };
    let method = format!(
        "From {} trials of {} cells. A ratio compares geometric means over all cells of the grid, so that every other factor is \
         averaged over; a share is that of the sum of squares of the logarithms. {sure}",
        model.trials, model.cells,
    );
    let left_out = model.left_out.iter();
    let left_out = left_out.map(|(name, why)| format!("{name} is not shown: {why}."));
    [method].into_iter().chain(left_out).collect()
}
