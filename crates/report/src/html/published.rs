//! The section of published figures: a chart of one column, and all of them as a table.

use serde_json::{Value, json};

use super::{
    embed::rounded,
    sections::{CLOSE, chart, open},
    table,
};
use crate::{tables, text, words};
use waggle_analysis::{Model, PublishedModel, PublishedValue, published_level};

/// Published figures beside the study's own; nothing where it names none.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(table) = tables::published(model) else {
        return;
    };
    open(
        out,
        "published",
        "Beside published figures",
        "What was published was measured on other machines; how the study is scaled to this one stands in its file.",
    );
    out.push_str("<div class=\"choose js-only\" id=\"published-choice\"></div>\n");
    chart(
        out,
        "beside",
        "Published and measured here; hollow where a cell may not be believed",
        "wide",
    );
    table::write(out, &table);
    out.push_str(CLOSE);
}

/// What the chart needs: each row with its `[published, here, low, high]` for every column.
pub(super) fn data(published: &PublishedModel, model: &Model) -> Value {
    let columns = published.info.columns.iter().zip(&published.units);
    let columns =
        columns.map(|(column, kind)| json!({ "name": column.name, "kind": words::unit(*kind) }));
    let rows = published.rows.iter().filter_map(|row| {
        let cell = model.cells.iter().find(|cell| cell.cell == row.cell)?;
        let levels = published.info.by.iter();
        let levels: Vec<&str> = levels
            .map(|by| Some(published_level(cell, by)?.as_str()))
            .collect::<Option<_>>()?;
        Some(json!({
            "level": levels.join(", "),
            "label": text::levels(&cell.levels),
            "believed": cell.verdict.is_some_and(words::may_be_believed),
            "values": row.values.iter().map(value).collect::<Vec<_>>(),
        }))
    });
    json!({
        "by": published.info.by.join(", "),
        "columns": columns.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn value(value: &PublishedValue) -> Value {
    let (low, high) = value
        .estimate
        .and_then(|estimate| estimate.interval)
        .unzip();
    let all = [value.published, value.point, low, high];
    json!(all.map(|one| one.map(|one| rounded(one, 4))))
}
