//! Time to check, to read and to write one line of the sample readings; prints nanoseconds per line.
//!
//! `cargo run --release -p waggle-record --example lines [FILE]`
#![expect(
    clippy::print_stdout,
    reason = "a program whose purpose is to print a figure"
)]

use std::{hint::black_box, time::Instant};

use waggle_record::{Precision, line_protocol};

const ROUNDS: u32 = 20;

fn main() {
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../studies/data/host-metrics.lp"
    );
    let file = std::env::args().nth(1).unwrap_or_else(|| sample.to_owned());
    let text = std::fs::read(&file).expect("the file of readings can be read");
    let records =
        line_protocol::read(&text, Precision::Nanoseconds).expect("every line of it is right");
    let lines = records.len();
    let report = |what: &str, work: &dyn Fn() -> usize| {
        println!(
            "{what}: {:.0} ns a line, {lines} lines",
            best_ns(work) / lines as f64
        );
    };
    report("check (lines)", &|| {
        line_protocol::lines(&text)
            .map(|line| line.map_or(0, |line| line.raw.len()))
            .sum()
    });
    let each: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    report("check, each line a text of its own", &|| {
        each.iter()
            .flat_map(|line| line_protocol::lines(line))
            .map(|line| line.map_or(0, |line| line.raw.len()))
            .sum()
    });
    report("check and visit tags and fields", &|| {
        line_protocol::lines(&text)
            .flatten()
            .map(|line| line.tags().count() + line.fields().count())
            .sum()
    });
    report("read into records", &|| {
        line_protocol::read(&text, Precision::Nanoseconds).map_or(0, |records| records.len())
    });
    report("write", &|| {
        let mut out = Vec::with_capacity(text.len());
        for record in &records {
            line_protocol::write(record, &mut out).expect("what was read can be written");
        }
        out.len()
    });
}

/// The fastest of several rounds: the cost without other load.
fn best_ns(work: &dyn Fn() -> usize) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_nanos() as f64
        })
        .fold(f64::INFINITY, f64::min)
}
