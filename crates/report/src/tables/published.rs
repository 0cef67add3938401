//! Published figures beside the study's own.

use super::{Align, Field, FieldKind, Head, Table};
use crate::{
    rows,
    text::{self, NONE},
};
use waggle_analysis::{Model, PublishedModel, PublishedValue, published_level};
use waggle_metrics::Unit;

/// `None` where the study names none.
pub(crate) fn published(model: &Model) -> Option<Table> {
    let published = model.published.as_ref()?;
    let info = &published.info;
    let by = info.by.iter().map(|by| Head {
        text: by.clone(),
        align: Align::Right,
    });
    let mut heads: Vec<Head> = by.collect();
    for column in &info.columns {
        for whose in ["published", "here"] {
            heads.push(Head {
                text: format!("{}, {whose}", column.name),
                align: Align::Right,
            });
        }
    }
    heads.push(Head {
        text: "verdict".to_owned(),
        align: Align::Left,
    });
    Some(Table {
        id: Some("published"),
        title: None,
        caption: format!(
            "{} beside this study. {}",
            info.title,
            without_end(&info.source)
        ),
        heads,
        rows: rows(model, published),
    })
}

/// Captions get their full stop where they are written.
fn without_end(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

fn rows(model: &Model, published: &PublishedModel) -> Vec<Vec<Field>> {
    let mut rows = Vec::new();
    for row in &published.rows {
        let Some(cell) = model.cells.iter().find(|cell| cell.cell == row.cell) else {
            continue;
        };
        let by = published.info.by.iter();
        let level = |by: &String| {
            let level = published_level(cell, by);
            Field::plain(level.map_or(NONE, String::as_str))
        };
        let mut fields: Vec<Field> = by.map(level).collect();
        for (value, &unit) in row.values.iter().zip(&published.units) {
            fields.push(Field::plain(
                value
                    .published
                    .map_or(NONE.to_owned(), |value| text::in_unit(value, unit)),
            ));
            fields.push(own(value, unit));
        }
        fields.push(Field::verdict(rows::verdict(cell)));
        rows.push(fields);
    }
    rows
}

/// The study's own number, with its interval where it has one.
fn own(value: &PublishedValue, unit: Unit) -> Field {
    let interval = value.estimate.and_then(|estimate| estimate.interval);
    let shown =
        |value: Option<f64>| value.map_or(NONE.to_owned(), |value| text::in_unit(value, unit));
    Field {
        text: shown(value.point),
        range: interval.map(|(low, high)| {
            format!(
                "{} – {}",
                text::in_unit(low, unit),
                text::in_unit(high, unit)
            )
        }),
        kind: FieldKind::Plain,
    }
}
