//! What a report states holds together: of all sentences about differences in 95 of 100 reports none is wrong.
//!
//! Tables give each number with its own interval. Sentences choose among many of them, and of forty numbers two are "significant"
//! by chance. So a sentence is made if the p-value is below a limit for all that the report could state (Holm, 1979). What the study
//! asks about has the larger part of the chance of being wrong, the order of the cells and all other outcomes a small one.
//!
//! First each metric is asked whether a factor, or a pair of factors, matters at all; then the levels of those factors that do are
//! compared (gatekeeping). Each of the two steps has its share of the chance. Rates: docs/design/0081.

use waggle_stats::rejection_limit;

use crate::{
    factors::{
        effects::EffectsModel,
        level_comparison::{ComparisonModel, Found},
        ranking::{RankedOutcome, RankingModel},
    },
    recording::histogram::as_f64,
};

/// Chances that a statement about what the study asks is wrong, about other outcomes, and about the order of the cells. They make
/// 5 % together.
const ASKED: f64 = 0.03;
const OTHERS: f64 = 0.01;
pub(crate) const ORDER: f64 = 0.01;
/// The part of a chance that the first step has, if there is anything to test in it.
const FIRST_STEP: f64 = 2.0 / 3.0;
/// No p-value is below this limit.
pub(crate) const NOTHING_HOLDS: f64 = -1.0;

/// Keeps of effects, comparisons and rankings what can be stated together.
pub(crate) fn hold_together(
    effects: Option<&mut EffectsModel>,
    comparisons: &mut [ComparisonModel],
    rankings: &mut [RankingModel],
) {
    let mut statements = Statements {
        effects,
        comparisons,
        rankings,
    };
    for (is_asked, wrongly) in [(true, ASKED), (false, OTHERS)] {
        let family = statements.count(is_asked);
        let second = statements.hold_sources(is_asked, wrongly, family);
        statements.hold_levels(is_asked, second, family);
    }
}

/// All that could be stated.
struct Statements<'a> {
    effects: Option<&'a mut EffectsModel>,
    comparisons: &'a mut [ComparisonModel],
    rankings: &'a mut [RankingModel],
}

impl Statements<'_> {
    /// How many they are, on what the study asks about or on other outcomes.
    fn count(&self, is_asked: bool) -> usize {
        let outcomes = self.effects.iter().flat_map(|effects| &effects.outcomes);
        let outcomes = outcomes.filter(|entry| entry.is_asked == is_asked);
        let has_ratios = self.has_ratios();
        let of_outcomes: usize = outcomes
            .map(|entry| {
                let ratios = entry.comparisons.iter().map(|entry| entry.ratios.len());
                let ratios: usize = ratios.filter(|_| has_ratios).sum();
                entry.source_p_values().count() + ratios
            })
            .sum();
        let compared = self.comparisons.iter().flat_map(|entry| &entry.outcomes);
        let compared = compared.filter(|entry| entry.is_asked == is_asked);
        let compared = compared.flat_map(|entry| entry.at.iter().flatten());
        // A ranking is of what the study asks about.
        let ranked = self.rankings.iter().flat_map(|entry| &entry.outcomes);
        let ranked: usize = match is_asked {
            true => ranked.map(|entry| entry.p_values().count()).sum(),
            false => 0,
        };
        of_outcomes + compared.filter_map(p_value).count() + ranked
    }

    /// Of two factors each ratio of effects is one of a comparison.
    fn has_ratios(&self) -> bool {
        let effects = self.effects.as_ref();
        self.comparisons.is_empty() || effects.is_some_and(|effects| effects.factors.len() > 2)
    }

    /// Which factors, and pairs of them, matter. The chance that is left for their levels.
    fn hold_sources(&mut self, is_asked: bool, wrongly: f64, family: usize) -> f64 {
        let outcomes = self
            .effects
            .iter_mut()
            .flat_map(|effects| &mut effects.outcomes);
        let mut outcomes: Vec<_> = outcomes
            .filter(|effect| effect.is_asked == is_asked)
            .collect();
        let sources = outcomes.iter().flat_map(|effect| effect.source_p_values());
        let sources: Vec<f64> = sources.collect();
        // The largest p-value that Holm's procedure rejects is one of the sources'. A further level of a factor that is shown holds up to
        // an equal share of the chance (Bonferroni), as all others do.
        let share = FIRST_STEP * wrongly / as_f64(sources.len().max(1) as u64);
        let limit = rejection_limit(&sources, FIRST_STEP * wrongly).max(share);
        for outcome in &mut outcomes {
            outcome.hold_sources(limit, family);
        }
        match sources.is_empty() {
            true => wrongly,
            false => (1.0 - FIRST_STEP) * wrongly,
        }
    }

    /// Which levels differ, of the factors that matter.
    fn hold_levels(&mut self, is_asked: bool, wrongly: f64, family: usize) {
        let mut p_values = Vec::new();
        let has_ratios = self.has_ratios();
        let effects = self.effects.as_deref();
        for entry in self.comparisons.iter() {
            let asked_outcomes = entry
                .outcomes
                .iter()
                .filter(|candidate| candidate.is_asked == is_asked);
            let open =
                asked_outcomes.filter(|candidate| is_open(effects, &entry.factor, &candidate.name));
            p_values.extend(
                open.flat_map(|candidate| candidate.at.iter().flatten().filter_map(p_value)),
            );
        }
        for ranking in self.rankings.iter().filter(|_| is_asked) {
            let asked_outcomes = ranking.outcomes.iter();
            let open = asked_outcomes
                .filter(|candidate| is_open(effects, &ranking.factor, &candidate.name));
            p_values.extend(open.flat_map(RankedOutcome::p_values));
        }
        let outcomes = effects.iter().flat_map(|effects| &effects.outcomes);
        let outcomes = outcomes.filter(|entry| has_ratios && entry.is_asked == is_asked);
        p_values.extend(outcomes.flat_map(|entry| entry.ratio_p_values()));

        let limit = rejection_limit(&p_values, wrongly);
        let limit_of = |factor: &str, outcome: &str| match is_open(effects, factor, outcome) {
            true => limit,
            false => NOTHING_HOLDS,
        };
        for entry in self.comparisons.iter_mut() {
            let asked_outcomes = entry.outcomes.iter_mut();
            for compared in asked_outcomes.filter(|candidate| candidate.is_asked == is_asked) {
                compared.hold(limit_of(&entry.factor, &compared.name), family);
            }
        }
        for ranking in self.rankings.iter_mut().filter(|_| is_asked) {
            for outcome in &mut ranking.outcomes {
                outcome.hold(limit_of(&ranking.factor, &outcome.name));
            }
        }
        let outcomes = self
            .effects
            .iter_mut()
            .flat_map(|effects| &mut effects.outcomes);
        for outcome in outcomes.filter(|entry| entry.is_asked == is_asked) {
            outcome.hold_ratios(limit);
        }
    }
}

/// Whether a source with the factor is shown, or none was tested.
fn is_open(effects: Option<&EffectsModel>, factor: &str, outcome: &str) -> bool {
    effects
        .and_then(|effects| is_source_shown(effects, factor, outcome))
        .unwrap_or(true)
}

/// `None`: none was tested.
fn is_source_shown(effects: &EffectsModel, factor: &str, outcome: &str) -> Option<bool> {
    let mut factors = effects.factors.iter();
    let place = factors.position(|candidate| candidate.name == factor)?;
    let mut outcomes = effects.outcomes.iter();
    let outcome = outcomes.find(|candidate| candidate.name == outcome)?;
    outcome.source_p_values().next()?;
    Some(outcome.is_open(place))
}

fn p_value(result: &Found) -> Option<f64> {
    match result {
        Found::Number(result) => result.p_value,
        Found::NoSuccess(_) | Found::Nothing => None,
    }
}
