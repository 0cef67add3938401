//! What a study asks of its scaling curves, and every mistake.

use std::path::Path;

use waggle_spec::Scaling;
use waggle_study::read_study;

use super::{
    STUDY, accepted::read_valid_study, change_text, mistakes::answered_table, source, system,
};

const ASKED: &str = "scaling:
  bounds: [order.response_time.mean < 1s, order.bytes_received_per_answer < 100MB]
  pairs: [{ pipelining: [1, 4] }]
thresholds:";

fn read(changes: &[(&str, &str)]) -> Scaling {
    let mut all = vec![("thresholds:", ASKED)];
    all.extend(changes);
    let asked = read_valid_study(&all).scaling;
    asked.expect("the study asks for it")
}

#[test]
fn bounds_and_pairs() {
    let asked = read(&[]);
    let values: Vec<f64> = asked.bounds.iter().map(|bound| bound.value).collect();
    assert_eq!(values, [1e6, 100e6]);
    assert_eq!(asked.pairs[0].factor, "pipelining");
    assert_eq!(asked.pairs[0].levels, ["1", "4"]);
    assert_eq!(read_valid_study(&[]).scaling, None);
}

#[test]
fn every_mistake_of_scaling() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scaling-mistakes.txt");
    let answer = |text: String| read_study(&source("study.yaml", text), &system()).err();
    let text = change_text(STUDY, &[("thresholds:", ASKED)]);
    answered_table(&path, &text, &answer);
}
