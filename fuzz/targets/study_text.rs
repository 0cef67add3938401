//! Study and system files: any text gives a value or mistakes with positions in it; an accepted study has a plan.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use waggle_study::{Mistakes, Named, Source, System, plan, read_study, read_system, system_of};

static INGEST: LazyLock<System> = LazyLock::new(|| {
    let text = include_str!("../../systems/ingest/system.yaml");
    read_system(&source(text)).expect("the shipped system is right")
});

fuzz_target!(|text: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(text) else {
        return Corpus::Reject;
    };
    let source = source(text);
    match read_study(&source, &INGEST) {
        Ok(study) => {
            let plan = plan(&study);
            let trials = study.cells.len() * study.repeat as usize;
            assert_eq!(plan.trials.len(), trials);
            match system_of(&source) {
                Ok(Named::System(name)) => assert_eq!(name, study.system),
                Ok(Named::Server(_)) => {}
                Err(mistakes) => panic!("a study that is taken names no system: {mistakes}"),
            }
        }
        Err(mistakes) => check(&mistakes, text),
    }
    if let Err(mistakes) = read_system(&source) {
        check(&mistakes, text);
    }
    if let Err(mistakes) = system_of(&source) {
        check(&mistakes, text);
    }
    Corpus::Keep
});

fn source(text: &str) -> Source {
    Source {
        name: "study.yaml".into(),
        text: text.into(),
    }
}

/// There is a mistake; each has a position in the text and can be shown.
fn check(mistakes: &Mistakes, text: &str) {
    assert!(!mistakes.0.is_empty());
    let lines = 1 + text.matches(['\n', '\r']).count();
    for mistake in &mistakes.0 {
        assert!((1..=lines).contains(&(mistake.line as usize)), "{mistake}");
        assert!(mistake.column >= 1, "{mistake}");
    }
    assert!(!mistakes.to_string().is_empty());
}
