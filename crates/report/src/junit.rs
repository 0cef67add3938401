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

/// The suite as a file.
pub(crate) fn xml(suite: &TestSuite) -> String {
    let count = |is: fn(&TestResult) -> bool| {
        let cases = suite.cases.iter();
        cases.filter(|case| is(&case.result)).count()
    };
    let failures = count(|result| matches!(result, TestResult::Failed(_)));
    let errors = count(|result| matches!(result, TestResult::Error(_)));
    let skipped = count(|result| matches!(result, TestResult::Skipped(_)));
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"",
        suite.cases.len()
    );
    let name = escape(&suite.name);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"{name}\" {counts}>\n"
    );
    for case in &suite.cases {
        let (class, name) = (escape(&case.class), escape(&case.name));
        let body = match &case.result {
            TestResult::Passed(text) => format!("<system-out>{}</system-out>", escape(text)),
            TestResult::Failed(text) => format!("<failure message=\"{}\"/>", escape(text)),
            TestResult::Error(text) => format!("<error message=\"{}\"/>", escape(text)),
            TestResult::Skipped(text) => format!("<skipped message=\"{}\"/>", escape(text)),
        };
        // Writing to a text cannot fail.
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>"
        );
    }
    out + "  </testsuite>\n</testsuites>\n"
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
