//! Verdicts and thresholds: whether the results are reliable, whether they are good enough, and which trials failed.

use waggle_stats::Verdict;

use super::table;
use crate::{
    layout::{
        document::{Block, Failure, Fold, Folded, Section, Term},
        table::Field,
    },
    words::{imported, labels, names::name_of},
};
use waggle_analysis::{Model, TrialModel};

const VERDICTS: [Verdict; 8] = [
    Verdict::Valid,
    Verdict::Unsteady,
    Verdict::Contended,
    Verdict::Overloaded,
    Verdict::InstrumentLimited,
    Verdict::Incomplete,
    Verdict::Inconsistent,
    Verdict::Failed,
];

pub(crate) fn section(model: &Model) -> Section {
    let mut blocks: Vec<Block> = Block::tables(table::thresholds(model)).collect();
    blocks.push(Block::Table(table::verdicts(model)));
    if model.info.imported.is_some() {
        blocks.push(Block::Note(imported::CHECKS.to_owned()));
    }
    let failures = model
        .trials
        .iter()
        .filter_map(|trial| failure(model, trial));
    blocks.extend(failures);
    blocks.push(Block::PageOnly(vec![Block::Folded(Folded {
        what: Fold::Legend,
        summary: "Definitions of the verdicts".to_owned(),
        blocks: vec![Block::Terms(VERDICTS.map(meaning).into())],
    })]));
    Section {
        link: Some("Verdicts"),
        blocks,
        ..Section::new("verdicts", "Verdicts and thresholds")
    }
}

fn failure(model: &Model, trial: &TrialModel) -> Option<Block> {
    let failure = trial.failure.as_ref()?;
    Some(Block::Failure(Failure {
        title: format!(
            "{}, repetition {}: failed in {}",
            name_of(model, trial.info.key.cell),
            trial.info.key.repetition,
            labels::phase(failure.phase)
        ),
        reason: failure.reason.clone(),
        log: failure.log_tail.clone(),
    }))
}

fn meaning(verdict: Verdict) -> Term {
    Term {
        name: Field::verdict(labels::verdict(verdict)),
        code: None,
        meaning: labels::meaning(verdict).to_owned(),
    }
}
