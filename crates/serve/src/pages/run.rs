//! The page of one run: its answer, where its other pages are, its facts, and the notes on it.

use maud::{Markup, html};
use waggle_results::{NOTE_MAX_LETTERS, Note};

use super::{
    layout::{
        Page, Place, compare_address, count_text, encode, history_address, laid_out, moment,
        run_address,
    },
    list::badges,
};
use crate::runs::row::RunFacts;

/// What the page shows.
pub(crate) struct RunPage<'a> {
    pub(crate) name: &'a str,
    pub(crate) run: &'a RunFacts,
    pub(crate) notes: &'a [Note],
    /// The run of the same study that started before.
    pub(crate) before: Option<&'a str>,
    /// The study in the folder of studies by which it can be run again.
    pub(crate) study: Option<&'a str>,
    pub(crate) may_run: bool,
    /// The token of the form of a note; `None`: notes cannot be written.
    pub(crate) note_token: Option<&'a str>,
    /// The metrics that a note can be about.
    pub(crate) metrics: &'a [String],
    /// The one that is chosen: the page was opened for it.
    pub(crate) metric: Option<&'a str>,
}

pub(crate) fn run(page: &RunPage<'_>) -> String {
    let run = page.run;
    let question = match run.question.is_empty() {
        true => &run.study,
        false => &run.question,
    };
    laid_out(&Page {
        title: page.name,
        place: Place::Other,
        may_run: page.may_run,
        is_live: false,
        body: html! {
            section class="summary" {
                p class="eyebrow" { "Run " (page.name) " · " (moment(&run.started_utc)) " UTC" }
                h1 { (question) }
                @match &run.answer {
                    Some(answer) => p class="answer" { (answer) },
                    None => p class="answer" { (run.trials) " of " (run.planned) " trials have a result." },
                }
                (badges(run))
                (actions(page))
            }
            section class="list" aria-labelledby="facts" {
                h2 id="facts" { "Facts" }
                (facts(page))
            }
            section class="list" aria-labelledby="notes" {
                h2 id="notes" { "Notes" }
                (notes(page))
            }
        },
    })
}

fn actions(page: &RunPage<'_>) -> Markup {
    let run = page.run;
    html! {
        div class="actions" {
            @if run.is_running { a class="button main" href=(run_address(page.name, "/live")) { "Live view" } }
            a.button.main[!run.is_running] href=(run_address(page.name, "/report")) { "Report" }
            @if let Some(before) = page.before {
                a class="button" href=(compare_address(before, page.name)) { "Compare with the run before" }
            }
            a class="button" href=(history_address(&run.study)) { "History of " (run.study) }
            @if let Some(study) = page.study {
                a class="button" href={ "/studies/form?study=" (encode(study)) "&again=" (encode(page.name)) } { "Run again and compare" }
            }
        }
    }
}

fn facts(page: &RunPage<'_>) -> Markup {
    let run = page.run;
    html! {
        dl class="facts" {
            dt { "Study" } dd { (run.study) " (" (run.study_file) ")" }
            dt { "System" } dd {
                (run.system)
                @for version in &run.versions { ", " (version) }
            }
            dt { "Cells" } dd { (run.cells) }
            dt { "Trials" } dd { (run.trials) " of " (run.planned) " planned" }
            @if !run.filters.is_empty() { dt { "Part" } dd { (run.filters.join(", ")) } }
            dt { "Host" } dd { @if run.host.is_empty() { "not known" } @else { (run.host) } }
            dt { "waggle" } dd { (run.waggle_version) }
        }
    }
}

fn notes(page: &RunPage<'_>) -> Markup {
    html! {
        @if page.notes.is_empty() { p class="lead" { "None." } }
        @else {
            ul class="notes" {
                @for note in page.notes {
                    li {
                        (note.text)
                        small {
                            (moment(&note.written_utc))
                            @if let Some(metric) = &note.metric { " · about " (metric) }
                            @if note.accepts { " · accepts the level of this run" }
                        }
                    }
                }
            }
        }
        @match page.note_token {
            None => p class="lead" { "Notes can be written if the server was started with --allow-notes or --allow-run." },
            Some(token) => form method="post" action=(run_address(page.name, "/notes")) class="note-form" {
                input type="hidden" name="token" value=(token);
                label {
                    "Note, at most " (count_text(NOTE_MAX_LETTERS, "letter"))
                    textarea name="text" maxlength=(NOTE_MAX_LETTERS) required {}
                }
                @if !page.metrics.is_empty() {
                    label {
                        "About"
                        select name="metric" {
                            option value="" { "the run as a whole" }
                            @for metric in page.metrics {
                                option value=(metric) selected[page.metric == Some(metric)] { (metric) }
                            }
                        }
                    }
                }
                label class="tick" {
                    input type="checkbox" name="accept" value="yes";
                    "Accept: from this run on its level is the one that the history compares with"
                }
                div { button class="main" type="submit" { "Add the note" } }
            },
        }
    }
}
