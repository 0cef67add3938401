//! The section of comparisons: who is ahead where in sentences, a chart for each outcome, and all of it as a table.

use serde_json::{Value, json};

use super::{
    curves::ends,
    escape,
    sections::{CLOSE, chart, open},
    table,
};
use crate::tables;
use waggle_analysis::{Ahead, Better, ComparisonModel, Measure, Model, comparison_caution};

/// Two levels against each other; nothing where no factor has two.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(table) = tables::comparisons(&model.comparisons) else {
        return;
    };
    open(
        out,
        "comparisons",
        "Compared",
        "Each ratio is of two cells and rests on their trials alone. Where the interval holds that there is no difference, none was seen: \
         that is not to say there is none. The table has it in grey. A level without an interval is on neither side.",
    );
    for (place, one) in model.comparisons.iter().enumerate() {
        let with = match one.others.as_slice() {
            [] => String::new(),
            others => format!(", for each {}", others.join(" and ")),
        };
        out.push_str(&format!(
            "<h3>{}</h3>\n",
            escape::text(&format!(
                "{} against {} over {}{with}",
                one.levels[1], one.levels[0], one.over.factor
            ))
        ));
        let sentences: Vec<String> = one
            .sentences()
            .map(|sentence| format!("<li>{}</li>", escape::sentence(sentence)))
            .collect();
        out.push_str(&format!("<ul class=\"more\">{}</ul>\n", sentences.concat()));
        if let Some(caution) = comparison_caution(one) {
            out.push_str(&format!(
                "<p class=\"warning\"><strong>Note.</strong> {}</p>\n",
                escape::text(&caution)
            ));
        }
        out.push_str("<div class=\"pair\">\n");
        for (at, outcome) in one.outcomes.iter().enumerate() {
            let [first, second] = &one.levels;
            let label = match (outcome.measure, outcome.better) {
                (Measure::Difference, _) => format!(
                    "{}: {second} − {first}, in points; below 0 {second} {}",
                    outcome.name,
                    outcome.better.phrase()
                ),
                (Measure::Ratio, better) => format!(
                    "{}: {second} ÷ {first}; {} 1 {second} {}",
                    outcome.name,
                    if better == Better::Higher {
                        "above"
                    } else {
                        "below"
                    },
                    better.phrase()
                ),
            };
            chart(out, &format!("compare-{place}-{at}"), &label, "");
        }
        out.push_str("</div>\n");
    }
    table::write(out, &table);
    out.push_str(CLOSE);
}

/// What the charts need: each point as `[line, level, point, low, high, who is ahead, believed]`. Ahead is 0 or 1, nothing where no
/// difference was seen, and 2 where there is no interval.
pub(super) fn data(one: &ComparisonModel) -> Value {
    let outcomes = one.outcomes.iter().map(|outcome| {
        let lines = outcome.at.iter().enumerate();
        let points = lines.flat_map(|(line, levels)| {
            levels.iter().enumerate().filter_map(move |(level, found)| {
                let [point, low, high] = ends(Some(found.number()?));
                let ahead = match outcome.ahead(found) {
                    Ahead::First => Some(0),
                    Ahead::Second => Some(1),
                    Ahead::Unsure => Some(2),
                    Ahead::Neither => None,
                    Ahead::Unknown => return None,
                };
                let doubtful = &one.doubtful[line][level];
                let believed = doubtful
                    .iter()
                    .all(|(_, verdict)| crate::words::may_be_believed(*verdict));
                Some(json!([line, level, point, low, high, ahead, believed]))
            })
        });
        json!({
            "name": outcome.name,
            "difference": outcome.measure == Measure::Difference,
            "points": points.collect::<Vec<_>>(),
        })
    });
    json!({
        "levels": one.levels,
        "over": { "factor": one.over.factor, "levels": one.over.levels, "at": one.over.at },
        "lines": one.lines.iter().map(|line| &line.name).collect::<Vec<_>>(),
        "outcomes": outcomes.collect::<Vec<_>>(),
    })
}
