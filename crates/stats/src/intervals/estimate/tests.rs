//! Estimates by hand, and how often intervals contain the truth.

use super::*;
use crate::arithmetic::random::Random;

const SEEDS: u64 = 2_000;

fn share(covered: impl Fn(u64) -> bool) -> f64 {
    size((0..SEEDS).filter(|seed| covered(*seed)).count()) / 2_000.0
}

fn covers(estimate: Option<Estimate>, truth: f64) -> bool {
    let (low, high) = estimate.unwrap().interval.unwrap();
    (low..=high).contains(&truth)
}

fn trials(random: &mut Random, count: usize, spread: f64) -> Vec<f64> {
    (0..count)
        .map(|_| random.lognormal(1_000.0, spread))
        .collect()
}

/// An estimate of a metric whose resolution is far below its values.
fn estimate_of(values: &[f64]) -> Option<Estimate> {
    estimate(values, Scale::default())
}

/// The values of repetitions 1, 2, …
fn samples(values: &[f64]) -> Vec<Sample> {
    (1..)
        .zip(values)
        .map(|(repetition, &value)| Sample::exact(repetition, value))
        .collect()
}

/// Of groups with other repetitions.
fn unpaired_ratio(new: &[f64], old: &[f64]) -> Option<TestedEstimate> {
    let apart = |sample: Sample| Sample {
        repetition: sample.repetition + 1_000,
        ..sample
    };
    ratio(
        &samples(new),
        &samples(old).into_iter().map(apart).collect::<Vec<_>>(),
        0.0,
    )
}

fn paired_ratio(new: &[f64], old: &[f64]) -> Option<TestedEstimate> {
    ratio(&samples(new), &samples(old), 0.0)
}

#[test]
fn the_largest_has_no_interval() {
    let check = |values: &[f64], expected: Option<(f64, usize)>| {
        let estimate = largest(values);
        assert!(estimate.is_none_or(|estimate| estimate.interval.is_none()));
        assert_eq!(
            estimate.map(|estimate| (estimate.point, estimate.count)),
            expected,
            "{values:?}"
        );
    };
    check(&[3.0, 7.0, 5.0], Some((7.0, 3)));
    check(&[-1.0], Some((-1.0, 1)));
    check(&[], None);
    check(&[1.0, f64::NAN], None);
}

#[test]
fn a_standard_deviation_needs_two_values() {
    let check = |values: &[f64], expected: Option<f64>| {
        assert_eq!(standard_deviation(values), expected, "{values:?}");
    };
    check(&[], None);
    check(&[5.0], None);
    check(&[5.0, 5.0], Some(0.0));
    check(&[2.0, 4.0, 6.0], Some(2.0));
    check(&[1.0, f64::INFINITY], None);
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    let check = |count: usize, spread: f64| {
        let share = share(|seed| {
            covers(
                estimate_of(&trials(&mut Random::from_seed(seed), count, spread)),
                1_000.0,
            )
        });
        assert!(
            (0.93..=0.97).contains(&share),
            "{count} trials, spread {spread}: {share}"
        );
    };
    for count in [2, 3, 5, 7, 8, 10, 20] {
        check(count, 0.05);
    }
    check(5, 0.5);
    check(10, 0.5);
}

/// Two equal groups on a host whose speed differs from repetition to repetition by `drift`; the second one scatters three times
/// as much.
fn equal_groups(seed: u64, (new, old): (usize, usize), drift: f64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::from_seed(seed);
    let speeds: Vec<f64> = (0..new.max(old))
        .map(|_| random.lognormal(1_000.0, drift))
        .collect();
    let mut group = |count: usize, spread| -> Vec<f64> {
        let speeds = speeds[..count].iter();
        speeds
            .map(|speed| random.lognormal(*speed, spread))
            .collect()
    };
    (group(new, 0.03), group(old, 0.09))
}

#[test]
fn ratios_of_the_same_system_cover_one() {
    type Compare = fn(&[f64], &[f64]) -> Option<TestedEstimate>;
    let check = |compare: Compare, counts: (usize, usize), drift: f64| {
        let share = share(|seed| {
            let (new, old) = equal_groups(seed, counts, drift);
            covers(
                compare(&new, &old).map(|comparison| comparison.estimate),
                1.0,
            )
        });
        assert!(
            (0.93..=0.97).contains(&share),
            "{counts:?} trials, drift {drift}: {share}"
        );
    };
    for counts in [(3, 3), (5, 5), (5, 10), (8, 8), (20, 20)] {
        check(unpaired_ratio, counts, 0.0);
    }
    for count in [3, 5, 8] {
        for drift in [0.0, 0.2] {
            check(paired_ratio, (count, count), drift);
        }
    }
}

#[test]
fn equal_groups_seem_different_in_one_of_twenty() {
    for counts in [(3, 3), (5, 5), (4, 7)] {
        let seems = share(|seed| {
            let (new, old) = equal_groups(seed, counts, 0.1);
            paired_ratio(&new, &old).unwrap().p_value.unwrap() < 0.05
        });
        // Other repetitions have the host's scatter in their intervals, which are then too wide rather than too narrow.
        assert!((0.002..=0.065).contains(&seems), "{counts:?}: {seems}");
    }
}

#[test]
fn one_slow_trial_does_not_make_the_interval_explode() {
    // Seven trials alike, one at 0.7 of them: the lower end stays near the smallest value, as with fewer trials.
    let mut values = vec![1_000.0; 7];
    values.push(700.0);
    let (low, high) = estimate_of(&values).unwrap().interval.unwrap();
    assert!(
        (low - 860.0).abs() < 5.0 && (high - 1_063.0).abs() < 5.0,
        "{low} {high}"
    );
    let robust = median(&values).unwrap();
    assert_eq!(
        (robust.point, robust.interval),
        (1_000.0, Some((700.0, 1_000.0)))
    );
}

#[test]
fn the_interval_of_the_median_leaves_out_few_samples() {
    let check = |count: usize, expected: Option<usize>| {
        assert_eq!(outside_median(count), expected, "{count}")
    };
    // As in any table of the sign test.
    check(0, None);
    check(5, None);
    check(6, Some(0));
    check(8, Some(0));
    check(9, Some(1));
    check(12, Some(2));
    check(20, Some(5));
    check(30, Some(9));
    check(100, Some(39));
    assert_eq!(median(&[1.0; 5]), None);
    for count in [6, 9, 20] {
        // One trial in ten is slow: Student's interval covers about 70 %, the median's keeps its word.
        let covered = share(|seed| {
            let mut random = Random::from_seed(seed);
            let mut trial = || {
                let level = if random.unit() < 0.1 { 700.0 } else { 1_000.0 };
                random.lognormal(level, 0.05)
            };
            let values: Vec<f64> = (0..count).map(|_| trial()).collect();
            covers(median(&values), 992.5)
        });
        assert!(covered >= 0.94, "{count}: {covered}");
    }
}

/// Point, interval, count.
type Expected = (f64, Option<(f64, f64)>, usize);

fn check(estimate: Option<Estimate>, expected: Option<Expected>) {
    let Some((point, interval, count)) = expected else {
        assert_eq!(estimate, None);
        return;
    };
    let estimate = estimate.unwrap();
    let near = |a: f64, b: f64| (a - b).abs() <= 5e-3 * (1.0 + b.abs()) / 10.0;
    assert!(
        near(estimate.point, point) && estimate.count == count,
        "{estimate:?}"
    );
    match (estimate.interval, interval) {
        (None, None) => {}
        (Some(a), Some(b)) => assert!(
            near(a.0, b.0) && near(a.1, b.1),
            "{estimate:?}, expected {b:?}"
        ),
        _ => panic!("{estimate:?}, expected {interval:?}"),
    }
}

#[test]
fn estimates_by_hand() {
    check(estimate_of(&[]), None);
    check(estimate_of(&[1.0, f64::NAN]), None);
    check(estimate_of(&[1.0, f64::INFINITY]), None);
    check(estimate_of(&[7.0]), Some((7.0, None, 1)));
    check(estimate_of(&[0.0]), Some((0.0, None, 1)));
    // Logarithms ln 1.1 apart: standard error 0.05503, t(2) = 4.3027.
    check(
        estimate_of(&[100.0, 110.0, 121.0]),
        Some((110.0, Some((86.81, 139.38)), 3)),
    );
    // Below zero there is no logarithm. Standard error 0.57735.
    check(
        estimate_of(&[-1.0, 0.0, 1.0]),
        Some((0.0, Some((-2.484, 2.484)), 3)),
    );
    check(estimate_of(&[4.0; 5]), Some((4.0, Some((4.0, 4.0)), 5)));
    check(estimate_of(&[4.0; 12]), Some((4.0, Some((4.0, 4.0)), 12)));
    check(estimate_of(&[0.0; 12]), Some((0.0, Some((0.0, 0.0)), 12)));
}

#[test]
fn a_trial_of_nothing_counts_as_the_resolution() {
    let scale = Scale::from_resolution(0.1);
    let point = |values: &[f64]| estimate(values, scale).unwrap().point;
    // The cube root of 0.1 · 10 · 10; almost nothing is no better than nothing.
    assert!((point(&[0.0, 10.0, 10.0]) - 2.154_4).abs() < 1e-4);
    assert_eq!(point(&[0.0, 10.0, 10.0]), point(&[0.001, 10.0, 10.0]));
    assert!(point(&[0.2, 10.0, 10.0]) > point(&[0.0, 10.0, 10.0]));
    check(estimate(&[0.0; 3], scale), Some((0.0, Some((0.0, 0.1)), 3)));
    // Without a resolution: a thousandth of the largest.
    assert_eq!(estimate_of(&[0.0, 10.0]), estimate_of(&[0.01, 10.0]));
}

#[test]
fn no_interval_is_narrower_than_the_resolution_or_beyond_what_can_be() {
    let scale = Scale {
        resolution: 1.0,
        max: 4.0,
    };
    check(estimate(&[2.0; 3], scale), Some((2.0, Some((1.5, 2.5)), 3)));
    // Logarithms ln 2 apart would reach from 0.36 to 11.
    let (low, high) = estimate(&[1.0, 2.0, 4.0], scale).unwrap().interval.unwrap();
    assert!((low - 0.357).abs() < 1e-3 && high == 4.0);
    check(estimate(&[0.2; 3], scale), Some((1.0, Some((0.5, 1.5)), 3)));
    // A single value has no interval that could be too narrow.
    check(estimate(&[2.0], scale), Some((2.0, None, 1)));
}

/// Of groups with other repetitions.
fn check_ratio(new: &[f64], old: &[f64], expected: Option<Expected>) {
    check(
        unpaired_ratio(new, old).map(|comparison| comparison.estimate),
        expected,
    );
}

#[test]
fn ratios_by_hand() {
    check_ratio(&[], &[1.0], None);
    check_ratio(&[1.0], &[], None);
    check_ratio(&[1.0], &[f64::NAN], None);
    check_ratio(&[-1.0, 5.0], &[2.0, 2.0], None);
    check_ratio(&[3.0], &[2.0], Some((1.5, None, 2)));
    check_ratio(&[3.0, 3.1], &[2.0], Some((1.525, None, 3)));
    check_ratio(&[1.0, 1.0], &[0.0, 0.0], None);
    // Nothing counts as a thousandth of the largest.
    check_ratio(
        &[0.0, 0.0],
        &[2.0, 2.0],
        Some((0.001, Some((0.001, 0.001)), 4)),
    );
    // Both with standard error 0.05503, four degrees of freedom, t = 2.7764, off by 0.2161.
    let old = [100.0, 110.0, 121.0];
    let new = old.map(|value| 2.0 * value);
    check_ratio(&new, &old, Some((2.0, Some((1.611, 2.483)), 6)));
    // Repetition by repetition they are exactly twice as large.
    let comparison = paired_ratio(&new, &old).unwrap();
    check(Some(comparison.estimate), Some((2.0, Some((2.0, 2.0)), 6)));
    assert!(comparison.is_paired && comparison.p_value.unwrap() < 1e-9);
}

#[test]
fn no_ratio_is_known_better_than_its_parts() {
    let (low, high) = (samples(&[90.0; 3]), samples(&[100.0; 3]));
    let comparison = |resolution| ratio(&high, &low, resolution).unwrap();
    let (from, to) = comparison(20.0).estimate.interval.unwrap();
    assert!((from - 90.0 / 100.0).abs() < 1e-9 && (to - 110.0 / 80.0).abs() < 1e-9);
    assert_eq!(comparison(20.0).p_value, Some(1.0));
    assert!(comparison(1.0).p_value.unwrap() < 1e-9);
    // Both are below the resolution, and count as it.
    let (from, to) = comparison(200.0).estimate.interval.unwrap();
    assert!((from - 1.0 / 3.0).abs() < 1e-9 && (to - 3.0).abs() < 1e-9);
}

#[test]
fn the_unit_does_not_matter_and_the_reverse_ratio_is_the_inverse() {
    for (seed, count) in (0..200).zip([2, 3, 5, 7, 8, 11, 20].into_iter().cycle()) {
        let mut random = Random::from_seed(seed);
        let (new, old) = (
            trials(&mut random, count, 0.2),
            trials(&mut random, count, 0.2),
        );
        let scaled: Vec<f64> = new.iter().map(|value| value * 1e-6).collect();
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let (estimate, small) = (estimate_of(&new).unwrap(), estimate_of(&scaled).unwrap());
        let (low, high) = estimate.interval.unwrap();
        assert!(
            near(estimate.point, 1e6 * small.point) && near(high, 1e6 * small.interval.unwrap().1)
        );
        assert!(low <= estimate.point && estimate.point <= high);
        let point = |estimate: Option<TestedEstimate>| estimate.unwrap().estimate.point;
        assert!(near(
            point(unpaired_ratio(&new, &old)) * point(unpaired_ratio(&old, &new)),
            1.0
        ));
    }
}

/// Values that may be as low as these, of repetitions 1, 2, …
fn range_samples(values: &[(f64, f64)]) -> Vec<Sample> {
    let sample = |(repetition, &(least, value)): (u32, &(f64, f64))| Sample {
        repetition,
        least,
        value,
        most: value,
    };
    (1..).zip(values).map(sample).collect()
}

#[test]
fn an_estimate_covers_the_range_in_which_it_is_known() {
    let ranges = [(95.0, 100.0), (10.0, 101.0), (30.0, 99.0)].map(|(low, high)| Bounded {
        low,
        value: high,
        high,
    });
    let estimate = estimate_bounded(&ranges, Scale::default()).unwrap();
    let highest = estimate_of(&ranges.map(|range| range.high)).unwrap();
    let lowest = estimate_of(&ranges.map(|range| range.low)).unwrap();
    assert_eq!(
        (estimate.point, estimate.least),
        (highest.point, Some(lowest.point))
    );
    let ends = (lowest.interval.unwrap().0, highest.interval.unwrap().1);
    assert_eq!((estimate.interval, estimate.ends()), (Some(ends), ends));
    assert_eq!(estimate.shown_least(), Some(lowest.point));
    // Of a single trial there is no interval, and the range is known all the same.
    let single = estimate_bounded(&ranges[..1], Scale::default()).unwrap();
    assert!(single.interval.is_none() && single.ends().0 < 96.0 && single.ends().1 > 99.0);
    assert_eq!(single.shown_least(), None);
}

/// The level of a trial changed within its measured phase: the point stays, and the interval reaches to both levels.
#[test]
fn an_estimate_covers_both_levels_of_a_trial() {
    let exact = [98.0, 100.0, 102.0].map(Bounded::exact);
    let plain = estimate_bounded(&exact, Scale::default()).unwrap();
    let mut changed = exact;
    (changed[1].low, changed[1].high) = (80.0, 125.0);
    let estimate = estimate_bounded(&changed, Scale::default()).unwrap();
    assert_eq!((estimate.point, estimate.least), (plain.point, None));
    let ((low, high), (plain_low, plain_high)) =
        (estimate.interval.unwrap(), plain.interval.unwrap());
    assert!(low < plain_low && high > plain_high);
}

/// A group of which only one side is known: a ratio has one end, and is shown if that end shows it.
#[test]
fn an_open_side_leaves_one_end() {
    let opened = |values: &[f64]| -> Vec<Sample> {
        let open = |sample: Sample| Sample {
            most: f64::INFINITY,
            ..sample
        };
        samples(values).into_iter().map(open).collect()
    };
    let more = opened(&[300.0, 303.0, 297.0]);
    let less = samples(&[100.0, 101.0, 99.0]);
    let comparison = ratio(&more, &less, 0.0).unwrap();
    let (low, high) = comparison.estimate.interval.unwrap();
    assert!(low > 2.5 && high == f64::INFINITY, "{low} {high}");
    assert!(comparison.p_value.unwrap() < 0.05);
    // What is below may be above.
    let comparison = ratio(
        &opened(&[100.0, 101.0, 99.0]),
        &samples(&[300.0, 303.0, 297.0]),
        0.0,
    )
    .unwrap();
    assert_eq!(comparison.p_value, Some(1.0));
    let comparison = ratio(&less, &more, 0.0).unwrap();
    let (low, high) = comparison.estimate.interval.unwrap();
    assert!(low == 0.0 && high < 0.4, "{low} {high}");
}

#[test]
fn ranges_that_overlap_show_no_difference() {
    let check = |new: &[(f64, f64)], old: &[(f64, f64)], is_shown: bool| {
        for (new, old, side) in [(new, old, 1.0), (old, new, -1.0)] {
            let comparison = ratio(&range_samples(new), &range_samples(old), 0.0).unwrap();
            let (low, high) = comparison.estimate.interval.unwrap();
            assert_eq!(!(low..=high).contains(&1.0), is_shown, "{comparison:?}");
            assert_eq!(
                comparison.p_value.unwrap() < 0.05,
                is_shown,
                "{comparison:?}"
            );
            assert!(
                side * comparison.estimate.point.ln() > 0.0,
                "{comparison:?}"
            );
        }
    };
    // Ten times as much, and known exactly; to within a range; not at all.
    let old = [(10.0, 10.0), (10.1, 10.1), (9.9, 9.9)];
    check(&[(100.0, 100.0), (101.0, 101.0), (99.0, 99.0)], &old, true);
    check(&[(50.0, 100.0), (51.0, 101.0), (49.0, 99.0)], &old, true);
    check(&[(1.0, 100.0), (1.1, 101.0), (1.0, 99.0)], &old, false);
}
