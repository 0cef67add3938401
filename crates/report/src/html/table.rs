//! A table as markup: its own scrolling box, a caption, heads with scope, numbers to the right.

use super::escape;
use crate::tables::{Align, Field, FieldKind, Table};

/// Writes the table.
pub(super) fn write(out: &mut String, table: &Table) {
    let caption = escape::text(&table.caption);
    out.push_str(&format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table id=\"table-{}\">\n\
         <caption>{caption}</caption>\n<thead><tr>",
        table.id
    ));
    for head in &table.heads {
        out.push_str(&format!(
            "<th scope=\"col\"{}>{}</th>",
            align(head.align),
            name(&head.text)
        ));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (field, head) in row.iter().zip(&table.heads) {
            out.push_str(&square(field, head.align));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// The text of a head. A dotted name, as conditions have it, may go on in the next line after each of its points: it is
/// often wider than all that stands below it.
fn name(text: &str) -> String {
    let mut shown = String::new();
    for part in text.split_inclusive('.') {
        if shown.ends_with('.') && part.starts_with(char::is_alphabetic) {
            shown.push_str("<wbr>");
        }
        shown.push_str(&escape::text(part));
    }
    shown
}

fn align(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"n\"",
    }
}

fn square(field: &Field, align_to: Align) -> String {
    let text = escape::text(&field.text);
    let range = field
        .range
        .as_ref()
        .map(|range| format!(" <small class=\"range\">{}</small>", escape::text(range)))
        .unwrap_or_default();
    let inner = match &field.kind {
        FieldKind::Plain => text,
        FieldKind::Bad => format!("<strong class=\"bad\">{text}</strong>"),
        FieldKind::Verdict => badge(&field.text),
        FieldKind::Even => format!("<span class=\"thin\">{text}</span>"),
        FieldKind::Thin(reason) | FieldKind::Chance(reason) => {
            let reason = escape::text(reason);
            format!(
                "<span class=\"thin\" title=\"{reason}\">{text}<span class=\"sr\"> ({reason})</span></span>"
            )
        }
    };
    format!("<td{}>{inner}{range}</td>", align(align_to))
}

/// A verdict as a badge. Its class is its first word, so that `valid (2 of 3 trials)` keeps the colour.
pub(super) fn badge(verdict: &str) -> String {
    let class = verdict.split(' ').next().unwrap_or_default();
    let class = if matches!(class, "not" | "no") {
        "none"
    } else {
        class
    };
    format!(
        "<span class=\"badge {}\">{}</span>",
        escape::text(class),
        escape::text(verdict)
    )
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn heads_break_behind_the_points_of_names() {
        let check = |text: &str, expected: &str| assert_eq!(name(text), expected, "{text}");
        check("goodput", "goodput");
        check("p99.9", "p99.9");
        check("<b>.p99", "&lt;b&gt;.<wbr>p99");
        check(
            "order.response_time.p99",
            "order.<wbr>response_time.<wbr>p99",
        );
    }
}
