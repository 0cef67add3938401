//! Main effects and interactions in sentences that claim no more than the results show.

use waggle_analysis::{
    Comparison, EffectsModel, Factor, OutcomeEffects, Shown,
    effects::{Largest, Strongest, Summary, WithoutEffects},
};
use waggle_stats::{Estimate, Source, Variation};

use crate::words::{format, labels};

/// A p-value that shows something by itself.
const ALONE: f64 = 0.05;

/// Levels of a single factor that the answer has.
const LEVELS_TOLD: usize = 4;
/// Maximum number of interactions with a sentence: of the headline outcome, and of the others.
const DEPENDENCES: (usize, usize) = (3, 1);

/// Said where effects are those of the measured values.
const LEFT_OPEN: &str =
    "\"As measured\": the doubts about the trials leave the ratios of the system itself open.";

/// `Goodput`, or `Goodput as measured` if the doubts about the trials leave all ratios of the system itself open.
pub(crate) fn heading(outcome: &OutcomeEffects) -> String {
    match outcome.is_as_measured {
        true => format!("{} as measured", outcome.name),
        false => outcome.name.clone(),
    }
}

/// Said once, if it is so of any outcome.
#[must_use]
pub fn open_ratios(effects: &EffectsModel) -> Option<String> {
    let mut outcomes = effects.outcomes.iter();
    let is_any = outcomes.any(|outcome| outcome.is_as_measured);
    is_any.then(|| LEFT_OPEN.to_owned())
}

/// Of the headline outcome; empty if no outcome has effects.
#[must_use]
pub fn headline(effects: &EffectsModel) -> String {
    let first = effects.outcomes.get(effects.first);
    first.map_or_else(String::new, |outcome| {
        sentence(&effects.factors, outcome, DEPENDENCES.0)
    })
}

/// Of the other outcomes.
#[must_use]
pub fn sentences(effects: &EffectsModel) -> Vec<String> {
    let all = effects.outcomes.iter().enumerate();
    let others = all.filter(|(place, _)| *place != effects.first);
    others
        .map(|(_, outcome)| sentence(&effects.factors, outcome, DEPENDENCES.1))
        .collect()
}

/// The effects on one outcome.
fn sentence(factors: &[Factor], outcome: &OutcomeEffects, dependences_at_most: usize) -> String {
    match outcome.summary() {
        Summary::HardlyDiffers => format!(
            "{} hardly differs: the highest cell is {} of the lowest.",
            heading(outcome),
            format::times(outcome.span.1 / outcome.span.0)
        ),
        Summary::Differs {
            strongest: effect,
            dependences,
            unexplained: largest,
        } => {
            let told = dependences.iter().take(dependences_at_most);
            let told = told.map(|index| dependence(factors, outcome, &outcome.comparisons[*index]));
            let mut all = vec![strongest(factors, outcome, &effect)];
            all.extend(told);
            all.extend(largest.as_ref().and_then(residual_text));
            all.join(" ")
        }
    }
}

/// What the factors do to a metric, for the answer: of each factor the level that differs most, of a single one all its levels.
/// Empty if the metric has no effects.
#[must_use]
pub fn in_answer(effects: &EffectsModel, name: &str) -> Vec<String> {
    let mut outcomes = effects.outcomes.iter();
    let Some(outcome) = outcomes.find(|candidate| candidate.name == name) else {
        return Vec::new();
    };
    let (mut said, mut not_shown) = (Vec::new(), Vec::new());
    for (place, factor) in effects.factors.iter().enumerate() {
        let levels = told_levels(effects, outcome, place);
        match levels.is_empty() {
            true => not_shown.push(factor.name.as_str()),
            false => said.extend(levels),
        }
    }
    let name = heading(outcome);
    let shown = (!said.is_empty()).then(|| format!("{name}: {}.", said.join("; ")));
    let chance = (!not_shown.is_empty())
        .then(|| format!("{name}: no effect of {} is shown.", not_shown.join(" or ")));
    let open = outcome.is_as_measured.then(|| LEFT_OPEN.to_owned());
    shown.into_iter().chain(chance).chain(open).collect()
}

/// `size 500 instead of 20: 0.63× (0.54 – 0.74)`, of those levels of a factor that differ from its first.
fn told_levels(effects: &EffectsModel, outcome: &OutcomeEffects, place: usize) -> Vec<String> {
    let factor = &effects.factors[place];
    let is_shown = |shown: &Shown| matches!(shown, Shown::Together | Shown::Unknown);
    let ratios = outcome.ratios[place].iter().zip(&outcome.shown[place]);
    let shown = (1..).zip(ratios).filter(|(_, (_, shown))| is_shown(shown));
    let mut shown: Vec<(usize, &Estimate)> =
        shown.map(|(level, (ratio, _))| (level, ratio)).collect();
    let distance = |(_, ratio): &(usize, &Estimate)| ratio.point.ln().abs();
    shown.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    shown.truncate(match effects.factors.len() {
        1 => LEVELS_TOLD,
        _ => 1,
    });
    shown.sort_by_key(|(level, _)| *level);
    let text = |(level, ratio): (usize, &Estimate)| {
        format!(
            "{} {} instead of {}: {}",
            factor.name,
            factor.levels[level],
            factor.levels[0],
            format::ratio(ratio)
        )
    };
    shown.into_iter().map(text).collect()
}

fn strongest(factors: &[Factor], outcome: &OutcomeEffects, strongest: &Strongest) -> String {
    match strongest {
        Strongest::Factor {
            factor,
            share,
            level,
            ratio,
        } => {
            let subject = &factors[*factor];
            format!(
                "{} depends {} {} ({} of the variation): with {} it is {} the value with {}{}.",
                heading(outcome),
                if factors.len() == 1 { "on" } else { "most on" },
                subject.name,
                format::share(*share),
                subject.levels[*level],
                format::ratio(ratio),
                subject.levels[0],
                match outcome.degrees {
                    0 => "; with one trial per cell the certainty is not known",
                    _ => "",
                }
            )
        }
        Strongest::Chance { largest } => chance(factors, outcome, largest.as_ref()),
    }
}

/// No main effect is shown; the largest with its probability.
fn chance(factors: &[Factor], outcome: &OutcomeEffects, largest: Option<&Largest>) -> String {
    let name = heading(outcome);
    let largest = largest.and_then(|largest| Some((largest, largest.p_value?)));
    let Some((largest, p_value)) = largest else {
        return format!("{name}: no main effect is shown.");
    };
    let together = match p_value <= ALONE {
        true => format!(
            "it would be shown alone, but not together with all {} statements (Holm)",
            outcome.family
        ),
        false => "it may be chance".to_owned(),
    };
    format!(
        "{name}: no main effect is shown; the largest is that of {} ({} of the variation, p = {}), and {together}.",
        factors[largest.factor].name,
        format::share(largest.share),
        format::three_digits(p_value)
    )
}

fn dependence(factors: &[Factor], outcome: &OutcomeEffects, comparison: &Comparison) -> String {
    let (factor, by) = (&factors[comparison.factor], &factors[comparison.by]);
    let more = match comparison.is_larger {
        true => format!(", more than {} alone", factor.name),
        false => String::new(),
    };
    let unsure = match outcome.degrees {
        0 => "; with one trial per cell this may be chance",
        _ => "",
    };
    let ratios: Vec<String> = by
        .levels
        .iter()
        .zip(&comparison.ratios)
        .map(|(level, ratio)| format!("{} at {level}", format::ratio(&ratio.estimate)))
        .collect();
    let turns: Vec<String> = comparison
        .turns
        .iter()
        .map(|(before, after)| {
            format!(
                "; it reverses between {} and {}",
                by.levels[*before], by.levels[*after]
            )
        })
        .collect();
    format!(
        "The effect of {} depends on {} (interaction: {} of the variation{more}): {} vs {} is {}{}{unsure}.",
        factor.name,
        by.name,
        format::share(outcome.joint_share(comparison)),
        factor.levels[comparison.level],
        factor.levels[0],
        ratios.join(", "),
        turns.concat(),
    )
}

/// The largest part of the variation, if no factor or pair of factors explains it.
fn residual_text(largest: &Variation) -> Option<String> {
    let share = format::share(largest.share);
    match largest.of {
        Source::Trials => Some(format!(
            "The largest part of the variation ({share}) is between trials of the same cell."
        )),
        Source::Further => Some(format!(
            "The largest part of the variation ({share}) is in interactions of three or more factors: single cells differ from the rest."
        )),
        Source::Factor(_) | Source::Pair(..) => None,
    }
}

/// Maximum number of cells that a caution names.
const NAMED: usize = 4;

/// Cells in the effects that are not valid; the table of cells has all verdicts.
#[must_use]
pub fn caution(effects: &EffectsModel) -> Option<String> {
    let named: Vec<String> = effects
        .doubtful
        .iter()
        .map(|(levels, verdict)| {
            format!("{} ({})", format::levels(levels), labels::verdict(*verdict))
        })
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
        "{} of the {} cells {is} not valid but included, because leaving {it} out would bias the result: {}{more}.",
        named.len(),
        effects.cells,
        shown.join(", ")
    ))
}

/// The method, and what is not shown.
#[must_use]
pub fn notes(effects: &EffectsModel) -> Vec<String> {
    let sure = if effects.trials > effects.cells {
        "Intervals are 95 %, from the variation between trials of the same cell."
    } else {
        "Each cell has one trial, so no ratio has an interval, and the share of the highest interaction includes random variation."
    };
    let method = format!(
        "From {} trials of {} cells. A ratio compares geometric means over all cells of the grid, so every other factor is averaged; a \
         share is a share of the sum of squares of the logarithms. {sure}",
        effects.trials, effects.cells,
    );
    let left_out = effects.left_out.iter();
    let left_out =
        left_out.map(|(name, why)| format!("{name} is not shown: {}.", no_effects_text(why)));
    [method].into_iter().chain(left_out).collect()
}

fn no_effects_text(why: &WithoutEffects) -> String {
    match why {
        WithoutEffects::NoGrid => "the cells form no grid".to_owned(),
        WithoutEffects::Empty(levels) => {
            format!("no trial of {} has a value", format::levels(levels))
        }
        WithoutEffects::NotPositive(levels) => format!(
            "a trial of {} has a value of zero or less, so its ratios are not defined",
            format::levels(levels)
        ),
        WithoutEffects::Constant => "it is the same in every trial".to_owned(),
        WithoutEffects::Unresolved => {
            "its cells differ by less than the resolution of the measurement".to_owned()
        }
    }
}
