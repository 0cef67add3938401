//! A comparison of two sides as a page, Markdown, terminal text, JSON and JUnit. All of them lay out the same document and tables.

pub(crate) mod document;
pub(crate) mod json;
mod tables;
pub mod words;

use waggle_analysis::{
    Model,
    compare::{CompareModel, Judgement, MetricComparison, MetricPair, SampleUnit},
};

use crate::{
    layout::{
        html,
        junit::{self, TestCase, TestResult, TestSuite},
        markdown,
        site::Site,
        terminal,
    },
    run::checks,
    words::format,
};

/// The comparison as one HTML file; `version`: of waggle.
#[must_use]
pub fn compare_html(model: &CompareModel, version: &str) -> String {
    compare_html_beside(model, version, Site::default())
}

/// The same page, served beside others.
#[must_use]
pub fn compare_html_beside(model: &CompareModel, version: &str, site: Site) -> String {
    html::plain_page(&document::document(model, version, site))
}

/// The comparison as Markdown, for a pull request.
#[must_use]
pub fn compare_markdown(model: &CompareModel, version: &str) -> String {
    markdown::text(&document::document(model, version, Site::default()))
}

/// The comparison for other programs; [`compare_schema`] describes it.
#[must_use]
pub fn compare_json(model: &CompareModel) -> String {
    let json = serde_json::to_string_pretty(&json::Comparison::new(model));
    json.expect("keys are names and numbers are finite, so that all of it can be written") + "\n"
}

/// The JSON Schema of [`compare_json`].
#[must_use]
pub fn compare_schema() -> schemars::Schema {
    schemars::schema_for!(json::Comparison<'_>)
}

/// The comparison as JUnit XML: a case for each metric that the study asks about, in each cell. What is worse fails; what is undecided
/// is an error. `run`: the run whose thresholds and verdicts are a suite beside it, if a run was made for the comparison.
#[must_use]
pub fn compare_junit(model: &CompareModel, run: Option<&Model>) -> String {
    let mut cases = Vec::new();
    for metric in model.asked_metrics() {
        let pairs = metric.cells.iter().zip(&model.cells);
        cases.extend(pairs.map(|(pair, cell)| TestCase {
            class: metric.name.clone(),
            name: cell.name.clone(),
            result: test_result(pair, model.unit),
        }));
    }
    let [first, second] = model.sides.each_ref().map(|side| &side.name);
    let compared = TestSuite {
        name: format!("{}: {second} against {first}", model.study),
        cases,
    };
    let suites: Vec<TestSuite> = run
        .map(checks::suite)
        .into_iter()
        .chain([compared])
        .collect();
    junit::xml(&suites)
}

fn test_result(pair: &MetricPair, unit: SampleUnit) -> TestResult {
    let ratio = pair.ratio.as_ref().map_or_else(String::new, format::ratio);
    let label = words::judgement_label(pair.judgement);
    let why = words::open_reason(pair, unit);
    let why = why.map_or_else(String::new, |why| format!("; {why}"));
    let text = format!("{label}: {ratio}{why}");
    match pair.judgement {
        Judgement::Same | Judgement::Better => TestResult::Passed(text),
        Judgement::Worse | Judgement::Different => TestResult::Failed(text),
        Judgement::Undecided(_) => TestResult::Error(text),
    }
}

/// The table of a metric in as much detail as fits; the ratio with its interval and the judgement are never left out.
fn metric_in_width(
    model: &CompareModel,
    metric: &MetricComparison,
    width: Option<usize>,
) -> String {
    let mut details = tables::Detail::ALL.into_iter();
    let fits = |detail: &tables::Detail| {
        let table = tables::metric_in_detail(model, metric, *detail);
        width.is_none_or(|width| terminal::width(&table) <= width)
    };
    let detail = details.find(fits).unwrap_or(tables::Detail::Ratio);
    let table = tables::metric_in_detail(model, metric, detail);
    let laid_out = match fits(&detail) {
        true => terminal::laid_out(&table, None),
        false => terminal::wrapped_text(&table, width),
    };
    let left_out = detail.left_out(model.sides.each_ref().map(|side| &*side.name));
    let note = match left_out.is_empty() {
        true => String::new(),
        false => format!("\nleft out at this width: {left_out}"),
    };
    format!("{}\n{laid_out}{note}", table.caption)
}

/// The tables of what is asked about, at most `width` characters wide if it is known, and what the comparison comes to.
#[must_use]
pub fn compare_terminal(model: &CompareModel, width: Option<usize>) -> String {
    let tables = model
        .asked_metrics()
        .filter(|metric| metric.left_out.is_none());
    let tables = tables.map(|metric| metric_in_width(model, metric, width));
    let warnings = words::warnings(model).into_iter();
    let warnings = warnings.map(|warning| format!("note: {warning}"));
    let changes = model
        .changes
        .iter()
        .filter(|change| !document::is_text(change));
    let changes = changes.map(|change| {
        let (name, meaning) = words::change(change);
        format!("note: {name} differs: {meaning}")
    });
    let texts = model
        .changes
        .iter()
        .filter(|change| document::is_text(change));
    let texts = texts.map(|change| format!("note: the {} differs", words::change(change).0));
    let all: Vec<String> = tables
        .chain(warnings)
        .chain(changes)
        .chain(texts)
        .chain([words::sentences(model).join(" ")])
        .collect();
    all.join("\n")
}
