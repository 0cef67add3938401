//! Main effects and interactions: variation explained, ratios of levels, and comparisons at each level of another factor.

use waggle_stats::{Estimate, Source, Variation};

use super::words;
use crate::{
    layout::table::{Column, Field, Mark, Table},
    words::format,
};
use waggle_analysis::{Comparison, ComparisonModel, EffectsModel, OutcomeEffects, Shown};

/// The share of each outcome's variation that each source explains; `None` if no outcome has effects.
pub(crate) fn shares(effects: &EffectsModel) -> Option<Table> {
    // Where a cell of one outcome has a second trial, another outcome may have none.
    let parts = effects.outcomes.iter().map(|outcome| &outcome.parts);
    let parts = parts.max_by_key(|parts| parts.len())?;
    let mut columns = vec![Column::words("source of variation", |part: &&Variation| {
        Field::plain(source(effects, part.of))
    })];
    columns.extend(effects.outcomes.iter().map(|outcome| {
        Column::numbers(words::heading(outcome), move |part: &&Variation| {
            outcome.part(part.of).map_or_else(Field::empty, share)
        })
    }));
    let caption = "Share of the variation that each factor explains, and each interaction beyond the main effects";
    let table = Table::new("effects-shares", caption, columns, parts);
    Some(table.with_title("Main effects: variation explained"))
}

/// Every level as a ratio to its factor's first one.
pub(crate) fn ratios(effects: &EffectsModel) -> Option<Table> {
    effects.outcomes.first()?;
    let factors = &effects.factors;
    let mut columns = vec![
        Column::words("factor", |&(factor, _): &(usize, usize)| {
            Field::plain(&factors[factor].name)
        }),
        Column::words("level", |&(factor, level): &(usize, usize)| {
            Field::plain(&factors[factor].levels[level])
        }),
    ];
    columns.extend(effects.outcomes.iter().map(|outcome| {
        Column::numbers(
            words::heading(outcome),
            move |&(factor, level): &(usize, usize)| match level {
                0 => Field::plain("1"),
                _ => ratio(&outcome.ratios[factor][level - 1])
                    .with_shown(outcome.shown[factor][level - 1], outcome.family),
            },
        )
    }));
    let rows = factors.iter().enumerate();
    let rows =
        rows.flat_map(|(place, factor)| (0..factor.levels.len()).map(move |level| (place, level)));
    let caption = "Each level as a ratio to the first level of its factor, with 95 % intervals";
    let table = Table::new("effects-ratios", caption, columns, rows);
    Some(table.with_title("Main effects: levels"))
}

/// One level against the first, at one level of another factor.
struct AtLevel<'a> {
    outcome: &'a OutcomeEffects,
    of: &'a Comparison,
    level: usize,
}

/// Two levels compared at each level of another factor; `None` if no outcome has such an interaction. What the A/B comparison shows
/// already is left out.
pub(crate) fn dependences(effects: &EffectsModel, told: &[ComparisonModel]) -> Option<Table> {
    let factors = &effects.factors;
    let is_new = |candidate: &Comparison| {
        let [factor, by] = [candidate.factor, candidate.by].map(|place| &factors[place].name);
        let mut told = told.iter();
        factors.len() > 2 || !told.any(|other| other.is_of(factor, by))
    };
    let mut rows = Vec::new();
    for outcome in &effects.outcomes {
        let candidates = outcome.comparisons.iter();
        for comparison in candidates.filter(|candidate| is_new(candidate)) {
            let levels = 0..comparison.ratios.len();
            rows.extend(levels.map(|level| AtLevel {
                outcome,
                of: comparison,
                level,
            }));
        }
    }
    let columns = vec![
        Column::words("outcome", |at: &AtLevel<'_>| {
            Field::plain(words::heading(at.outcome))
        }),
        Column::words("levels", |at: &AtLevel<'_>| {
            let factor = &factors[at.of.factor];
            let (level, first) = (&factor.levels[at.of.level], &factor.levels[0]);
            Field::plain(format!("{}: {level} vs {first}", factor.name))
        }),
        Column::words("at", |at: &AtLevel<'_>| {
            let by = &factors[at.of.by];
            Field::plain(format!("{}={}", by.name, by.levels[at.level]))
        }),
        Column::numbers("ratio", |at: &AtLevel<'_>| {
            let ratio = ratio(&at.of.ratios[at.level].estimate);
            ratio.with_shown(at.of.shown[at.level], at.outcome.family)
        }),
        Column::words("finding", |at: &AtLevel<'_>| {
            Field::plain(meaning(effects, at))
        }),
    ];
    let caption = "Ratio of two levels at each level of a second factor";
    Table::new("effects-comparisons", caption, columns, rows)
        .with_title("Main effects: interactions")
        .unless_empty()
}

fn meaning(effects: &EffectsModel, row: &AtLevel<'_>) -> String {
    let level = &effects.factors[row.of.factor].levels[row.of.level];
    let ratio = &row.of.ratios[row.level].estimate;
    let side = match row.of.shown[row.level] {
        Shown::Unknown => "no interval".to_owned(),
        Shown::Together if ratio.point > 1.0 => format!("{level} is higher"),
        Shown::Together => format!("{level} is lower"),
        Shown::Alone => format!(
            "shown alone, but not together with all {} statements (Holm)",
            row.outcome.family
        ),
        Shown::Nothing => "no difference found".to_owned(),
    };
    let mut turns = row.of.turns.iter();
    match turns.find(|(_, after)| *after == row.level) {
        Some((before, _)) => {
            let before = &effects.factors[row.of.by].levels[*before];
            format!("{side}; reversed at {before}")
        }
        None => side,
    }
}

/// The name of a source of variation.
fn source(effects: &EffectsModel, source: Source) -> String {
    let name = |place: usize| effects.factors[place].name.as_str();
    let is_single = effects.trials == effects.cells;
    match source {
        Source::Factor(factor) => name(factor).to_owned(),
        Source::Pair(a, b) if is_single && effects.factors.len() == 2 => {
            format!("{} × {}, and trial to trial", name(a), name(b))
        }
        Source::Pair(a, b) => format!("{} × {}", name(a), name(b)),
        Source::Further if is_single => "all further interactions, and trial to trial".to_owned(),
        Source::Further => "all further interactions".to_owned(),
        Source::Trials => "trial to trial".to_owned(),
    }
}

fn share(part: &Variation) -> Field {
    let field = Field::plain(format::share(part.share));
    match part.p_value {
        Some(chance) if !part.is_significant => field.with_mark(Mark::Chance(format!(
            "may be chance: trials of the same cell alone would show as much with a probability of {}",
            format::share(chance)
        ))),
        _ => field,
    }
}

fn ratio(ratio: &Estimate) -> Field {
    Field::plain(format::times(ratio.point)).with_aside(ratio.interval.map(format::ratio_ends))
}
