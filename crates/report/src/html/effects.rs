//! The section of effects: what matters most in a sentence, a chart of the levels, tables of shares, ratios and comparisons.

use serde_json::{Value, json};

use super::{
    embed::rounded,
    escape,
    sections::{CLOSE, chart, open},
    table,
};
use crate::{tables, text};
use waggle_analysis::{EffectsModel, Model, OutcomeEffects};

/// Digits of a ratio in the page's data.
const DIGITS: i32 = 6;

/// What each factor does; nothing where the cells form no complete grid.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(effects) = &model.effects else {
        return;
    };
    open(out, "effects", "Effects of the factors", "");
    out.push_str(&format!(
        "<p class=\"effect\">{}</p>\n",
        escape::sentence(&effects.headline)
    ));
    let rest: Vec<String> = effects
        .sentences
        .iter()
        .map(|sentence| format!("<li>{}</li>", escape::sentence(sentence)))
        .collect();
    if !rest.is_empty() {
        out.push_str(&format!("<ul class=\"more\">{}</ul>\n", rest.concat()));
    }
    if let Some(caution) = &effects.caution {
        out.push_str(&format!(
            "<p class=\"warning\"><strong>Note.</strong> {}</p>\n",
            escape::text(caution)
        ));
    }
    if !effects.outcomes.is_empty() {
        out.push_str("<div class=\"choose js-only\" id=\"effects-choice\"></div>\n");
        chart(
            out,
            "effects-levels",
            "Each level as a ratio to the first of its factor",
            "wide",
        );
    }
    let all = [
        tables::shares(effects),
        tables::ratios(effects),
        tables::dependences(effects, &model.comparisons),
    ];
    for table in all.into_iter().flatten() {
        table::write(out, &table);
    }
    for note in &effects.notes {
        out.push_str(&format!(
            "<p class=\"lead\">{}</p>\n",
            escape::sentence(note)
        ));
    }
    out.push_str(CLOSE);
}

/// What the chart needs.
pub(super) fn chart_model(effects: &EffectsModel) -> Value {
    let factors = effects
        .factors
        .iter()
        .map(|factor| json!({ "name": factor.name, "levels": factor.levels }));
    json!({
        "factors": factors.collect::<Vec<_>>(),
        "outcomes": effects.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "first": effects.first,
    })
}

/// Of each factor its share as text, and `[ratio]` or `[ratio, low, high]` of each level but the first.
fn outcome(outcome: &OutcomeEffects) -> Value {
    let ratios = outcome.ratios.iter().map(|of_factor| {
        let ratios = of_factor.iter().map(|ratio| match ratio.interval {
            Some((low, high)) => [ratio.point, low, high]
                .map(|value| rounded(value, DIGITS))
                .to_vec(),
            None => vec![rounded(ratio.point, DIGITS)],
        });
        ratios.collect::<Vec<_>>()
    });
    let shares = outcome.parts.iter().take(outcome.ratios.len());
    json!({
        "name": outcome.name,
        "ratios": ratios.collect::<Vec<_>>(),
        "shares": shares.map(|part| text::percent(part.share)).collect::<Vec<_>>(),
    })
}
