//! What the tools return: the JSON that the commands write, and how far a run is.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use waggle_analysis::{compare::CompareSettings, model};
use waggle_report::{compare_json, report_json};

use super::{
    child::{ChildRun, Phase, StopReason},
    fields::Given,
    limits::Limits,
};
use crate::{
    arguments::{Choice, Plan, parse},
    commands::{
        compare::comparison,
        plan::{Planned, own_cells, plan_study},
        run::snapshot::{run_end, snapshot},
    },
    inputs::study::load_to_show,
    process::exit::Exit,
};

/// A longer result is refused: it would fill what an assistant can read.
const RESULT_MAX_BYTES: usize = 256 * 1024;
const MARGIN_DEFAULT: &str = "5%";

/// Which part of a study is planned or run.
fn choice(limits: &Limits, given: &Given) -> Result<Choice> {
    let (quick, pilot) = (given.flag("quick"), given.flag("pilot"));
    if quick && pilot {
        bail!("pilot: it cannot be combined with quick");
    }
    let choice = Choice {
        study: PathBuf::from(given.text("study").unwrap_or_default()),
        filter: given.texts("filter"),
        quick,
        pilot,
        against: given.texts("against"),
        design: None,
        trust: limits.trust.clone(),
        seed: None,
    };
    limits.check_choice(&choice)?;
    Ok(choice)
}

/// A plan within the limits, and what was chosen for it.
fn plan_within(limits: &Limits, given: &Given) -> Result<(Choice, Planned)> {
    let choice = choice(limits, given)?;
    limits.check_study(&choice, &load_to_show(&choice)?)?;
    let arguments = Plan {
        choice,
        commands: false,
        runs: limits.runs.clone(),
        scatter_from: None,
    };
    let planned = plan_study(&arguments)?;
    Ok((arguments.choice, planned))
}

/// What a study would run.
pub(super) fn plan(limits: &Limits, given: &Given) -> Result<Value> {
    let (_, planned) = plan_within(limits, given)?;
    let study = &planned.loaded.study;
    Ok(json!({
        "study": study.name,
        "question": study.question,
        "cells": own_cells(study),
        "trials": planned.plan.trials.len(),
        "expected_s": planned.plan.expected.as_secs(),
        "expected_max_s": planned.plan.expected_max.as_secs(),
        "at_most_s": planned.plan.at_most.as_secs(),
        "max_duration_s": limits.max_duration.as_secs(),
        "text": planned.text,
    }))
}

/// A run that may be started.
#[derive(Debug)]
pub(super) struct Order {
    /// Of `waggle run`.
    pub(super) arguments: Vec<OsString>,
    pub(super) max_duration: Duration,
    expected: Duration,
}

/// Checks a run before it is started.
pub(super) fn order(limits: &Limits, given: &Given) -> Result<Order> {
    let asked = given.seconds("max_duration_s");
    let max_duration = asked.unwrap_or(limits.max_duration);
    if max_duration > limits.max_duration || max_duration.is_zero() {
        bail!(
            "max_duration_s: expected 1 to {}, the limit of this server",
            limits.max_duration.as_secs()
        );
    }
    let settings = settings(given)?;
    let (choice, planned) = plan_within(limits, given)?;
    for path in &settings.metrics {
        let checked = planned.loaded.study.check_metric(&path.join("."));
        checked.map_err(|why| anyhow!("metric: {why}"))?;
    }
    Ok(Order {
        arguments: words(limits, given, &choice),
        max_duration,
        expected: planned.plan.expected,
    })
}

/// The arguments of `waggle run`; a value cannot be taken for a flag.
fn words(limits: &Limits, given: &Given, choice: &Choice) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--quiet".into()];
    let mut flag = |name: &str, value: &Path| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        words.push(word);
    };
    flag("runs", &limits.runs);
    for folder in &choice.trust.folders {
        flag("trust", folder);
    }
    for (name, values) in [("filter", &choice.filter), ("against", &choice.against)] {
        values.iter().for_each(|value| flag(name, Path::new(value)));
    }
    for name in ["metric", "margin"] {
        let values = given.texts(name).into_iter();
        let value = given.text(name).map(str::to_owned);
        values
            .chain(value)
            .for_each(|value| flag(name, Path::new(&value)));
    }
    let short = [("--quick", choice.quick), ("--pilot", choice.pilot)];
    let short = short.into_iter().filter(|(_, is_given)| *is_given);
    words.extend(short.map(|(name, _)| name.into()));
    words.push("--".into());
    words.push(choice.study.clone().into());
    words
}

/// What a client is told of a run that has begun, or did not begin.
pub(super) fn begin_answer(run: &ChildRun, order: &Order) -> Result<Value> {
    let state = status(run)?;
    if run.folder().is_none() && run.phase().ended.is_some() {
        bail!("{}", run.log_end().join("\n"));
    }
    let expected = order.expected.as_secs();
    let mut state = state;
    state["expected_s"] = expected.into();
    if order.expected > order.max_duration {
        let limit = order.max_duration.as_secs();
        state["note"] = format!(
            "the study takes about {expected} s, and is stopped after {limit} s: filter, quick or pilot take a part of it"
        )
        .into();
    }
    Ok(state)
}

/// How far a run is, or how it ended.
pub(super) fn status(run: &ChildRun) -> Result<Value> {
    let Phase { stopping, ended } = run.phase();
    let folder = run.folder();
    let mut state = Map::new();
    let word = match (&ended, stopping) {
        (Some(_), _) => "ended",
        (None, Some(_)) => "stopping",
        (None, None) => "running",
    };
    state.insert("state".to_owned(), word.into());
    if let Some(folder) = &folder {
        state.insert("run".to_owned(), folder.display().to_string().into());
    }
    let stopped = stopping.map(|why| match why {
        StopReason::Client => "asked by the client",
        StopReason::MaxDuration => "the limit of time was reached",
    });
    if let Some(why) = stopped {
        state.insert("stopped".to_owned(), why.into());
    }
    let limit = run.max_duration.as_secs();
    state.insert("max_duration_s".to_owned(), limit.into());
    match (&ended, &folder) {
        (Some(how), folder) => add_end(&mut state, how, folder.as_deref(), run)?,
        (None, Some(folder)) => add_progress(&mut state, folder)?,
        (None, None) => {}
    }
    if ended.is_none() {
        let seconds = run.begun.elapsed().as_secs();
        state.insert("elapsed_s".to_owned(), seconds.into());
    }
    Ok(Value::Object(state))
}

fn add_progress(state: &mut Map<String, Value>, folder: &Path) -> Result<()> {
    let Some(now) = snapshot(folder)? else {
        return Ok(());
    };
    let values = json!({
        "study": now.study,
        "question": now.question,
        "trials": now.trials,
        "trials_done": now.trials_done,
        "left_s": now.left.as_secs(),
        "now": now.line,
    });
    if let Value::Object(values) = values {
        state.extend(values);
    }
    Ok(())
}

fn add_end(
    state: &mut Map<String, Value>,
    how: &str,
    folder: Option<&Path>,
    run: &ChildRun,
) -> Result<()> {
    state.insert("ended".to_owned(), how.into());
    let kept = folder.map(run_end).transpose()?.flatten();
    match kept {
        Some((code, text, mistake)) => {
            state.insert("exit_code".to_owned(), code.into());
            let meaning = Exit::from_code(code).map(meaning);
            state.insert("meaning".to_owned(), meaning.into());
            state.insert("text".to_owned(), without_rules(&text).into());
            if let Some(mistake) = mistake {
                state.insert("mistake".to_owned(), mistake.into());
            }
        }
        // It was killed, or did not begin.
        None => drop(state.insert("log".to_owned(), run.log_end().into())),
    }
    Ok(())
}

/// Without the lines of tables, which say nothing to a program.
fn without_rules(text: &str) -> String {
    let is_rule =
        |line: &&str| !line.is_empty() && line.chars().all(|letter| "─═".contains(letter));
    let lines: Vec<&str> = text.lines().filter(|line| !is_rule(line)).collect();
    lines.join("\n")
}

/// In a few words; the page of exit codes has all of it.
fn meaning(exit: Exit) -> &'static str {
    match exit {
        Exit::Fine => "every threshold holds; of a comparison: the same, or better",
        Exit::Threshold => "a threshold does not hold; of a comparison: worse",
        Exit::NotValid => "the question stays open, or the comparison is undecided",
        Exit::TrialFailed => "a trial failed, or no request succeeded",
        Exit::Mistake => "the study, its system or an argument has a mistake",
        Exit::Interrupted => "stopped; finished trials are kept",
    }
}

/// The results of a run.
pub(super) fn report(limits: &Limits, given: &Given) -> Result<Value> {
    let run = run_path(limits, given, "run")?;
    let read = waggle_results::Run::read(&run);
    let read = read.with_context(|| format!("run: cannot report on {}", run.display()))?;
    choose_keys(&report_json(&model(&read)), &given.texts("keys"))
}

/// Two runs against each other.
pub(super) fn compare(limits: &Limits, given: &Given) -> Result<Value> {
    let first = run_path(limits, given, "first")?;
    let second = run_path(limits, given, "second")?;
    let comparison = comparison([&first, &second], &settings(given)?)?;
    choose_keys(&compare_json(&comparison), &given.texts("keys"))
}

fn run_path(limits: &Limits, given: &Given, field: &str) -> Result<PathBuf> {
    limits.path(field, Path::new(given.text(field).unwrap_or_default()))
}

fn settings(given: &Given) -> Result<CompareSettings> {
    let margin = parse::margin(given.text("margin").unwrap_or(MARGIN_DEFAULT));
    let margin = margin.map_err(|why| anyhow!("margin: {why}"))?;
    let metrics = given.texts("metric");
    let metrics = metrics.iter().map(|text| parse::metric_path(text));
    let metrics: Result<_, _> = metrics.collect();
    Ok(CompareSettings {
        margin,
        metrics: metrics.map_err(|why| anyhow!("metric: {why}"))?,
    })
}

/// These outermost keys of a document, or all of it.
fn choose_keys(document: &str, keys: &[String]) -> Result<Value> {
    let Value::Object(mut all) = serde_json::from_str(document)? else {
        bail!("the result is no object");
    };
    for key in keys {
        if !all.contains_key(key) {
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            bail!("keys: there is no {key}; expected {}", known.join(", "));
        }
    }
    if !keys.is_empty() {
        all.retain(|key, _| keys.contains(key));
    }
    let length = |value: &Value| value.to_string().len();
    let sizes = all.iter().map(|(key, value)| (key, length(value)));
    let sizes: Vec<_> = sizes.collect();
    let total: usize = sizes.iter().map(|(_, size)| size).sum();
    if total > RESULT_MAX_BYTES {
        let sizes = sizes.iter().map(|(key, size)| format!("{key} {size}"));
        bail!(
            "keys: the result has {total} bytes, more than {RESULT_MAX_BYTES}; ask for some of these: {}",
            sizes.collect::<Vec<_>>().join(", ")
        );
    }
    Ok(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_result_are_chosen_and_a_long_one_is_refused() {
        let long = "a".repeat(RESULT_MAX_BYTES);
        let document = json!({ "answer": ["yes"], "cells": [1, 2], "trials": long }).to_string();
        let keys = |keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            choose_keys(&document, &keys).map_err(|why| why.to_string())
        };
        assert_eq!(keys(&["cells"]).unwrap(), json!({ "cells": [1, 2] }));
        assert_eq!(
            keys(&["cell"]).unwrap_err(),
            "keys: there is no cell; expected answer, cells, trials"
        );
        let error = keys(&[]).unwrap_err();
        assert!(
            error.contains("ask for some of these: answer 7, cells 5"),
            "{error}"
        );
    }
}
