//! Studies that can be run: their list, the form of one, and its plan before it is started.

use maud::{Markup, html};
use url::form_urlencoded;

use super::layout::{Page, Place, encode, laid_out};
use crate::launch::order::{Extent, Order, StudyEntry, StudyForm, StudyParameter};

pub(crate) fn studies(folder: &str, entries: &[StudyEntry]) -> String {
    page(
        "Studies",
        &html! {
            section class="list" {
                p class="eyebrow" { (folder) }
                h1 class="short" { "Studies" }
                div class="scroll" role="region" aria-label="Studies" tabindex="0" {
                    table id="studies" {
                        caption { "Studies of this folder. A study is code: what it starts runs with the rights of this server." }
                        thead { tr { th scope="col" { "study" } th scope="col" { "question" } th scope="col" { "file" } } }
                        tbody { @for entry in entries { (row(entry)) } }
                    }
                }
            }
        },
    )
}

fn row(entry: &StudyEntry) -> Markup {
    html! {
        tr {
            @match &entry.content {
                Ok((name, question)) => {
                    td { a href={ "/studies/form?study=" (encode(&entry.file)) } { (name) } }
                    td { (question) }
                },
                Err(why) => td colspan="2" class="thin" { (why) },
            }
            td { (entry.file) }
        }
    }
}

/// The form of a study, with what was asked for before.
pub(crate) fn form(form: &StudyForm, order: &Order, token: &str) -> String {
    page(
        &form.name,
        &html! {
            section class="summary" {
                p class="eyebrow" { "Study " (form.name) " · " (order.study) }
                h1 { @if form.question.is_empty() { (form.name) } @else { (form.question) } }
                @if let Some(run) = &order.compare_with { p class="lead" { "The new run is compared with " (run) " when it has ended." } }
                form method="post" action="/studies/plan" {
                    input type="hidden" name="token" value=(token);
                    input type="hidden" name="study" value=(order.study);
                    @if let Some(run) = &order.compare_with { input type="hidden" name="compare_with" value=(run); }
                    @if !form.factors.is_empty() {
                        fieldset {
                            legend { "Factors" }
                            div class="fields" { @for (name, levels) in &form.factors { (factor(order, name, levels)) } }
                        }
                    }
                    @if !form.parameters.is_empty() {
                        fieldset {
                            legend { "Compare with a changed version of " (form.system) }
                            p class="lead" { "Levels that are set here make a second version, which is run beside that of the study." }
                            div class="fields" { @for parameter in &form.parameters { (self::parameter(order, parameter)) } }
                        }
                    }
                    fieldset {
                        legend { "Length" }
                        div class="fields" {
                            label {
                                "Repetitions and phases"
                                select name="extent" { (extents(form, order.extent)) }
                            }
                            label {
                                "Seed"
                                input type="text" name="seed" inputmode="numeric" value=[order.seed];
                                small { "Empty: that of the study, else a new one." }
                            }
                        }
                    }
                    div class="actions" { button class="main" type="submit" { "Show the plan" } }
                }
            }
        },
    )
}

fn factor(order: &Order, name: &str, levels: &[String]) -> Markup {
    let chosen = order.filters.iter().find(|(factor, _)| factor == name);
    html! {
        label {
            (name)
            select name={ "factor." (name) } {
                option value="" { "all " (levels.len()) " levels" }
                @for level in levels {
                    option value=(level) selected[chosen.is_some_and(|(_, chosen)| chosen == level)] { (level) }
                }
            }
        }
    }
}

fn parameter(order: &Order, parameter: &StudyParameter) -> Markup {
    let given = order
        .against
        .iter()
        .find(|(name, _)| *name == parameter.name);
    let given = given.map(|(_, level)| level.as_str());
    let name = format!("parameter.{}", parameter.name);
    html! {
        label {
            (parameter.name)
            @if parameter.values.is_empty() {
                input type="text" name=(name) value=[given] placeholder=(parameter.unchanged);
            } @else {
                select name=(name) {
                    option value="" { "unchanged: " (parameter.unchanged) }
                    @for value in &parameter.values {
                        option value=(value) selected[given == Some(value)] { (value) }
                    }
                }
            }
            small { (parameter.summary) " (" (parameter.kind) "; default " (parameter.default) ")" }
        }
    }
}

fn extents(form: &StudyForm, chosen: Extent) -> Markup {
    let all = [
        (Extent::Whole, "whole", "as the study says"),
        (Extent::Pilot, "pilot", "three repetitions (pilot)"),
        (Extent::Quick, "quick", "as short as possible (quick)"),
    ];
    let all = all.into_iter();
    let possible = all.filter(|(extent, ..)| !form.is_search || *extent != Extent::Pilot);
    html! {
        @for (extent, value, text) in possible {
            option value=(value) selected[extent == chosen] { (text) }
        }
    }
}

/// What would run, before it is started.
pub(crate) fn plan(order: &Order, text: &str, token: &str) -> String {
    let mut change = form_urlencoded::Serializer::new(String::new());
    change.extend_pairs(order.fields());
    let change = change.finish();
    page(
        "Plan",
        &html! {
            section class="list" {
                p class="eyebrow" { (order.study) }
                h1 class="short" { "Plan" }
                pre tabindex="0" aria-label="What would run" { (text) }
                div class="actions" {
                    form method="post" action="/studies/start" {
                        input type="hidden" name="token" value=(token);
                        @for (name, value) in order.fields() { input type="hidden" name=(name) value=(value); }
                        button class="main" type="submit" { "Start" }
                    }
                    a class="button" href={ "/studies/form?" (change) } { "Change" }
                }
            }
        },
    )
}

fn page(title: &str, body: &Markup) -> String {
    laid_out(&Page {
        title,
        place: Place::Studies,
        may_run: true,
        is_live: false,
        body: body.clone(),
    })
}
