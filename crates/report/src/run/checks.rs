//! What continuous integration shows of a run: its thresholds as test cases, and a short text.

use waggle_analysis::{
    CellModel, CellSearch, Conclusion, Decision, Model, ThresholdCell, conclusion_of_search,
    left_out_of_run,
};
use waggle_metrics::Unit;
use waggle_spec::LevelKind;

use super::document;
use crate::{
    layout::{
        document::{Block, Document, Section},
        junit::{self, TestCase, TestResult, TestSuite},
        markdown,
        site::Site,
    },
    parts::{
        capacity::search,
        cells::{left_out, overview},
        over_time::stalls,
    },
    words::{conditions, findings, format, labels, names},
};

/// The run as JUnit XML: a case for each threshold in each cell, one for the verdict of each cell, and one for each search. What makes the exit code 3
/// fails, what makes it 4 or 5 is an error, and a cell that was left out is skipped.
#[must_use]
pub fn junit(model: &Model) -> String {
    junit::xml(&[suite(model)])
}

/// The cases of a run.
pub(crate) fn suite(model: &Model) -> TestSuite {
    let cells = model.cells.iter();
    let verdicts = cells.filter_map(|cell| verdict_case(model, cell));
    let left_out = left_out_of_run(&model.info)
        .into_iter()
        .map(|group| TestCase {
            class: "verdict".to_owned(),
            name: left_out::words::cells(&group),
            result: TestResult::Skipped(left_out::words::reason(&group.reason)),
        });
    let mut cases: Vec<TestCase> = threshold_cases(model)
        .into_iter()
        .chain(verdicts)
        .chain(search_cases(model))
        .chain(left_out)
        .collect();
    let shown = cases
        .iter()
        .any(|case| matches!(case.result, TestResult::Failed(_) | TestResult::Error(_)));
    if !shown {
        // Of a search, or if no cell is reliable: no single case shows it.
        cases.push(TestCase {
            class: "conclusion".to_owned(),
            name: model.info.study.clone(),
            result: result(model.conclusion(false), conclusion(model).to_owned()),
        });
    }
    TestSuite {
        name: model.info.study.clone(),
        cases,
    }
}

/// A case for each threshold in each cell.
fn threshold_cases(model: &Model) -> Vec<TestCase> {
    let mut cases = Vec::new();
    for outcome in &model.thresholds {
        cases.extend(outcome.cells.iter().map(|cell| TestCase {
            class: outcome.text.clone(),
            name: names::name_of(model, cell.cell),
            result: threshold_result(cell, outcome.unit),
        }));
    }
    cases
}

fn threshold_result(cell: &ThresholdCell, unit: Unit) -> TestResult {
    let observed = cell.observed.map(|value| format::in_unit(value, unit));
    let why = cell.reason.as_ref();
    let why = why.map(|why| conditions::shortcoming(why, unit));
    let text: Vec<String> = observed.into_iter().chain(why).collect();
    let text = text.join("; ");
    match cell.held {
        Decision::Holds => TestResult::Passed(text),
        Decision::Fails => TestResult::Failed(text),
        Decision::Undecided => TestResult::Error(text),
    }
}

/// The verdict of a cell with its reasons and remarks; `None`: it has none.
fn verdict_case(model: &Model, cell: &CellModel) -> Option<TestCase> {
    let verdict = cell.verdict?;
    let reasons = cell.reasons.iter().map(findings::cell_reason);
    let mut text = labels::verdict(verdict).to_owned();
    for reason in reasons {
        text = format!("{text}; {reason}");
    }
    for remark in model.trials_of(cell.cell).flat_map(stalls::words::remarks) {
        text = format!("{text}; {remark}");
    }
    Some(TestCase {
        class: "verdict".to_owned(),
        name: names::name_of(model, cell.cell),
        result: result(model.conclusion_of_cell(cell, false), text),
    })
}

/// A case for the search of each cell, with its answer.
fn search_cases(model: &Model) -> Vec<TestCase> {
    let Some(searches) = &model.search else {
        return Vec::new();
    };
    let cells = searches.cells.iter();
    let maximize = searches.info.maximize;
    cells
        .map(|cell_search| search_case(model, maximize, cell_search))
        .collect()
}

fn search_case(model: &Model, maximize: LevelKind, cell_search: &CellSearch) -> TestCase {
    let shortfalls = cell_search.shortfalls();
    let why = shortfalls.first().map(search::words::shortfall);
    let text = search::words::sentence(maximize, &cell_search.answer, why.as_deref(), "");
    TestCase {
        class: "search".to_owned(),
        name: names::name_of(model, cell_search.cell),
        result: result(conclusion_of_search(&cell_search.answer), text),
    }
}

fn result(conclusion: Conclusion, text: String) -> TestResult {
    match conclusion {
        Conclusion::Answered => TestResult::Passed(text),
        Conclusion::Failed => TestResult::Failed(text),
        Conclusion::Open | Conclusion::TrialFailed => TestResult::Error(text),
    }
}

fn conclusion(model: &Model) -> &'static str {
    match model.conclusion(false) {
        Conclusion::Answered => "The question is answered, and every threshold holds.",
        Conclusion::Failed => {
            "A threshold does not hold, or a cell has another verdict than expected."
        }
        Conclusion::Open => "The question stays open: see the thresholds and verdicts.",
        Conclusion::TrialFailed => "A trial failed, or no request succeeded: see the verdicts.",
    }
}

/// The answer and the table of cells as Markdown, for the summary of a job.
#[must_use]
pub fn summary(model: &Model) -> String {
    let thresholds = model.thresholds.iter().map(|outcome| {
        let held = conditions::decision_label(outcome.held);
        format!("{}: {held}", outcome.text)
    });
    let sentences: Vec<String> = std::iter::once(conclusion(model).to_owned())
        .chain(thresholds)
        .collect();
    markdown::text(&Document {
        opening: document::opening_of(model),
        sections: vec![Section {
            blocks: [
                Block::Sentences(sentences),
                Block::Table(overview::table::cells_in_short(model)),
            ]
            .into_iter()
            .chain(Block::tables(left_out::table::left_out(model)))
            .collect(),
            ..Section::new("summary", "Summary")
        }],
        version: model.info.waggle_version.clone(),
        site: Site::default(),
    })
}
