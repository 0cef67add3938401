//! A/B comparison of two levels: which is ahead and where, in sentences, a chart for each outcome, and all of it as a table.

use super::{table, words};
use crate::{
    layout::document::{Block, Chart, Drawn, Section},
    parts::opening::asked_before,
    words::derived,
};
use waggle_analysis::{Better, Compared, ComparisonModel, Measure, Model};

/// `None` if no factor has two levels.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let table = table::comparisons(&model.comparisons)?;
    let mut blocks = Vec::new();
    for (place, one) in model.comparisons.iter().enumerate() {
        let with = match one.others.as_slice() {
            [] => String::new(),
            others => format!(", for each {}", others.join(" and ")),
        };
        blocks.extend([
            Block::Heading(format!(
                "{} vs {}, over {}{with}",
                one.levels[1], one.levels[0], one.over.factor
            )),
            Block::Sentences(words::sentences(one)),
        ]);
        blocks.extend(words::caution(one).map(Block::Caution));
        let factors = [one.factor.as_str(), one.over.factor.as_str()];
        let cautions = derived::cautions(model, &factors);
        blocks.extend(cautions.into_iter().map(Block::Caution));
        blocks.push(Block::Drawn(Drawn::Beside(charts(place, one))));
    }
    let outcomes = model.comparisons.iter().flat_map(|one| &one.outcomes);
    let outcomes = outcomes.map(|one| (one.name.as_str(), one.is_asked));
    blocks.extend(asked_before::mark(model, outcomes).map(Block::Note));
    blocks.push(Block::Table(table));
    Some(Section {
        lead: "Each ratio compares two cells and uses their trials alone. If its interval includes 1 (or a difference of 0), no \
               difference was found, which does not prove that both are equal. An interval that excludes it may do so by chance, because \
               many are shown: what does not hold together with all other statements of the report (Holm) is said to be shown alone. The \
               table shows both in grey. A level without an interval counts for neither side.",
        blocks,
        ..Section::new("comparison", "A/B comparison")
    })
}

fn charts(place: usize, one: &ComparisonModel) -> Vec<Chart> {
    let outcomes = one.outcomes.iter().enumerate();
    outcomes
        .map(|(at, outcome)| {
            Chart::new(format!("compare-{place}-{at}"), label(outcome, &one.levels))
        })
        .collect()
}

fn label(outcome: &Compared, [first, second]: &[String; 2]) -> String {
    let name = &outcome.name;
    let phrase = words::better(outcome.better);
    match (outcome.measure, outcome.better) {
        (Measure::Difference, _) => {
            format!("{name}: {second} − {first}, in percentage points; below 0: {second} {phrase}")
        }
        (Measure::Ratio, Better::Higher) => {
            format!("{name}: {second} ÷ {first}; above 1: {second} {phrase}")
        }
        (Measure::Ratio, _) => format!("{name}: {second} ÷ {first}; below 1: {second} {phrase}"),
    }
}
