//! A run that goes on: a page, and the part of it that is replaced each second.

use maud::{Markup, html};

use super::layout::{Page, Place, laid_out, verdict_badge};
use crate::live::{
    state::{LiveCell, LiveLoad, LiveState, LiveTrial},
    watch::Seen,
};

/// The page around what goes on.
pub(crate) struct LivePage<'a> {
    pub(crate) name: &'a str,
    /// The page of the run; `None`: its folder is not among those that are shown.
    pub(crate) run_address: Option<&'a str>,
    /// From where the page is told what is new.
    pub(crate) events: &'a str,
    pub(crate) seen: &'a Seen,
    pub(crate) may_run: bool,
}

pub(crate) fn page(page: &LivePage<'_>) -> String {
    laid_out(&Page {
        title: page.name,
        place: Place::Other,
        may_run: page.may_run,
        is_live: true,
        body: html! {
            section class="list" {
                p class="eyebrow" {
                    "Live · "
                    @match page.run_address {
                        Some(address) => a href=(address) { (page.name) },
                        None => (page.name),
                    }
                }
                p id="live-status" role="status" class="lead" {}
                noscript { p class="lead" { "Without scripts this page shows the instant at which it was loaded." } }
                div id="live" data-events=(page.events) { (content(page.seen)) }
            }
        },
    })
}

fn content(seen: &Seen) -> Markup {
    match seen {
        Seen::Nothing => html! { p class="lead" { "Waiting for the run." } },
        Seen::State(state) => fragment(state),
        Seen::Failed(why) => html! { p class="problem" { (why) } },
    }
}

/// What is replaced.
pub(crate) fn fragment(state: &LiveState) -> Markup {
    html! {
        h1 class="short" { @if state.question.is_empty() { (state.study) } @else { (state.question) } }
        // Nobody followed it from its begin: only its end is known.
        @if state.trials > 0 { (progress(state)) }
        @match (&state.end, &state.trial) {
            (Some(end), _) => {
                h2 { "Ended with exit code " (end.exit_code) }
                pre tabindex="0" aria-label="What the run printed" { (end.text) }
            },
            (None, Some(trial)) => (self::trial(trial)),
            (None, None) => p class="lead" { "Between two trials." },
        }
        (grid(state))
        @if !state.notes.is_empty() {
            h2 { "Notes of the run" }
            ul class="events" { @for note in state.notes.iter().rev() { li { (note) } } }
        }
    }
}

fn progress(state: &LiveState) -> Markup {
    html! {
        p class="live-head" {
            span { "trial " b { (state.done + u32::from(state.trial.is_some())) } " of " b { (state.trials) } }
            span { "since the start " b { (state.elapsed) } }
            @if let Some(left) = &state.left { span { "left about " b { (left) } } }
        }
        progress max="1" value=(share(state.done, state.trials)) aria-label="Trials that have ended" {}
    }
}

fn share(done: u32, all: u32) -> String {
    format!("{:.3}", f64::from(done) / f64::from(all.max(1)))
}

fn trial(trial: &LiveTrial) -> Markup {
    html! {
        h2 { (trial.which) @if let Some(phase) = &trial.phase { " · " (phase.name) } }
        @if let Some(phase) = &trial.phase {
            p class="live-head" { span { (phase.time) } @if !trial.text.is_empty() { span { (trial.text) } } }
            @if let Some(share) = phase.share {
                progress max="1" value=(format!("{share:.3}")) aria-label="The phase" {}
            }
        }
        @for load in &trial.loads { (self::load(load)) }
    }
}

fn load(load: &LiveLoad) -> Markup {
    html! {
        @if let Some(name) = &load.name { h3 { (name) } }
        p class="eyebrow" { (load.request) @if !load.settings.is_empty() { " · " (load.settings) } }
        div class="load" {
            div {
                (spark("rate", "Successes per second", &load.rate_max, &path(load.rates.iter().copied().map(Some))))
                (spark("times", "Response time p99", &load.time_max, &path(load.times.iter().copied())))
            }
            (figures(load))
        }
        @if let Some(verdict) = load.verdict {
            p { "If it ended now: " (verdict_badge(verdict, verdict)) }
            @if !load.doubts.is_empty() { ul class="remarks" { @for doubt in &load.doubts { li { (doubt) } } } }
        }
        (steps(load))
        (pairs("Failures", &load.failures))
        (pairs("Statuses", &load.statuses))
    }
}

fn figures(load: &LiveLoad) -> Markup {
    html! {
        div class="scroll" role="region" aria-label="Figures" tabindex="0" {
            table {
                caption { "Now, and since the start of the measured phase" }
                thead { tr { td {} th scope="col" class="n" { "now" } th scope="col" class="n" { "overall" } } }
                tbody {
                    @for line in &load.figures {
                        tr {
                            th scope="row" { (line.name) }
                            td class="n" { (line.now) }
                            td class="n" { @if line.is_bad { strong class="bad" { (line.overall) } } @else { (line.overall) } }
                        }
                    }
                }
            }
        }
    }
}

fn steps(load: &LiveLoad) -> Markup {
    html! {
        @if !load.steps.is_empty() {
            div class="scroll" role="region" aria-label="Steps" tabindex="0" {
                table {
                    caption { "Steps of the scenario" }
                    thead { tr {
                        th scope="col" { "step" } th scope="col" class="n" { "succeeded" } th scope="col" class="n" { "failed" }
                        th scope="col" class="n" { "rate" } th scope="col" class="n" { "p99" }
                    } }
                    tbody {
                        @for step in &load.steps {
                            tr {
                                td { (step.name) } td class="n" { (step.succeeded) } td class="n" { (step.failed) }
                                td class="n" { (step.rate) } td class="n" { (step.p99) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn pairs(title: &str, pairs: &[(String, String)]) -> Markup {
    html! {
        @if !pairs.is_empty() {
            h3 { (title) }
            dl class="facts" { @for (name, value) in pairs { dt { (name) } dd { (value) } } }
        }
    }
}

fn grid(state: &LiveState) -> Markup {
    html! {
        @if !state.cells.is_empty() {
            div class="scroll" role="region" aria-label="Cells" tabindex="0" {
                table id="live-cells" {
                    caption { "Cells" }
                    thead { tr {
                        th scope="col" class="n" { "cell" }
                        @for factor in &state.factors { th scope="col" { (factor) } }
                        th scope="col" { "trials" }
                        th scope="col" { "verdict so far" }
                        th scope="col" class="n" { (state.outcome) }
                    } }
                    tbody { @for cell in &state.cells { (self::cell(cell)) } }
                }
            }
        }
    }
}

fn cell(cell: &LiveCell) -> Markup {
    html! {
        tr.now[cell.is_now] {
            td class="n" { (cell.number) }
            @for level in &cell.levels { td { (level) } }
            td class="marks" {
                @for mark in &cell.marks {
                    span class=(if mark.is_good { "good" } else { "doubt" }) title=(mark.word) {
                        (if mark.is_good { "●" } else { "▲" }) span class="sr" { (mark.word) ", " }
                    }
                }
                span class="left" aria-hidden="true" { @for _ in 0..cell.left { "○" } }
                span class="sr" { (cell.left) " to come" }
            }
            td { @if let Some(verdict) = cell.verdict { (verdict_badge(verdict, verdict)) } @else { "–" } }
            td class="n" { @if let Some(outcome) = &cell.outcome { (outcome) } @else { "–" } }
        }
    }
}

/// The drawing, in its own units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 80.0;

fn spark(class: &str, label: &str, highest: &str, path: &str) -> Markup {
    html! {
        figure class={ "spark " (class) } {
            figcaption { span { (label) } span { "highest " (highest) } }
            svg viewBox="0 0 600 84" preserveAspectRatio="none" role="img" aria-label={ (label) ", highest " (highest) } {
                path d=(path) {}
            }
        }
    }
}

/// From 0 to the highest value; where there is none, the line is broken.
fn path(values: impl ExactSizeIterator<Item = Option<f64>> + Clone) -> String {
    let highest = values.clone().flatten().fold(0.0, f64::max);
    let step = WIDTH / f64::from(u32::try_from(values.len()).unwrap_or(1).max(2) - 1);
    let mut path = String::new();
    let mut is_open = false;
    for (index, value) in (0_u32..).zip(values) {
        let Some(value) = value else {
            is_open = false;
            continue;
        };
        let command = if is_open { 'L' } else { 'M' };
        let y = 2.0 + HEIGHT - HEIGHT * value / highest.max(f64::MIN_POSITIVE);
        path.push_str(&format!("{command}{:.1} {y:.1}", step * f64::from(index)));
        is_open = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::{fragment, path};
    use crate::live::state::{LiveEnd, LiveState};

    #[test]
    fn a_run_that_was_not_followed_shows_its_end_without_a_count_of_trials() {
        let end = LiveEnd {
            exit_code: 3,
            text: "the table".to_owned(),
        };
        let state = LiveState {
            study: "shop".to_owned(),
            end: Some(end),
            ..LiveState::default()
        };
        let text = fragment(&state).into_string();
        assert!(text.contains("Ended with exit code 3") && text.contains("the table"));
        assert!(!text.contains("live-head"), "{text}");
        let counted = LiveState {
            trials: 6,
            done: 6,
            ..state
        };
        assert!(
            fragment(&counted)
                .into_string()
                .contains("<b>6</b> of <b>6</b>")
        );
    }

    #[test]
    fn a_line_is_broken_where_there_is_no_value() {
        let values = [Some(1.0), Some(2.0), None, Some(0.0)];
        assert_eq!(path(values.into_iter()), "M0.0 42.0L200.0 2.0M600.0 82.0");
        assert_eq!(path([].into_iter()), "");
    }
}
