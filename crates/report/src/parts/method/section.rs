//! How it was measured, and the study file.

use super::words::facts;
use crate::{
    layout::{
        document::{Block, Section, Term},
        table::Field,
    },
    words::format::NONE,
};
use waggle_analysis::Model;

pub(crate) fn section(model: &Model) -> Section {
    let fact = |(term, text): (&str, String)| Term {
        name: Field::plain(term),
        code: None,
        meaning: match text.is_empty() {
            true => NONE.to_owned(),
            false => text,
        },
    };
    Section {
        blocks: vec![Block::Terms(facts(model).into_iter().map(fact).collect())],
        ..Section::new("method", "How it was measured")
    }
}

/// The text of the study file, and of the scenario file if there is one.
pub(crate) fn study(model: &Model) -> Section {
    let mut blocks = vec![Block::File {
        label: "Study file".into(),
        text: model.study_text.clone(),
    }];
    let scenario = model.info.scenario.as_ref();
    if let Some(file) = scenario.and_then(|told| told.file.as_ref()) {
        blocks.extend([
            Block::Heading(file.name.clone()),
            Block::File {
                label: "Scenario file".into(),
                text: file.text.clone(),
            },
        ]);
    }
    Section {
        link: None,
        blocks,
        ..Section::new("study", "Study file")
    }
}
