//! Reads histories from standard input, one per line, and prints their change points: microseconds, then `index:ratio:low:high` each.
#![allow(clippy::all)]
use std::io::BufRead;
use waggle_stats::{Run, Scale, change_points};
fn main() {
    for line in std::io::stdin().lock().lines() {
        let runs: Vec<Run> = line.unwrap().split_whitespace().map(|v| Run { value: v.parse().unwrap(), log_error: None }).collect();
        let start = std::time::Instant::now();
        let found = change_points(&runs, Scale::default(), 0.0).unwrap();
        let took = start.elapsed().as_micros();
        let text: Vec<String> = found.iter().map(|c| { let (l, h) = c.ratio.interval.unwrap(); format!("{}:{}:{}:{}", c.index, c.ratio.point, l, h) }).collect();
        println!("{took} {}", text.join(" "));
    }
}
