//! Designs worked out by hand, and seeded ones with effects that are known.
// long: a test a property

use super::*;
use crate::arithmetic::random::Random;

/// Cells whose trials have these values, all of one repetition after another.
fn blocks(cells: &[&[f64]]) -> Vec<Vec<Sample>> {
    let sample = |(repetition, value): (u32, &f64)| Sample::exact(repetition, *value);
    let cells = cells.iter();
    cells
        .map(|values| (1..).zip(*values).map(sample).collect())
        .collect()
}

/// The same, but no two trials are of the same repetition.
fn unpaired_samples(cells: &[&[f64]]) -> Vec<Vec<Sample>> {
    let apart = |(cell, trials): (u32, Vec<Sample>)| {
        let apart = |sample: Sample| Sample {
            repetition: 100 * cell + sample.repetition,
            ..sample
        };
        trials.into_iter().map(apart).collect()
    };
    (1..).zip(blocks(cells)).map(apart).collect()
}

type Layout = fn(&[&[f64]]) -> Vec<Vec<Sample>>;

/// Cells whose trials have these logarithms.
fn of_logs(layout: Layout, levels: &[usize], logs: &[&[f64]]) -> Factorial {
    let cells: Vec<Vec<f64>> = logs
        .iter()
        .map(|logs| logs.iter().map(|log| log.exp()).collect())
        .collect();
    let cells: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
    Factorial::new(levels, &layout(&cells), 0.0).unwrap()
}

fn assert_near(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() <= 2e-3 * expected.abs().max(1e-3),
        "{actual}, expected {expected}"
    );
}

/// On the log scale: the point, and how far the interval's ends are from it.
fn check_ratio(estimate: &Estimate, log: f64, off: Option<f64>) {
    assert_near(estimate.point.ln(), log);
    match (estimate.interval, off) {
        (Some((low, high)), Some(off)) => {
            assert_near(low.ln(), log - off);
            assert_near(high.ln(), log + off);
        }
        (None, None) => {}
        other => panic!("{other:?}"),
    }
}

fn check_shares(design: &Factorial, expected: &[(Source, f64, usize)]) {
    let variation = design.variation();
    assert_eq!(variation.len(), expected.len(), "{variation:?}");
    for (variation, (source, share, degrees)) in variation.iter().zip(expected) {
        assert_eq!((variation.of, variation.degrees), (*source, *degrees));
        assert_near(variation.share, *share);
    }
    assert_near(variation.iter().map(|part| part.share).sum(), 1.0);
}

/// The workstation of Jain's chapter 18: memory and cache at two levels, three trials. By hand: effects 21.5, 9.5 and 5; squares
/// 5547, 1083, 300 and 102 of 7032. The variances of the cells are 0.09, 0.21, 0.09 and 0.12: the difference of two levels has a
/// standard error of √(0.51/12) and, by Satterthwaite, 7.03 degrees. Each repetition gives differences 4, 4.1 and 4.8 − … of its own.
#[test]
fn two_by_two_with_three_trials() {
    let cells: [&[f64]; 4] = [
        &[1.5, 1.8, 1.2],
        &[2.5, 2.8, 1.9],
        &[4.5, 4.8, 5.1],
        &[7.5, 7.5, 8.1],
    ];
    let design = of_logs(unpaired_samples, &[2, 2], &cells);
    check_ratio(&design.ratios(0)[0], 4.3, Some(0.488));
    check_ratio(&design.ratios(1)[0], 1.9, Some(0.488));
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
    let by: Vec<Estimate> = design
        .ratios_by(0, 1, 1)
        .iter()
        .map(|ratio| ratio.estimate)
        .collect();
    check_ratio(&by[0], 3.3, Some(0.680));
    check_ratio(&by[1], 5.3, Some(0.948_5));
    assert_eq!((design.degrees(), design.ratios(0)[0].count), (8, 12));
    // The same difference in standard errors, t = 4.851 with 7.03 degrees: F = t² at (1, 7.03).
    let pair = design.variation()[2].p_value.unwrap();
    assert!((0.001_85..0.001_92).contains(&pair), "{pair}");
    // Differences of each repetition: 4, 3.85 and 5.05 of the first factor; 2, 1.85 and 1.85 of the second.
    let paired = of_logs(blocks, &[2, 2], &cells);
    // The residuals have a variance of 0.1525 of a sum, with 5.15 degrees: t = 2.547. That of the first factor's differences is larger,
    // 0.4275; that of the second one's is smaller.
    check_ratio(&paired.ratios(0)[0], 4.3, Some(0.961_8));
    check_ratio(&paired.ratios(1)[0], 1.9, Some(0.574_4));
}

/// Cell means 2, 4, 6 and 4, 5, 12; by hand squares 27, 78, 14 and 12 of 131, all variances are 2.
#[test]
fn two_by_three_with_two_trials() {
    let design = of_logs(
        unpaired_samples,
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
    // Standard error 1, four degrees.
    check_ratio(&second[0], 1.5, Some(2.776_4));
    check_ratio(&second[1], 6.0, Some(2.776_4));
    let by: Vec<Estimate> = design
        .ratios_by(0, 1, 1)
        .iter()
        .map(|ratio| ratio.estimate)
        .collect();
    for (estimate, log) in by.iter().zip([2.0, 1.0, 6.0]) {
        check_ratio(estimate, log, Some(6.084_9));
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

/// Cells of one and two trials: means 1, 3, 4, 8; each counts as 4/3 trials. Cells with two have variance 2 with one degree; those
/// with one get the pooled variance of 2 with two degrees.
#[test]
fn unequal_numbers_of_trials() {
    let design = of_logs(
        unpaired_samples,
        &[2, 2],
        &[&[1.0], &[2.0, 4.0], &[3.0, 5.0], &[8.0]],
    );
    check_ratio(&design.ratios(0)[0], 4.0, Some(2.996_8));
    // One cell against another, of which one has a single trial.
    check_ratio(&design.ratios_by(0, 1, 1)[0].estimate, 3.0, None);
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
    let design = of_logs(blocks, &[2, 2, 2], &cells);
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
        let error = Factorial::new(levels, &blocks(cells), 1.5).unwrap_err();
        assert_eq!(error, expected);
    };
    let sample: &[f64] = &[1.0];
    check(&[], &[sample; 1], NoEffects::NoGrid);
    check(&[4], &[sample; 3], NoEffects::NoGrid);
    check(&[2, 1], &[sample; 2], NoEffects::NoGrid);
    check(&[2, 2], &[sample; 3], NoEffects::NoGrid);
    check(
        &[2, 2],
        &[sample, sample, &[], sample],
        NoEffects::Empty { cell: 2 },
    );
    check(
        &[2, 2],
        &[sample, &[2.0, -1.0], sample, sample],
        NoEffects::NotPositive { cell: 1 },
    );
    check(
        &[2, 2],
        &[sample, sample, sample, &[f64::NAN]],
        NoEffects::NotPositive { cell: 3 },
    );
    check(
        &[2, 2],
        &[&[3.0, 3.0], &[3.0], &[3.0], &[3.0]],
        NoEffects::Constant,
    );
    let none: &[f64] = &[0.0];
    check(&[2, 2], &[none; 4], NoEffects::Constant);
    check(
        &[2, 2],
        &[&[3.0], &[3.1], &[3.2], &[4.4]],
        NoEffects::Unresolved,
    );
}

/// If all trials of a cell are equal, no variation is left to chance.
#[test]
fn cells_without_scatter_have_points_for_intervals() {
    let design = of_logs(
        blocks,
        &[2, 2],
        &[&[1.0, 1.0], &[1.0, 1.0], &[2.0, 2.0], &[2.0, 2.0]],
    );
    check_ratio(&design.ratios(0)[0], 1.0, Some(0.0));
    let parts = design.variation();
    assert!(parts[0].p_value.unwrap() < 1e-9 && parts[0].share > 0.999_999);
    assert_eq!(parts[1].p_value, Some(1.0));
}

#[test]
fn crossovers_need_clear_sides() {
    let check = |sides: &[Option<bool>], expected: &[(usize, usize)]| {
        assert_eq!(crossovers(sides), expected);
    };
    let (below, unclear, above) = (Some(false), None, Some(true));
    check(&[below, above, above], &[(0, 1)]);
    check(&[below, unclear, above, unclear], &[(0, 2)]);
    check(&[above, below, unclear, above], &[(0, 1), (1, 3)]);
    check(&[unclear, below, unclear, below], &[]);
    check(&[], &[]);
}

/// How the trials of a simulated design scatter.
#[derive(Debug, Clone, Copy)]
enum Scatter {
    /// All cells alike, with two to four trials.
    Equal,
    /// The last cell is near overload and scatters thirty times as much as the others.
    OneCell,
    /// The host's speed differs from repetition to repetition.
    Host,
}

/// A seeded 2 × 3 × 2 design: the second factor makes 1, 2 and 3 times as much, the third 1.5 times, the first only
/// together with the third.
fn seeded_design(scatter: Scatter, seed: u64) -> Factorial {
    let mut random = Random::from_seed(seed);
    let host: Vec<f64> = (0..3).map(|_| random.lognormal(1.0, 0.2)).collect();
    let mut cells: Vec<Vec<Sample>> = Vec::new();
    for first in 0..2 {
        for second in [1.0, 2.0, 3.0] {
            for third in 0..2 {
                let together = if first == third { 1.2 } else { 1.0 / 1.2 };
                let level = 100.0 * second * [1.0, 1.5][third] * together;
                let index = cells.len();
                let (trials, spread) = match scatter {
                    Scatter::Equal => (2 + index % 3, 0.3),
                    Scatter::OneCell => (5, if index == 11 { 0.6 } else { 0.02 }),
                    Scatter::Host => (3, 0.05),
                };
                let trial = |repetition: usize| {
                    let value = random.lognormal(level, spread)
                        * match scatter {
                            Scatter::Host => host[repetition],
                            Scatter::Equal | Scatter::OneCell => 1.0,
                        };
                    Sample::exact(repetition as u32, value)
                };
                cells.push((0..trials).map(trial).collect());
            }
        }
    }
    Factorial::new(&[2, 3, 2], &cells, 0.0).unwrap()
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
        (|design| design.ratios_by(0, 1, 2)[0].estimate, 1.0 / 1.44),
    ];
    for scatter in [Scatter::Equal, Scatter::OneCell, Scatter::Host] {
        let design = |seed| seeded_design(scatter, seed);
        let designs: Vec<Factorial> = (0..SEEDS).map(design).collect();
        for (pick, truth) in cases {
            let covered = designs.iter().filter(|design| {
                let (low, high) = pick(design).interval.unwrap();
                (low..=high).contains(&truth)
            });
            let share = size(covered.count()) / 1_000.0;
            // Equal cells have two to four trials, of which two are compared: that is careful.
            assert!(
                (0.93..=0.99).contains(&share),
                "{scatter:?} {truth}: {share}"
            );
        }
    }
}

/// A factor without effect appears significant no more often than the test says, however the cells scatter.
#[test]
fn nothing_seems_something_in_one_of_twenty() {
    let check = |scatter, cases: &[(usize, f64, f64)]| {
        let design = |seed| seeded_design(scatter, seed);
        let designs: Vec<Vec<Variation>> =
            (0..1_000).map(|seed| design(seed).variation()).collect();
        for (index, least, most) in cases {
            let beyond = designs
                .iter()
                .filter(|parts| parts[*index].p_value.unwrap() < 0.05);
            let share = size(beyond.count()) / 1_000.0;
            assert!(
                (*least..=*most).contains(&share),
                "{scatter:?} {index}: {share}"
            );
        }
    };
    // The first factor alone, the first with the second, all three; then the second factor, which has an effect. What the host
    // does is in the cells' own scatter, which makes the test careful.
    check(
        Scatter::Equal,
        &[
            (0, 0.005, 0.05),
            (3, 0.005, 0.05),
            (6, 0.005, 0.05),
            (1, 0.85, 1.0),
        ],
    );
    check(
        Scatter::OneCell,
        &[
            (0, 0.03, 0.07),
            (3, 0.03, 0.07),
            (6, 0.03, 0.07),
            (1, 0.5, 1.0),
        ],
    );
    check(
        Scatter::Host,
        &[(0, 0.0, 0.05), (6, 0.0, 0.05), (1, 0.99, 1.0)],
    );
}

#[test]
fn nothing_is_stated_of_ranges_that_overlap() {
    let design = |ranges: &[[(f64, f64); 2]; 4]| {
        let sample = |(repetition, &(least, value)): (u32, &(f64, f64))| Sample {
            repetition,
            least,
            value,
            most: value,
        };
        let cells = ranges
            .iter()
            .map(|trials| (1..).zip(trials).map(sample).collect());
        Factorial::new(&[2, 2], &cells.collect::<Vec<Vec<Sample>>>(), 0.0)
    };
    let p_values = |ranges: &[[(f64, f64); 2]; 4]| {
        let parts = design(ranges).unwrap().variation();
        let mut parts = parts.iter();
        let mut of_source = |design: Source| {
            parts
                .find(|part| part.of == design)
                .unwrap()
                .p_value
                .unwrap()
        };
        (of_source(Source::Factor(0)), of_source(Source::Factor(1)))
    };
    // The first factor doubles, the second does nothing.
    let exact = [[10.0, 10.1], [10.1, 10.0], [20.0, 20.2], [20.1, 20.0]];
    let with_least = |least: [f64; 4]| {
        let mut cells = exact.map(|trials| trials.map(|value| (value, value)));
        for (cell, least) in cells.iter_mut().zip(least) {
            for trial in cell {
                trial.0 *= least;
            }
        }
        cells
    };
    assert!(p_values(&with_least([1.0; 4])).0 < 0.01);
    assert!(p_values(&with_least([0.9; 4])).0 < 0.05);
    // A single cell that may be a quarter of its value: then both levels have the same mean.
    let (first, second) = p_values(&with_least([1.0, 1.0, 0.2, 1.0]));
    assert!(first > 0.9 && second > 0.5, "{first} {second}");
    assert_eq!(
        design(&with_least([0.3; 4])).unwrap_err(),
        NoEffects::Unresolved
    );
}

/// Three levels over two cells each, of two trials that a repetition shifts alike.
#[test]
fn levels_of_one_factor_are_compared_with_each_other() {
    let logs: [&[f64]; 6] = [
        &[1.0, 1.2],
        &[2.0, 2.2],
        &[1.5, 1.9],
        &[2.5, 2.5],
        &[1.0, 1.4],
        &[2.0, 2.0],
    ];
    let cells: Vec<Vec<f64>> = logs
        .iter()
        .map(|logs| logs.iter().map(|log| log.exp()).collect())
        .collect();
    let cells: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
    let design = Factorial::of_levels(3, 2, &blocks(&cells), 0.0).unwrap();
    assert_near(design.mean_of_level(0, 0).point.ln(), 1.6);
    // In both repetitions the second level is 0.5 above the first one.
    let ratio = design.ratio_of_levels(0, 1, 0);
    check_ratio(&ratio.estimate, 0.5, Some(0.491_258));
    assert!(ratio.is_paired && ratio.p_value.is_some_and(|p_value| p_value < 0.05));
    assert_near(design.ratio_of_levels(0, 0, 1).estimate.point.ln(), -0.5);
    check_ratio(
        &design.ratio_of_levels(0, 2, 0).estimate,
        0.0,
        Some(0.491_3),
    );
    let small_design = Factorial::of_levels(3, 1, &blocks(&cells[..3]), 0.0).unwrap();
    assert_near(small_design.mean_of_level(0, 1).point.ln(), 2.1);
    assert!(Factorial::of_levels(4, 2, &blocks(&cells), 0.0).is_err());
}

/// The scatter of the logarithms of goodput in a recorded run of six cells, three to five trials each, on a machine with two CPUs beside
/// other programs: connections 1, 10 and 50, each without and with pipelining.
const RECORDED_SCATTER: [f64; 6] = [0.13, 0.16, 0.12, 0.08, 0.65, 0.18];

/// A design with these scatters: of each cell the first `trials` repetitions, without one of them in some cells. The levels of the first
/// factor have these values, the second factor makes forty times as much.
fn recorded_design(levels: [f64; 3], trials: [usize; 6], host: f64, seed: u64) -> Factorial {
    let mut random = Random::from_seed(seed);
    let hosts: Vec<f64> = (0..6).map(|_| random.lognormal(1.0, host)).collect();
    let cells: Vec<Vec<Sample>> = (0..6)
        .map(|cell| {
            let level = 1_000.0 * levels[cell / 2] * [1.0, 40.0][cell % 2];
            let spread = RECORDED_SCATTER[cell];
            (1_u32..)
                .zip(&hosts)
                .take(trials[cell])
                .map(|(repetition, host)| {
                    Sample::exact(repetition, host * random.lognormal(level, spread))
                })
                .collect()
        })
        .collect();
    Factorial::new(&[3, 2], &cells, 0.0).unwrap()
}

/// A factor without effect, and the one that the recorded run found, at the limit that three sources of one metric have together.
#[test]
fn the_recorded_scatter_hides_little_and_shows_nothing_wrong() {
    for trials in [[3; 6], [5; 6], [5, 3, 4, 5, 3, 3]] {
        let rate = |levels: [f64; 3], limit: f64, part: usize| {
            let detections = (0..1_000).filter(|seed| {
                let parts = recorded_design(levels, trials, 0.1, *seed).variation();
                parts[part].p_value.unwrap() <= limit
            });
            size(detections.count()) / 1_000.0
        };
        let wrong = [rate([1.0; 3], 0.05, 0), rate([1.0; 3], 0.05, 2)];
        assert!(
            wrong.iter().all(|rate| *rate <= 0.06),
            "{trials:?}: {wrong:?}"
        );
        let detections = rate([1.0, 2.6, 5.7], 0.02 / 3.0, 0);
        assert!(detections >= 0.97, "{trials:?}: {detections}");
        for (index, truth) in [(0, 2.6), (1, 5.7)] {
            let covered = (0..1_000).filter(|seed| {
                let design = recorded_design([1.0, 2.6, 5.7], trials, 0.1, *seed);
                let (low, high) = design.ratios(0)[index].interval.unwrap();
                (low..=high).contains(&truth)
            });
            let share = size(covered.count()) / 1_000.0;
            assert!(share >= 0.935, "{trials:?} {truth}: {share}");
        }
    }
}
