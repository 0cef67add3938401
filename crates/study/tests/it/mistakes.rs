//! Every mistake a file can have, from tables of changes to the fixtures and the messages they make.

use std::path::{Path, PathBuf};

use waggle_study::{Mistakes, read_study, read_system, unknown_system};

use super::{STUDY, SYSTEM, change_text, check_golden, headlines, read, source, system};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn unescape(text: &str) -> String {
    text.replace("\\\\", "\u{0}")
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace('\u{0}', "\\")
}

/// A block of the table with its messages regenerated.
fn renew_messages(
    block: &str,
    base: &str,
    mistakes: &dyn Fn(String) -> Option<Mistakes>,
) -> String {
    let starting = |sign: char| {
        let after = block
            .lines()
            .filter_map(move |line| line.strip_prefix(sign));
        after.map(|text| unescape(text.strip_prefix(' ').unwrap_or(text)))
    };
    let pairs: Vec<_> = starting('-').zip(starting('+')).collect();
    let lines: Vec<_> = block
        .lines()
        .filter(|line| !line.starts_with("= "))
        .map(str::to_owned)
        .collect();
    if block.starts_with('#') {
        return lines.join("\n");
    }
    assert!(!pairs.is_empty(), "no change in\n{block}");
    let changes: Vec<_> = pairs
        .iter()
        .map(|(old, new)| (old.as_str(), new.as_str()))
        .collect();
    let report =
        mistakes(change_text(base, &changes)).unwrap_or_else(|| panic!("no mistake in\n{block}"));
    let messages = headlines(&report)
        .into_iter()
        .map(|line| format!("= {line}"));
    lines
        .into_iter()
        .chain(messages)
        .collect::<Vec<_>>()
        .join("\n")
}

fn check_table(name: &str, base: &str, mistakes: &dyn Fn(String) -> Option<Mistakes>) {
    answered_table(&golden(name), base, mistakes);
}

/// Compares each block's messages with those that its changes to `base` make.
pub(super) fn answered_table(
    path: &Path,
    base: &str,
    mistakes: &dyn Fn(String) -> Option<Mistakes>,
) {
    let blocks: Vec<_> = read(path)
        .trim_end()
        .split("\n\n")
        .map(|block| renew_messages(block, base, mistakes))
        .collect();
    check_golden(path, &(blocks.join("\n\n") + "\n"));
}

#[test]
fn every_mistake_of_a_study() {
    let system = system();
    check_table("study-mistakes.txt", STUDY, &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}

#[test]
fn every_mistake_of_a_system() {
    check_table("system-mistakes.txt", SYSTEM, &|text| {
        read_system(&source("system.yaml", text)).err()
    });
}

#[test]
fn mistakes_are_shown_with_their_lines() {
    let long = format!("question: {}${{x}}", "why ".repeat(60));
    let text = change_text(
        STUDY,
        &[
            ("question: How many orders per second?", &long),
            ("pipelining: [1, 4]", "pipelinin: [1, 4]"),
            ("probes: store", "prbes: store"),
        ],
    );
    let mistakes = read_study(&source("studies/shop.yaml", text), &system()).unwrap_err();
    check_golden(&golden("shown.txt"), &mistakes.to_string());
}

#[test]
fn writing_needs_a_functional_check() {
    let (without, _) = SYSTEM.split_once("verify:").expect("the fixture has one");
    let system = read_system(&source("system.yaml", without)).unwrap();
    let mistakes = read_study(&source("study.yaml", STUDY), &system).unwrap_err();
    let expected = "study.yaml:16:5: system shop has no functional check, without which nothing is written to it; \
                    expected verify in the system's file";
    assert_eq!(headlines(&mistakes), [expected]);
}

#[test]
fn an_unknown_system_is_named_with_all_else_that_is_wrong() {
    let text = change_text(
        STUDY,
        &[("use: shop", "use: shpo"), ("repeat: 3", "repeat: 0")],
    );
    let mistakes = unknown_system(
        &source("study.yaml", text),
        &["ingest".into(), "shop".into()],
    );
    let expected = [
        "study.yaml:4:8: there is no system \"shpo\"; expected ingest, shop; did you mean \"shop\"?",
        "study.yaml:28:11: schedule.repeat is the number 0; expected a whole number from 1 to 1000",
    ];
    assert_eq!(headlines(&mistakes), expected);
}

/// A file of another kind is named, in place of a list of its keys.
#[test]
fn a_file_of_another_kind_is_named() {
    let check = |text: &str, expected: &str| {
        let mistakes = read_study(&source("study.yaml", text), &system())
            .expect_err("it is no study")
            .to_string();
        assert!(mistakes.contains(expected), "{mistakes}");
        assert_eq!(mistakes.matches("study.yaml:").count(), 1, "{mistakes}");
    };
    check(
        SYSTEM,
        "study.yaml:1:1: this is a system, and not a study; expected a study that names it",
    );
    check(
        "flows:\n  - steps: []\n",
        "study.yaml:1:1: this is a scenario, and not a study; expected a study that names it",
    );
}

/// Without `schedule.interval`, a short measured phase has at least twelve where it can be divided.
#[test]
fn a_short_measured_phase_has_short_intervals() {
    let check = |measure: &str, expected_ms: u64| {
        let changes = [
            ("measure: 3s", &*format!("measure: {measure}")),
            ("  interval: 250ms\n", ""),
            ("warm_up: { until: steady, timeout: 2s }", "warm_up: 1s"),
        ];
        let text = change_text(STUDY, &changes);
        let study = read_study(&source("study.yaml", text), &system());
        let study = study.unwrap_or_else(|mistakes| panic!("{measure}: {mistakes}"));
        let interval = study.cells[0].schedule.interval;
        assert_eq!(interval.as_millis(), u128::from(expected_ms), "{measure}");
    };
    check("60s", 1_000);
    check("12s", 1_000);
    check("11s", 250);
    check("3s", 250);
    check("2500ms", 250);
    check("1300ms", 100);
    check("100ms", 100);
}
