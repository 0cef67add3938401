//! What each factor does is found in a seeded grid, and nothing is said where the cells form none.

use crate::{
    seeded::{Seeded, Wrong},
    seeded_model,
};
use waggle_analysis::{EffectsModel, OutcomeEffects, effects::WithoutEffects};
use waggle_report::wording::effects::{caution, headline, notes};
use waggle_stats::{Source, is_above};

fn effects(study: &Seeded) -> Option<EffectsModel> {
    seeded_model(study).effects
}

fn outcome<'a>(effects: &'a EffectsModel, column: &str) -> &'a OutcomeEffects {
    let outcome = effects
        .outcomes
        .iter()
        .find(|candidate| candidate.column == column);
    outcome.unwrap_or_else(|| panic!("{column} is shown"))
}

/// The delay follows the writer and its interval, and not the partitions; the writers change places.
#[test]
fn what_was_put_in_is_found() {
    let effects = effects(&Seeded::writers()).expect("the grid is complete");
    let delay = outcome(&effects, "delivery_delay_p99_us");
    let share = |source| delay.part(source).expect("there is such a part").share;
    assert!(share(Source::Factor(0)) > 0.1 && share(Source::Factor(1)) > 0.3);
    assert!(share(Source::Pair(0, 1)) > 0.3 && share(Source::Factor(2)) < 0.001);
    // 820 ms, and 20 ms with 0.8 of the interval, beside what a request takes itself.
    let writer = delay
        .comparisons
        .iter()
        .find(|comparison| (comparison.factor, comparison.by) == (0, 1));
    let writer = writer.expect("the writers are compared at each interval");
    let sides: Vec<_> = writer
        .ratios
        .iter()
        .map(|ratio| is_above(&ratio.estimate))
        .collect();
    assert_eq!(sides, [Some(true), Some(false), Some(false)]);
    assert_eq!(writer.turns, [(0, 1)]);
    for part in [
        "depends most on flush_interval",
        "The effect of writer depends on flush_interval",
        "it reverses between 10 ms and 100 ms",
    ] {
        let headline = headline(&effects);
        assert!(headline.contains(part), "{headline}");
    }
    let caution = caution(&effects).expect("a cell is not valid");
    assert!(
        caution.starts_with("1 of the 12 cells is not valid")
            && caution.contains("writer=sink flush_interval=100 ms partitions=8 (failed)"),
        "{caution}"
    );
    // The seeded broker is as quick in every trial.
    let left_out: Vec<&WithoutEffects> = effects.left_out.iter().map(|(_, why)| why).collect();
    assert_eq!(left_out, [&WithoutEffects::Constant; 2]);
}

#[test]
fn two_levels_are_compared_at_each_level_of_the_other_factor() {
    let study = Seeded {
        wrong: Vec::new(),
        ..Seeded::plain(
            &[
                ("connections", &["10", "50"]),
                ("pipelining", &["1", "10", "50"]),
            ],
            3,
        )
    };
    let effects = effects(&study).expect("the grid is complete");
    assert_eq!(caution(&effects), None);
    for entry in &effects.outcomes {
        assert!(
            entry
                .comparisons
                .iter()
                .any(|entry| (entry.factor, entry.by) == (0, 1))
        );
        assert_eq!(entry.degrees, 12);
    }
    let goodput = outcome(&effects, "goodput_per_s");
    assert!(goodput.ratios[0][0].point > 1.0 && goodput.part(Source::Trials).is_some());
}

#[test]
fn one_trial_a_cell_has_no_interval() {
    let study = Seeded::plain(
        &[("connections", &["10", "50"]), ("pipelining", &["1", "10"])],
        1,
    );
    let effects = effects(&study).expect("the grid is complete");
    let goodput = outcome(&effects, "goodput_per_s");
    assert_eq!((goodput.degrees, goodput.part(Source::Trials)), (0, None));
    assert!(
        goodput
            .ratios
            .iter()
            .flatten()
            .all(|ratio| ratio.interval.is_none())
    );
    let notes = notes(&effects);
    assert!(notes[0].contains("Each cell has one trial"), "{notes:?}");
}

#[test]
fn no_grid_has_no_effects() {
    let check = |study: &Seeded| assert_eq!(effects(study), None);
    check(&Seeded::plain(&[], 3));
    check(&Seeded::search());
    // A cell without a trial that came to its end: its only one failed, or has not run.
    let factors: &[(&str, &[&str])] =
        &[("connections", &["10", "50"]), ("pipelining", &["1", "10"])];
    check(&Seeded {
        wrong: vec![(3, Wrong::Fails)],
        ..Seeded::plain(factors, 1)
    });
    check(&Seeded {
        ran: Some(3),
        ..Seeded::plain(factors, 1)
    });
}
