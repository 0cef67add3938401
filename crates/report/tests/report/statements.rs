//! No sentence denies a number beside it: each statement of a report is compared with the rows of all cells, with `report.json`, with the
//! terminal, with Markdown and with JUnit, in made-up studies, in recorded runs, and in 200 draws of a study with all kinds of faults.

#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::Value;
use waggle_analysis::{AnswerOf, CellValue, Decision, MetricAnswer, Model, Shown};
use waggle_metrics::Wish;
use waggle_report::{
    junit, markdown, report_json, terminal,
    wording::{answer, labels},
};
use waggle_stats::MetricVerdict;

use crate::{
    recorded::{RECORDED, read_recorded},
    seeded::{Seeded, Wrong},
    seeded_model,
};

/// Draws of the study.
const DRAWS: u64 = 200;

/// All faults that leave a trial with numbers.
const FAULTS: [Wrong; 9] = [
    Wrong::Fails,
    Wrong::Loses,
    Wrong::Doubles,
    Wrong::Errors,
    Wrong::Slows,
    Wrong::FallsBehind,
    Wrong::Starved,
    Wrong::Stolen,
    Wrong::Scatters,
];

/// Every contradiction, in words.
fn contradictions(model: &Model) -> Vec<String> {
    let report: Value = serde_json::from_str(&report_json(model)).unwrap();
    let mut contradictions = of_effects(&report);
    if let AnswerOf::Metrics(metrics) = &model.answer.of {
        for metric in metrics {
            contradictions.extend(of_extremes(metric, &report));
        }
    }
    contradictions.extend(of_shown(model));
    contradictions.extend(of_thresholds(model, &report));
    contradictions.extend(of_searches(model));
    contradictions.extend(of_formats(model, &report));
    contradictions
}

/// A ratio is shown if and only if its interval is without 1. A missing end is an open one.
fn of_effects(report: &Value) -> Vec<String> {
    let effects = report["effects"].as_array().into_iter().flatten();
    let is_wrong = |effect: &&Value| {
        let (low, high) = (&effect["ratio"]["low"], &effect["ratio"]["high"]);
        let has_interval = !(low.is_null() && high.is_null());
        let contains =
            low.as_f64().unwrap_or(0.0) <= 1.0 && high.as_f64().unwrap_or(f64::MAX) >= 1.0;
        match effect["shown"].as_str().unwrap() {
            "together" | "alone" => has_interval && contains,
            _ => has_interval && !contains,
        }
    };
    effects
        .filter(is_wrong)
        .map(|effect| format!("effect {effect}"))
        .collect()
}

fn of_shown(model: &Model) -> Vec<String> {
    let Some(effects) = &model.effects else {
        return Vec::new();
    };
    let outcomes = effects.outcomes.iter().flat_map(|outcome| {
        let ratios = outcome.ratios.iter().flatten();
        ratios.zip(outcome.shown.iter().flatten())
    });
    let wrong = outcomes.filter(|(ratio, shown)| {
        let contains = ratio.interval.map(|(low, high)| low <= 1.0 && high >= 1.0);
        match shown {
            Shown::Together | Shown::Alone => contains != Some(false),
            Shown::Nothing => contains != Some(true),
            Shown::Unknown => contains.is_some(),
        }
    });
    wrong
        .map(|(ratio, shown)| format!("{ratio:?} is {shown:?}"))
        .collect()
}

/// No row that is known lies beyond the best or the worst one.
fn of_extremes(answer: &MetricAnswer, report: &Value) -> Vec<String> {
    let mut contradictions = Vec::new();
    let sign = match answer.wish {
        Wish::Less => -1.0,
        Wish::More | Wish::Neither => 1.0,
    };
    let mut known = 0;
    for cell in report["cells"].as_array().unwrap() {
        let asked = cell["asked"].as_object().into_iter().flatten();
        for (key, row) in asked {
            if !is_of(key, answer) || row["verdict"] == "unknown" {
                continue;
            }
            known += 1;
            let point = cell["metrics"][key]["point"].as_f64().unwrap();
            let name = &cell["name"];
            let ends = |value: &CellValue| (value.range.low, value.range.high);
            let (low, high) = (
                row["low"].as_f64().unwrap_or(f64::NEG_INFINITY),
                row["high"].as_f64().unwrap_or(f64::INFINITY),
            );
            let (best_low, best_high) = ends(&answer.best);
            let is_beyond = match sign > 0.0 {
                true => low > best_high,
                false => high < best_low,
            };
            if is_beyond
                || sign * point > sign * answer.best.number.point() * (1.0 + sign * 1e-9)
                    && row["verdict"] == "estimate"
                    && answer.best.verdict == MetricVerdict::Estimate
            {
                contradictions.push(format!(
                    "{name} is beyond the best of {}: {point} in {low} to {high}",
                    answer.name
                ));
            }
            if let Some(worst) = &answer.worst {
                let (worst_low, worst_high) = ends(worst);
                let is_beyond = match sign > 0.0 {
                    true => high < worst_low,
                    false => low > worst_high,
                };
                if is_beyond {
                    contradictions.push(format!(
                        "{name} is beyond the worst of {}: {point} in {low} to {high}",
                        answer.name
                    ));
                }
            }
        }
    }
    if known > 0 && answer.known > 0 && known != answer.known {
        contradictions.push(format!(
            "{} of {} are known, and {known} rows are",
            answer.known, answer.name
        ));
    }
    contradictions
}

/// Whether a key of `report.json` is that of the goodput, which is what these studies ask; other metrics are named by their words.
fn is_of(key: &str, answer: &MetricAnswer) -> bool {
    match answer.name.as_str() {
        "Goodput" => key == "goodput_per_s",
        "Response time p99" => key == "response_time_p99_us",
        _ => false,
    }
}

fn of_thresholds(model: &Model, report: &Value) -> Vec<String> {
    let mut contradictions = Vec::new();
    let xml = junit(model);
    for (outcome, row) in model
        .thresholds
        .iter()
        .zip(report["thresholds"].as_array().unwrap())
    {
        let cells = outcome.cells.iter().zip(row["cells"].as_array().unwrap());
        for (cell, row) in cells {
            let expected = match cell.held {
                Decision::Holds => "holds",
                Decision::Fails => "does not hold",
                Decision::Undecided => "undecided",
            };
            if row["result"] != expected {
                contradictions.push(format!("{}: {expected}, and {row}", outcome.text));
            }
        }
        let failed = outcome
            .cells
            .iter()
            .any(|cell| cell.held == Decision::Fails);
        if failed != (outcome.held == Decision::Fails) || (failed && !xml.contains("<failure")) {
            contradictions.push(format!(
                "{}: {:?}, and a cell is otherwise",
                outcome.text, outcome.held
            ));
        }
    }
    contradictions
}

/// The level that holds is below the one that fails, and a step shows it.
fn of_searches(model: &Model) -> Vec<String> {
    let Some(search) = &model.search else {
        return Vec::new();
    };
    let mut contradictions = Vec::new();
    for cell in &search.cells {
        let answer = &cell.answer;
        if let (Some(holds), Some(fails)) = (answer.holds, answer.fails)
            && holds.level > fails
        {
            contradictions.push(format!("{holds:?} holds above {fails:?}"));
        }
        let held = cell
            .steps
            .iter()
            .filter(|step| step.evidence == waggle_stats::Evidence::Met);
        let highest = held.map(|step| step.level).fold(0.0, f64::max);
        if answer
            .holds
            .is_some_and(|holds| holds.level > highest * (1.0 + 1e-9))
        {
            contradictions.push(format!(
                "{:?} holds, and no step above {highest}",
                answer.holds
            ));
        }
    }
    contradictions
}

/// Sentences are the same in every form.
fn of_formats(model: &Model, report: &Value) -> Vec<String> {
    let said = answer::sentences(model);
    let listed: Vec<&str> = report["answer"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.as_str().unwrap())
        .collect();
    let mut contradictions = Vec::new();
    if said != listed {
        contradictions.push(format!("page: {said:?}; report.json: {listed:?}"));
    }
    let page = markdown(model);
    let screen = terminal(model, None);
    for sentence in &said {
        let plain = |text: &str| {
            text.replace('\\', "")
                .replace("&lt;", "<")
                .replace("&gt;", ">")
        };
        if !plain(&page).contains(&plain(sentence)) {
            contradictions.push(format!("not in Markdown: {sentence}"));
        }
    }
    for (cell, row) in model.cells.iter().zip(report["cells"].as_array().unwrap()) {
        let verdict = cell.verdict.map(labels::verdict);
        if row["verdict"].as_str() != verdict {
            contradictions.push(format!("{verdict:?} and {}", row["verdict"]));
        }
        if let Some(verdict) = verdict
            && !screen.contains(verdict)
        {
            contradictions.push(format!("not on the terminal: {verdict}"));
        }
    }
    contradictions
}

fn assert_consistent(name: &str, model: &Model) {
    let conflicts = contradictions(model);
    assert!(conflicts.is_empty(), "{name}:\n{}", conflicts.join("\n"));
}

#[test]
fn made_up_studies_deny_nothing_that_they_show() {
    let studies = [
        ("ingest", Seeded::ingest()),
        ("pipeline", Seeded::pipeline()),
        ("kill", Seeded::with_kill()),
        ("search", Seeded::search()),
        ("operating points", Seeded::operating_points()),
        ("shopping", Seeded::shopping_study()),
    ];
    for (name, study) in studies {
        assert_consistent(name, &seeded_model(&study));
    }
}

#[test]
fn recorded_runs_deny_nothing_that_they_show() {
    for name in RECORDED {
        assert_consistent(name, &waggle_analysis::model(&read_recorded(name)));
    }
}

/// Each with other numbers, and with faults in up to three cells.
#[test]
fn two_hundred_draws_deny_nothing_that_they_show() {
    let draw = |draw: u64| {
        let grid: &[(&str, &[&str])] =
            &[("connections", &["10", "50"]), ("pipelining", &["1", "10"])];
        let line: &[(&str, &[&str])] = &[("connections", &["1", "10", "50"])];
        let (factors, repeat) = [(grid, 2), (line, 3)][usize::try_from(draw % 2).unwrap()];
        let mut study = Seeded::plain(factors, repeat);
        study.draw = draw;
        study.thresholds = vec!["goodput".to_owned()];
        let count = FAULTS.len() as u64;
        let fault = |by: u64| FAULTS[usize::try_from((draw / by) % count).unwrap()];
        study.wrong = (1..=u32::try_from(draw % 4).unwrap())
            .map(|cell| (cell, fault(u64::from(cell) * 3)))
            .collect();
        assert_consistent(
            &format!("draw {draw}: {:?}", study.wrong),
            &seeded_model(&study),
        );
    };
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                (1..=DRAWS)
                    .filter(|number| number % 2 == part)
                    .for_each(draw)
            });
        }
    });
}
