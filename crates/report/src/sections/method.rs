//! How it was measured, and the study's own text.

use crate::{
    document::{Block, Section, Term},
    table::Field,
    text::NONE,
    wording::facts::facts,
};
use waggle_analysis::Model;

pub(super) fn section(model: &Model) -> Section {
    let fact = |(term, text): (&str, String)| Term {
        name: Field::plain(term),
        code: None,
        meaning: match text.is_empty() {
            true => NONE.to_owned(),
            false => text,
        },
    };
    Section {
        link: Some("Method"),
        blocks: vec![Block::Terms(facts(model).into_iter().map(fact).collect())],
        ..Section::new("method", "How it was measured", "How it was measured")
    }
}

/// The study's file, and its scenario's where that is one of its own.
pub(super) fn study(model: &Model) -> Section {
    let mut blocks = vec![Block::File {
        label: "Text of the study",
        text: model.study_text.clone(),
    }];
    let scenario = model.info.scenario.as_ref();
    if let Some(file) = scenario.and_then(|told| told.file.as_ref()) {
        blocks.extend([
            Block::Heading(file.name.clone()),
            Block::File {
                label: "Text of the scenario",
                text: file.text.clone(),
            },
        ]);
    }
    Section {
        link: None,
        blocks,
        ..Section::new("study", "The study", "The study")
    }
}
