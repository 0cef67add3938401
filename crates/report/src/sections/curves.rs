//! Scaling curves: each outcome over a factor whose levels are numbers, failures by kind, and the same as a table.

use crate::{
    document::{Block, Chart, Drawn, Fold, Folded, Section},
    tables,
    wording::metric,
};
use waggle_analysis::{Curve, Model};

/// `None` if no factor's levels are numbers.
pub(super) fn section(model: &Model) -> Option<Section> {
    let curves = model.curves.as_ref()?;
    let mut blocks = Vec::new();
    if let Some((title, source)) = &curves.reference {
        let note = format!("Dashed lines with crosses are reference results: {title}. {source}");
        blocks.push(Block::PageOnly(vec![Block::Note(note)]));
    }
    let charts = curves.charts.iter().enumerate();
    let charts = charts.map(|(place, one)| Chart::new(format!("curve-{place}"), label(one, model)));
    blocks.extend([
        Block::choice("curves-choice"),
        Block::Drawn(Drawn::Beside(charts.collect())),
    ]);
    if curves.kinds.is_some() {
        blocks.push(Block::wide("curve-kinds", "Error rate by kind of failure"));
    }
    blocks.push(Block::Folded(Folded {
        what: Fold::Same,
        summary: "As a table".to_owned(),
        blocks: vec![Block::Table(tables::curves(curves))],
    }));
    Some(Section {
        lead: "Error bars are 95 % intervals over trials. A hollow mark is a cell that is not reliable.",
        blocks,
        title: format!("Scaling curves: {}", curves.over.factor),
        ..Section::new("curves", "Scaling curves")
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
