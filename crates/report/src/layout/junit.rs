//! Test cases as JUnit XML, which continuous integration shows as a list.

use std::fmt::Write;

/// Cases that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestSuite {
    pub(crate) name: String,
    pub(crate) cases: Vec<TestCase>,
}

/// One statement that is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestCase {
    /// What is checked, the same in all cells.
    pub(crate) class: String,
    /// Where.
    pub(crate) name: String,
    pub(crate) result: TestResult,
}

/// How it went, with a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestResult {
    Passed(String),
    /// It is shown not to hold.
    Failed(String),
    /// It is not decided.
    Error(String),
    /// It was not tried.
    Skipped(String),
}

/// The suites as a file.
pub(crate) fn xml(suites: &[TestSuite]) -> String {
    let counts = counts(suites.iter().flat_map(|suite| &suite.cases));
    let mut out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n");
    for suite in suites {
        add_suite(&mut out, suite);
    }
    out + "</testsuites>\n"
}

/// The counts of cases as attributes.
fn counts<'a>(cases: impl Iterator<Item = &'a TestCase> + Clone) -> String {
    let count = |is: fn(&TestResult) -> bool| cases.clone().filter(|case| is(&case.result)).count();
    let tests = cases.clone().count();
    let failures = count(|result| matches!(result, TestResult::Failed(_)));
    let errors = count(|result| matches!(result, TestResult::Error(_)));
    let skipped = count(|result| matches!(result, TestResult::Skipped(_)));
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn add_suite(out: &mut String, suite: &TestSuite) {
    let (name, counts) = (escape(&suite.name), counts(suite.cases.iter()));
    // Writing to a text cannot fail.
    let _ = writeln!(out, "  <testsuite name=\"{name}\" {counts}>");
    for case in &suite.cases {
        let (class, name) = (escape(&case.class), escape(&case.name));
        let body = match &case.result {
            TestResult::Passed(text) => format!("<system-out>{}</system-out>", escape(text)),
            TestResult::Failed(text) => format!("<failure message=\"{}\"/>", escape(text)),
            TestResult::Error(text) => format!("<error message=\"{}\"/>", escape(text)),
            TestResult::Skipped(text) => format!("<skipped message=\"{}\"/>", escape(text)),
        };
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>"
        );
    }
    out.push_str("  </testsuite>\n");
}

/// Text in XML 1.0, which has no control characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}
