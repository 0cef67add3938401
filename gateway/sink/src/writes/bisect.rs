//! Finds the lines of a refused batch that are at fault: from the refusal's text, else by bisection. No I/O.
//!
//! Every line is written again until a write with it succeeds, so it does not matter which lines of a refused write the database
//! has stored. Refused lines are separated by message first. What one message costs has a limit: after [`REFUSALS_MAX`] refusals its
//! refused parts are at fault as a whole, so that a message with many refused lines does not hold up those behind it.

use std::collections::HashMap;

/// Most refusals of a message's parts that are divided further. Of 4096 lines that take one write if nothing is wrong, one at fault
/// costs 12 of them, unless the refusal names it.
const REFUSALS_MAX: usize = 128;

/// The lines of a batch that was refused, by their index.
#[derive(Debug)]
pub(crate) struct Bisection<'a> {
    /// The first line of each message, in order.
    messages: &'a [usize],
    /// Pieces to write, the next one last. No piece is empty.
    pieces: Vec<Vec<usize>>,
    /// Refusals of a message's parts so far, by its index.
    refused: HashMap<usize, usize>,
}

/// A line at fault, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AtFault {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl<'a> Bisection<'a> {
    /// All lines of a batch with at least one. `messages` has the first line of each message, in order.
    pub(crate) fn new(lines: usize, messages: &'a [usize]) -> Self {
        Self {
            messages,
            pieces: vec![(0..lines).collect()],
            refused: HashMap::new(),
        }
    }

    /// The lines to write next; `None` if all are written or at fault.
    pub(crate) fn piece(&self) -> Option<&[usize]> {
        self.pieces.last().map(Vec::as_slice)
    }

    /// The piece was written.
    pub(crate) fn on_written(&mut self) {
        self.pieces.pop();
    }

    /// The piece was refused. `named` are the lines that the refusal names, in order.
    pub(crate) fn on_refusal(&mut self, named: &[usize], reason: &str) -> Vec<AtFault> {
        let Some(mut piece) = self.pieces.pop() else {
            return Vec::new();
        };
        let fault = |line: &usize| AtFault {
            line: *line,
            reason: reason.to_owned(),
        };
        let is_named = |line: &usize| piece.len() > 1 && self.is_divided(self.message(*line));
        if named.first().is_some_and(is_named) {
            piece.retain(|line| named.binary_search(line).is_err());
            if !piece.is_empty() {
                self.pieces.push(piece);
            }
            return named.iter().map(fault).collect();
        }
        match self.division(&piece) {
            Some(middle) => {
                let second = piece.split_off(middle);
                self.pieces.extend([second, piece]);
                Vec::new()
            }
            None => piece.iter().map(fault).collect(),
        }
    }

    /// Where to divide a refused piece, as a number of lines; `None` if it is not to be divided.
    fn division(&mut self, piece: &[usize]) -> Option<usize> {
        let (first, last) = (self.message(piece[0]), self.message(piece[piece.len() - 1]));
        if first == last {
            let is_divided = piece.len() > 1 && self.is_divided(first);
            return is_divided.then_some(piece.len() / 2);
        }
        // The boundary between messages that is next to the middle.
        let middle = self.message(piece[piece.len() / 2]);
        let boundary =
            |message: usize| piece.partition_point(|line| *line < self.messages[message]);
        Some(boundary(if middle > first { middle } else { first + 1 }))
    }

    /// Counts a refusal of a part of the message; whether it is divided.
    fn is_divided(&mut self, message: usize) -> bool {
        let refused = self.refused.entry(message).or_default();
        *refused += 1;
        *refused <= REFUSALS_MAX
    }

    /// The index of a line's message.
    fn message(&self, line: usize) -> usize {
        self.messages.partition_point(|first| *first <= line) - 1
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// Bisects against a database that refuses some lines and names those that `names` selects.
    fn check(lines: usize, wrong: &[usize], names: impl Fn(usize) -> bool) -> usize {
        check_messages(lines, &[0], wrong, names)
    }

    /// The same for lines of several messages.
    fn check_messages(
        lines: usize,
        messages: &[usize],
        wrong: &[usize],
        names: impl Fn(usize) -> bool,
    ) -> usize {
        let mut bisection = Bisection::new(lines, messages);
        let (mut written, mut at_fault, mut writes) = (Vec::new(), Vec::new(), 0);
        while let Some(piece) = bisection.piece() {
            writes += 1;
            assert!(writes < 2 * lines, "{lines} lines, {wrong:?}");
            let refused: Vec<usize> = (piece.iter().copied())
                .filter(|line| wrong.contains(line))
                .collect();
            if refused.is_empty() {
                written.extend_from_slice(piece);
                bisection.on_written();
            } else {
                let named: Vec<usize> = refused.into_iter().filter(|line| names(*line)).collect();
                at_fault.extend(bisection.on_refusal(&named, "why"));
            }
        }
        at_fault.sort_by_key(|fault| fault.line);
        let fault: Vec<usize> = at_fault.iter().map(|fault| fault.line).collect();
        assert_eq!(fault, wrong);
        let good: Vec<usize> = (0..lines).filter(|line| !wrong.contains(line)).collect();
        assert_eq!(written, good, "in order");
        writes
    }

    #[test]
    fn bisection_finds_the_lines_at_fault() {
        let nothing = |_| false;
        assert_eq!(check(1, &[0], nothing), 1);
        assert_eq!(check(2, &[1], nothing), 3);
        assert_eq!(check(1024, &[700], nothing), 21);
        check(5, &[0, 1, 2, 3, 4], nothing);
        check(1000, &[3, 500, 999], nothing);
    }

    /// Writes that a batch of messages of 100 lines takes, of which one message has every second line at fault; the database names
    /// one line at a time, or none.
    fn writes_of_a_wrong_message(lines: usize, wrong: Range<usize>, names: usize) -> usize {
        let messages: Vec<usize> = (0..lines)
            .step_by(100)
            .filter(|first| !(wrong.start + 1..wrong.end).contains(first))
            .collect();
        let mut bisection = Bisection::new(lines, &messages);
        let (mut written, mut writes) = (0, 0);
        let mut at_fault = Vec::new();
        while let Some(piece) = bisection.piece() {
            writes += 1;
            let is_wrong = |line: &&usize| wrong.contains(*line) && (*line).is_multiple_of(2);
            let refused: Vec<usize> = piece.iter().filter(is_wrong).copied().collect();
            if refused.is_empty() {
                written += piece.len();
                bisection.on_written();
            } else {
                at_fault.extend(bisection.on_refusal(&refused[..names], "why"));
            }
        }
        assert_eq!(written + at_fault.len(), lines, "each line once");
        let is_inside = |fault: &AtFault| wrong.contains(&fault.line);
        assert!(at_fault.iter().all(is_inside), "a line of another message");
        writes
    }

    #[test]
    fn a_message_with_many_lines_at_fault_takes_a_bounded_number_of_writes() {
        for names in [0, 1] {
            let writes = writes_of_a_wrong_message(20_000, 5_000..15_000, names);
            assert!(writes < 2 * REFUSALS_MAX + 40, "{writes} writes");
        }
        let writes = writes_of_a_wrong_message(20_000, 700..800, 0);
        assert!(writes < 220, "{writes} writes");
    }

    #[test]
    fn lines_that_are_named_take_one_write() {
        assert_eq!(check(1000, &[3, 500, 999], |_| true), 2);
        let all: Vec<usize> = (0..1000).collect();
        assert_eq!(check(1000, &all, |_| true), 1);
    }

    proptest::proptest! {
        #[test]
        fn any_refused_lines_are_found(
            lines in 1_usize..40,
            wrong in proptest::collection::btree_set(0_usize..40, 0..12),
            names in proptest::collection::vec(proptest::bool::ANY, 40),
            mut messages in proptest::collection::vec(0_usize..40, 0..6),
        ) {
            let wrong: Vec<usize> = wrong.into_iter().filter(|line| *line < lines).collect();
            messages.push(0);
            messages.sort_unstable();
            check_messages(lines, &messages, &wrong, |line| names[line]);
        }
    }
}
