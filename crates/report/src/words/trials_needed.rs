//! How many trials would show what these do not.

use waggle_stats::{MAX_TRIALS_NEEDED, TrialsNeeded};

/// `about 12 trials`, `8 to 40 trials`, `8 to more than 200 trials`; of what is counted in the singular.
pub(crate) fn count(needed: TrialsNeeded, unit: &str) -> String {
    match (needed.least, needed.most) {
        (least, Some(most)) if least == most => format!("about {least} {unit}s"),
        (least, Some(most)) => format!("{least} to {most} {unit}s"),
        (least, None) => format!("{least} to more than {MAX_TRIALS_NEEDED} {unit}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends_unless_they_are_alike() {
        let check = |least: usize, most: Option<usize>, expected: &str| {
            assert_eq!(count(TrialsNeeded { least, most }, "trial"), expected);
        };
        check(12, Some(12), "about 12 trials");
        check(8, Some(40), "8 to 40 trials");
        check(8, None, "8 to more than 200 trials");
    }
}
