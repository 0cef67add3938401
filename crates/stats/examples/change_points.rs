//! The change points of histories, for bench/history: reads one history per line from standard input, its values separated by
//! spaces, and prints one line for each: the microseconds that it took, then `index:ratio` of each change point.
#![expect(clippy::print_stdout, reason = "its output is for a script")]

use std::{io::BufRead, process::ExitCode, time::Instant};

use waggle_stats::{ChangeLimits, HistoryRun, Scale, change_points};

const LIMITS: ChangeLimits = ChangeLimits {
    false_alarms: 0.01,
    min_change: 0.0,
};

fn main() -> ExitCode {
    for line in std::io::stdin().lock().lines() {
        match line.ok().and_then(|line| answer(&line)) {
            Some(answer) => println!("{answer}"),
            None => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

/// `None` if the line is no history.
fn answer(line: &str) -> Option<String> {
    let run = |value: &str| {
        Some(HistoryRun {
            value: value.parse().ok()?,
            log_error: None,
        })
    };
    let runs: Vec<HistoryRun> = line.split_whitespace().map(run).collect::<Option<_>>()?;
    let start = Instant::now();
    let changes = change_points(&runs, Scale::default(), LIMITS)?;
    let mut answer = start.elapsed().as_micros().to_string();
    for change in changes {
        answer += &format!(" {}:{}", change.index, change.ratio.point);
    }
    Some(answer)
}
