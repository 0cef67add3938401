//! Which lines of a refused batch are at fault: by what the refusal says, else by halves. No I/O.
//!
//! Every line is written again until a write that held it is taken, so that nothing depends on which lines of a refused write
//! the database has kept. Of n lines at most 2n − 1 writes are made, however many are at fault.

/// The lines of a batch that was refused, by their index.
#[derive(Debug)]
pub(crate) struct Sieve {
    /// What is still to be written, the next piece last. No piece is empty.
    pieces: Vec<Vec<usize>>,
}

/// A line at fault, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AtFault {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl Sieve {
    /// All lines of a batch that has some.
    pub(crate) fn new(lines: usize) -> Self {
        Self {
            pieces: vec![(0..lines).collect()],
        }
    }

    /// The lines to write next; none when all are written or at fault.
    pub(crate) fn piece(&self) -> Option<&[usize]> {
        self.pieces.last().map(Vec::as_slice)
    }

    /// The piece was taken.
    pub(crate) fn on_written(&mut self) {
        self.pieces.pop();
    }

    /// The piece was refused. `named` are those of its lines that the refusal is known to mean, in order.
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

    /// Sieves against a database that refuses some lines. It names, of a refused piece, those that `names` picks.
    fn check(lines: usize, wrong: &[usize], names: impl Fn(usize) -> bool) -> usize {
        let mut sieve = Sieve::new(lines);
        let (mut written, mut at_fault, mut writes) = (Vec::new(), Vec::new(), 0);
        while let Some(piece) = sieve.piece() {
            writes += 1;
            assert!(writes < 2 * lines, "{lines} lines, {wrong:?}");
            let refused: Vec<usize> = (piece.iter().copied())
                .filter(|line| wrong.contains(line))
                .collect();
            if refused.is_empty() {
                written.extend_from_slice(piece);
                sieve.on_written();
            } else {
                let named: Vec<usize> = refused.into_iter().filter(|line| names(*line)).collect();
                at_fault.extend(sieve.on_refusal(&named, "why"));
            }
        }
        at_fault.sort_by_key(|found| found.line);
        let found: Vec<usize> = at_fault.iter().map(|found| found.line).collect();
        assert_eq!(found, wrong);
        let good: Vec<usize> = (0..lines).filter(|line| !wrong.contains(line)).collect();
        assert_eq!(written, good, "in order");
        writes
    }

    #[test]
    fn halves_find_the_lines_at_fault() {
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
        fn whatever_is_wrong_and_whatever_is_named(
            lines in 1_usize..40,
            wrong in proptest::collection::btree_set(0_usize..40, 0..12),
            names in proptest::collection::vec(proptest::bool::ANY, 40),
        ) {
            let wrong: Vec<usize> = wrong.into_iter().filter(|line| *line < lines).collect();
            check(lines, &wrong, |line| names[line]);
        }
    }
}
