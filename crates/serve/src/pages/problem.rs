//! The page of what cannot be shown, with its reason.

use maud::html;

use super::layout::{Page, Place, laid_out};

pub(crate) fn problem(title: &str, why: &str, may_run: bool) -> String {
    // Below a mistake are the lines of its file, with a mark below the column.
    let (said, shown) = why.split_once('\n').unwrap_or((why, ""));
    laid_out(&Page {
        title,
        place: Place::Other,
        may_run,
        is_live: false,
        body: html! {
            section class="list" {
                h1 class="short" { (title) }
                p class="problem" { (said) }
                @if !shown.is_empty() { pre tabindex="0" aria-label="Where" { (shown) } }
                p { a href="/" { "All runs" } }
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn lines_of_a_file_keep_their_columns() {
        let page = problem(
            "Cannot be shown",
            "a.yaml:1:8: <no> end\n  1 | study: [x\n    |        ^",
            false,
        );
        assert!(
            page.contains("<p class=\"problem\">a.yaml:1:8: &lt;no&gt; end</p><pre"),
            "{page}"
        );
        assert!(
            page.contains(">  1 | study: [x\n    |        ^</pre>"),
            "{page}"
        );
        assert!(!problem("Refused", "no", false).contains("<pre"));
    }
}
