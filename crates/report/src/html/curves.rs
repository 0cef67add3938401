//! The section of curves: each outcome over a factor whose levels are numbers, failures by kind, and the same as a table.

use serde_json::{Value, json};
use waggle_stats::Estimate;

use super::{
    embed::rounded,
    escape,
    sections::{CLOSE, chart, open},
    table,
};
use crate::{tables, words};
use waggle_analysis::{Curve, CurvesModel, Model};
use waggle_metrics::Unit;

/// Each outcome over one factor; nothing where no factor's levels are numbers.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(curves) = &model.curves else {
        return;
    };
    let title = format!("Over {}", escape::text(&curves.over.factor));
    open(
        out,
        "curves",
        &title,
        "Error bars are 95 % intervals over trials; a mark is hollow where its cell may not be believed.",
    );
    if let Some((title, source)) = &curves.published {
        out.push_str(&format!(
            "<p class=\"lead\" id=\"curves-source\">Dashed, with crosses: {}. {}</p>\n",
            escape::text(title),
            escape::sentence(source)
        ));
    }
    out.push_str(
        "<div class=\"choose js-only\" id=\"curves-choice\"></div>\n<div class=\"pair\">\n",
    );
    for (place, one) in curves.charts.iter().enumerate() {
        chart(out, &format!("curve-{place}"), &label(one, model), "");
    }
    out.push_str("</div>\n");
    if curves.kinds.is_some() {
        chart(
            out,
            "curve-kinds",
            "Failed requests by kind, share of all answered",
            "wide",
        );
    }
    out.push_str("<details class=\"same\"><summary>The same as a table</summary>\n");
    table::write(out, &tables::curves(curves));
    out.push_str("</details>\n");
    out.push_str(CLOSE);
}

fn label(curve: &Curve, model: &Model) -> String {
    match (curve.unit, curve.name.as_str()) {
        (_, "Goodput") => format!("Goodput, {}/s", words::counted(model.counted)),
        (Unit::Share, "Failed requests") => "Failed requests, share of all answered".to_owned(),
        (_, name) => name.to_owned(),
    }
}

/// What the charts need: each point as `[line, level, cell, point, low, high, published, thin]`.
pub(super) fn data(curves: &CurvesModel) -> Value {
    let lines = curves.lines.iter().map(|line| {
        json!({
            "name": line.name,
            "colour": line.places.first().copied().unwrap_or(0),
            "dash": line.places.get(1).copied().unwrap_or(0),
        })
    });
    json!({
        "over": { "factor": curves.over.factor, "levels": curves.over.levels, "at": curves.over.at },
        "lines": lines.collect::<Vec<_>>(),
        "charts": curves.charts.iter().map(one).collect::<Vec<_>>(),
        "kinds": curves.kinds.as_ref().map(|failed| json!({
            "names": failed.kinds.iter().map(|kind| kind.in_words()).collect::<Vec<_>>(),
            "shares": failed.shares,
        })),
    })
}

fn one(curve: &Curve) -> Value {
    let points = curve.points.iter().map(|point| {
        let [middle, low, high] = ends(point.estimate.as_ref());
        json!([
            point.line,
            point.level,
            point.cell,
            middle,
            low,
            high,
            point.published.map(|value| rounded(value, DIGITS)),
            point.thin
        ])
    });
    json!({
        "name": curve.name,
        "kind": words::unit(curve.unit),
        "points": points.collect::<Vec<_>>(),
    })
}

/// Enough for a share of a millionth.
const DIGITS: i32 = 6;

/// A point with the ends of its interval.
pub(super) fn ends(estimate: Option<&Estimate>) -> [Option<f64>; 3] {
    let (low, high) = estimate.and_then(|estimate| estimate.interval).unzip();
    let point = estimate.map(|estimate| estimate.point);
    [point, low, high].map(|value| value.map(|value| rounded(value, DIGITS)))
}
