//! A comparison as a document: the answer, what is asked about, the rest, what else differs, and how it was made.

use similar::TextDiff;
use waggle_analysis::compare::{
    CompareModel, Condition, ConditionChange, MetricComparison, SideFacts,
};

use super::{tables, words};
use crate::{
    layout::{
        document::{Block, Document, Figure, Opening, Section, Term},
        site::Site,
        table::Field,
    },
    words::format,
};

/// Lines around a change of a text.
const CONTEXT_LINES: usize = 2;

pub(super) fn document(model: &CompareModel, version: &str, site: Site) -> Document {
    let sections = [
        runs(model, &site),
        Some(asked_section(model)),
        others(model),
        changes(model),
        Some(method(model)),
    ];
    Document {
        opening: opening(model),
        sections: sections.into_iter().flatten().collect(),
        version: version.to_owned(),
        site,
    }
}

fn opening(model: &CompareModel) -> Opening {
    let [first, second] = &model.sides;
    let label = words::outcome_label(model.outcome());
    Opening {
        study: model.study.clone(),
        started_utc: match (first.started_utc.first(), second.started_utc.first()) {
            (Some(a), Some(b)) if a != b => format!("{a} and {b}"),
            (Some(a), _) => a.clone(),
            (None, _) => String::new(),
        },
        question: format!("Is {} worse than {}?", second.name, first.name),
        verdict: Some(label.to_owned()),
        answer: words::sentences(model),
        notes: Vec::new(),
        warnings: words::warnings(model),
        figures: figures(model),
    }
}

fn figures(model: &CompareModel) -> Vec<Figure> {
    let metrics = model.asked_metrics();
    let figures = metrics.filter_map(|metric| largest_change(model, metric));
    figures.take(4).collect()
}

/// The ratio that is furthest from 1; `None` if no cell has one.
fn largest_change(model: &CompareModel, metric: &MetricComparison) -> Option<Figure> {
    let pairs = metric.cells.iter().zip(&model.cells);
    let numbers = pairs.filter_map(|(pair, cell)| Some((pair.ratio?, cell)));
    let (ratio, cell) =
        numbers.max_by(|(a, _), (b, _)| a.point.ln().abs().total_cmp(&b.point.ln().abs()))?;
    let ends = ratio.interval.map(format::ratio_ends);
    let ends = ends.unwrap_or_else(|| "no interval".to_owned());
    Some(Figure {
        what: format!("Largest change of {}", words::metric_in_sentence(metric)),
        value: format::times(ratio.point),
        small: match model.cells.len() {
            1 => ends,
            _ => format!("{ends} · {}", cell.name),
        },
    })
}

/// Where the runs are served, and the comparison in the other order; `None` of a file.
fn runs(model: &CompareModel, site: &Site) -> Option<Section> {
    let run = |side: &SideFacts| {
        let path = side.path.clone().unwrap_or_else(|| side.name.clone());
        let name = path.rsplit('/').next().map(str::to_owned);
        name.unwrap_or(path)
    };
    let names = model.sides.each_ref().map(run);
    let other = site.comparison(&names[1], &names[0])?;
    let term = |side: &SideFacts, name: &String| Term {
        name: Field::plain(&side.name).with_href(site.run(name)),
        code: None,
        meaning: name.clone(),
    };
    let sides = model.sides.iter().zip(&names);
    let mut terms: Vec<Term> = sides.map(|(side, name)| term(side, name)).collect();
    let [first, second] = &model.sides;
    terms.push(Term {
        name: Field::plain("Other order").with_href(Some(other)),
        code: None,
        meaning: format!("Is {} worse than {}?", first.name, second.name),
    });
    Some(Section {
        blocks: vec![Block::Terms(terms)],
        ..Section::new("runs", "The two runs")
    })
}

fn asked_section(model: &CompareModel) -> Section {
    let compared = model
        .asked_metrics()
        .filter(|metric| metric.left_out.is_none());
    let tables = compared.map(|metric| Block::Table(tables::metric(model, metric)));
    Section {
        lead: "Each line is a 95 % interval of the ratio; the band is the margin, the vertical line 1.",
        blocks: tables.collect(),
        ..Section::new("asked", "What the study asks about")
    }
}

fn others(model: &CompareModel) -> Option<Section> {
    let table = tables::others(model)?;
    Some(Section {
        blocks: vec![Block::Table(table)],
        ..Section::new("others", "Other metrics")
    })
}

/// Whether its values are texts of files.
pub(crate) fn is_text(change: &ConditionChange) -> bool {
    matches!(change.what, Condition::Study | Condition::SystemText)
}

fn changes(model: &CompareModel) -> Option<Section> {
    let short = model.changes.iter().filter(|change| !is_text(change));
    let terms: Vec<Term> = short
        .map(words::change)
        .map(|(name, meaning)| Term {
            name: Field::plain(name),
            code: None,
            meaning,
        })
        .collect();
    let mut blocks = Vec::new();
    if !terms.is_empty() {
        blocks.push(Block::Terms(terms));
    }
    for change in model.changes.iter().filter(|change| is_text(change)) {
        let (name, _) = words::change(change);
        blocks.push(Block::Heading(format!("The {name}")));
        blocks.push(Block::File {
            label: "Difference of lines".into(),
            text: difference(&change.first, &change.second),
        });
    }
    (!blocks.is_empty()).then(|| Section {
        blocks,
        ..Section::new("differs", "What else differs")
    })
}

/// The lines that differ.
pub(crate) fn difference(first: &str, second: &str) -> String {
    let difference = TextDiff::from_lines(first, second);
    let mut unified = difference.unified_diff();
    unified.context_radius(CONTEXT_LINES).to_string()
}

fn method(model: &CompareModel) -> Section {
    Section {
        blocks: vec![Block::Sentences(words::method(model))],
        ..Section::new("method", "How it was compared")
    }
}
