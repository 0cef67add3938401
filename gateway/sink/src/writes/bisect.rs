//! Finds the lines of a refused batch that are at fault: from the refusal's text, else by bisection. No I/O.
//!
//! Every line is written again until a write with it succeeds, so it does not matter which lines of a refused write the database
//! has stored. n lines need at most 2n − 1 writes.

/// The lines of a batch that was refused, by their index.
#[derive(Debug)]
pub(crate) struct Bisection {
    /// Pieces to write, the next one last. No piece is empty.
    pieces: Vec<Vec<usize>>,
}

/// A line at fault, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AtFault {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl Bisection {
    /// All lines of a batch with at least one.
    pub(crate) fn new(lines: usize) -> Self {
        Self {
            pieces: vec![(0..lines).collect()],
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
        let alone = [piece[0]];
        let at_fault = if piece.len() == 1 { &alone[..] } else { named };
        if at_fault.is_empty() {
            let second = piece.split_off(piece.len() / 2);
            self.pieces.extend([second, piece]);
        } else {
            piece.retain(|line| at_fault.binary_search(line).is_err());
            if !piece.is_empty() {
                self.pieces.push(piece);
            }
        }
        let at_fault = at_fault.iter().map(|line| AtFault {
            line: *line,
            reason: reason.to_owned(),
        });
        at_fault.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bisects against a database that refuses some lines and names those that `names` selects.
    fn check(lines: usize, wrong: &[usize], names: impl Fn(usize) -> bool) -> usize {
        let mut bisection = Bisection::new(lines);
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
        ) {
            let wrong: Vec<usize> = wrong.into_iter().filter(|line| *line < lines).collect();
            check(lines, &wrong, |line| names[line]);
        }
    }
}
