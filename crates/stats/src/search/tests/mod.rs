//! Searches for known thresholds: without noise, with noise, with trials that say nothing.

use proptest::prelude::*;

use super::*;
use crate::arithmetic::random::Random;

const RATE: Settings = Settings {
    start: 1_000.0,
    min: 10.0,
    max: 100_000.0,
    precision: 0.05,
    confirmations: 3,
    max_trials: 30,
    max_connections: None,
    levels: Levels::Fine,
};

const USERS: Settings = Settings {
    start: 8.0,
    min: 1.0,
    max: 500.0,
    levels: Levels::Whole,
    ..RATE
};

/// Runs the search to its end; `show` returns the evidence of a trial, by its level and its index among all trials.
fn run_search(settings: Settings, mut show: impl FnMut(f64, usize) -> Evidence) -> Search {
    let mut search = Search::new(settings).unwrap();
    while let Some(level) = search.next().level() {
        let evidence = show(level, search.trials().len());
        search.report(SearchTrial::new(level, evidence));
        let most = usize::try_from(settings.max_trials).unwrap();
        assert!(search.trials().len() <= most, "more trials than allowed");
    }
    search
}

fn up_to(threshold: f64) -> impl Fn(f64, usize) -> Evidence {
    move |level, _| {
        if level <= threshold {
            Evidence::Met
        } else {
            Evidence::NotMet
        }
    }
}

/// The answer in a line, and the levels in the order they were tried.
fn check(settings: Settings, show: impl FnMut(f64, usize) -> Evidence, expected: (&str, &[f64])) {
    let search = run_search(settings, show);
    let answer = search.answer();
    let holds = answer.holds.map_or("nothing".to_owned(), |held| {
        format!("{} in {}", held.level, held.trials)
    });
    let fails = answer
        .fails
        .map_or("nothing".to_owned(), |level| level.to_string());
    let line = format!("{}: {holds}; not {fails}", answer.end.name());
    let levels: Vec<f64> = search.trials().iter().map(|tried| tried.level).collect();
    assert_eq!((line.as_str(), &levels[..]), expected);
}

#[test]
fn brackets_bisects_and_confirms() {
    let tried = [
        1e3, 2e3, 4e3, 2_850.0, 3_400.0, 3_100.0, 3_250.0, 3_250.0, 3_250.0, 3_400.0,
    ];
    check(RATE, up_to(3_333.0), ("found: 3250 in 3; not 3400", &tried));
    let tried = [8.0, 16.0, 32.0, 23.0, 19.0, 17.0, 18.0, 17.0, 17.0, 18.0];
    check(USERS, up_to(17.0), ("found: 17 in 3; not 18", &tried));
    let once = Settings {
        confirmations: 1,
        ..RATE
    };
    let tried = [1e3, 2e3, 1_420.0, 1_200.0, 1_100.0, 1_140.0, 1_160.0];
    check(once, up_to(1_149.0), ("found: 1140 in 1; not 1160", &tried));
}

#[test]
fn goes_down_if_the_start_does_not_hold() {
    let tried = [
        1e3, 1e3, 500.0, 500.0, 250.0, 355.0, 300.0, 325.0, 310.0, 300.0, 300.0, 310.0,
    ];
    check(RATE, up_to(300.0), ("found: 300 in 3; not 310", &tried));
}

#[test]
fn says_that_it_holds_at_the_most_or_not_even_at_the_least() {
    let most = Settings {
        max: 5_000.0,
        ..RATE
    };
    let tried = [1e3, 2e3, 4e3, 5e3, 5e3, 5e3];
    check(
        most,
        up_to(1e9),
        ("met-up-to-most: 5000 in 3; not nothing", &tried),
    );
    let least = Settings { min: 300.0, ..RATE };
    let tried = [1e3, 1e3, 500.0, 500.0, 300.0, 300.0];
    check(least, up_to(0.0), ("never-met: nothing; not 300", &tried));
    let settings = Settings {
        min: 7.0,
        start: 7.0,
        max: 7.0,
        ..USERS
    };
    check(
        settings,
        up_to(7.0),
        ("met-up-to-most: 7 in 3; not nothing", &[7.0; 3]),
    );
    check(
        settings,
        up_to(6.0),
        ("never-met: nothing; not 7", &[7.0; 2]),
    );
}

/// Above `threshold`, and in the trials of these numbers, it is the other evidence.
fn one_off(threshold: f64, trials: &[usize], other: Evidence) -> impl Fn(f64, usize) -> Evidence {
    move |level, trial| match up_to(threshold)(level, trial) {
        _ if trials.contains(&trial) => other,
        evidence => evidence,
    }
}

#[test]
fn a_level_that_fails_at_confirmation_is_the_upper_end() {
    let tried = [
        1e3, 2e3, 4e3, 2_850.0, 3_400.0, 3_100.0, 3_250.0, 3_250.0, // fails here
        3_100.0, 3_100.0,
    ];
    let show = one_off(3_333.0, &[7], Evidence::NotMet);
    check(RATE, show, ("found: 3100 in 3; not 3250", &tried));
}

#[test]
fn one_bad_trial_does_not_cut_off_what_lies_above() {
    let small = Settings {
        max: 4_000.0,
        precision: 0.5,
        ..RATE
    };
    // 1,000 fails once, and holds twice when it is tried again; 500 holds, and the search goes up.
    let tried = [1e3, 1e3, 1e3, 500.0, 2e3, 4e3, 4e3, 4e3];
    let show = one_off(1e9, &[0], Evidence::NotMet);
    check(
        small,
        show,
        ("met-up-to-most: 4000 in 3; not nothing", &tried),
    );
}

#[test]
fn the_generator_may_be_the_limit() {
    let show = |level: f64, _| match level {
        level if level <= 3_000.0 => Evidence::Met,
        _ => Evidence::InstrumentLimited,
    };
    // Each of these levels is tried three times, and one above 4,000, before lower ones.
    let tried = [
        1e3, 2e3, 4e3, 4e3, 4e3, 8e3, 8e3, 8e3, 2_850.0, 3_400.0, 3_400.0, 3_400.0, 3_100.0,
        3_100.0, 3_100.0, 2_950.0, 3_000.0, 3_000.0, 3_000.0,
    ];
    let line = "instrument-limited: 3000 in 3; not nothing";
    check(RATE, show, (line, &tried));
    let search = run_search(RATE, show);
    let answer = search.answer();
    assert_eq!(answer.stopped_at, Some(3_100.0));
    let by = answer.stopped_by.map(|index| search.trials()[index]);
    assert_eq!(
        by,
        Some(SearchTrial::new(3_100.0, Evidence::InstrumentLimited))
    );
}

#[test]
fn the_trial_that_says_why_showed_what_stopped_the_search() {
    use Evidence::{InstrumentLimited, NotMet, Nothing};
    let check = |shown: &[Evidence], expected: (End, Option<usize>)| {
        let settings = Settings {
            start: 500.0,
            min: 500.0,
            max_trials: u32::try_from(shown.len()).unwrap(),
            ..RATE
        };
        let answer = run_search(settings, |_, trial| shown[trial]).answer();
        assert_eq!((answer.end, answer.stopped_by), expected, "{shown:?}");
    };
    // Tried again because one trial alone does not settle it, and that one says nothing.
    check(&[NotMet, Nothing], (End::TrialsSpent, Some(0)));
    check(&[NotMet, Nothing, NotMet], (End::NeverMet, Some(2)));
    check(&[NotMet, InstrumentLimited], (End::TrialsSpent, Some(0)));
    let limited = [InstrumentLimited, InstrumentLimited, Nothing];
    check(&limited, (End::InstrumentLimited, Some(1)));
    check(&[Nothing; 3], (End::Silent, Some(2)));
}

#[test]
fn a_generator_that_was_the_limit_once_is_forgotten() {
    let coarse = Settings {
        precision: 0.5,
        ..RATE
    };
    // At first, and at a confirmation: the trial is repeated.
    let tried = [1e3, 1e3, 2e3, 4e3, 3e3, 3e3, 3e3, 4e3];
    let show = one_off(3_333.0, &[0], Evidence::InstrumentLimited);
    check(coarse, show, ("found: 3000 in 3; not 4000", &tried));
    let search = run_search(coarse, one_off(3_333.0, &[4], Evidence::InstrumentLimited));
    let answer = search.answer();
    assert_eq!((answer.end, answer.fails), (End::Found, Some(4_000.0)));
    assert!(answer.holds.is_some_and(|held| held.level >= 2_000.0));
}

#[test]
fn a_generator_that_always_is_the_limit_turns_the_search_down() {
    let least = Settings {
        min: 600.0,
        precision: 1.0,
        ..RATE
    };
    let limited = |above: f64| {
        move |level: f64, _| match level {
            level if level <= above => Evidence::Met,
            _ => Evidence::InstrumentLimited,
        }
    };
    // At 600 it is not, so a level above is tried again.
    let tried = [1e3, 1e3, 1e3, 600.0, 2e3, 2e3, 2e3, 600.0, 600.0];
    let line = "instrument-limited: 600 in 3; not nothing";
    check(least, limited(600.0), (line, &tried));
    let answer = run_search(least, limited(600.0)).answer();
    assert!(answer.is_open() && !answer.says_nothing());
    let tried = [1e3, 1e3, 1e3, 600.0, 600.0, 600.0];
    let line = "instrument-limited: nothing; not nothing";
    check(least, limited(0.0), (line, &tried));
    assert!(run_search(least, limited(0.0)).answer().says_nothing());
    // Spent before anything is known of the system.
    let few = Settings {
        max_trials: 2,
        ..least
    };
    let answer = run_search(few, limited(0.0)).answer();
    assert_eq!(answer.end, End::InstrumentLimited);
    assert!(answer.says_nothing());
    let answer = run_search(few, |_, _| Evidence::NotMet).answer();
    assert!(!answer.says_nothing());
}

#[test]
fn trials_that_say_nothing_are_made_again_and_then_given_up() {
    let tried = [
        1e3, 1e3, 2e3, 4e3, 2_850.0, 3_400.0, 3_100.0, 3_250.0, 3_250.0, 3_250.0, 3_400.0,
    ];
    let show = one_off(3_333.0, &[0], Evidence::Nothing);
    check(RATE, show, ("found: 3250 in 3; not 3400", &tried));
    let coarse = Settings {
        precision: 1.0,
        ..RATE
    };
    let show = |level: f64, _| match level {
        level if level <= 1_500.0 => Evidence::Met,
        _ => Evidence::Nothing,
    };
    let tried = [1e3, 2e3, 2e3, 2e3, 1e3, 1e3];
    check(coarse, show, ("silent: 1000 in 3; not nothing", &tried));
    let tried = [1e3; 3];
    let settings = Settings { min: 1e3, ..coarse };
    check(
        settings,
        |_, _| Evidence::Nothing,
        ("silent: nothing; not nothing", &tried),
    );
}

#[test]
fn the_last_trials_are_kept_for_confirming() {
    let few = Settings {
        max_trials: 7,
        ..RATE
    };
    let tried = [1e3, 2e3, 4e3, 2_850.0, 2_850.0, 2_850.0, 4e3];
    check(
        few,
        up_to(3_333.0),
        ("trials-spent: 2850 in 3; not 4000", &tried),
    );
    let settings = Settings {
        max_trials: 1,
        ..RATE
    };
    check(
        settings,
        up_to(3_333.0),
        ("trials-spent: 1000 in 1; not nothing", &[1e3]),
    );
    check(
        settings,
        up_to(333.0),
        ("trials-spent: nothing; not 1000", &[1e3]),
    );
}

#[test]
fn settings_that_cannot_be_searched_are_refused() {
    let refused = |settings| assert_eq!(Search::new(settings), None);
    refused(Settings {
        start: f64::NAN,
        ..RATE
    });
    refused(Settings { min: 0.0, ..RATE });
    refused(Settings { start: 1.0, ..RATE });
    refused(Settings {
        max: f64::INFINITY,
        ..RATE
    });
    refused(Settings {
        start: 8.5,
        ..USERS
    });
    refused(Settings {
        confirmations: 0,
        ..RATE
    });
    refused(Settings {
        max_trials: 0,
        ..RATE
    });
    refused(Settings {
        precision: f64::NAN,
        ..RATE
    });
}

#[test]
fn a_search_under_way_has_an_answer_so_far() {
    let mut search = Search::new(RATE).unwrap();
    assert_eq!(search.answer().end, End::Unfinished);
    search.report(SearchTrial::new(1_000.0, Evidence::Met));
    assert_eq!(
        search.answer().holds,
        Some(HoldingLevel {
            level: 1_000.0,
            trials: 1
        })
    );
    assert_eq!(search.next(), Step::Try(2_000.0));
}

#[test]
fn levels_waver_between_the_two_ends() {
    let level = |level: f64, met: u32, not_met: u32| LevelSummary {
        level,
        met,
        not_met,
        pool_limited: 0,
        instrument_limited: 0,
        silent: 0,
    };
    let answer = Answer {
        holds: Some(HoldingLevel {
            level: 20.0,
            trials: 3,
        }),
        fails: Some(50.0),
        end: End::TrialsSpent,
        stopped_at: Some(50.0),
        stopped_by: None,
        trials: 12,
        limited_trials: 0,
        pool: None,
        levels: vec![
            level(10.0, 1, 1),
            level(20.0, 3, 0),
            level(30.0, 1, 1),
            level(40.0, 2, 0),
            level(50.0, 1, 2),
            level(60.0, 1, 1),
        ],
    };
    let check = |answer: &Answer, expected: &[f64]| {
        let levels: Vec<f64> = answer.mixed_levels().map(|seen| seen.level).collect();
        assert_eq!(levels, expected);
    };
    check(&answer, &[30.0]);
    let open = Answer {
        fails: None,
        ..answer.clone()
    };
    check(&open, &[30.0, 50.0, 60.0]);
    let nothing = Answer {
        holds: None,
        ..answer
    };
    check(&nothing, &[]);
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let levels = prop_oneof![Just(Levels::Fine), Just(Levels::Whole)];
    (
        levels,
        -2.0..4.0_f64,
        0.0..3.0_f64,
        0.0..5.0_f64,
        0.005..1.0_f64,
        1..5_u32,
    )
        .prop_map(|(levels, start, down, up, precision, confirmations)| {
            let scale = |exponent: f64| match levels {
                Levels::Fine => 10_f64.powf(exponent),
                Levels::Whole => 10_f64.powf(exponent).ceil(),
            };
            Settings {
                start: scale(start),
                min: scale(start - down),
                max: scale(start + up),
                precision,
                confirmations,
                max_trials: 60,
                max_connections: None,
                levels,
            }
        })
}

proptest! {
    #[test]
    fn without_noise_the_interval_holds_the_truth(
        settings in any_settings(),
        exponent in -6.0..10.0_f64,
    ) {
        let threshold = 10_f64.powf(exponent);
        let answer = run_search(settings, up_to(threshold)).answer();
        let holds = answer.holds.map(|held| held.level);
        prop_assert!(holds.is_none_or(|level| level <= threshold));
        prop_assert!(answer.fails.is_none_or(|level| level > threshold));
        prop_assert!(answer.holds.is_none_or(|held| held.trials >= settings.confirmations));
        match answer.end {
            End::Found => {
                let (low, high) = (holds.unwrap(), answer.fails.unwrap());
                let neighbours = settings.levels == Levels::Whole && high - low < 1.5;
                prop_assert!(neighbours || high <= low * (1.0 + settings.precision) * 1.000_001);
            }
            End::MetUpToMost => prop_assert_eq!(holds, Some(settings.max)),
            End::NeverMet => prop_assert_eq!(answer.fails, Some(settings.min)),
            other => prop_assert!(false, "{other:?} without noise"),
        }
    }

    #[test]
    fn with_any_evidence_the_search_ends_and_its_answer_is_in_order(
        settings in any_settings(),
        max_trials in 1..40_u32,
        seed in any::<u64>(),
    ) {
        let kinds = [
            Evidence::Met,
            Evidence::NotMet,
            Evidence::InstrumentLimited,
            Evidence::Unsteady,
            Evidence::Nothing,
        ];
        let mut random = Random::from_seed(seed);
        let settings = Settings { max_trials, ..settings };
        let search = run_search(settings, |_, _| kinds[random.next_below(kinds.len())]);
        let within = |level: f64| (settings.min..=settings.max).contains(&level);
        prop_assert!(search.trials().iter().all(|tried| within(tried.level)));
        let answer = search.answer();
        if let (Some(held), Some(fails)) = (answer.holds, answer.fails) {
            prop_assert!(held.level < fails);
        }
    }

    /// The next step depends on the reported trials alone; resuming a search relies on that.
    #[test]
    fn a_search_resumes_from_its_reported_trials(threshold in 20.0..90_000.0_f64, cut in 0..12_usize) {
        let whole = run_search(RATE, up_to(threshold));
        let mut again = Search::new(RATE).unwrap();
        for tried in whole.trials().iter().take(cut) {
            again.report(*tried);
        }
        let next = whole.trials().get(cut).map(|tried| tried.level);
        prop_assert_eq!(again.next().level(), next);
    }
}

mod fit;
mod noise;
mod pool;
mod share;
