//! Designs worked out by hand, and seeded ones with effects that are known.

use super::*;
use crate::random::Random;

/// Cells whose trials have these logarithms.
fn of_logs(levels: &[usize], logs: &[&[f64]]) -> Factorial {
    let cells: Vec<Vec<f64>> = logs
        .iter()
        .map(|logs| logs.iter().map(|log| log.exp()).collect())
        .collect();
    Factorial::new(levels, &cells).unwrap()
}

fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 2e-3 * expected.abs().max(1e-3),
        "{found}, expected {expected}"
    );
}

/// On the log scale: the point, and how far the interval's ends are from it.
fn check_ratio(found: &Estimate, log: f64, off: Option<f64>) {
    assert_near(found.point.ln(), log);
    match (found.interval, off) {
        (Some((low, high)), Some(off)) => {
            assert_near(low.ln(), log - off);
            assert_near(high.ln(), log + off);
        }
        (None, None) => {}
        other => panic!("{other:?}"),
    }
}

fn check_shares(design: &Factorial, expected: &[(Source, f64, usize)]) {
    let found = design.variation();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (of, share, degrees)) in found.iter().zip(expected) {
        assert_eq!((found.of, found.degrees), (*of, *degrees));
        assert_near(found.share, *share);
    }
    assert_near(found.iter().map(|part| part.share).sum(), 1.0);
}

/// The workstation of Jain's chapter 18: memory and cache at two levels, three trials. By hand: effects 21.5, 9.5 and 5; squares
/// 5547, 1083, 300 and 102 of 7032; s² = 102/8; the difference of two levels 43 ± 2.306 · 3.571 · √(2/6).
#[test]
fn two_by_two_with_three_trials() {
    let tenth = |values: &[f64]| values.iter().map(|value| value / 10.0).collect::<Vec<_>>();
    let cells = [
        tenth(&[15.0, 18.0, 12.0]),
        tenth(&[25.0, 28.0, 19.0]),
        tenth(&[45.0, 48.0, 51.0]),
        tenth(&[75.0, 75.0, 81.0]),
    ];
    let design = of_logs(&[2, 2], &[&cells[0], &cells[1], &cells[2], &cells[3]]);
    check_ratio(&design.ratios(0)[0], 4.3, Some(0.475_4));
    check_ratio(&design.ratios(1)[0], 1.9, Some(0.475_4));
    check_shares(
        &design,
        &[
            (Source::Factor(0), 5547.0 / 7032.0, 1),
            (Source::Factor(1), 1083.0 / 7032.0, 1),
            (Source::Pair(0, 1), 300.0 / 7032.0, 1),
            (Source::Trials, 102.0 / 7032.0, 8),
        ],
    );
    // At each level of the other: 33 and 53, with half the cells.
    let by = design.ratios_by(0, 1, 1);
    check_ratio(&by[0], 3.3, Some(0.672_3));
    check_ratio(&by[1], 5.3, Some(0.672_3));
    assert_eq!((design.degrees(), design.ratios(0)[0].count), (8, 12));
    // F = 300 / 12.75 = 23.53 at (1, 8) degrees: the two-sided tail of t = 4.851, 0.0013 in the tables.
    let pair = design.variation()[2].p_value.unwrap();
    assert!((0.001_2..0.001_4).contains(&pair), "{pair}");
}

/// Cell means 2, 4, 6 and 4, 5, 12; by hand squares 27, 78, 14 and 12 of 131, s² = 2 with 6 degrees, t = 2.447.
#[test]
fn two_by_three_with_two_trials() {
    let design = of_logs(
        &[2, 3],
        &[
            &[1.0, 3.0],
            &[3.0, 5.0],
            &[5.0, 7.0],
            &[3.0, 5.0],
            &[4.0, 6.0],
            &[11.0, 13.0],
        ],
    );
    check_ratio(&design.ratios(0)[0], 3.0, Some(1.998));
    let second = design.ratios(1);
    check_ratio(&second[0], 1.5, Some(2.447));
    check_ratio(&second[1], 6.0, Some(2.447));
    let by = design.ratios_by(0, 1, 1);
    for (found, log) in by.iter().zip([2.0, 1.0, 6.0]) {
        check_ratio(found, log, Some(3.460_5));
    }
    check_shares(
        &design,
        &[
            (Source::Factor(0), 27.0 / 131.0, 1),
            (Source::Factor(1), 78.0 / 131.0, 2),
            (Source::Pair(0, 1), 14.0 / 131.0, 2),
            (Source::Trials, 12.0 / 131.0, 6),
        ],
    );
    let (low, high) = design.span();
    assert_near(low.ln(), 2.0);
    assert_near(high.ln(), 12.0);
}

/// Cells of one and two trials: means 1, 3, 4, 8; each counts as 4/3 trials; s² = 2 with 2 degrees, t = 4.303.
#[test]
fn unequal_numbers_of_trials() {
    let design = of_logs(&[2, 2], &[&[1.0], &[2.0, 4.0], &[3.0, 5.0], &[8.0]]);
    check_ratio(&design.ratios(0)[0], 4.0, Some(5.269_7));
    check_ratio(
        &design.ratios_by(0, 1, 1)[0],
        3.0,
        Some(4.302_7 * 3_f64.sqrt()),
    );
    let total = 104.0 / 3.0 + 4.0;
    check_shares(
        &design,
        &[
            (Source::Factor(0), 64.0 / 3.0 / total, 1),
            (Source::Factor(1), 12.0 / total, 1),
            (Source::Pair(0, 1), 4.0 / 3.0 / total, 1),
            (Source::Trials, 4.0 / total, 2),
        ],
    );
}

/// One trial per cell: means 1 … 8 except the last, which is 16; no interval, no test; the rest includes chance.
#[test]
fn single_trials_have_no_interval() {
    let logs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 16.0];
    let cells: Vec<&[f64]> = logs.iter().map(std::slice::from_ref).collect();
    let design = of_logs(&[2, 2, 2], &cells);
    check_ratio(&design.ratios(0)[0], 6.0, None);
    let parts = design.variation();
    assert_eq!(parts.len(), 7);
    // By hand: sums of the seven contrasts 24, 16, 12, 8, 8, 8, 8; squares are an eighth of their squares.
    let expected = [576.0, 256.0, 144.0, 64.0, 64.0, 64.0, 64.0];
    for (part, squares) in parts.iter().zip(expected) {
        assert_near(part.share, squares / expected.iter().sum::<f64>());
        assert_eq!((part.p_value, part.degrees), (None, 1));
    }
    assert_eq!(parts[3].of, Source::Pair(0, 1));
    assert_eq!(parts[6].of, Source::Further);
}

#[test]
fn values_without_effects_say_why() {
    let check = |levels: &[usize], cells: &[&[f64]], expected: NoEffects| {
        let cells: Vec<Vec<f64>> = cells.iter().map(|cell| cell.to_vec()).collect();
        assert_eq!(Factorial::new(levels, &cells).unwrap_err(), expected);
    };
    let one: &[f64] = &[1.0];
    check(&[4], &[one; 4], NoEffects::NoGrid);
    check(&[2, 1], &[one; 2], NoEffects::NoGrid);
    check(&[2, 2], &[one; 3], NoEffects::NoGrid);
    check(&[2, 2], &[one, one, &[], one], NoEffects::Empty { cell: 2 });
    check(
        &[2, 2],
        &[one, &[2.0, 0.0], one, one],
        NoEffects::NotPositive { cell: 1 },
    );
    check(
        &[2, 2],
        &[one, one, one, &[f64::NAN]],
        NoEffects::NotPositive { cell: 3 },
    );
    check(
        &[2, 2],
        &[&[3.0, 3.0], &[3.0], &[3.0], &[3.0]],
        NoEffects::Constant,
    );
}

/// If all trials of a cell are equal, no variation is left to chance.
#[test]
fn cells_without_scatter_have_points_for_intervals() {
    let design = of_logs(
        &[2, 2],
        &[&[1.0, 1.0], &[1.0, 1.0], &[2.0, 2.0], &[2.0, 2.0]],
    );
    check_ratio(&design.ratios(0)[0], 1.0, Some(0.0));
    let parts = design.variation();
    assert!(parts[0].p_value.unwrap() < 1e-9 && parts[0].share > 0.999_999);
}

#[test]
fn crossovers_need_clear_sides() {
    let check = |intervals: &[(f64, f64)], expected: &[(usize, usize)]| {
        let ratios: Vec<Estimate> = intervals
            .iter()
            .map(|(low, high)| Estimate {
                point: (low * high).sqrt(),
                interval: Some((*low, *high)),
                count: 4,
            })
            .collect();
        assert_eq!(crossovers(&ratios), expected);
    };
    let (below, unclear, above) = ((0.5, 0.9), (0.8, 1.3), (1.1, 1.4));
    check(&[below, above, above], &[(0, 1)]);
    check(&[below, unclear, above, unclear], &[(0, 2)]);
    check(&[above, below, unclear, above], &[(0, 1), (1, 3)]);
    check(&[unclear, below, unclear, below], &[]);
    check(&[], &[]);
    let alone = [0.5, 2.0].map(|point| Estimate {
        point,
        interval: None,
        count: 2,
    });
    assert_eq!(crossovers(&alone), [], "no interval, no side");
}

/// A seeded 2 × 3 × 2 design: the second factor makes 1, 2 and 3 times as much, the third 1.5 times, the first only together with
/// the third. Cells have two to four trials.
fn seeded_design(seed: u64) -> Factorial {
    let mut random = Random::from_seed(seed);
    let mut cells = Vec::new();
    for first in 0..2 {
        for second in [1.0, 2.0, 3.0] {
            for third in 0..2 {
                let together = if first == third { 1.2 } else { 1.0 / 1.2 };
                let level = 100.0 * second * [1.0, 1.5][third] * together;
                let trials = 2 + cells.len() % 3;
                cells.push((0..trials).map(|_| random.lognormal(level, 0.3)).collect());
            }
        }
    }
    Factorial::new(&[2, 3, 2], &cells).unwrap()
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    const SEEDS: u64 = 1_000;
    type Pick = fn(&Factorial) -> Estimate;
    let cases: [(Pick, f64); 5] = [
        (|design| design.ratios(0)[0], 1.0),
        (|design| design.ratios(1)[0], 2.0),
        (|design| design.ratios(1)[1], 3.0),
        (|design| design.ratios(2)[0], 1.5),
        (|design| design.ratios_by(0, 1, 2)[0], 1.0 / 1.44),
    ];
    let designs: Vec<Factorial> = (0..SEEDS).map(seeded_design).collect();
    for (pick, truth) in cases {
        let covered = designs.iter().filter(|design| {
            let (low, high) = pick(design).interval.unwrap();
            (low..=high).contains(&truth)
        });
        let share = size(covered.count()) / 1_000.0;
        assert!((0.93..=0.97).contains(&share), "{truth}: {share}");
    }
}

/// A factor without effect appears significant as often as the test says.
#[test]
fn nothing_seems_something_in_one_of_twenty() {
    let seems = |index: usize| {
        let beyond = (0..1_000).filter(|seed| {
            let p_value = seeded_design(*seed).variation()[index].p_value.unwrap();
            p_value < 0.05
        });
        size(beyond.count()) / 1_000.0
    };
    // The first factor alone, the first with the second, all three; then the second factor, which has an effect.
    for (index, least, most) in [
        (0, 0.03, 0.07),
        (3, 0.03, 0.075),
        (6, 0.03, 0.075),
        (1, 0.99, 1.0),
    ] {
        let share = seems(index);
        assert!((least..=most).contains(&share), "{index}: {share}");
    }
}
