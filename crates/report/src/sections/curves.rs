//! Each outcome over a factor whose levels are numbers, failures by kind, and the same as a table.

use crate::{
    document::{Block, Chart, Drawn, Fold, Folded, Section},
    tables,
    wording::metric,
};
use waggle_analysis::{Curve, Model};

/// Nothing where no factor's levels are numbers.
pub(super) fn section(model: &Model) -> Option<Section> {
    let curves = model.curves.as_ref()?;
    let mut blocks = Vec::new();
    if let Some((title, source)) = &curves.published {
        let note = format!("Dashed, with crosses: {title}. {source}");
        blocks.push(Block::PageOnly(vec![Block::Note(note)]));
    }
    let charts = curves.charts.iter().enumerate();
    let charts = charts.map(|(place, one)| Chart::new(format!("curve-{place}"), label(one, model)));
    blocks.extend([
        Block::choice("curves-choice"),
        Block::Drawn(Drawn::Beside(charts.collect())),
    ]);
    if curves.kinds.is_some() {
        blocks.push(Block::wide(
            "curve-kinds",
            "Failed requests by kind, share of all answered",
        ));
    }
    blocks.push(Block::Folded(Folded {
        what: Fold::Same,
        summary: "The same as a table".to_owned(),
        blocks: vec![Block::Table(tables::curves(curves))],
    }));
    Some(Section {
        lead: "Error bars are 95 % intervals over trials; a mark is hollow where its cell may not be believed.",
        blocks,
        ..Section::new("curves", "Curves", format!("Over {}", curves.over.factor))
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
