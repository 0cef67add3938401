//! What a report says of the same system on machines that do other things: rates of false alarms, of misses, and of false statements.
//!
//! `cargo test -p waggle-report --test report simulated_machines -- --nocapture` prints the table.

#![expect(clippy::print_stdout, reason = "the table of the rates")]

use waggle_analysis::{AnswerOf, Model, Shown, is_contended};
use waggle_stats::Verdict;

use crate::{
    seeded::{Machine, Seeded},
    seeded_model,
};

const DRAWS: u64 = 30;
const CELLS: [&str; 3] = ["1", "10", "50"];
/// Goodputs of the cells alone: 50 connections, group commit of 1.2 ms, 19 µs each.
const TRUE_GOODPUTS: [f64; 3] = [23_256.0, 46_685.0, 51_335.0];

/// Shares of the trials and of the runs.
#[derive(Debug, Default, Clone, Copy)]
struct Rates {
    unsteady: f64,
    contended: f64,
    /// Best cells of which the report does not say that another one may be as good, and which are not the best.
    false_best: f64,
    /// Effects that are shown, and whose interval is without the true ratio.
    false_effects: f64,
    /// Ranges of goodputs that contain the true one.
    covered: f64,
}

fn rates(machine: Machine) -> Rates {
    let of_draw = |draw: u64| {
        let mut study = Seeded::plain(&[("connections", &["50"]), ("pipelining", &CELLS)], 4);
        study.draw = draw;
        study.machine = machine;
        of_model(&seeded_model(&study))
    };
    let part = |selector: u64| {
        (1..=DRAWS)
            .filter(move |draw| draw % 2 == selector)
            .map(of_draw)
            .collect::<Vec<_>>()
    };
    let all = std::thread::scope(|scope| {
        let other = scope.spawn(move || part(1));
        let half = part(0);
        [half, other.join().expect("the other half")].concat()
    });
    let mean =
        |selector: fn(&Rates) -> f64| all.iter().map(selector).sum::<f64>() / all.len() as f64;
    Rates {
        unsteady: mean(|sample| sample.unsteady),
        contended: mean(|sample| sample.contended),
        false_best: mean(|sample| sample.false_best),
        false_effects: mean(|sample| sample.false_effects),
        covered: mean(|sample| sample.covered),
    }
}

fn of_model(model: &Model) -> Rates {
    let trials = model.trials.len() as f64;
    let share = |count: usize, total: f64| count as f64 / total;
    let unsteady = model.trials.iter().filter(|trial| {
        let mut reasons = trial.reasons.iter();
        reasons.any(|reason| reason.verdict == Verdict::Unsteady)
    });
    let contended = model.trials.iter().filter(|trial| is_contended(trial));
    let AnswerOf::Metrics(metrics) = &model.answer.of else {
        panic!("goodput is asked");
    };
    let best = &metrics[0];
    let is_best = best.best.cell == 3;
    let may_be_another = best.tied.iter().any(|tied| tied.value.cell == 3);
    let covered = best_values(model)
        .filter(|(cell, low, high)| (*low..=*high).contains(&TRUE_GOODPUTS[*cell]));
    Rates {
        unsteady: share(unsteady.count(), trials),
        contended: share(contended.count(), trials),
        false_best: f64::from(u8::from(!is_best && !may_be_another)),
        false_effects: false_effects(model),
        covered: share(covered.count(), 2.0),
    }
}

/// Cell, lowest and highest value of the best and of the worst cell.
fn best_values(model: &Model) -> impl Iterator<Item = (usize, f64, f64)> {
    let AnswerOf::Metrics(metrics) = &model.answer.of else {
        panic!("goodput is asked");
    };
    let ends = [Some(metrics[0].best), metrics[0].worst];
    ends.into_iter()
        .flatten()
        .map(|value| (value.cell as usize - 1, value.range.low, value.range.high))
}

fn false_effects(model: &Model) -> f64 {
    let Some(effects) = &model.effects else {
        return 0.0;
    };
    let outcome = effects
        .outcomes
        .iter()
        .find(|candidate| candidate.column == "goodput_per_s");
    let Some(outcome) = outcome.filter(|outcome| !outcome.is_as_measured) else {
        return 0.0;
    };
    let place = effects
        .factors
        .iter()
        .position(|factor| factor.name == "pipelining")
        .expect("the factor");
    let ratios = outcome.ratios[place]
        .iter()
        .zip(&outcome.shown[place])
        .enumerate();
    let wrong = ratios.filter(|(level, (ratio, shown))| {
        let truth = TRUE_GOODPUTS[level + 1] / TRUE_GOODPUTS[0];
        let (low, high) = ratio.interval.unwrap_or((0.0, f64::INFINITY));
        matches!(shown, Shown::Together) && !(low..=high).contains(&truth)
    });
    wrong.count() as f64 / 2.0
}

#[test]
fn machines_change_what_is_known_and_not_what_is_true() {
    let mut failed = Vec::new();
    let mut check = |name: &str, machine: Machine, unsteady: (f64, f64), contended: (f64, f64)| {
        let shares = rates(machine);
        println!("{name:<24} {shares:.3?}");
        let within = |value: f64, (low, high): (f64, f64)| (low..=high).contains(&value);
        if !within(shares.unsteady, unsteady)
            || !within(shares.contended, contended)
            || shares.false_best > 0.05
            || shares.false_effects > 0.15
            || shares.covered < 0.85
        {
            failed.push(format!("{name}: {shares:?}"));
        }
    };
    check("quiet", Machine::Quiet, (0.0, 0.03), (0.0, 0.0));
    check("5 % noise", Machine::Noise(0.05), (0.0, 0.05), (0.0, 0.0));
    check("15 % noise", Machine::Noise(0.15), (0.0, 0.1), (0.0, 0.0));
    check(
        "constant neighbour",
        Machine::Neighbour,
        (0.0, 0.05),
        (1.0, 1.0),
    );
    check("on-off neighbour", Machine::OnOff, (0.0, 1.0), (0.7, 1.0));
    assert!(failed.is_empty(), "{failed:#?}");
}
