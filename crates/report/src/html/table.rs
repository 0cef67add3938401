//! A table as markup: its own scrolling box, a caption, heads with scope, numbers to the right.

use maud::{Markup, Render, html};

use crate::table::{Align, Field, Mark, Table};

pub(super) fn table(table: &Table) -> Markup {
    html! {
        div class="scroll" role="region" aria-label=(table.caption) tabindex="0" {
            table id=[table.id.map(|id| format!("table-{id}"))] {
                caption { (table.caption) }
                thead {
                    tr {
                        @for head in &table.heads { th scope="col" class=[class(head.align)] { (name(&head.text)) } }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (one, head) in row.iter().zip(&table.heads) {
                                td class=[class(head.align)] { (one) }
                            }
                        }
                        "\n"
                    }
                }
            }
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
                text.render_to(page);
                html! {}
            }
            Mark::Bad => html! { strong class="bad" { (text) } },
            Mark::Verdict => badge(&text),
            Mark::Even => html! { span class="thin" { (text) } },
            Mark::Thin(reason) | Mark::Chance(reason) => html! {
                span class="thin" title=(reason) { (text) span class="sr" { " (" (reason) ")" } }
            },
        };
        marked.render_to(page);
        if let Some(aside) = self.side_note() {
            html! { " " small class="range" { (aside) } }.render_to(page);
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
