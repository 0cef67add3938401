//! A table as CSV.

pub(crate) mod number;

use std::borrow::Cow;

use super::table::Table;

/// The heads, then a line for each row.
pub(crate) fn to_csv(table: &Table) -> String {
    let mut out = String::new();
    let heads = table.heads.iter().map(|head| head.text.as_str().into());
    line(&mut out, heads);
    for row in &table.rows {
        line(&mut out, row.iter().map(|field| field.text()));
    }
    out
}

fn line<'a>(out: &mut String, fields: impl Iterator<Item = Cow<'a, str>>) {
    for (place, field) in fields.enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(&quote(field));
    }
    out.push('\n');
}

/// RFC 4180; and a leading sign that a spreadsheet would run as a formula is kept from it.
fn quote(field: Cow<'_, str>) -> Cow<'_, str> {
    let formula =
        field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = if formula {
        format!("'{field}").into()
    } else {
        field
    };
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field
    }
}
