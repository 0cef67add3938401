//! Power: which difference between two groups a number of trials finds in 80 of 100 runs, and how many trials find a given one.
//!
//! The test is that of `contrast`: Student's t on logarithms, two-sided at 5 %, over the differences of the repetitions (pairs) or
//! over two groups with their own trials. Its power is the tail of the noncentral t distribution, here as an integral over the
//! scatter that the run will show. The scatter to plan with is itself known from few trials; the second integral is over how far it
//! may be off, so that of many plans with the runs that follow them 80 of 100 find the difference. Rates: docs/design/0086. Sources:
//! Cohen, Statistical Power Analysis, 1988, chapter 2; Browne, Statistics in Medicine 14 (1995), on pilots.

use std::collections::BTreeMap;

use crate::{
    arithmetic::{
        sample::{mean, size, squares_about},
        student::critical_95,
    },
    intervals::{contrast::Sample, estimate::Scale},
};

/// How often a difference is found.
pub const POWER: f64 = 0.8;
/// More trials are run in no practice, and no number of them is given.
const MAX_TRIALS: usize = 100;
/// Points of an integral over the scatter; with three times as many no result differs by 1e-6.
const POINTS: u32 = 64;

/// How much trials of the same group scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialScatter {
    /// Standard deviation of the logarithm of a trial, about its group and about what all trials of its repetition share.
    pub deviation: f64,
    /// On how many degrees of freedom it rests.
    pub degrees: f64,
    pub design: Design,
}

/// How the trials of two groups are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// Repetition by repetition.
    Pairs,
    /// As two groups of which each has its own mean and scatter.
    Groups,
}

impl Design {
    /// Degrees of freedom of the scatter that a run of so many trials of each group shows, and those of its test. Two groups have
    /// Satterthwaite's, which are fewer if their scatters differ by chance: on average about this many.
    fn degrees(self, trials: usize) -> (f64, f64) {
        let degrees = size(trials - 1);
        match self {
            Self::Pairs => (degrees, degrees),
            Self::Groups => (2.0 * degrees, 2.0 * degrees * degrees / (degrees + 1.0)),
        }
    }
}

/// Standard error of a difference of so many trials of each group, in standard deviations of a trial: what pairs share is not in it.
fn error(trials: usize) -> f64 {
    (2.0 / size(trials)).sqrt()
}

impl TrialScatter {
    /// The scatter of trials, given in their groups. `None` if nothing shows it: no group has two trials, a value is below zero or not
    /// finite, or none is above zero.
    #[must_use]
    pub fn from_groups(groups: &[Vec<Sample>], scale: Scale) -> Option<Self> {
        let all = || groups.iter().flatten().map(|trial| trial.value);
        let is_usable = |value: f64| value.is_finite() && value >= 0.0;
        if !all().all(is_usable) || !all().any(|value| value > 0.0) {
            return None;
        }
        let slices: Vec<&[Sample]> = groups.iter().map(Vec::as_slice).collect();
        let logs = scale.sample_logs(&slices);
        scatter_of_pairs(&logs).or_else(|| scatter_of_groups(&logs))
    }

    /// Of several runs together, each of which has its own level; `None` without one.
    #[must_use]
    pub fn pool(runs: &[Self]) -> Option<Self> {
        // Pairs and groups are different scatters: those of which there is more evidence.
        let degrees = |design: Design| -> f64 {
            let design_runs = runs.iter().filter(|run| run.design == design);
            design_runs.map(|run| run.degrees).sum()
        };
        let design = match degrees(Design::Pairs) >= degrees(Design::Groups) {
            true => Design::Pairs,
            false => Design::Groups,
        };
        let degrees = degrees(design);
        let design_runs = runs.iter().filter(|run| run.design == design);
        let squares: f64 = design_runs
            .map(|run| run.deviation.powi(2) * run.degrees)
            .sum();
        (degrees > 0.0).then(|| Self {
            deviation: (squares / degrees).sqrt(),
            degrees,
            design,
        })
    }

    /// The smallest difference that so many trials of each of two groups find in 80 of 100 runs: 0.25 is a ratio of 1.25 or 0.8.
    /// `None` of fewer than two trials.
    #[must_use]
    pub fn smallest_difference(&self, trials: usize) -> Option<f64> {
        if trials < 2 {
            return None;
        }
        let difference = self.difference_at(self.needed_distance(trials), trials);
        difference.is_finite().then_some(difference)
    }

    /// The difference that is so many standard errors.
    fn difference_at(&self, distance: f64, trials: usize) -> f64 {
        (distance * error(trials) * self.deviation).exp_m1()
    }

    /// The fewest trials of each group that find such a difference in 80 of 100 runs; `None` of more than a hundred.
    #[must_use]
    pub fn trials_for(&self, difference: f64) -> Option<usize> {
        let finds = |trials: usize| {
            let distance = difference.ln_1p() / (error(trials) * self.deviation);
            self.expected_power(distance, trials) >= POWER
        };
        let (mut low, mut high) = (1, MAX_TRIALS);
        if difference <= 0.0 || !finds(high) {
            return None;
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if finds(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// The difference in standard errors, as they are expected to be, that is found in 80 of 100 runs.
    fn needed_distance(&self, trials: usize) -> f64 {
        let (mut low, mut high) = (0.0, 4.0);
        while self.expected_power(high, trials) < POWER && high < 1e6 {
            high *= 2.0;
        }
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if self.expected_power(middle, trials) < POWER {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The power at a distance, over how far the scatter may be off.
    fn expected_power(&self, distance: f64, trials: usize) -> f64 {
        let (degrees, of_test) = self.design.degrees(trials);
        let critical = critical_95(of_test);
        let test = ScatterDistribution::new(degrees);
        let distribution = ScatterDistribution::new(self.degrees);
        distribution.mean(|off| test.power(distance * off, critical))
    }
}

/// The distribution of a standard deviation that is estimated with so many degrees of freedom, ÷ the true one: its values with
/// their weights, which add up to 1.
struct ScatterDistribution {
    points: Vec<(f64, f64)>,
}

impl ScatterDistribution {
    /// √(χ² ÷ degrees), on the log scale, where the density falls off fast on both sides.
    fn new(degrees: f64) -> Self {
        let spread = 1.0 / (2.0 * degrees).sqrt();
        let (low, high) = (-6.0 * spread - 12.0 / degrees, 6.0 * spread);
        let step = (high - low) / f64::from(POINTS);
        let point = |index: u32| {
            let log = low + (f64::from(index) + 0.5) * step;
            let weight = (degrees * (log - ((2.0 * log).exp() - 1.0) / 2.0)).exp();
            (log.exp(), weight)
        };
        let mut points: Vec<(f64, f64)> = (0..POINTS).map(point).collect();
        points.retain(|(_, weight)| *weight > 1e-9);
        let sum: f64 = points.iter().map(|(_, weight)| weight).sum();
        points.iter_mut().for_each(|(_, weight)| *weight /= sum);
        Self { points }
    }

    fn mean(&self, value: impl Fn(f64) -> f64) -> f64 {
        let points = self.points.iter();
        points.map(|(point, weight)| weight * value(*point)).sum()
    }

    /// How often |t| is above the critical value if the difference is so many standard errors: the tails of noncentral t.
    fn power(&self, distance: f64, critical: f64) -> f64 {
        self.mean(|scatter| {
            normal_below(distance - critical * scatter)
                + normal_below(-distance - critical * scatter)
        })
    }
}

/// The share of standard normal numbers below a value, by the complementary error function (Press et al., Numerical Recipes,
/// erfcc): relative error below 1.2e-7.
fn normal_below(value: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let z = value.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + z / 2.0);
    let polynomial = COEFFICIENTS
        .iter()
        .rev()
        .fold(0.0, |sum, coefficient| sum * t + coefficient);
    let tail = t * (polynomial - z * z).exp() / 2.0;
    if value < 0.0 { tail } else { 1.0 - tail }
}

/// By the differences of every two groups in the repetitions that both have; `None` if no two have two of them.
fn scatter_of_pairs(groups: &[Vec<Sample>]) -> Option<TrialScatter> {
    let value = |trial: &Sample| (trial.repetition, trial.value);
    let by_repetition = |group: &Vec<Sample>| group.iter().map(value).collect();
    let groups: Vec<BTreeMap<u32, f64>> = groups.iter().map(by_repetition).collect();
    let (mut squares, mut degrees) = (0.0, 0_usize);
    for (index, group) in groups.iter().enumerate() {
        for other in &groups[index + 1..] {
            let shared = group.iter();
            let shared = shared
                .filter_map(|(repetition, value)| other.get(repetition).map(|other| value - other));
            let differences: Vec<f64> = shared.collect();
            if differences.len() > 1 {
                squares += squares_about(&differences, mean(&differences));
                degrees += differences.len() - 1;
            }
        }
    }
    if degrees == 0 {
        return None;
    }
    // A difference has the scatter of two trials.
    let variance = squares / size(degrees) / 2.0;
    Some(TrialScatter {
        deviation: variance.sqrt(),
        degrees: independent_degrees(&groups),
        design: Design::Pairs,
    })
}

/// Trials, without a level for each group and for each repetition; of repetitions with two groups or more.
fn independent_degrees(groups: &[BTreeMap<u32, f64>]) -> f64 {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for repetition in groups.iter().flat_map(BTreeMap::keys) {
        *counts.entry(*repetition).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    let trials: usize = counts.values().sum();
    let is_shared = |group: &&BTreeMap<u32, f64>| group.keys().any(|key| counts.contains_key(key));
    let group_count = groups.iter().filter(is_shared).count();
    size(
        (trials + 1)
            .saturating_sub(group_count + counts.len())
            .max(1),
    )
}

/// Of trials about the level of their group.
fn scatter_of_groups(groups: &[Vec<Sample>]) -> Option<TrialScatter> {
    let (mut squares, mut degrees) = (0.0, 0_usize);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let values: Vec<f64> = group.iter().map(|trial| trial.value).collect();
        squares += squares_about(&values, mean(&values));
        degrees += values.len() - 1;
    }
    (degrees > 0).then(|| TrialScatter {
        deviation: (squares / size(degrees)).sqrt(),
        degrees: size(degrees),
        design: Design::Groups,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{arithmetic::random::Random, intervals::estimate::ratio};

    const SCATTER: f64 = 0.06;

    /// Groups of trials that scatter by 6 %, each `ratio` times the one before. In pairs repetitions scatter by 20 %; else no two groups
    /// have a repetition in common.
    fn groups(
        random: &mut Random,
        design: Design,
        (count, trials): (u32, u32),
        ratio: f64,
    ) -> Vec<Vec<Sample>> {
        let hosts: Vec<f64> = (0..trials)
            .map(|_| random.lognormal(1_000.0, 0.2))
            .collect();
        let mut group = |index: u32| {
            let samples = (1..).zip(&hosts).map(|(repetition, host)| {
                let (repetition, level) = match design {
                    Design::Pairs => (repetition, *host),
                    Design::Groups => (index * trials + repetition, 1_000.0),
                };
                let level = level * ratio.powf(f64::from(index));
                Sample::exact(repetition, random.lognormal(level, SCATTER))
            });
            samples.collect()
        };
        (0..count).map(&mut group).collect()
    }

    #[test]
    fn tails_of_the_normal_distribution_are_those_of_the_tables() {
        for (value, expected) in [
            (0.0, 0.5),
            (-1.959_964, 0.025),
            (1.644_854, 0.95),
            (-4.0, 3.167e-5),
        ] {
            let probability = normal_below(value);
            assert!(
                (probability - expected).abs() < 1e-6 + 1e-4 * expected,
                "{value}: {probability}"
            );
        }
    }

    /// Sample sizes of Cohen's tables (1988, 2.4.1 and the paired form), for a power of 0.80 at 5 %, with a scatter that is known.
    #[test]
    fn numbers_of_trials_are_those_of_the_tables() {
        let check = |design: Design, effect: f64, expected: usize| {
            let scatter = TrialScatter {
                deviation: 1.0,
                degrees: 1e6,
                design,
            };
            let count = scatter.trials_for(effect.exp_m1());
            assert_eq!(count, Some(expected), "{design:?} {effect}");
        };
        check(Design::Groups, 0.5, 64);
        check(Design::Groups, 0.8, 26);
        check(Design::Groups, 1.0, 17);
        check(Design::Groups, 1.4, 10);
        // Of pairs the effect is in standard deviations of a difference, √2 of a trial: 0.5 needs 34, 0.8 needs 15, 1.0 needs 10.
        let of_difference = std::f64::consts::SQRT_2;
        check(Design::Pairs, 0.5 * of_difference, 34);
        check(Design::Pairs, 0.8 * of_difference, 15);
        check(Design::Pairs, 1.0 * of_difference, 10);
    }

    #[test]
    fn a_difference_and_its_number_of_trials_are_the_inverse_of_each_other() {
        for (degrees, design) in [
            (4.0, Design::Groups),
            (10.0, Design::Pairs),
            (60.0, Design::Pairs),
        ] {
            let scatter = TrialScatter {
                deviation: SCATTER,
                degrees,
                design,
            };
            for trials in [2, 3, 7, 20] {
                let difference = scatter.smallest_difference(trials).unwrap();
                assert_eq!(
                    scatter.trials_for(difference * 1.001),
                    Some(trials),
                    "{scatter:?}"
                );
                assert_eq!(
                    scatter.trials_for(difference * 0.999),
                    Some(trials + 1),
                    "{scatter:?}"
                );
            }
            assert_eq!(scatter.smallest_difference(1), None);
            assert_eq!(scatter.trials_for(0.001), None);
        }
    }

    /// A pilot, the difference that it promises, and a run with that difference: found in 80 of 100, however small the pilot is.
    #[test]
    fn the_promised_difference_is_found_in_four_of_five_runs() {
        const PLANS: u64 = 1_500;
        let check = |design: Design, pilot: (u32, u32), trials: u32| {
            let hits = (0..PLANS).filter(|seed| {
                let mut random = Random::from_seed(*seed);
                let pilot = groups(&mut random, design, pilot, 1.0);
                let scatter = TrialScatter::from_groups(&pilot, Scale::default()).unwrap();
                let difference =
                    scatter.difference_at(needed_trials(scatter, trials), trials as usize);
                let run = groups(&mut random, design, (2, trials), 1.0 + difference);
                ratio(&run[1], &run[0], 0.0).unwrap().p_value.unwrap() <= 0.05
            });
            let share = size(hits.count()) / 1_500.0;
            // Of 1,500 a rate of 80 % shows as 77 to 83 % in 997 of 1,000 cases.
            assert!(
                (0.77..=0.83).contains(&share),
                "{pilot:?} {trials}: {share}"
            );
        };
        check(Design::Pairs, (2, 3), 3);
        check(Design::Pairs, (6, 3), 3);
        check(Design::Pairs, (6, 3), 8);
        check(Design::Pairs, (2, 5), 5);
        check(Design::Groups, (6, 3), 5);
        check(Design::Groups, (1, 4), 4);
        check(Design::Groups, (1, 3), 3);
    }

    /// The distance depends on degrees of freedom alone, and takes a while.
    fn needed_trials(scatter: TrialScatter, trials: u32) -> f64 {
        type Known = BTreeMap<(u64, Design, u32), f64>;
        static KNOWN: Mutex<Known> = Mutex::new(Known::new());
        let key = (scatter.degrees.to_bits(), scatter.design, trials);
        let mut known = KNOWN.lock().unwrap();
        *known
            .entry(key)
            .or_insert_with(|| scatter.needed_distance(trials as usize))
    }

    /// What a plan without the second integral promises: the scatter of the pilot taken as the true one.
    #[test]
    fn a_small_pilot_taken_at_its_word_promises_too_much() {
        let known = TrialScatter {
            deviation: 1.0,
            degrees: 1e6,
            design: Design::Pairs,
        };
        let check = |degrees: f64, trials: usize, expected: f64| {
            let distance = known.needed_distance(trials);
            let pilot = TrialScatter { degrees, ..known };
            let power = pilot.expected_power(distance, trials);
            assert!(
                (power - expected).abs() < 0.005,
                "{degrees} {trials}: {power}"
            );
        };
        check(2.0, 3, 0.629);
        check(4.0, 5, 0.685);
        check(10.0, 5, 0.746);
    }

    #[test]
    fn by_hand() {
        let group = |values: &[f64]| -> Vec<Sample> {
            let samples = (1..).zip(values);
            samples
                .map(|(repetition, value)| Sample::exact(repetition, *value))
                .collect()
        };
        let scatter = |groups: &[&[f64]]| {
            let groups: Vec<Vec<Sample>> = groups.iter().map(|numbers| group(numbers)).collect();
            TrialScatter::from_groups(&groups, Scale::default())
        };
        // What all trials of a repetition share is no scatter.
        let pairs = scatter(&[&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0], &[3.0, 6.0, 12.0]]).unwrap();
        assert!(pairs.deviation < 1e-12);
        assert_eq!((pairs.degrees, pairs.design), (4.0, Design::Pairs));
        // Differences of the logarithms 0, 1: their variance is 1/2, of which a trial has half.
        let e = std::f64::consts::E;
        let pair = scatter(&[&[1.0, 1.0], &[1.0, e]]).unwrap();
        assert!((pair.deviation - 0.5).abs() < 1e-12 && pair.degrees == 1.0);
        // Only the shared repetitions: the third trial of one group has no partner.
        let more = scatter(&[&[1.0, 1.0, 7.0], &[1.0, e]]).unwrap();
        assert_eq!(more.degrees, 1.0);
        let alone = scatter(&[&[1.0, e]]).unwrap();
        assert!((alone.deviation - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!((alone.degrees, alone.design), (1.0, Design::Groups));
        for nothing in [
            &[&[1.0][..], &[2.0]][..],
            &[],
            &[&[0.0, 0.0]],
            &[&[-1.0, 1.0]],
        ] {
            assert_eq!(scatter(nothing), None, "{nothing:?}");
        }
        let pooled = TrialScatter::pool(&[pair, more, alone]).unwrap();
        assert_eq!((pooled.degrees, pooled.design), (2.0, Design::Pairs));
        assert_eq!(TrialScatter::pool(&[]), None);
    }
}
