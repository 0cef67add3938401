//! The page of what cannot be shown, with its reason.

use maud::html;

use super::layout::{Page, Place, laid_out};

pub(crate) fn problem(title: &str, why: &str, may_run: bool) -> String {
    laid_out(&Page {
        title,
        place: Place::Other,
        may_run,
        is_live: false,
        body: html! {
            section class="list" {
                h1 class="short" { (title) }
                p class="problem" { (why) }
                p { a href="/" { "All runs" } }
            }
        },
    })
}
