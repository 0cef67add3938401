//! `waggle plan`: what would run, in which order, for how long.

use std::fmt::Write;

use anyhow::Result;
use waggle_study::{Cell, LoadModel, Order, Study};

use crate::{arguments::Plan, exit::Exit, files, table::duration};

#[expect(clippy::print_stdout, reason = "the plan is this command's output")]
pub(crate) fn run(arguments: &Plan) -> Result<Exit> {
    let loaded = files::load(&arguments.choice)?;
    print!(
        "{}",
        listing(&loaded.study, &waggle_study::plan(&loaded.study))
    );
    Ok(Exit::Fine)
}

/// The plan as text: the cells, then the trials in the order of execution.
fn listing(study: &Study, plan: &waggle_study::Plan) -> String {
    let mut text = String::new();
    let order = match study.order {
        Order::Shuffled => format!("shuffled within each repetition, seed {}", study.seed),
        Order::AsListed => "as listed".to_owned(),
    };
    let _ = writeln!(text, "study {}: {}", study.name, study.question);
    let _ = writeln!(text, "system {}", study.system);
    let _ = writeln!(
        text,
        "{} cells × {} repetitions = {} trials, {order}",
        study.cells.len(),
        study.repeat,
        plan.trials.len()
    );
    let _ = writeln!(
        text,
        "about {}, {} at most",
        duration(plan.expected),
        duration(plan.at_most)
    );
    let _ = writeln!(text, "\ncells");
    for cell in &study.cells {
        let _ = writeln!(
            text,
            "  {:>3}  {:<40} {}",
            cell.number,
            levels(cell),
            load(&cell.load)
        );
    }
    let _ = writeln!(text, "\ntrials, in the order of execution");
    for trial in &plan.trials {
        let cell = study.cells.iter().find(|cell| cell.number == trial.cell);
        let shown = cell.map(levels).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {:>3}  repetition {}  cell {:>2}  {shown}",
            trial.position, trial.repetition, trial.cell
        );
    }
    text
}

/// `connections=10 pipelining=50`.
fn levels(cell: &Cell) -> String {
    cell.levels
        .iter()
        .map(|(name, level)| format!("{name}={level}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn load(model: &LoadModel) -> String {
    match model {
        LoadModel::Closed {
            connections,
            pipelining,
        } => format!("closed, {connections} connections × {pipelining} in flight"),
        LoadModel::Open {
            rate_per_s,
            connections,
            pipelining,
            ..
        } => {
            format!("open, {rate_per_s}/s over {connections} connections × {pipelining}")
        }
        LoadModel::Users { users, .. } => format!("{users} users"),
    }
}
