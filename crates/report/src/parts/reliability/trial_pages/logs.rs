//! The ends of a trial's logs, as much of them as all trials together leave room for.

use crate::layout::document::Block;
use waggle_analysis::{Model, TrialModel};
use waggle_results::LogTail;

/// Bytes of all logs in the page; what a single trial gets of them at least and at most.
const BYTES_IN_ALL: usize = 64 << 10;
const BYTES_FEWEST: usize = 400;
const BYTES_MOST: usize = 6 << 10;
/// A longer line is cut.
const LINE_CHARS: usize = 200;

/// A heading and the last lines of each log.
pub(super) fn logs(model: &Model, trial: &TrialModel) -> Vec<Block> {
    let of_trial = BYTES_IN_ALL / model.trials.len().max(1);
    let each = of_trial.clamp(BYTES_FEWEST, BYTES_MOST) / trial.logs.len().max(1);
    trial
        .logs
        .iter()
        .flat_map(|log| end_of_log(log, each))
        .collect()
}

fn end_of_log(log: &LogTail, room: usize) -> [Block; 2] {
    let name = format!("End of {}", log.name);
    let file = Block::File {
        label: name.clone().into(),
        text: last_lines(log, room),
    };
    [Block::Heading(name), file]
}

/// As many of the last lines as there is room for, and at least one.
fn last_lines(log: &LogTail, room: usize) -> String {
    let lines = log.lines.iter().map(|line| cut(line));
    let lines: Vec<String> = lines.collect();
    let mut first = lines.len();
    let mut used = 0;
    while let Some(line) = first.checked_sub(1).map(|before| &lines[before]) {
        used += line.len() + 1;
        if used > room && first < lines.len() {
            break;
        }
        first -= 1;
    }
    lines[first..].join("\n")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_that_fit() {
        let check = |lines: &[&str], room: usize, expected: &str| {
            let log = LogTail {
                name: "a.log".to_owned(),
                lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            };
            assert_eq!(last_lines(&log, room), expected);
        };
        check(&["one", "two", "three"], 100, "one\ntwo\nthree");
        check(&["one", "two", "three"], 10, "two\nthree");
        check(&["one", "two", "three"], 9, "three");
        check(&["one", "two", "three"], 0, "three");
        check(&[], 9, "");
        let long = "é".repeat(300);
        check(&[&long], 9, &format!("{}…", "é".repeat(200)));
    }
}
