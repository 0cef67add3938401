//! A history as a document: the answer, each metric with its charts, the changes, the runs, and how it was made.

use waggle_analysis::{
    compare::ConditionChange,
    history::{HistoryModel, HistoryRunFacts, MetricHistory},
};

use super::{charts, tables, words};
use crate::{
    compare::{
        self,
        document::{difference, is_text},
    },
    layout::{
        document::{Block, Document, Figure, Opening, Section},
        site::Site,
    },
    words::format,
};

/// Changes of a file whose lines are shown.
const MAX_DIFFERENCES: usize = 10;

pub(super) fn document(model: &HistoryModel, version: &str, site: Site) -> Document {
    let sections = [
        changes(model, &site),
        over_runs(model),
        Some(metrics(model)),
        Some(runs(model, &site)),
        Some(method(model)),
    ];
    Document {
        opening: opening(model),
        sections: sections.into_iter().flatten().collect(),
        version: version.to_owned(),
        site,
    }
}

fn opening(model: &HistoryModel) -> Opening {
    Opening {
        study: model.study.clone(),
        started_utc: span(model),
        question: format!("Has {} become worse?", model.study),
        verdict: Some(words::outcome_label(model.outcome()).to_owned()),
        answer: words::sentences(model),
        notes: Vec::new(),
        warnings: words::warnings(model),
        figures: figures(model),
    }
}

/// From the first run to the last.
fn span(model: &HistoryModel) -> String {
    let moment = |run: Option<&HistoryRunFacts>| run.map(|run| words::moment(&run.started_utc));
    let ends = [moment(model.runs.first()), moment(model.runs.last())];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    ends.join(" – ")
}

fn figures(model: &HistoryModel) -> Vec<Figure> {
    let changes = words::newest_changes(model);
    let runs = Figure {
        what: "Runs".to_owned(),
        value: model.runs.len().to_string(),
        small: match model.host_names.as_slice() {
            [host] if host.is_empty() => "on a host that is not known".to_owned(),
            [host] => format!("on {host}"),
            hosts => format!("on {} hosts", hosts.len()),
        },
    };
    let count = Figure {
        what: "Changes".to_owned(),
        value: changes.len().to_string(),
        small: format!("in {} series", model.series().count()),
    };
    let newest = changes.first().map(|(metric, series, change)| Figure {
        what: format!(
            "Newest change of {}",
            compare::words::in_sentence(&metric.name)
        ),
        value: format::times(change.ratio.point),
        small: format!("since {}", words::runs_of(model, series, change)[1].name),
    });
    [runs, count].into_iter().chain(newest).collect()
}

fn metrics(model: &HistoryModel) -> Section {
    let blocks = model
        .metrics
        .iter()
        .flat_map(|metric| of_metric(model, metric));
    Section {
        lead: "Points are runs with their 95 % intervals, hollow if the value is doubtful; lines are the levels between changes. A \
               change is marked between its two runs. A triangle: something else changed at this run; shaded: another host. Point at a \
               mark to read it.",
        blocks: blocks.collect(),
        ..Section::new("metrics", "Over the runs")
    }
}

/// The table, then a chart for each cell; those with a change come first.
fn of_metric(model: &HistoryModel, metric: &MetricHistory) -> Vec<Block> {
    let mut cells: Vec<usize> = metric.series.iter().map(|series| series.cell).collect();
    cells.dedup();
    let has_change = |cell: usize| {
        let mut cell_series = metric.series.iter().filter(|series| series.cell == cell);
        cell_series.any(|series| !series.changes.is_empty())
    };
    cells.sort_by_key(|cell| !has_change(*cell));
    let charts = cells.into_iter();
    let charts = charts.map(|cell| Block::Timeline(charts::timeline(model, metric, cell)));
    let table = Block::Table(tables::metric(model, metric));
    [table].into_iter().chain(charts).collect()
}

fn changes(model: &HistoryModel, site: &Site) -> Option<Section> {
    Some(Section {
        blocks: vec![Block::Table(tables::changes(model, site)?)],
        ..Section::new("changes", "Changes")
    })
}

/// Runs as the unit.
fn over_runs(model: &HistoryModel) -> Option<Section> {
    Some(Section {
        blocks: vec![
            Block::Table(tables::over_runs(model)?),
            Block::Note(words::OVER_RUNS.to_owned()),
        ],
        ..Section::new("over-runs", "Two levels")
    })
}

fn runs(model: &HistoryModel, site: &Site) -> Section {
    let mut blocks = vec![Block::Table(tables::runs(model, site))];
    for (index, (run, change)) in shown_texts(model).enumerate() {
        let (name, _) = compare::words::change(change);
        blocks.push(Block::Anchor {
            id: anchor(index),
            heading: format!("The {name} since {}", run.name),
        });
        blocks.push(Block::File {
            label: "Difference of lines".into(),
            text: difference(&change.first, &change.second),
        });
    }
    Section {
        blocks,
        ..Section::new("runs", "Runs")
    }
}

/// The newest changes of files, whose lines are shown.
fn shown_texts(model: &HistoryModel) -> impl Iterator<Item = (&HistoryRunFacts, &ConditionChange)> {
    let newest = model.runs.iter().rev();
    let changes = newest.flat_map(|run| run.changes.iter().map(move |change| (run, change)));
    changes
        .filter(|(_, change)| is_text(change))
        .take(MAX_DIFFERENCES)
}

fn anchor(index: usize) -> String {
    format!("difference-{}", index + 1)
}

/// The anchor of the first file that changed at a run; `None`: its lines are not shown.
pub(super) fn text_anchor(model: &HistoryModel, run: &str) -> Option<String> {
    let mut shown = shown_texts(model);
    shown.position(|(facts, _)| facts.name == run).map(anchor)
}

fn method(model: &HistoryModel) -> Section {
    Section {
        blocks: vec![Block::Sentences(words::method(model))],
        ..Section::new("method", "How changes were found")
    }
}
