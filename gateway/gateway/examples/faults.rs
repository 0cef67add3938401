//! Kills gateway, sink, Telegraf, Kafka and InfluxDB under load, and reports the outcome of every record: the long form of
//! `tests/faults`. `bench/faults` builds and starts it.

#![expect(clippy::print_stdout, reason = "its result goes to stdout")]

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use waggle_testkit::faults::{Balance, Killed, Outcome, Plan, run, schedule};

/// Kills gateway, Kafka, sink, Telegraf and InfluxDB in turn under load, and accounts for every record.
#[derive(Parser)]
struct Arguments {
    /// Number of kills, of the five programs in turn
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    kills: u16,
    /// Seed of the order and the instants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Most records per second; at most half of the capacity is sent
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate_max: u64,
    /// Minutes after the last kill until all must be in the database
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=120))]
    arrive_minutes: u64,
    /// Path of the built waggle-gateway
    #[arg(long)]
    program: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let plan = Plan {
        program: arguments.program,
        kills: schedule(arguments.seed, arguments.kills.into()),
        rate_max: arguments.rate_max,
        arrive_within: Duration::from_secs(60 * arguments.arrive_minutes),
    };
    println!("seed {}, {} kills", arguments.seed, plan.kills.len());
    println!("   at s  target     down s  up s  back s  acknowledged     refused     unknown");
    let outcome = run(&plan, report);
    summary(&outcome);
    if is_whole(&outcome) {
        println!("nothing that was acknowledged is missing");
        ExitCode::SUCCESS
    } else {
        println!("FAILED");
        ExitCode::FAILURE
    }
}

fn report(killed: &Killed) {
    let target = format!("{:?}", killed.kill.target);
    println!(
        "{:7.1}  {target:9}  {:6.1}  {:4.1}  {:6.1}  {:12}  {:10}  {:10}",
        killed.at.as_secs_f64(),
        killed.kill.down.as_secs_f64(),
        killed.up_after.as_secs_f64(),
        killed.back_after.as_secs_f64(),
        killed.answers.acknowledged,
        killed.answers.refused,
        killed.answers.unknown
    );
}

fn summary(outcome: &Outcome) {
    println!(
        "capacity {}/s, sent {}/s; records: {} acknowledged, {} refused, {} unknown; sent again {} times",
        outcome.capacity,
        outcome.rate,
        outcome.acknowledged,
        outcome.refused,
        outcome.unknown,
        outcome.answers.repeated
    );
    println!(
        "all in the database {:.1} s after the end of the load",
        outcome.arrived_after.as_secs_f64()
    );
    println!("store      records  duplicates  missing  refused but there");
    for (store, balance) in stores(outcome) {
        println!(
            "{store:9}  {:7}  {:10}  {:7}  {:17}",
            balance.records, balance.duplicates, balance.missing, balance.refused_but_stored
        );
        if !balance.missing_keys.is_empty() {
            println!(
                "           missing, among others: {:?}",
                balance.missing_keys
            );
        }
    }
}

fn stores(outcome: &Outcome) -> [(&'static str, &Balance); 3] {
    [
        ("Kafka", &outcome.kafka),
        ("sink", &outcome.sink),
        ("Telegraf", &outcome.telegraf),
    ]
}

/// No acknowledged record is missing, no refused record is stored, and the sink's bucket has no duplicates.
fn is_whole(outcome: &Outcome) -> bool {
    let whole = |balance: &Balance| balance.missing == 0 && balance.refused_but_stored == 0;
    stores(outcome).iter().all(|(_, balance)| whole(balance))
        && outcome.sink.duplicates == 0
        && outcome.telegraf.duplicates == 0
}
