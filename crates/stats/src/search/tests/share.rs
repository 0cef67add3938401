//! Levels at a share of a capacity.

use crate::search::tests::Levels;

#[test]
fn a_share_of_a_capacity_is_a_level_that_people_can_read() {
    let check = |levels: Levels, capacity: f64, share: f64, expected: f64| {
        let level = levels.at_share(capacity, share);
        assert_eq!(
            level.to_string(),
            expected.to_string(),
            "{share} of {capacity}"
        );
    };
    check(Levels::Fine, 3_250.0, 0.5, 1_630.0);
    check(Levels::Fine, 3_250.0, 0.8, 2_600.0);
    check(Levels::Fine, 40_000.0, 0.5, 20_000.0);
    check(Levels::Fine, 0.13, 0.5, 0.065);
    // The capacity itself, however it was typed in.
    check(Levels::Fine, 1_234.0, 1.0, 1_234.0);
    check(Levels::Whole, 5.0, 0.5, 3.0);
    check(Levels::Whole, 5.0, 0.8, 4.0);
    check(Levels::Whole, 1.0, 0.1, 1.0);
    check(Levels::Whole, 20_200.0, 0.5, 10_100.0);
}
