//! The list of runs: what goes on, filters, the table, and two of it to compare.

use maud::{Markup, html};

use super::layout::{
    Page, Place, badge, count_text, history_address, laid_out, moment, run_address, verdict_badge,
};
use crate::runs::{
    query::{Chosen, Query, Sort, standings, values},
    row::{Content, Row, RunFacts},
    running::RunningRun,
};

/// What the list shows.
pub(crate) struct List<'a> {
    pub(crate) folder: &'a str,
    pub(crate) rows: &'a [Row],
    pub(crate) query: &'a Query,
    /// Runs that go on elsewhere.
    pub(crate) elsewhere: &'a [RunningRun],
    pub(crate) may_run: bool,
}

pub(crate) fn list(list: &List<'_>) -> String {
    let chosen = list.query.choose(list.rows);
    laid_out(&Page {
        title: "Runs",
        place: Place::Runs,
        may_run: list.may_run,
        is_live: false,
        body: html! {
            section class="list" {
                p class="eyebrow" { (list.folder) }
                h1 class="short" { "Runs" }
                (elsewhere(list.elsewhere))
                form method="get" action="/" {
                    (filters(list))
                    (table(list, &chosen))
                    (foot(list, &chosen))
                }
            }
        },
    })
}

fn elsewhere(running: &[RunningRun]) -> Markup {
    html! {
        @for run in running {
            p class="lead" {
                (badge("running", "running")) " " (run.what) " (process " (run.pid) ")"
                @if run.run.is_some() { ", " a href={ "/live/" (run.pid) } { "live view" } }
                @else { ", keeps no run to look at" }
            }
        }
    }
}

fn filters(list: &List<'_>) -> Markup {
    let query = list.query;
    let rows = list.rows;
    html! {
        div class="filters" role="search" aria-label="Filter runs" {
            label class="wide" { "Words" input type="search" name="q" value=(query.text) placeholder="study, answer, host, version"; }
            (choice("study", "Study", &query.study, &values(rows, |run| vec![&run.study])))
            (choice("host", "Host", &query.host, &values(rows, |run| vec![&run.host])))
            (choice("verdict", "Verdict", &query.verdict, &values(rows, verdicts)))
            (choice("state", "State", &query.standing, &standings()))
            @if query.sort != Sort::default() { input type="hidden" name="sort" value=(query.sort.name()); }
            @if query.is_reversed { input type="hidden" name="order" value="reversed"; }
            button class="plain" type="submit" { "Filter" }
            a class="button" href="/" { "Reset" }
        }
    }
}

fn verdicts(run: &RunFacts) -> Vec<&str> {
    let verdicts = run.verdicts.iter();
    verdicts.map(|(verdict, _)| verdict.as_str()).collect()
}

fn choice(name: &str, label: &str, chosen: &str, values: &[String]) -> Markup {
    html! {
        label {
            (label)
            select name=(name) {
                option value="" { "all" }
                @for value in values {
                    option value=(value) selected[value == chosen] { (value) }
                }
            }
        }
    }
}

fn table(list: &List<'_>, chosen: &Chosen<'_>) -> Markup {
    let head = |sort, text| self::head(list.query, sort, text);
    html! {
        div class="scroll runs" role="region" aria-label="Runs" tabindex="0" {
            table id="runs" {
                caption {
                    @if chosen.count == 0 { "No run matches." }
                    @else { (count_text(chosen.count, "row")) ". The first one picked is what the second one is compared with." }
                }
                thead {
                    tr {
                        th scope="col" { "first" }
                        th scope="col" { "second" }
                        (head(Sort::Name, "run"))
                        (head(Sort::Answer, "answer"))
                        (head(Sort::Host, "host"))
                        (head(Sort::Version, "versions"))
                        (head(Sort::Started, "started, UTC"))
                    }
                }
                tbody { @for row in &chosen.rows { (self::row(list.query, row)) } }
            }
        }
    }
}

fn head(query: &Query, sort: Sort, text: &str) -> Markup {
    // The newest first is what a list of runs begins with.
    let is_falling = query.is_reversed != (sort == Sort::Started);
    let direction = if is_falling {
        "descending"
    } else {
        "ascending"
    };
    html! {
        th scope="col" aria-sort=[(query.sort == sort).then_some(direction)] {
            a class="sort" href=(query.sorted_address(sort)) { (text) }
        }
    }
}

/// The field by which a run is picked as one side of a comparison.
fn pick(name: &str, row: &Row, picked: &str) -> Markup {
    html! {
        td class="pick" {
            label {
                input type="radio" name=(name) value=(row.name) checked[picked == row.name];
                span class="word" { (name) }
                span class="sr" { " of the comparison: " (row.name) }
            }
        }
    }
}

fn row(query: &Query, row: &Row) -> Markup {
    let run = match &row.content {
        Content::Run(run) => run,
        Content::Refused(why) => {
            return html! {
                tr class="refused" {
                    td class="pick" {}
                    td class="pick" {}
                    td class="name" { (row.name) }
                    td class="what" colspan="4" { (badge("none", "not readable")) " " (why) }
                }
            };
        }
    };
    html! {
        tr {
            (pick("first", row, &query.first))
            (pick("second", row, &query.second))
            td class="name" {
                a href=(run_address(&row.name, "")) { (row.name) }
                small {
                    a href=(history_address(&run.study)) { (run.study) } " · " (count_text(run.cells, "cell"))
                }
            }
            td class="what" {
                @match &run.answer {
                    Some(answer) => span class="line" title=(answer) { (answer) },
                    None if run.is_running => span class="thin" { (run.trials) " of " (run.planned) " trials have a result" },
                    None => span class="thin" { "no report: " (run.trials) " of " (run.planned) " trials have a result" },
                }
                (badges(run))
            }
            td class="host" { (run.host) }
            td class="when" {
                @for version in &run.versions { (version) br; }
                small class="range" { "waggle " (run.waggle_version) }
            }
            td class="when" { (moment(&run.started_utc)) }
        }
    }
}

/// What a reader must know of a run before its answer.
pub(crate) fn badges(run: &RunFacts) -> Markup {
    html! {
        div class="badges" {
            @if run.is_running { (badge("running", "running")) }
            @else if run.answer.is_none() { (badge("none", "unfinished")) }
            @match run.conclusion.as_deref() {
                Some("failed") => (badge("failed", "threshold failed")),
                Some("trial_failed") => (badge("failed", "trial failed")),
                Some("open") => (badge("undecided", "open")),
                _ => {},
            }
            @for (verdict, count) in &run.verdicts {
                @if run.cells == 1 { (verdict_badge(verdict, verdict)) }
                @else { (verdict_badge(verdict, &format!("{count} {verdict}"))) }
            }
            @if let Some(kind) = &run.kind { (badge("kind", kind)) }
            @if run.is_accepted { (badge("ok", "accepted")) }
            @if run.notes > 0 { (badge("note", &count_text(run.notes, "note"))) }
        }
    }
}

fn foot(list: &List<'_>, chosen: &Chosen<'_>) -> Markup {
    let page = chosen.page;
    html! {
        div class="foot-line" {
            button class="main" type="submit" formaction="/compare" { "Compare" }
            @if chosen.pages > 1 {
                nav class="pages" aria-label="Pages of the list" {
                    @if page > 1 { a href=(list.query.page_address(page - 1)) rel="prev" { "← newer" } }
                    span { "page " (page) " of " (chosen.pages) }
                    @if page < chosen.pages { a href=(list.query.page_address(page + 1)) rel="next" { "older →" } }
                }
            }
        }
    }
}
