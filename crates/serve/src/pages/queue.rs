//! Runs that were started from here: the one that goes on, the one that waits, and those that have ended.

use maud::{Markup, html};

use super::layout::{Page, Place, badge, compare_address, laid_out, run_address};
use crate::launch::{
    order::Order,
    queue::{EndedRun, QueueView, RunningOrder},
};

/// A run that has ended, with the name of its folder if that is among the runs that are shown.
pub(crate) struct EndedRow<'a> {
    pub(crate) ended: &'a EndedRun,
    pub(crate) run: Option<String>,
}

pub(crate) fn queue(view: &QueueView, ended: &[EndedRow<'_>], token: &str) -> String {
    let is_empty = view.running.is_none() && view.waiting.is_empty() && ended.is_empty();
    laid_out(&Page {
        title: "Queue",
        place: Place::Queue,
        may_run: true,
        is_live: false,
        body: html! {
            section class="list" {
                h1 class="short" { "Queue" }
                @if is_empty { p class="lead" { "Nothing was started from here. " a href="/studies" { "Studies" } } }
                @if let Some(running) = &view.running { (running_run(running, token)) }
                @for order in &view.waiting { (waiting_run(order, token)) }
                @for row in ended { (ended_run(row)) }
            }
        },
    })
}

/// What was chosen of the study, by which two runs of it are told apart.
fn choices(order: &Order) -> Markup {
    let choices = order.choices();
    html! { @if !choices.is_empty() { p class="lead" { (choices) } } }
}

fn running_run(running: &RunningOrder, token: &str) -> Markup {
    html! {
        h2 { (running.order.study) " " (badge("running", "running")) }
        (choices(&running.order))
        div class="actions" {
            a class="button main" href={ "/live/" (running.pid) } { "Live view" }
            form method="post" action="/queue/stop" {
                input type="hidden" name="token" value=(token);
                input type="hidden" name="pid" value=(running.pid);
                button class="plain" type="submit" { "Stop" }
            }
            a class="button" href="/queue" { "Reload" }
            @if running.stops > 0 { span class="thin" { "was asked to stop; what it has measured is kept" } }
        }
        (output(&running.output))
    }
}

fn waiting_run(order: &Order, token: &str) -> Markup {
    html! {
        h2 { (order.study) " " (badge("none", "waits")) }
        (choices(order))
        div class="actions" {
            form method="post" action="/queue/drop" {
                input type="hidden" name="token" value=(token);
                button class="plain" type="submit" { "Remove" }
            }
        }
    }
}

fn ended_run(row: &EndedRow<'_>) -> Markup {
    let (ended, run) = (row.ended, &row.run);
    let compared = ended.order.compare_with.as_ref().zip(run.as_ref());
    html! {
        h2 { (ended.order.study) " " (badge("none", &ended.how)) }
        (choices(&ended.order))
        div class="actions" {
            @if let Some(run) = run { a class="button" href=(run_address(run, "")) { "Run " (run) } }
            @if let Some((before, run)) = compared {
                a class="button main" href=(compare_address(before, run)) { "Compare with " (before) }
            }
        }
        (output(&ended.output))
    }
}

fn output(text: &str) -> Markup {
    html! {
        @if !text.is_empty() {
            details { summary { "What it printed" } pre tabindex="0" { (text) } }
        }
    }
}
