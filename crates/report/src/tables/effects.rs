//! What each factor does: shares of the variation, ratios of levels, and comparisons at each level of another factor.

use waggle_stats::{Estimate, Source, Variation, is_above};

use super::{Align, Field, FieldKind, Head, Table};
use crate::text::{self, NONE};
use waggle_analysis::{
    Comparison, ComparisonModel, EffectsModel, Factor, OutcomeEffects, effects::CHANCE_BELOW,
};

/// Which share of each outcome's variation goes with what; `None` where no outcome has effects.
pub(crate) fn shares(effects: &EffectsModel) -> Option<Table> {
    let first = effects.outcomes.first()?;
    // Where a cell of one outcome has a second trial, another outcome may have none.
    let longest = effects.outcomes.iter().map(|outcome| &outcome.parts);
    let parts = longest
        .max_by_key(|parts| parts.len())
        .unwrap_or(&first.parts);
    let rows = parts.iter().map(|part| {
        let fields = effects.outcomes.iter().map(|outcome| {
            outcome
                .part(part.of)
                .map_or_else(|| Field::plain(NONE), share)
        });
        let name = source(effects, part.of);
        [Field::plain(name)].into_iter().chain(fields).collect()
    });
    Some(Table {
        id: Some("effects-shares"),
        title: Some("Effects: shares of the variation"),
        caption: "Share of the variation that goes with each factor, and with factors together beyond what each does alone"
            .to_owned(),
        heads: heads(effects, &["goes with"]),
        rows: rows.collect(),
    })
}

/// Every level as a ratio to its factor's first one.
pub(crate) fn ratios(effects: &EffectsModel) -> Option<Table> {
    effects.outcomes.first()?;
    let rows = effects
        .factors
        .iter()
        .enumerate()
        .flat_map(|(place, factor)| {
            (0..factor.levels.len()).map(move |level| {
                let fields = effects.outcomes.iter().map(|outcome| match level {
                    0 => Field::plain("1"),
                    _ => ratio(&outcome.ratios[place][level - 1]),
                });
                let names = [&factor.name, &factor.levels[level]].map(Field::plain);
                names.into_iter().chain(fields).collect()
            })
        });
    Some(Table {
        id: Some("effects-ratios"),
        title: Some("Effects: levels"),
        caption: "Each level as a ratio to the first of its factor, with 95 % intervals".to_owned(),
        heads: heads(effects, &["factor", "level"]),
        rows: rows.collect(),
    })
}

/// Two levels against each other at each level of another factor; `None` where no outcome asks for it. What stands in the section of
/// comparisons already is left out.
pub(crate) fn dependences(effects: &EffectsModel, told: &[ComparisonModel]) -> Option<Table> {
    let is_new = |one: &Comparison| {
        let name = |place: usize| effects.factors[place].name.as_str();
        effects.factors.len() > 2
            || !told
                .iter()
                .any(|other| other.is_of(name(one.factor), name(one.by)))
    };
    let rows: Vec<Vec<Field>> = effects
        .outcomes
        .iter()
        .flat_map(|outcome| {
            let all = outcome.comparisons.iter().filter(|one| is_new(one));
            all.flat_map(|one| at_each(&effects.factors, outcome, one))
        })
        .collect();
    let head = |text: &str, align| Head {
        text: text.to_owned(),
        align,
    };
    (!rows.is_empty()).then(|| Table {
        id: Some("effects-comparisons"),
        title: Some("Effects: comparisons"),
        caption: "One level against another at each level of a second factor".to_owned(),
        heads: vec![
            head("outcome", Align::Left),
            head("compared", Align::Left),
            head("at", Align::Left),
            head("ratio", Align::Right),
            head("that is", Align::Left),
        ],
        rows,
    })
}

fn at_each(factors: &[Factor], outcome: &OutcomeEffects, one: &Comparison) -> Vec<Vec<Field>> {
    let (factor, by) = (&factors[one.factor], &factors[one.by]);
    let rows = by.levels.iter().enumerate().zip(&one.ratios);
    rows.map(|((place, level), found)| {
        let turn = one.turns.iter().find(|(_, after)| *after == place);
        let turn = turn.map_or_else(String::new, |(before, _)| {
            format!("; the other way round at {}", by.levels[*before])
        });
        let side = match (is_above(found), found.interval) {
            (_, None) => "not known".to_owned(),
            (Some(true), _) => format!("{} higher", factor.levels[one.level]),
            (Some(false), _) => format!("{} lower", factor.levels[one.level]),
            (None, _) => "no difference seen".to_owned(),
        };
        vec![
            Field::plain(&outcome.name),
            Field::plain(format!(
                "{} {} against {}",
                factor.name, factor.levels[one.level], factor.levels[0]
            )),
            Field::plain(format!("{}={level}", by.name)),
            ratio(found),
            Field::plain(format!("{side}{turn}")),
        ]
    })
    .collect()
}

/// What a part of the variation goes with, in a reader's words.
pub(crate) fn source(effects: &EffectsModel, of: Source) -> String {
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
    let kind = match part.chance {
        Some(chance) if chance >= CHANCE_BELOW => FieldKind::Chance(format!(
            "may be chance: trials that differ by nothing else show as much in {} of cases",
            text::percent(chance)
        )),
        _ => FieldKind::Plain,
    };
    Field {
        kind,
        ..Field::plain(text::percent(part.share))
    }
}

fn ratio(ratio: &Estimate) -> Field {
    Field {
        range: ratio.interval.map(text::ratio_ends),
        ..Field::plain(text::times(ratio.point))
    }
}

fn heads(effects: &EffectsModel, names: &[&str]) -> Vec<Head> {
    let names = names.iter().map(|name| Head {
        text: (*name).to_owned(),
        align: Align::Left,
    });
    let outcomes = effects.outcomes.iter().map(|outcome| Head {
        text: outcome.name.clone(),
        align: Align::Right,
    });
    names.chain(outcomes).collect()
}
