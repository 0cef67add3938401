//! What every page has: head, bar, style and scripts, and the policy by which a browser runs no others.

use std::sync::LazyLock;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use waggle_report::{STYLE, THEME, hash_source};

const LIVE: &str = include_str!("../../assets/live.js");
static ALL_STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{STYLE}\n{}", include_str!("../../assets/serve.css")));

/// Which page of the bar this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Runs,
    Studies,
    Queue,
    Other,
}

/// A page of this server.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    pub(crate) place: Place,
    /// Runs can be started from here.
    pub(crate) may_run: bool,
    /// Its content is replaced by what goes on.
    pub(crate) is_live: bool,
    pub(crate) body: Markup,
}

/// What a browser may do with a page of this server. Scripts and styles are those whose text has one of the hashes.
pub(crate) static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; script-src {} {}; style-src {}; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
        hash_source(THEME),
        hash_source(LIVE),
        hash_source(&ALL_STYLE)
    )
});

/// The same of a page that carries a policy of its own.
pub(crate) const POLICY_AROUND: &str =
    "frame-ancestors 'none'; form-action 'none'; base-uri 'none'; object-src 'none'";

pub(crate) fn laid_out(page: &Page<'_>) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (page.title) " · waggle" }
                style { (PreEscaped(ALL_STYLE.as_str())) }
                script { (PreEscaped(THEME)) }
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                (bar(page))
                main id="main" { (page.body) }
                footer { "waggle " (env!("CARGO_PKG_VERSION")) }
                @if page.is_live { script { (PreEscaped(LIVE)) } }
            }
        }
    };
    markup.into_string()
}

fn bar(page: &Page<'_>) -> Markup {
    let link = |place: Place, href: &str, text: &str| {
        html! {
            a href=(href) aria-current=[(page.place == place).then_some("page")] { (text) }
        }
    };
    html! {
        header class="bar" {
            div class="inner" {
                a class="brand" href="/" { span class="comb" aria-hidden="true" { "⬡" } " waggle" }
                nav class="places" aria-label="Pages" {
                    (link(Place::Runs, "/", "Runs"))
                    @if page.may_run {
                        (link(Place::Studies, "/studies", "Studies"))
                        (link(Place::Queue, "/queue", "Queue"))
                    }
                }
                button type="button" id="theme" aria-label="Switch between light and dark" { "◐" }
            }
        }
    }
}

/// A badge; its class says its colour.
pub(crate) fn badge(class: &str, text: &str) -> Markup {
    html! { span class={ "badge " (class) } { (text) } }
}

/// The badge of a verdict.
pub(crate) fn verdict_badge(verdict: &str, text: &str) -> Markup {
    let is_known = ["valid", "failed", "incomplete", "inconsistent"].contains(&verdict);
    badge(if is_known { verdict } else { "doubtful" }, text)
}

/// `2026-01-02 03:04` of `2026-01-02T03:04:05Z`.
pub(crate) fn moment(started_utc: &str) -> String {
    let minutes = started_utc.get(..16).unwrap_or(started_utc);
    minutes.replace('T', " ")
}

/// `1 run`, `2 runs`.
pub(crate) fn count_text(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// The address of the page of a run, or of one below it.
pub(crate) fn run_address(run: &str, below: &str) -> String {
    format!("/runs/{}{below}", encode(run))
}

pub(crate) fn history_address(study: &str) -> String {
    format!("/history?study={}", encode(study))
}

pub(crate) fn compare_address(first: &str, second: &str) -> String {
    format!("/compare?first={}&second={}", encode(first), encode(second))
}

pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
