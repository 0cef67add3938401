//! A section with its blocks as markup.

use maud::{Markup, html};

use super::{phrases::unbroken, table, timeline};
use crate::layout::document::{
    Block, Chart, Drawn, Failure, Fold, Folded, Page, PageLink, Section, Term,
};

pub(super) fn section(section: &Section) -> Markup {
    html! {
        section aria-labelledby=(section.id) {
            h2 id=(section.id) { (section.title) }
            @if !section.lead.is_empty() { p class="lead" { (section.lead) } }
            @for one in &section.blocks { (block(one)) }
        }
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Table(content) => table::table(content),
        Block::Heading(text) => html! { h3 { (text) } },
        Block::Anchor { id, heading } => html! { h3 id=(id) { (heading) } },
        Block::Headline(text) => html! { p class="effect" { (unbroken(text)) } },
        Block::Sentences(all) => sentences(all),
        Block::Caution(text) => warning(text),
        Block::Note(text) => html! { p class="lead" { (prose(text)) } },
        Block::Drawn(drawn) => self::charts_markup(drawn),
        Block::Timeline(content) => timeline::timeline(content),
        Block::Terms(all) => terms(all),
        Block::Folded(folded) => self::folded_markup(folded),
        Block::PageOnly(blocks) => html! { @for one in blocks { (self::block(one)) } },
        Block::Failure(content) => failure(content),
        Block::Page(content) => page(content),
        Block::File { label, text } => html! {
            pre tabindex="0" aria-label=(label) { (text.trim_end()) }
        },
    }
}

/// A list of sentences; empty for none.
pub(super) fn sentences(all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            ul class="more" { @for sentence in all { li { (prose(sentence)) } } }
        }
    }
}

/// A sentence; what is between backticks is code.
fn prose(text: &str) -> Markup {
    let text = unbroken(text);
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let parts = text.split('`').enumerate();
    html! {
        @if is_paired {
            @for (place, part) in parts {
                @if place % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

pub(super) fn warning(text: &str) -> Markup {
    html! { p class="warning" { strong { "Note." } " " (prose(text)) } }
}

fn charts_markup(drawn: &Drawn) -> Markup {
    match drawn {
        Drawn::Choice(id) => html! { div class="choose js-only" id=(id) {} },
        Drawn::Cells => html! {
            fieldset class="chips js-only" id="spectrum-cells" { legend { "Cells shown" } }
        },
        Drawn::Wide(content) => chart(content, "chart js-only wide"),
        Drawn::Beside(charts) => html! {
            div class="pair" { @for one in charts { (chart(one, "chart js-only")) } }
        },
        Drawn::OfOneNumber(charts) => html! {
            div class="js-only" {
                div class="tabs" role="tablist" aria-label="Metric" id="metric-tabs" {}
                div class="choose" id="factor-choice" {}
            }
            div class="pair" role="tabpanel" id="metric-panel" tabindex="-1" {
                @for one in charts { (chart(one, "chart js-only")) }
            }
        },
    }
}

/// An empty element that a script fills; hidden without scripts.
fn chart(chart: &Chart, class: &str) -> Markup {
    html! {
        figure class=(class) {
            figcaption id={ (chart.id) "-label" } { (chart.label) }
            div id=(chart.id) class="plot" role="img" aria-labelledby={ (chart.id) "-label" } {}
        }
    }
}

fn terms(terms: &[Term]) -> Markup {
    html! {
        dl class="facts" {
            @for term in terms {
                dt { (term.name) }
                dd { (term.meaning) @if let Some(code) = &term.code { " (" code { (code) } ")" } }
            }
        }
    }
}

fn folded_markup(folded: &Folded) -> Markup {
    let class = match folded.what {
        Fold::Legend => Some("legend"),
        Fold::Same => Some("same"),
        Fold::Series => Some("series"),
        Fold::Every => Some("every"),
    };
    html! {
        details class=[class] {
            summary { (folded.summary) }
            @for one in &folded.blocks { (block(one)) }
        }
    }
}

/// Alone on the screen once a link leads to it, by the style.
fn page(page: &Page) -> Markup {
    let [before, after] = &page.neighbours;
    html! {
        article class="page" id=(page.id) tabindex="-1" aria-labelledby={ (page.id) "-title" } {
            p class="turn" {
                a href="#trials" { "← All trials" }
                (turn("previous", before.as_ref()))
                (turn("next", after.as_ref()))
            }
            h3 id={ (page.id) "-title" } role="heading" aria-level="1" { (page.title) " " (table::badge(&page.verdict)) }
            @for one in &page.blocks { (block(one)) }
        }
    }
}

fn turn(word: &str, link: Option<&PageLink>) -> Markup {
    html! {
        @if let Some(link) = link { " " a href={ "#" (link.id) } { (word) ": " (link.title) } }
    }
}

fn failure(failure: &Failure) -> Markup {
    html! {
        article class="failure" {
            h3 { (failure.title) }
            p { (failure.reason) }
            @if !failure.log.is_empty() {
                pre tabindex="0" aria-label="Last lines of the log" { (failure.log.join("\n")) }
            }
        }
    }
}
