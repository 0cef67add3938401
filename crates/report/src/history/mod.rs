//! A history as a page, Markdown, terminal text, JSON and JUnit. All of them lay out the same document and tables.

mod charts;
mod document;
mod json;
mod tables;
pub mod words;

use waggle_analysis::history::{HistoryModel, HistorySeries, MetricHistory};

use crate::{
    layout::{
        html,
        junit::{self, TestCase, TestResult, TestSuite},
        markdown,
        site::Site,
        terminal,
    },
    words::format,
};

/// The history as one HTML file; `version`: of waggle.
#[must_use]
pub fn history_html(model: &HistoryModel, version: &str) -> String {
    history_html_beside(model, version, Site::default())
}

/// The same page, served beside others.
#[must_use]
pub fn history_html_beside(model: &HistoryModel, version: &str, site: Site) -> String {
    html::plain_page(&document::document(model, version, site))
}

/// The history as Markdown.
#[must_use]
pub fn history_markdown(model: &HistoryModel, version: &str) -> String {
    markdown::text(&document::document(model, version, Site::default()))
}

/// The history for other programs; [`history_schema`] describes it.
#[must_use]
pub fn history_json(model: &HistoryModel) -> String {
    let json = serde_json::to_string_pretty(&json::History::new(model));
    json.expect("keys are names and numbers are finite, so that all of it can be written") + "\n"
}

/// The JSON Schema of [`history_json`].
#[must_use]
pub fn history_schema() -> schemars::Schema {
    schemars::schema_for!(json::History<'_>)
}

/// The history as JUnit XML: a case for each metric in each cell on each host that is still used. What became worse and has not come
/// back fails; an undecided last change is an error.
#[must_use]
pub fn history_junit(model: &HistoryModel) -> String {
    let case = |(metric, series): (&MetricHistory, &HistorySeries)| TestCase {
        class: metric.name.clone(),
        name: words::place(model, series).unwrap_or_else(|| model.cells[series.cell].name.clone()),
        result: test_result(model, metric, series),
    };
    junit::xml(&[TestSuite {
        name: format!("history of {}", model.study),
        cases: model.current_series().map(case).collect(),
    }])
}

fn test_result(model: &HistoryModel, metric: &MetricHistory, series: &HistorySeries) -> TestResult {
    let mut changes = series.changes.iter().rev();
    let open = changes.find(|change| change.is_open());
    let Some(change) = open.or(series.changes.last()) else {
        return TestResult::Passed("no change".to_owned());
    };
    let [_, since] = words::runs_of(model, series, change);
    let mut text = format!(
        "{} since {}: {}",
        words::judgement_label(change.judgement),
        since.name,
        format::ratio(&change.ratio)
    );
    if let Some(remark) = words::change_remark(change) {
        text = format!("{text}; {remark}");
    }
    if open.is_some() {
        TestResult::Failed(text)
    } else if change.may_be_worse(metric.wish) {
        TestResult::Error(text)
    } else {
        TestResult::Passed(text)
    }
}

/// The tables of the metrics, at most `width` characters wide if it is known, and what the history comes to.
#[must_use]
pub fn history_terminal(model: &HistoryModel, width: Option<usize>) -> String {
    let metrics = model.metrics.iter();
    let metrics = metrics.map(|metric| tables::metric(model, metric));
    let tables = metrics
        .chain(tables::over_runs(model))
        .map(|table| format!("{}\n{}", table.caption, terminal::laid_out(&table, width)));
    let warnings = words::warnings(model).into_iter();
    let warnings = warnings.map(|warning| format!("note: {warning}"));
    let all: Vec<String> = tables
        .chain(warnings)
        .chain(words::sentences(model))
        .collect();
    all.join("\n")
}
