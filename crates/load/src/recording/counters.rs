//! How counts add up: of several workers over the same interval, and of one interval after the other. Each count is a row with its
//! rule.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::histogram;
use crate::failure::Failures;

/// A struct of counts, each with how it adds up:
/// - `sum`: over workers and over time;
/// - `last`: over workers it is added; in time it is a state, and the later one counts;
/// - `busiest`: over workers the largest one counts; in time it is added.
macro_rules! counters {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$field_attribute:meta])* pub $field:ident: $type:ty => $rule:ident,)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$field_attribute])* pub $field: $type,)*
        }

        impl $name {
            /// Adds the same interval of other workers.
            pub fn join(&mut self, other: &Self) {
                $($crate::recording::counters::$rule::join(&mut self.$field, &other.$field);)*
            }

            /// Adds the next interval of the same workers.
            pub fn follow(&mut self, next: &Self) {
                $($crate::recording::counters::$rule::follow(&mut self.$field, &next.$field);)*
            }
        }

        impl $crate::recording::counters::Count for $name {
            fn join(&mut self, other: &Self) {
                Self::join(self, other);
            }

            fn follow(&mut self, next: &Self) {
                Self::follow(self, next);
            }
        }
    };
}
pub(crate) use counters;

/// What can be added up.
pub(crate) trait Count {
    /// Adds the same interval of other workers.
    fn join(&mut self, other: &Self);

    /// Adds the next interval: the same, but of counts that have rules of their own.
    fn follow(&mut self, next: &Self) {
        self.join(next);
    }
}

impl Count for u64 {
    fn join(&mut self, other: &Self) {
        *self += other;
    }
}

impl Count for i64 {
    fn join(&mut self, other: &Self) {
        *self += other;
    }
}

impl Count for Duration {
    fn join(&mut self, other: &Self) {
        *self += *other;
    }
}

/// `None`: nothing was counted.
impl Count for Option<u64> {
    fn join(&mut self, other: &Self) {
        *self = match (*self, *other) {
            (Some(count), Some(others)) => Some(count + others),
            (count, others) => count.or(others),
        };
    }
}

impl Count for Failures {
    fn join(&mut self, other: &Self) {
        Self::join(self, other);
    }
}

impl Count for Histogram<u64> {
    fn join(&mut self, other: &Self) {
        histogram::add(self, other);
    }
}

pub(crate) mod sum {
    use super::Count;

    pub(crate) fn join<T: Count>(sum: &mut T, other: &T) {
        sum.join(other);
    }

    pub(crate) fn follow<T: Count>(sum: &mut T, next: &T) {
        sum.follow(next);
    }
}

pub(crate) mod last {
    use super::Count;

    pub(crate) fn join<T: Count>(sum: &mut T, other: &T) {
        sum.join(other);
    }

    pub(crate) fn follow<T: Copy>(state: &mut T, next: &T) {
        *state = *next;
    }
}

pub(crate) mod busiest {
    use super::Count;

    pub(crate) fn join<T: Ord + Copy>(most: &mut T, other: &T) {
        *most = (*most).max(*other);
    }

    pub(crate) fn follow<T: Count>(sum: &mut T, next: &T) {
        sum.follow(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::outcome::Counts;

    #[test]
    fn each_count_adds_up_by_its_rule() {
        let three = |sent, in_flight, ms| Counts {
            sent,
            in_flight,
            engine_cpu_busiest: Duration::from_millis(ms),
            ..Counts::default()
        };
        let mut workers = three(1, 2, 30);
        workers.join(&three(10, 20, 3));
        assert_eq!(workers, three(11, 22, 30));
        let mut intervals = three(1, 2, 30);
        intervals.follow(&three(10, 20, 3));
        assert_eq!(intervals, three(11, 20, 33));
    }

    #[test]
    fn counts_that_some_do_not_have_are_added_where_they_are() {
        let joined = |mut count: Option<u64>, other| {
            count.join(&other);
            count
        };
        assert_eq!(joined(None, None), None);
        assert_eq!(joined(None, Some(2)), Some(2));
        assert_eq!(joined(Some(1), None), Some(1));
        assert_eq!(joined(Some(1), Some(2)), Some(3));
    }
}
