//! A page for each trial: why it has its verdict, its numbers, its course, what the system said.

use super::{facts, logs};
use crate::{
    layout::document::{Block, Fold, Folded, Page, PageLink, Section},
    parts::over_time::time,
    words::{findings, labels, names::name_of},
};
use waggle_analysis::{Model, TrialModel};
use waggle_results::{TrialKey, parallel_map};

/// Where a link to the page of a trial leads.
pub(crate) fn anchor(key: TrialKey) -> String {
    format!("trial-c{:02}-r{}", key.cell, key.repetition)
}

/// `None` if no trial has run.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let places: Vec<usize> = (0..model.trials.len()).collect();
    let pages = parallel_map(&places, |place| Block::Page(page(model, *place)));
    (!pages.is_empty()).then(|| Section {
        link: None,
        lead: "Each trial has a page of its own: its numbers, its course over time, the ends of its logs. The trial’s position in the \
               table of trials leads to it.",
        blocks: vec![Block::PageOnly(pages)],
        ..Section::new("pages", "Trial by trial")
    })
}

fn page(model: &Model, place: usize) -> Page {
    let trial = &model.trials[place];
    let neighbours = [place.checked_sub(1), place.checked_add(1)];
    let link = |place: Option<usize>| Some(page_link(model, model.trials.get(place?)?));
    let failure = trial.failure.iter().map(|failure| {
        Block::Caution(format!(
            "Failed in {}: {}",
            labels::phase(failure.phase),
            failure.reason
        ))
    });
    let reasons = trial.reasons.iter().map(findings::reason);
    let remarks = trial.remarks.iter().map(findings::remark);
    let mut blocks: Vec<Block> = failure.collect();
    blocks.push(Block::Sentences(reasons.chain(remarks).collect()));
    blocks.push(Block::Terms(facts::facts(model, trial)));
    blocks.extend(Block::tables(facts::system_metrics(model, trial)));
    blocks.extend(over_time(model, trial));
    blocks.extend(logs::logs(model, trial));
    Page {
        id: anchor(trial.info.key),
        title: title(model, trial),
        verdict: labels::verdict(trial.verdict).to_owned(),
        neighbours: neighbours.map(link),
        blocks,
    }
}

fn page_link(model: &Model, trial: &TrialModel) -> PageLink {
    PageLink {
        id: anchor(trial.info.key),
        title: title(model, trial),
    }
}

fn title(model: &Model, trial: &TrialModel) -> String {
    let key = trial.info.key;
    let cell = name_of(model, key.cell);
    match cell.is_empty() {
        true => format!("Repetition {}", key.repetition),
        false => format!("{cell}, repetition {}", key.repetition),
    }
}

/// `None` if the trial has no series.
fn over_time(model: &Model, trial: &TrialModel) -> Option<Block> {
    let table = time::table::over_time(model, trial, &title(model, trial))?;
    Some(Block::Folded(Folded {
        what: Fold::Series,
        summary: "Time series as a table".to_owned(),
        blocks: vec![Block::Table(table)],
    }))
}
