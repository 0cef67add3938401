//! A table as markup: its own scrolling box, a caption, heads with scope, numbers to the right.

use maud::{Markup, Render, html};

use super::inlined;
use crate::layout::table::{Align, Field, Mark, Table, Whisker};

/// A table of so many columns is printed on a sheet in landscape.
const WIDE_FROM: usize = 13;
/// One of so many rows has a height of its own on the page, in which it is scrolled.
const LONG_FROM: usize = 60;

pub(super) fn table(table: &Table) -> Markup {
    let summary = usize::from(table.has_summary);
    let (rows, last) = table.rows.split_at(table.rows.len() - summary);
    let is_wide = table.heads.len() >= WIDE_FROM;
    let is_long = table.rows.len() >= LONG_FROM;
    let numbers = table.heads.iter().filter(|head| head.align == Align::Right);
    let is_of_numbers = 2 * numbers.count() > table.heads.len();
    let usual = if is_of_numbers {
        Align::Right
    } else {
        Align::Left
    };
    html! {
        div.scroll.wide-table[is_wide].long-table[is_long] role="region" aria-label=(table.caption) tabindex="0" {
            table.num[is_of_numbers] id=[table.id.map(|id| format!("table-{id}"))] {
                caption { (table.caption) }
                thead {
                    tr {
                        @for head in &table.heads { th scope="col" class=[class(head.align)] { (name(&head.text)) } }
                    }
                }
                tbody { @for row in rows { (self::row(table, row, usual)) } }
                @for row in last { tfoot { (self::row(table, row, usual)) } }
            }
        }
        "\n"
    }
}

/// Most of a large page is fields of tables, so that their markup is as short as HTML allows: the next tag ends a field and a row, and
/// only a field on the less usual side says so.
fn row(table: &Table, row: &[Field], usual: Align) -> Markup {
    html! {
        (inlined::ROW)
        @for (one, head) in row.iter().zip(&table.heads) {
            @if head.align == usual { (inlined::FIELD) } @else { (inlined::OTHER_FIELD) }
            (one)
        }
        "\n"
    }
}

/// The text of a head. A dotted name, as conditions have it, may go on in the next line after each of its points: it is
/// often wider than all values below it.
fn name(text: &str) -> Markup {
    let parts: Vec<&str> = text.split_inclusive('.').collect();
    html! {
        @for (place, part) in parts.iter().enumerate() {
            @if place > 0 && part.starts_with(char::is_alphabetic) { wbr; }
            (part)
        }
    }
}

fn class(align: Align) -> Option<&'static str> {
    match align {
        Align::Left => None,
        Align::Right => Some("n"),
    }
}

/// Rendered in place: a large page has half a million of them.
impl Render for Field {
    fn render_to(&self, page: &mut String) {
        let text = self.text();
        let marked = match &self.mark {
            Mark::Plain => {
                match &self.href {
                    Some(href) => html! { a href=(href) { (text) } }.render_to(page),
                    None => text.render_to(page),
                }
                html! {}
            }
            Mark::Bad => html! { strong class="bad" { (text) } },
            Mark::Verdict => badge(&text),
            Mark::Even(None) => html! { span class="thin" { (text) } },
            Mark::Thin(reason)
            | Mark::Windows(reason)
            | Mark::Lag(reason)
            | Mark::Chance(reason)
            | Mark::Even(Some(reason))
            | Mark::Alone(reason) => html! {
                span class="thin" { (text) span class="sr" { " (" (reason) ")" } }
            },
        };
        marked.render_to(page);
        if let Some(aside) = self.side_note() {
            html! { " " small { (aside) } }.render_to(page);
        }
        if let Some(drawn) = &self.whisker {
            whisker(drawn).render_to(page);
        }
    }
}

/// Half the width of what is shown of a ratio, as a logarithm, in margins; and at least.
const MARGINS_SHOWN: f64 = 4.0;
const LEAST_SHOWN: f64 = 0.1;

/// The band of the margin, the line of equality, and the interval with its point.
fn whisker(drawn: &Whisker) -> Markup {
    let band = drawn.margin.ln_1p();
    let reach = (MARGINS_SHOWN * band).max(LEAST_SHOWN);
    let coordinate = |ratio: f64| {
        let place = ratio.max(f64::MIN_POSITIVE).ln().clamp(-reach, reach) / reach;
        format!("{:.1}", 60.0 + 58.0 * place)
    };
    let wide = 116.0 * band / reach;
    let (low, high) = drawn.interval;
    html! {
        svg class="whisker" viewBox="0 0 120 12" aria-hidden="true" {
            rect class="band" x=(format!("{:.1}", 60.0 - wide / 2.0)) y="0" width=(format!("{wide:.1}")) height="12" {}
            line class="even" x1="60" x2="60" y1="0" y2="12" {}
            line class="range" x1=(coordinate(low)) x2=(coordinate(high)) y1="6" y2="6" {}
            circle cx=(coordinate(drawn.point)) cy="6" r="2.5" {}
        }
    }
}

/// A verdict as a badge. Its class is its first word, so that `valid (2 of 3 trials)` keeps the colour.
pub(super) fn badge(verdict: &str) -> Markup {
    let class = match verdict.split(' ').next().unwrap_or_default() {
        "not" | "no" => "none",
        class => class,
    };
    html! { span class={ "badge " (class) } { (verdict) } }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn heads_break_behind_the_points_of_names() {
        let check = |text: &str, expected: &str| {
            assert_eq!(name(text).into_string(), expected, "{text}");
        };
        check("goodput", "goodput");
        check("p99.9", "p99.9");
        check("<b>.p99", "&lt;b&gt;.<wbr>p99");
        check(
            "order.response_time.p99",
            "order.<wbr>response_time.<wbr>p99",
        );
    }
}
