//! For any text: no panic, and a message for every refusal.

use proptest::prelude::*;
use waggle_study::{plan, read_study, read_system, system_of, unknown_system};

use super::{STUDY, SYSTEM, change_text, headlines, source, system};

/// Reads the text as a study and as a system; every refusal must have a message with a position inside the text.
fn check(text: &str) {
    let text = source("any.yaml", text);
    let lines = text.text.split(['\n', '\r']).count();
    let place_is_inside = |mistakes: &waggle_study::Mistakes| {
        assert!(!mistakes.0.is_empty());
        for mistake in &mistakes.0 {
            assert!((1..=lines).contains(&(mistake.line as usize)), "{mistake}");
            assert!(mistake.column >= 1 && !mistake.what.is_empty(), "{mistake}");
            let _ = mistake.to_string();
        }
    };
    match read_study(&text, &system()) {
        Ok(study) => assert!(!plan(&study).trials.is_empty()),
        Err(mistakes) => place_is_inside(&mistakes),
    }
    if let Err(mistakes) = read_system(&text) {
        place_is_inside(&mistakes);
    }
    if let Err(mistakes) = system_of(&text) {
        place_is_inside(&mistakes);
    } else {
        place_is_inside(&unknown_system(&text, &[]));
    }
}

/// A fixture with a stretch cut out and something else put there.
fn mutated_fixture() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "[ -~\n]{0,6}",
        Just("${connections}".to_owned()),
        Just("\"${workers}\"".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("-1".to_owned()),
        Just("\n  - a: [".to_owned()),
        Just("&a *a".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("0s".to_owned()),
        Just("?".to_owned()),
    ];
    let base = prop_oneof![Just(STUDY), Just(SYSTEM)];
    let cut = (any::<prop::sample::Index>(), 0..12_usize, piece);
    (base, prop::collection::vec(cut, 1..4)).prop_map(|(base, cuts)| {
        cuts.into_iter()
            .fold(base.to_owned(), |text, (place, length, piece)| {
                let from = place.index(text.len() + 1);
                let to = (from + length).min(text.len());
                if text.is_char_boundary(from) && text.is_char_boundary(to) {
                    format!("{}{piece}{}", &text[..from], &text[to..])
                } else {
                    text
                }
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC{0,80}") {
        check(&text);
    }

    #[test]
    fn any_yaml_signs(text in "[a-c:{}\\[\\], \n$&*!|>'\"#%@~?-]{0,40}") {
        check(&text);
    }

    #[test]
    fn slips_in_good_files(text in mutated_fixture()) {
        check(&text);
    }
}

fn check_limit(text: &str, expected: &str) {
    let mistakes =
        read_study(&source("big.yaml", text), &system()).expect_err("the text is beyond a limit");
    let lines = headlines(&mistakes);
    assert!(
        lines.iter().any(|line| line.contains(expected)),
        "{lines:#?}"
    );
}

#[test]
fn limits_hold() {
    check_limit(
        &format!("a: {}", "x".repeat(300_000)),
        "the file has 300003 bytes; expected at most 262144",
    );
    check_limit(
        &"[".repeat(40),
        "nested too deep; expected at most 32 levels",
    );
    check_limit(
        &"- ".repeat(40),
        "nested too deep; expected at most 32 levels",
    );
    let keys: String = (0..1100).map(|key| format!("k{key}: 1\n")).collect();
    check_limit(&keys, "too many keys in one mapping; expected at most 1000");
    let numbers = |count: usize| {
        (0..count)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let many = change_text(
        STUDY,
        &[("workers: [1, 2]", &format!("workers: [{}]", numbers(3000)))],
    );
    check_limit(
        &many,
        "the factors make 12000 cells; expected at most 10000",
    );
    let factors: String = (0..20).map(|n| format!("  f{n}: [1]\n")).collect();
    check_limit(
        &change_text(STUDY, &[("  workers: [1, 2]\n", &factors)]),
        "factors; expected at most 16",
    );
    let long = format!("workers: [{}]", "x".repeat(300));
    check_limit(
        &change_text(STUDY, &[("workers: [1, 2]", &long)]),
        "a level has 300 bytes; expected at most 256",
    );
    let body = format!("X-Shop: {}", "x".repeat(60_000));
    let levels = format!("workers: [{}]", numbers(400));
    let large = change_text(
        STUDY,
        &[("X-Shop: one", &body), ("workers: [1, 2]", &levels)],
    );
    check_limit(
        &large,
        "bytes over its 1600 cells; expected at most 67108864",
    );
    check_limit(
        &change_text(
            STUDY,
            &[
                ("repeat: 3", "repeat: 1000"),
                ("[1, 4]", &format!("[{}]", numbers(101))),
            ],
        ),
        "trials; expected at most 100000",
    );
    let thresholds: String = (0..150).map(|n| format!("  - x{n} < 1\n")).collect();
    check_limit(
        &format!("{STUDY}{thresholds}"),
        "50 more mistakes are not shown",
    );
}
