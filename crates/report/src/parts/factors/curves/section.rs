//! Scaling curves: each outcome over a factor whose levels are numbers, failures by kind, scaling laws, bounds and pairs, and the
//! same as a table.

use super::table;
use crate::{
    layout::document::{Block, Chart, Drawn, Fold, Folded, Section},
    parts::factors::{growth, laws},
    words::{derived, metric},
};
use waggle_analysis::{Curve, CurvesModel, Model};

/// `None` if no factor's levels are numbers.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let curves = model.curves.as_ref()?;
    let mut blocks = Vec::new();
    if let Some((title, source)) = &curves.reference {
        let note = format!("Dashed lines with crosses are reference results: {title}. {source}");
        blocks.push(Block::PageOnly(vec![Block::Note(note)]));
    }
    let cautions = derived::cautions(model, &[curves.over.factor.as_str()]);
    blocks.extend(cautions.into_iter().map(Block::Caution));
    blocks.extend([
        Block::choice("curves-choice"),
        Block::Drawn(Drawn::Beside(charts(curves, model))),
    ]);
    if curves.kinds.is_some() {
        blocks.push(Block::wide("curve-kinds", "Error rate by kind of failure"));
    }
    blocks.extend(law_blocks(curves));
    blocks.extend(growth_blocks(curves));
    blocks.push(Block::Folded(Folded {
        what: Fold::Same,
        summary: "As a table".to_owned(),
        blocks: vec![Block::Table(table::curves(curves))],
    }));
    Some(Section {
        lead: "Error bars are 95 % intervals over trials. A hollow mark is a cell that is not reliable. A thin line is a \
               scaling law with its 95 % band, dashed beyond the data.",
        blocks,
        title: format!("Scaling curves: {}", curves.over.factor),
        ..Section::new("curves", "Scaling curves")
    })
}

/// One for each outcome and panel, in the order in which the script numbers them.
fn charts(curves: &CurvesModel, model: &Model) -> Vec<Chart> {
    let all = curves.charts.iter().flat_map(|curve| {
        let panels = curves.panels.iter();
        panels.map(move |panel| [label(curve, model), panel.name.clone()])
    });
    let labels = all.map(|names| {
        let names = names.into_iter().filter(|name| !name.is_empty());
        names.collect::<Vec<String>>().join(", ")
    });
    let charts = labels.enumerate();
    let charts = charts.map(|(place, label)| Chart::new(format!("curve-{place}"), label));
    charts.collect()
}

/// More sentences than this are folded: nobody reads them all.
const SENTENCES_AT_MOST: usize = 24;

/// What the metrics follow; nothing if the factor has too few levels.
fn law_blocks(curves: &CurvesModel) -> Vec<Block> {
    let all = |sentences: fn(&CurvesModel, &Curve) -> Vec<String>| -> Vec<String> {
        let charts = curves.charts.iter();
        charts.flat_map(|curve| sentences(curves, curve)).collect()
    };
    let sentences: Vec<String> = all(laws::words::sentences)
        .into_iter()
        .chain(laws::words::not_fitted(curves))
        .collect();
    if sentences.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::Heading(format!("Scaling laws over {}", curves.over.factor)),
        folded_if_long("The law of each line", sentences),
    ];
    let cautions = all(laws::words::cautions).into_iter();
    blocks.extend(
        cautions
            .chain(laws::words::doubtful(curves))
            .chain(laws::words::bounded_text(curves))
            .map(Block::Caution),
    );
    blocks.extend(Block::tables(laws::table::coefficients(curves)));
    blocks
}

/// Where curves cross bounds, and how the pairs of the study differ; nothing that it does not ask for.
fn growth_blocks(curves: &CurvesModel) -> Vec<Block> {
    let mut blocks = Vec::new();
    let bounds = growth::words::bounds(curves);
    if !bounds.is_empty() {
        let heading = format!("Bounds over {}", curves.over.factor);
        let bounds = folded_if_long("The crossings of each line", bounds);
        blocks.extend([Block::Heading(heading), bounds]);
    }
    let pairs = growth::words::pairs(curves);
    if !pairs.is_empty() {
        let heading = format!("Pairs over {}", curves.over.factor);
        let pairs = folded_if_long("Each pair", pairs);
        blocks.extend([Block::Heading(heading), pairs]);
        blocks.extend(Block::tables(growth::table::pairs(curves)));
        blocks.push(Block::Folded(Folded {
            what: Fold::Same,
            summary: "The ratio at each level".to_owned(),
            blocks: Block::tables(growth::table::pair_ratios(curves)).collect(),
        }));
    }
    blocks
}

fn folded_if_long(summary: &str, sentences: Vec<String>) -> Block {
    let count = sentences.len();
    let all = Block::Sentences(sentences);
    if count <= SENTENCES_AT_MOST {
        return all;
    }
    Block::Folded(Folded {
        what: Fold::Same,
        summary: format!("{summary} ({count} sentences)"),
        blocks: vec![all],
    })
}

fn label(curve: &Curve, model: &Model) -> String {
    metric::label(
        curve.metric,
        curve.of.as_deref(),
        &curve.name,
        model.counted,
    )
}
