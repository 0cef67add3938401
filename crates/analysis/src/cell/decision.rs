//! What all values that the system can have say of a limit.

use waggle_spec::Comparison;
use waggle_stats::Range;

/// What trials show of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Holds,
    /// Not shown either way.
    Undecided,
    Fails,
}

/// Compares every value of a range.
pub(crate) fn decide(op: Comparison, range: Range, limit: f64) -> Decision {
    match (op.holds(range.low, limit), op.holds(range.high, limit)) {
        (false, false) if op == Comparison::Equal && (range.low..range.high).contains(&limit) => {
            Decision::Undecided
        }
        (true, true) => Decision::Holds,
        (false, false) => Decision::Fails,
        _ => Decision::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_decided_if_all_values_say_the_same() {
        let check = |op, (low, high), expected| {
            let decision = decide(op, Range { low, high }, 10.0);
            assert_eq!(decision, expected, "{op:?} {low} {high}");
        };
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        use Decision::{Fails, Holds, Undecided};
        let infinite = f64::INFINITY;
        check(Less, (5.0, 9.0), Holds);
        check(Less, (5.0, 10.0), Undecided);
        check(Less, (10.0, 11.0), Fails);
        check(LessOrEqual, (5.0, 10.0), Holds);
        // A doubt that leaves only smaller values possible.
        check(Less, (-infinite, 9.0), Holds);
        check(Less, (-infinite, 12.0), Undecided);
        check(Less, (11.0, infinite), Fails);
        check(Less, (-infinite, infinite), Undecided);
        check(Greater, (11.0, infinite), Holds);
        check(GreaterOrEqual, (10.0, 12.0), Holds);
        check(GreaterOrEqual, (-infinite, 9.0), Fails);
        check(Equal, (10.0, 10.0), Holds);
        check(Equal, (9.0, 9.0), Fails);
        check(Equal, (9.0, 11.0), Undecided);
        check(Equal, (11.0, 12.0), Fails);
    }
}
