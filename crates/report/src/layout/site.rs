//! Pages that are served beside each other, and the links from one to another. A page that is a file of its own has none.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::table::Field;

/// Where the other pages are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// Where the page's name leads, such as `/`; `None`: nowhere, it is a file.
    pub home: Option<String>,
    /// Whether notes can be written there.
    pub has_notes: bool,
}

impl Site {
    /// The page of a run.
    #[must_use]
    pub fn run(&self, run: &str) -> Option<String> {
        self.home.as_ref().map(|_| format!("/runs/{}", encode(run)))
    }

    /// The comparison of two runs, in this order.
    #[must_use]
    pub fn comparison(&self, first: &str, second: &str) -> Option<String> {
        let [first, second] = [first, second].map(encode);
        let query = format!("/compare?first={first}&second={second}");
        self.home.as_ref().map(|_| query)
    }

    /// Where a note on a run about the metric of this column is written.
    pub(crate) fn note(&self, run: &str, column: &str) -> Option<String> {
        let page = self.run(run).filter(|_| self.has_notes)?;
        Some(format!("{page}?metric={}#notes", encode(column)))
    }

    /// The name of a run, with a link if its page is served.
    pub(crate) fn run_field(&self, run: &str) -> Field {
        Field::plain(run).with_href(self.run(run))
    }
}

/// A part of a path or of a query.
fn encode(part: &str) -> String {
    utf8_percent_encode(part, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_and_files_have_no_links() {
        let site = Site {
            home: Some("/".to_owned()),
            has_notes: false,
        };
        let expected = "/compare?first=a%26b%2F%3C&second=c";
        assert_eq!(site.comparison("a&b/<", "c").as_deref(), Some(expected));
        assert_eq!(site.run("a b").as_deref(), Some("/runs/a%20b"));
        assert_eq!(Site::default().run("a"), None);
        assert_eq!(site.note("a b", "c_us"), None);
        let site = Site {
            has_notes: true,
            ..site
        };
        let expected = "/runs/a%20b?metric=login%2Ep99%5Fus#notes";
        assert_eq!(site.note("a b", "login.p99_us").as_deref(), Some(expected));
    }
}
