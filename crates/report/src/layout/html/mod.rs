//! The page: one file with everything inside, readable without scripts, drawn with them.

mod blocks;
mod inlined;
mod packed;
mod phrases;
mod policy;
mod table;
mod timeline;

pub use self::{
    inlined::{STYLE, THEME},
    policy::hash_source,
};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

use super::{
    document::{Document, Opening},
    site::Site,
};

/// A document with charts that scripts draw.
pub(crate) fn page(document: &Document, charts: &impl Serialize) -> String {
    laid_out(document, Some(charts))
}

/// A document without charts that scripts draw.
pub(crate) fn plain_page(document: &Document) -> String {
    laid_out(document, None::<&()>)
}

fn laid_out(document: &Document, charts: Option<&impl Serialize>) -> String {
    let drawing = [inlined::LOADER, inlined::LIBRARY, &inlined::OWN_SCRIPTS];
    let scripts: &[&str] = match (charts, &document.site.home) {
        (Some(_), _) => &[&[THEME][..], &drawing].concat(),
        // Beside other pages it is as light or dark as they are.
        (None, Some(_)) => &[THEME],
        (None, None) => &[],
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::policy(inlined::STYLE, scripts));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "waggle " (document.version) };
                title { (document.opening.study) " · waggle report" }
                style { (PreEscaped(inlined::STYLE)) }
                @if !scripts.is_empty() { script { (PreEscaped(THEME)) } }
            }
            body {
                a class="skip" href="#main" { "Skip to the report" }
                (bar(document))
                main id="main" {
                    (opening(&document.opening))
                    @for section in &document.sections { (blocks::section(section)) }
                }
                footer {
                    "Written by waggle " (document.version) "."
                    @if charts.is_some() {
                        " From the results in this file's folder. Charts: Apache ECharts 6.1.0, Apache Licence 2.0."
                    }
                }
                @if let Some(charts) = charts {
                    (packed::element("model", &packed::compress(&inlined::json(charts))))
                    (packed::element("packed-library", &packed::LIBRARY))
                    (packed::element("packed-scripts", &packed::OWN_SCRIPTS))
                    script { (PreEscaped(inlined::LOADER)) }
                }
            }
        }
    };
    page.into_string()
}

/// The name of the program, which leads to the other pages if there are any.
fn brand(site: &Site) -> Markup {
    let name = html! { span class="comb" aria-hidden="true" { "⬡" } " waggle" };
    html! {
        @match &site.home {
            Some(home) => a class="brand" href=(home) { (name) },
            None => span class="brand" { (name) },
        }
    }
}

fn bar(document: &Document) -> Markup {
    html! {
        header class="bar" {
            div class="inner" {
                (brand(&document.site))
                span class="study" { (document.opening.study) }
                nav aria-label="Sections" {
                    @for section in &document.sections {
                        @if let Some(link) = section.link { a href={ "#" (section.id) } { (link) } }
                    }
                }
                button type="button" id="theme" aria-label="Switch between light and dark" { "◐" }
            }
        }
    }
}

fn opening(opening: &Opening) -> Markup {
    html! {
        section class="summary" aria-labelledby="question" {
            p class="eyebrow" { "Study " (opening.study) " · " (opening.started_utc) }
            h1 id="question" { (opening.question) }
            @if let Some((first, rest)) = opening.answer.split_first() {
                p class="answer" {
                    (phrases::unbroken(first)) " "
                    @if let Some(verdict) = &opening.verdict { (table::badge(verdict)) }
                }
                (blocks::sentences(rest))
            }
            @if !opening.notes.is_empty() { p class="lead" { (opening.notes.join(" ")) } }
            @for warning in &opening.warnings { (blocks::warning(warning)) }
            dl class="figures" {
                @for figure in &opening.figures {
                    div {
                        dt { (figure.what) }
                        dd { (figure.value) small { (figure.small) } }
                    }
                }
            }
        }
    }
}
