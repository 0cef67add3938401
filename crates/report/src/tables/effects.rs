//! What each factor does: shares of the variation, ratios of levels, and comparisons at each level of another factor.

use waggle_stats::{Estimate, Source, Variation, is_above};

use crate::{
    table::{Column, Field, Mark, Table},
    text,
};
use waggle_analysis::{Comparison, ComparisonModel, EffectsModel, OutcomeEffects};

/// Which share of each outcome's variation goes with what; `None` where no outcome has effects.
pub(crate) fn shares(effects: &EffectsModel) -> Option<Table> {
    // Where a cell of one outcome has a second trial, another outcome may have none.
    let parts = effects.outcomes.iter().map(|outcome| &outcome.parts);
    let parts = parts.max_by_key(|parts| parts.len())?;
    let mut columns = vec![Column::words("goes with", |part: &&Variation| {
        Field::plain(source(effects, part.of))
    })];
    columns.extend(effects.outcomes.iter().map(|outcome| {
        Column::numbers(&outcome.name, move |part: &&Variation| {
            outcome.part(part.of).map_or_else(Field::empty, share)
        })
    }));
    let caption = "Share of the variation that goes with each factor, and with factors together beyond what each does alone";
    let table = Table::new("effects-shares", caption, columns, parts);
    Some(table.with_title("Effects: shares of the variation"))
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
            &outcome.name,
            move |&(factor, level): &(usize, usize)| match level {
                0 => Field::plain("1"),
                _ => ratio(&outcome.ratios[factor][level - 1]),
            },
        )
    }));
    let rows = factors.iter().enumerate();
    let rows =
        rows.flat_map(|(place, factor)| (0..factor.levels.len()).map(move |level| (place, level)));
    let caption = "Each level as a ratio to the first of its factor, with 95 % intervals";
    let table = Table::new("effects-ratios", caption, columns, rows);
    Some(table.with_title("Effects: levels"))
}

/// One level against the first, at one level of another factor.
struct AtLevel<'a> {
    outcome: &'a OutcomeEffects,
    of: &'a Comparison,
    level: usize,
}

/// Two levels against each other at each level of another factor; `None` where no outcome asks for it. What stands in the section of
/// comparisons already is left out.
pub(crate) fn dependences(effects: &EffectsModel, told: &[ComparisonModel]) -> Option<Table> {
    let factors = &effects.factors;
    let is_new = |one: &Comparison| {
        let name = |place: usize| factors[place].name.as_str();
        let mut told = told.iter();
        factors.len() > 2 || !told.any(|other| other.is_of(name(one.factor), name(one.by)))
    };
    let rows = effects.outcomes.iter().flat_map(|outcome| {
        let all = outcome.comparisons.iter().filter(|one| is_new(one));
        all.flat_map(move |of| {
            let levels = 0..of.ratios.len();
            levels.map(move |level| AtLevel { outcome, of, level })
        })
    });
    let columns = vec![
        Column::words("outcome", |at: &AtLevel<'_>| Field::plain(&at.outcome.name)),
        Column::words("compared", |at: &AtLevel<'_>| {
            let factor = &factors[at.of.factor];
            let (level, first) = (&factor.levels[at.of.level], &factor.levels[0]);
            Field::plain(format!("{} {level} against {first}", factor.name))
        }),
        Column::words("at", |at: &AtLevel<'_>| {
            let by = &factors[at.of.by];
            Field::plain(format!("{}={}", by.name, by.levels[at.level]))
        }),
        Column::numbers("ratio", |at: &AtLevel<'_>| ratio(&at.of.ratios[at.level])),
        Column::words("that is", |at: &AtLevel<'_>| {
            Field::plain(meaning(effects, at))
        }),
    ];
    let caption = "One level against another at each level of a second factor";
    Table::new("effects-comparisons", caption, columns, rows)
        .with_title("Effects: comparisons")
        .unless_empty()
}

fn meaning(effects: &EffectsModel, at: &AtLevel<'_>) -> String {
    let level = &effects.factors[at.of.factor].levels[at.of.level];
    let found = &at.of.ratios[at.level];
    let side = match (is_above(found), found.interval) {
        (_, None) => "not known".to_owned(),
        (Some(true), _) => format!("{level} higher"),
        (Some(false), _) => format!("{level} lower"),
        (None, _) => "no difference seen".to_owned(),
    };
    let mut turns = at.of.turns.iter();
    match turns.find(|(_, after)| *after == at.level) {
        Some((before, _)) => {
            let before = &effects.factors[at.of.by].levels[*before];
            format!("{side}; the other way round at {before}")
        }
        None => side,
    }
}

/// What a part of the variation goes with, in a reader's words.
fn source(effects: &EffectsModel, of: Source) -> String {
    let name = |place: usize| effects.factors[place].name.as_str();
    let is_single = effects.trials == effects.cells;
    match of {
        Source::Factor(factor) => name(factor).to_owned(),
        Source::Pair(a, b) if is_single && effects.factors.len() == 2 => {
            format!("{} with {}, and trial to trial", name(a), name(b))
        }
        Source::Pair(a, b) => format!("{} with {}", name(a), name(b)),
        Source::Further if is_single => "all further interactions, and trial to trial".to_owned(),
        Source::Further => "all further interactions".to_owned(),
        Source::Trials => "trial to trial".to_owned(),
    }
}

fn share(part: &Variation) -> Field {
    let field = Field::plain(text::share(part.share));
    match part.chance {
        Some(chance) if !part.stands_out() => field.with_mark(Mark::Chance(format!(
            "may be chance: trials that differ by nothing else show as much in {} of cases",
            text::share(chance)
        ))),
        _ => field,
    }
}

fn ratio(ratio: &Estimate) -> Field {
    Field::plain(text::times(ratio.point)).with_aside(ratio.interval.map(text::ratio_ends))
}
