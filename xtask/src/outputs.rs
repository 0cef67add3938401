//! Names of failed tests in the output of test programs. Pure: texts in, names out.

/// The result of a Rust test program, or of several in sequence.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rust {
    pub(crate) failed: Vec<String>,
    /// Tests that did not end, if the program was killed.
    pub(crate) running: Vec<String>,
    pub(crate) passed: usize,
}

/// Between what was not tested on this machine and why, in a line of a test that says so.
const NOT_TESTED: &str = " was not tested: ";

/// Lines in which tests say what this machine does not let them check. Each once: several tests may say the same.
pub(crate) fn not_tested(output: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines().filter(|line| line.contains(NOT_TESTED)) {
        if !lines.iter().any(|other| other == line) {
            lines.push(line.to_owned());
        }
    }
    lines
}

const RESULT: &str = "test result: ";
const RUNS_LONG: &str = " has been running for over 60 seconds";

/// Reads libtest's plain output. Names are indented between `failures:` and the result line, so that output of tests is not
/// mistaken for one.
pub(crate) fn rust(output: &str) -> Rust {
    let mut outcome = Rust::default();
    let lines: Vec<&str> = output.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if let Some(counts) = line.strip_prefix(RESULT) {
            outcome.passed += passed_count(counts);
            outcome.failed.extend(names_before(&lines[..index]));
        }
        if let Some(name) = test_name(line) {
            let ended = format!("test {name} ... ");
            if !lines[index..].iter().any(|line| line.starts_with(&ended)) {
                outcome.running.push(name.to_owned());
            }
        }
    }
    outcome
}

/// `FAILED. 3 passed; 1 failed; …`
fn passed_count(counts: &str) -> usize {
    let before = counts.split(" passed").next().unwrap_or_default();
    let number = before.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or(0)
}

fn names_before(lines: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in lines.iter().rev().skip_while(|line| line.is_empty()) {
        match line.strip_prefix("    ") {
            Some(name) => names.push(name.trim_end().to_owned()),
            None if *line == "failures:" => {
                names.reverse();
                return names;
            }
            None => break,
        }
    }
    Vec::new()
}

fn test_name(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(RUNS_LONG)
}

/// Reads the Test Anything Protocol as Node.js writes it: names of the tests that are not ok. Those that failed only because a
/// subtest failed are left out.
pub(crate) fn tap(output: &str) -> Vec<String> {
    let mut failed: Vec<(usize, String)> = Vec::new();
    let mut names = Vec::new();
    for line in output.lines() {
        let text = line.trim_start();
        let Some(rest) = text.strip_prefix("not ok ") else {
            continue;
        };
        let depth = line.len() - text.len();
        let Some((_, name)) = rest.split_once(" - ") else {
            continue;
        };
        // Subtests are printed before their test, with more indentation.
        let has_below = failed.last().is_some_and(|(below, _)| *below > depth);
        while failed.last().is_some_and(|(below, _)| *below > depth) {
            failed.pop();
        }
        // A file that failed outside its tests is listed by its path.
        if !has_below && !name.ends_with(".mjs") {
            names.push(unescape(name));
        }
        failed.push((depth, name.to_owned()));
    }
    names
}

/// Node.js writes `\#` for `#`, which begins a directive.
fn unescape(name: &str) -> String {
    let name = name.split(" # ").next().unwrap_or(name);
    name.replace("\\#", "#").replace("\\\\", "\\")
}

/// Reads `go test`: names of the outermost tests that failed.
pub(crate) fn go(output: &str) -> Vec<String> {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("--- FAIL: "))
        .filter_map(|rest| rest.split(' ').next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Rust, go, not_tested, rust, tap};

    const ONE_PROGRAM: &str = "
running 4 tests
test load::counts ... ok
test load::ends ... FAILED
test plan::long_name ... FAILED
test plan::other ... ok

failures:

---- load::ends stdout ----
failures:
    not::a::test

thread 'load::ends' (12) panicked at crates/cli/tests/it/load.rs:3:5:
test result: FAILED. 9 passed; 9 failed

---- plan::long_name stdout ----
oh

failures:
    load::ends
    plan::long_name

test result: FAILED. 2 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn lines_of_what_was_not_tested() {
        let output = "running 3 tests\n\ntrot was not tested: no Hex\ntest a ... ok\n\n\
            trot was not tested: no Hex\n\nlimits was not tested: no cgroup\n";
        assert_eq!(
            not_tested(output),
            [
                "trot was not tested: no Hex",
                "limits was not tested: no cgroup"
            ]
        );
        assert!(not_tested(ONE_PROGRAM).is_empty());
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn failed_tests_of_a_program() {
        let outcome = rust(ONE_PROGRAM);
        assert_eq!(outcome.failed, names(&["load::ends", "plan::long_name"]));
        assert!(outcome.running.is_empty());
        let passed =
            "\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\n";
        let expected = Rust {
            passed: 1,
            ..Rust::default()
        };
        assert_eq!(rust(passed), expected);
    }

    #[test]
    fn failed_tests_of_several_programs() {
        let program = |name: &str| {
            format!(
                "   Doc-tests a\n\nfailures:\n    {name}\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored\n"
            )
        };
        let output = program("crates/a/src/lib.rs - a (line 3)")
            + &program("crates/b/src/lib.rs - (line 9)");
        let expected = Rust {
            failed: names(&[
                "crates/a/src/lib.rs - a (line 3)",
                "crates/b/src/lib.rs - (line 9)",
            ]),
            running: Vec::new(),
            passed: 6,
        };
        assert_eq!(rust(&output), expected);
    }

    #[test]
    fn what_had_not_ended_is_named() {
        let output = "
running 3 tests
test a has been running for over 60 seconds
test b has been running for over 60 seconds
test a ... ok
";
        assert_eq!(rust(output).running, names(&["b"]));
        assert_eq!(rust(""), Rust::default());
        assert_eq!(
            rust("fatal runtime error: stack overflow, aborting"),
            Rust::default()
        );
    }

    #[test]
    fn failed_tests_in_tap() {
        let output = "TAP version 13
# Subtest: opens
ok 1 - opens
# Subtest: charts
    # Subtest: chart \\# 1
    not ok 1 - chart \\# 1
      ---
      error: 'x'
      ...
    ok 2 - chart two
    1..2
not ok 2 - charts
# Subtest: alone
not ok 3 - alone
1..3
# fail 2
";
        assert_eq!(tap(output), names(&["chart # 1", "alone"]));
        assert!(tap("ok 1 - fine\n").is_empty());
        assert!(tap("not ok 1 - /p/tests/browser/report.test.mjs\n").is_empty());
    }

    #[test]
    fn failed_tests_of_go() {
        let output = "--- FAIL: TestChart (0.10s)\n    --- FAIL: TestChart/values (0.10s)\n        x\n--- PASS: TestOther (0.00s)\n--- FAIL: TestImage (1.00s)\nFAIL\n";
        assert_eq!(go(output), names(&["TestChart", "TestImage"]));
    }
}
