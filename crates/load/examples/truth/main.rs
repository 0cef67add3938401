//! Latency against truth, for `bench/engine/truth`: `truth [ROUNDS]` compares the latencies of the engine with those of the
//! server.
//!
//! The true time of a request is between two instants on one clock: the sending instant in its stamp, which the server compares
//! with the instant at which it had read the request, and the instant at which the server began to write the answer. The engine
//! can only notice an answer later, so its percentiles are never below the truth. How far above it they may be depends on what
//! the machine needs to wake a thread: the server's own answers go out later than it means them to by just that, and how far such
//! delays move a percentile is computed from them.
//!
//! Prints Markdown; ends with 1 if a percentile is below the truth, or above it by more than 1 % (50 µs) and the machine's share
//! in every round.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for the bench script, which reads its output; a surprise ends it"
)]

mod delays;
mod loads;
#[path = "../../tests/it/support/stamped.rs"]
mod stamped;

use std::process::ExitCode;

use hdrhistogram::Histogram;

use delays::Note;
use loads::{Load, Measured, loads};

const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];
/// Server and engine each tie the two clocks together, the engine to within this.
const CLOCKS_APART_US: f64 = 20.0;

/// True and reported values of one of the times.
struct Pair {
    name: &'static str,
    /// In microseconds, of every request in the order of the answers.
    truth: Vec<f64>,
    reported: Histogram<u64>,
    least: Least,
}

/// How far below the truth a percentile may be.
#[derive(Clone, Copy)]
enum Least {
    /// Not at all, except for the error of the clocks.
    Truth,
    /// By the same as above: the engine's delay in noticing, which it cannot know, can also lower its figure.
    AsFarAsAbove,
}

/// One percentile of one time.
struct Row {
    name: &'static str,
    quantile: f64,
    truth: f64,
    reported: f64,
    machine: f64,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Within,
    /// May be explained by a busy machine.
    Missed,
    /// Not possible on any machine: an answer was noticed before it was written.
    Impossible,
}

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1);
    let rounds: u64 = rounds.map_or(5, |rounds| rounds.parse().unwrap());
    println!("| load | time | quantile | truth (µs) | reported | above | of it the machine's | |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut code = ExitCode::SUCCESS;
    for load in loads() {
        let rows = best_round(&load, rounds);
        for row in &rows {
            print(&load, row);
        }
        if rows.iter().any(|row| row.verdict != Verdict::Within) {
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// The first round with all values within their bounds, or the last one: a busy machine may spoil a round, a fault of the engine
/// spoils all of them.
fn best_round(load: &Load, rounds: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for round in 0..rounds.max(1) {
        rows = compare(load, &load.measure(round));
        if rows.iter().all(|row| row.verdict == Verdict::Within)
            || rows.iter().any(|row| row.verdict == Verdict::Impossible)
        {
            break;
        }
    }
    rows
}

fn print(load: &Load, row: &Row) {
    let verdict = match row.verdict {
        Verdict::Within => "",
        Verdict::Missed => "**missed**",
        Verdict::Impossible => "**impossible**",
    };
    println!(
        "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {verdict} |",
        load.name,
        row.name,
        row.quantile,
        row.truth,
        row.reported,
        row.reported - row.truth,
        row.machine
    );
}

/// Microseconds from one instant to another; below 0 if the other is the earlier one.
fn micros_between(from: u64, to: u64) -> f64 {
    to.wrapping_sub(from).cast_signed() as f64 / 1e3
}

fn quantile(mut values: Vec<f64>, quantile: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(quantile * values.len() as f64).ceil() as usize - 1]
}

fn compare(load: &Load, measured: &Measured) -> Vec<Row> {
    let notes = &measured.notes;
    let late: Vec<f64> = notes
        .iter()
        .map(|note| micros_between(note.meant, note.written))
        .collect();
    let service = Pair {
        name: "service time",
        truth: notes
            .iter()
            .map(|note| micros_between(note.sent, note.written))
            .collect(),
        reported: measured.service_time.clone(),
        least: Least::Truth,
    };
    let response = load.response_time(measured);
    let pairs = [service].into_iter().chain(response);
    let percentiles = pairs.flat_map(|pair| QUANTILES.map(|q| percentile(&pair, &late, q)));
    percentiles
        .chain([stamp_age(notes, &late), lag(measured, &late)])
        .collect()
}

fn percentile(pair: &Pair, late: &[f64], q: f64) -> Row {
    // Lateness of a wake-up is independent of the wait: another request's lateness is as good.
    let shift = late.len() / 2;
    let delayed: Vec<f64> = (0..late.len())
        .map(|index| pair.truth[index] + late[(index + shift) % late.len()])
        .collect();
    let truth = quantile(pair.truth.clone(), q);
    let machine = quantile(delayed, q) - truth;
    let reported = pair.reported.value_at_quantile(q) as f64;
    let above = (truth * 0.01).max(50.0) + machine;
    let off = reported - truth;
    let verdict = match pair.least {
        Least::Truth => verdict(off, above),
        Least::AsFarAsAbove => verdict(off.abs(), above),
    };
    Row {
        name: pair.name,
        quantile: q,
        truth,
        reported,
        machine,
        verdict,
    }
}

fn verdict(above: f64, most: f64) -> Verdict {
    if above < -CLOCKS_APART_US {
        Verdict::Impossible
    } else if above > most {
        Verdict::Missed
    } else {
        Verdict::Within
    }
}

/// The sending stamp, compared with the server's clock: no older than a wake-up when it is read.
fn stamp_age(notes: &[Note], late: &[f64]) -> Row {
    let ages: Vec<f64> = notes
        .iter()
        .map(|note| micros_between(note.sent, note.read))
        .collect();
    let youngest = ages.iter().copied().fold(f64::INFINITY, f64::min);
    let wake_up = quantile(late.to_vec(), 0.5);
    let age = quantile(ages, 0.5);
    let verdict = if youngest < -CLOCKS_APART_US {
        Verdict::Impossible
    } else {
        verdict(age, 50.0 + 2.0 * wake_up)
    };
    Row {
        name: "age of stamps when read",
        quantile: 0.5,
        truth: 0.0,
        reported: age,
        machine: wake_up,
        verdict,
    }
}

/// Half of all requests are sent as soon as a thread can be woken. The rest depends on the machine, and is part of the response
/// time.
fn lag(measured: &Measured, late: &[f64]) -> Row {
    let wake_up = quantile(late.to_vec(), 0.5);
    let lag = measured.lag.value_at_quantile(0.5) as f64;
    Row {
        name: "lag of sending",
        quantile: 0.5,
        truth: 0.0,
        reported: lag,
        machine: wake_up,
        verdict: verdict(lag, 50.0 + 2.0 * wake_up),
    }
}
