//! The page that asks for the token.

use maud::html;

use super::layout::{Page, Place, laid_out};

/// `next`: the page that is shown then.
pub(crate) fn login(is_wrong: bool, next: &str) -> String {
    laid_out(&Page {
        title: "Token",
        place: Place::Other,
        may_run: false,
        is_live: false,
        body: html! {
            section class="list" {
                h1 class="short" { "Token" }
                p class="lead" { "This server is open to those who have its token." }
                @if is_wrong { p class="problem" role="alert" { "This is not the token." } }
                form method="post" action="/login" class="note-form" {
                    input type="hidden" name="next" value=(next);
                    label { "Token" input type="password" name="token" autocomplete="current-password" required; }
                    div { button class="main" type="submit" { "Continue" } }
                }
            }
        },
    })
}
