//! A delay is known between an earliest and a latest value.

use waggle_analysis::{Decision, Shortcoming};

use crate::{seeded::Seeded, seeded_model};

#[test]
fn a_delay_is_decided_by_its_earliest_and_its_latest_value() {
    use Decision::{Fails, Holds, Undecided};
    // The p99 at the broker is 7.92 ms at the latest, and 4.95 ms at the earliest.
    let check = |limit_us: u32, expected: Decision| {
        let study = Seeded {
            thresholds: vec![format!("delivery.broker.delay.p99 < {limit_us}")],
            ..Seeded::pipeline()
        };
        let model = seeded_model(&study);
        let mut thresholds = model.thresholds.iter();
        let of_delay =
            thresholds.find(|threshold| threshold.text.starts_with("delivery.broker.delay"));
        // The system of the other cell is overloaded.
        let cell = &of_delay.unwrap().cells[0];
        assert_eq!(cell.held, expected, "{limit_us}: {cell:?}");
        let is_within = matches!(cell.reason, Some(Shortcoming::Within(..)));
        assert_eq!(is_within, expected == Undecided, "{limit_us}: {cell:?}");
    };
    check(8_500, Holds);
    check(7_000, Undecided);
    check(5_500, Undecided);
    check(4_500, Fails);
}
