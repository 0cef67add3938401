//! `effects.csv`: a row for each share of the variation, each level against the first, and each comparison at a level of
//! another factor; numbers in full.

use waggle_stats::{Estimate, Source};

use super::line;
use waggle_analysis::{EffectsModel, OutcomeEffects};

const HEADS: [&str; 15] = [
    "outcome",
    "what",
    "factor",
    "level",
    "against",
    "other_factor",
    "other_level",
    "ratio",
    "ratio_low",
    "ratio_high",
    "trials",
    "share",
    "degrees",
    "residual_degrees",
    "p_value",
];

/// The table of effects.
#[must_use]
pub fn effects(effects: &EffectsModel) -> String {
    let mut out = String::new();
    line(&mut out, HEADS.into_iter().map(str::to_owned));
    for outcome in &effects.outcomes {
        let rows = shares(effects, outcome)
            .into_iter()
            .chain(levels(effects, outcome))
            .chain(comparisons(effects, outcome));
        for row in rows {
            line(&mut out, row.fields(outcome).into_iter());
        }
    }
    out
}

/// One row; what does not apply is empty.
#[derive(Default)]
struct Row<'a> {
    what: &'static str,
    factor: &'a str,
    level: &'a str,
    against: &'a str,
    other: (&'a str, &'a str),
    ratio: Option<Estimate>,
    /// Share, degrees of freedom, p.
    share: Option<(f64, usize, Option<f64>)>,
}

impl Row<'_> {
    fn fields(&self, outcome: &OutcomeEffects) -> [String; 15] {
        let number = |value: Option<f64>| value.map(digits).unwrap_or_default();
        let ends = self.ratio.and_then(|ratio| ratio.interval);
        let count = |value: Option<usize>| value.map(|one| one.to_string()).unwrap_or_default();
        [
            outcome.column.clone(),
            self.what.to_owned(),
            self.factor.to_owned(),
            self.level.to_owned(),
            self.against.to_owned(),
            self.other.0.to_owned(),
            self.other.1.to_owned(),
            number(self.ratio.map(|ratio| ratio.point)),
            number(ends.map(|(low, _)| low)),
            number(ends.map(|(_, high)| high)),
            count(self.ratio.map(|ratio| ratio.count)),
            number(self.share.map(|(share, ..)| share)),
            count(self.share.map(|(_, degrees, _)| degrees)),
            outcome.degrees.to_string(),
            number(self.share.and_then(|(.., chance)| chance)),
        ]
    }
}

/// Six digits that count, however small the number.
fn digits(value: f64) -> String {
    const PLAIN_FROM: f64 = 1e-6;
    let shown = format!("{value:.5e}");
    match shown.parse::<f64>() {
        Ok(short) if short == 0.0 || short >= PLAIN_FROM => short.to_string(),
        _ => shown,
    }
}

fn shares<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Row<'a>> {
    let name = |place: usize| effects.factors[place].name.as_str();
    let row = |part: &waggle_stats::Variation| {
        let (what, factor, other) = match part.of {
            Source::Factor(factor) => ("factor", name(factor), ""),
            Source::Pair(a, b) => ("interaction", name(a), name(b)),
            Source::Further => ("further interactions", "", ""),
            Source::Trials => ("trial to trial", "", ""),
        };
        Row {
            what,
            factor,
            other: (other, ""),
            share: Some((part.share, part.degrees, part.chance)),
            ..Row::default()
        }
    };
    outcome.parts.iter().map(row).collect()
}

fn levels<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Row<'a>> {
    let factors = effects.factors.iter().zip(&outcome.ratios);
    factors
        .flat_map(|(factor, ratios)| {
            let levels = factor.levels.iter().skip(1).zip(ratios);
            levels.map(|(level, ratio)| Row {
                what: "level",
                factor: &factor.name,
                level,
                against: &factor.levels[0],
                ratio: Some(*ratio),
                ..Row::default()
            })
        })
        .collect()
}

fn comparisons<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Row<'a>> {
    let all = outcome.comparisons.iter().flat_map(|one| {
        let (factor, by) = (&effects.factors[one.factor], &effects.factors[one.by]);
        let levels = by.levels.iter().zip(&one.ratios);
        levels.map(|(held, ratio)| Row {
            what: "comparison",
            factor: &factor.name,
            level: &factor.levels[one.level],
            against: &factor.levels[0],
            other: (&by.name, held),
            ratio: Some(*ratio),
            ..Row::default()
        })
    });
    all.collect()
}
