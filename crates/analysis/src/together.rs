//! What a report states holds together: of all sentences about differences in 95 of 100 reports none is wrong.
//!
//! Tables give each number with its own interval. Sentences choose among many of them, and of forty numbers two are "significant"
//! by chance. So a sentence is made if the p-value is below a limit for all that the report could state (Holm, 1979). What the study
//! asks about has the larger part of the chance of being wrong, the order of the cells and all other outcomes a small one.

use waggle_stats::rejection_limit;

use crate::{ComparisonModel, EffectsModel, Found, RankedOutcome, RankingModel};

/// Chances that a statement about what the study asks is wrong, about other outcomes, and about the order of the cells. They make
/// 5 % together.
const ASKED: f64 = 0.03;
const OTHERS: f64 = 0.01;
pub(crate) const ORDER: f64 = 0.01;

/// Keeps of effects, comparisons and rankings what can be stated together.
pub(crate) fn hold_together(
    mut effects: Option<&mut EffectsModel>,
    comparisons: &mut [ComparisonModel],
    rankings: &mut [RankingModel],
) {
    for (is_asked, wrongly) in [(true, ASKED), (false, OTHERS)] {
        let mut p_values = Vec::new();
        for compared in comparisons.iter().flat_map(|one| &one.outcomes) {
            if compared.is_asked == is_asked {
                p_values.extend(compared.at.iter().flatten().filter_map(p_value));
            }
        }
        // Two factors: each ratio of effects is one of a comparison.
        let are_compared = !comparisons.is_empty();
        for effects in effects.iter() {
            let with_ratios = !are_compared || effects.factors.len() > 2;
            for outcome in effects
                .outcomes
                .iter()
                .filter(|one| one.is_asked == is_asked)
            {
                p_values.extend(outcome.p_values(with_ratios));
            }
        }
        // A ranking is of what the study asks about.
        let ranked = || rankings.iter().flat_map(|one| &one.outcomes);
        if is_asked {
            p_values.extend(ranked().flat_map(RankedOutcome::p_values));
        }
        let limit = rejection_limit(&p_values, wrongly);
        if is_asked {
            let ranked = rankings.iter_mut().flat_map(|one| &mut one.outcomes);
            ranked.for_each(|outcome| outcome.hold(limit));
        }
        for compared in comparisons.iter_mut().flat_map(|one| &mut one.outcomes) {
            if compared.is_asked == is_asked {
                compared.hold(limit);
            }
        }
        for effects in effects.iter_mut() {
            let outcomes = effects.outcomes.iter_mut();
            for outcome in outcomes.filter(|one| one.is_asked == is_asked) {
                outcome.hold(limit);
            }
        }
    }
}

fn p_value(found: &Found) -> Option<f64> {
    match found {
        Found::Number(found) => found.p_value,
        Found::NoSuccess(_) | Found::Nothing => None,
    }
}
