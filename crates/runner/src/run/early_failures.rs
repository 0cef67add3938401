//! Trials that fail alike before a request was answered: more of them would say the same, at the price of a timeout each.
//!
//! A run whose first trials all fail so, in different cells where it has several, ends. A cell whose trials all fail so ends, and the
//! others go on: that a configuration does not start is a result.

use std::collections::BTreeSet;

use waggle_results::{CountsRow, FailureKind, PhaseName, TrialEnd, TrialInfo};

use crate::{event::Event, event_sender::Events};

/// So many failures that are alike are enough.
const ENOUGH: usize = 3;

/// The failures so far of this start of the run; what an earlier start left may have had another cause.
#[derive(Debug, Default)]
pub(crate) struct EarlyFailures {
    failed: Vec<Failed>,
    /// Another trial got further.
    has_others: bool,
    /// Cells of which no more trials run.
    ended: BTreeSet<u32>,
    is_run_over: bool,
}

#[derive(Debug)]
struct Failed {
    cell: u32,
    cause: String,
}

/// What follows from a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    EndCell,
    EndRun,
}

impl EarlyFailures {
    /// Notes how a trial ended, and reports what follows; `cells`: how many the run has. `true`: the run ends.
    pub(crate) async fn note(&mut self, info: &TrialInfo, cells: usize, events: &Events) -> bool {
        let cell = info.key.cell;
        let next = self.next(cell, early_cause(&info.end, &info.totals), cells);
        let reason = match &info.end {
            TrialEnd::Failed { reason, .. } => reason.as_str(),
            TrialEnd::Completed => "",
        };
        let text = match next {
            Next::Continue => return false,
            Next::EndCell => format!(
                "{ENOUGH} trials of cell {cell} failed alike before a request was answered, so it has no more of them: {reason}"
            ),
            Next::EndRun => format!(
                "{} trials failed alike before a request was answered, so the run ends: {reason}",
                self.failed.len()
            ),
        };
        events.report(Event::Warning(text)).await;
        next == Next::EndRun
    }

    /// The same of a trial of a search, whose next trial has another level: only what failed before the load would fail alike there.
    pub(crate) async fn note_step(&mut self, info: &TrialInfo, cells: usize, events: &Events) {
        let is_by_level =
            matches!(&info.end, TrialEnd::Failed { phase, .. } if *phase >= PhaseName::WarmUp);
        if is_by_level {
            self.next(info.key.cell, None, cells);
        } else {
            self.note(info, cells, events).await;
        }
    }

    /// Whether no more trials of any cell run.
    pub(crate) fn is_over(&self) -> bool {
        self.is_run_over
    }

    /// Whether no more trials of a cell run.
    pub(crate) fn has_ended(&self, cell: u32) -> bool {
        self.ended.contains(&cell)
    }

    fn next(&mut self, cell: u32, cause: Option<String>, cells: usize) -> Next {
        let Some(cause) = cause else {
            self.has_others = true;
            // A cell with a trial that got further goes on, whatever its other trials do.
            self.failed.retain(|failed| failed.cell != cell);
            return Next::Continue;
        };
        self.failed.push(Failed { cell, cause });
        if self.are_all_over(cells) {
            self.is_run_over = true;
            Next::EndRun
        } else if self.is_cell_over(cell) && self.ended.insert(cell) {
            Next::EndCell
        } else {
            Next::Continue
        }
    }

    fn are_all_over(&self, cells: usize) -> bool {
        let distinct: BTreeSet<u32> = self.failed.iter().map(|failed| failed.cell).collect();
        !self.has_others
            && distinct.len() >= cells.min(ENOUGH)
            && self.failed.len() >= ENOUGH
            && are_alike(self.failed.iter())
    }

    fn is_cell_over(&self, cell: u32) -> bool {
        let failures = || self.failed.iter().filter(|failed| failed.cell == cell);
        failures().count() >= ENOUGH && are_alike(failures())
    }
}

fn are_alike<'a>(mut failed: impl Iterator<Item = &'a Failed>) -> bool {
    let first = failed.next();
    failed.all(|other| first.is_some_and(|first| first.cause == other.cause))
}

/// The phase and the reason without its numbers, which are ports, processes and times; `None`: the trial came to its end, or a request
/// of a load was answered.
fn early_cause(end: &TrialEnd, totals: &CountsRow) -> Option<String> {
    let TrialEnd::Failed { phase, reason, .. } = end else {
        return None;
    };
    let mut failures = totals.failures.iter();
    let is_answered = totals.succeeded > 0 || failures.any(|failure| is_answer(failure.kind));
    if is_answered || *phase > PhaseName::Measure {
        return None;
    }
    let mut cause = format!("{phase:?} ");
    let words = reason.split(|letter: char| letter.is_ascii_digit());
    cause.extend(words.filter(|word| !word.is_empty()));
    Some(cause)
}

/// Whether the server answered a request that failed.
fn is_answer(kind: FailureKind) -> bool {
    let is_without_answer = matches!(
        kind,
        FailureKind::Reset
            | FailureKind::TimedOut
            | FailureKind::NotConnected
            | FailureKind::ClientEnded
    );
    !kind.is_connect_attempt() && !kind.is_of_session() && !is_without_answer
}

#[cfg(test)]
mod tests {
    use waggle_results::FailureCount;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum End {
        Fine,
        Refused(u16),
        Crashed,
        Untrusted,
        Answered404,
    }

    /// What a trial with this end says.
    fn cause(end: End) -> Option<String> {
        let failed = |phase, reason: String| TrialEnd::Failed {
            phase,
            reason,
            log_tail: Vec::new(),
        };
        let mut totals = CountsRow::default();
        let end = match end {
            End::Fine => TrialEnd::Completed,
            End::Refused(port) => failed(
                PhaseName::Ready,
                format!("127.0.0.1:{port} refused after {} ms", port / 7),
            ),
            End::Crashed => failed(PhaseName::Up, "server-0 ended with exit code 1".to_owned()),
            End::Untrusted | End::Answered404 => {
                let kind = match end {
                    End::Untrusted => FailureKind::HandshakeUnknownIssuer,
                    _ => FailureKind::Status(404),
                };
                totals.failures = vec![FailureCount { kind, count: 9 }];
                failed(PhaseName::Measure, "no request succeeded".to_owned())
            }
        };
        early_cause(&end, &totals)
    }

    /// Trials by cell. Returns after how many the run ends; `ended`: the cells that end.
    fn check(cells: usize, trials: &[(u32, End)], run: Option<usize>, ended: &[u32]) {
        let mut failures = EarlyFailures::default();
        let mut numbered = (1..).zip(trials);
        let over = numbered
            .find(|(_, (cell, end))| failures.next(*cell, cause(*end), cells) == Next::EndRun);
        assert_eq!(over.map(|(number, _)| number), run, "{cells} {trials:?}");
        let ended_cells: Vec<u32> = failures.ended.iter().copied().collect();
        assert_eq!(ended_cells, ended, "{cells} {trials:?}");
    }

    #[test]
    fn three_that_fail_alike_are_enough() {
        use End::{Answered404, Crashed, Fine, Refused, Untrusted};
        // Different cells: the run. Numbers in a reason, such as ports, make no difference.
        let refused = [(1, Refused(80)), (2, Refused(8080)), (3, Refused(9))];
        check(3, &refused, Some(3), &[]);
        check(9, &refused, Some(3), &[]);
        // Of one cell, if there is no other.
        let same = [(1, Refused(1)), (1, Refused(2)), (1, Refused(3))];
        check(1, &same, Some(3), &[]);
        // A connection that no handshake completed has answered nothing.
        check(1, &[(1, Untrusted); 4], Some(3), &[]);
        // Of one cell of several: that cell, and the others go on.
        check(2, &same, None, &[1]);
        check(2, &[same[0], same[1], same[2], (2, Fine)], None, &[1]);
        check(
            2,
            &[same[0], same[1], same[2], (2, Refused(4))],
            Some(4),
            &[1],
        );
        // One that got further, another cause, or answers: nothing ends.
        let others = [(2, Refused(1)), (3, Refused(1)), (4, Refused(1))];
        check(4, &[&[(1, Fine)][..], &others].concat(), None, &[]);
        check(3, &[(1, Crashed), others[0], others[1]], None, &[]);
        check(1, &[(1, Answered404); 4], None, &[]);
        check(1, &[same[0], same[1], (1, Fine), same[2]], None, &[]);
    }
}
