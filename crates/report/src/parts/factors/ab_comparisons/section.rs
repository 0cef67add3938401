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
    for (place, comparison) in model.comparisons.iter().enumerate() {
        let with = match comparison.others.as_slice() {
            [] => String::new(),
            others => format!(", for each {}", others.join(" and ")),
        };
        blocks.extend([
            Block::Heading(format!(
                "{} vs {}, over {}{with}",
                comparison.levels[1], comparison.levels[0], comparison.over.factor
            )),
            Block::Sentences(words::sentences(comparison)),
        ]);
        blocks.extend(words::caution(comparison).map(Block::Caution));
        let factors = [comparison.factor.as_str(), comparison.over.factor.as_str()];
        let cautions = derived::cautions(model, &factors);
        blocks.extend(cautions.into_iter().map(Block::Caution));
        blocks.push(Block::Drawn(Drawn::Beside(charts(place, comparison))));
    }
    let outcomes = model
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.outcomes);
    let outcomes = outcomes.map(|comparison| (comparison.name.as_str(), comparison.is_asked));
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

fn charts(place: usize, comparison: &ComparisonModel) -> Vec<Chart> {
    let outcomes = comparison.outcomes.iter().enumerate();
    outcomes
        .map(|(index, outcome)| {
            Chart::new(
                format!("compare-{place}-{index}"),
                label(outcome, &comparison.levels),
            )
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
