//! Shares of requests over trials, such as that of errors. The trial is the unit here too, but the point is the share of all
//! requests together.
//!
//! The estimate is the ratio estimator of cluster samples, with its linearised variance (Cochran, Sampling Techniques, 1977,
//! chapter 6): the squared excess of each trial over the share, summed over trials. Intervals are Student's t; those of
//! differences use Satterthwaite's degrees of freedom. Requests of one trial fail together, so a binomial interval alone would be far
//! too narrow; but no interval is narrower than the binomial one (Wilson, 1927), so that no failure among n requests is a rate of
//! less than about 4/n and not of exactly 0.

use crate::{
    arithmetic::{
        sample::{count_as_f64, size},
        student::{critical_95, satterthwaite, two_sided},
    },
    intervals::estimate::{Estimate, TestedEstimate},
};

/// Of one trial: how many of its requests are meant, and how many there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub of: u64,
    pub all: u64,
}

/// The share over trials, 0 to 1; trials without requests are left out. `None` if no trial had any.
#[must_use]
pub fn proportion(trials: &[Part]) -> Option<Estimate> {
    let proportion = Proportion::from_trials(trials)?;
    Some(Estimate {
        point: proportion.point,
        interval: proportion.interval(),
        count: proportion.count,
        least: None,
    })
}

/// The difference of two shares, `new - old`, of groups that have no trial in common. There is no interval if a group has one
/// trial.
#[must_use]
pub fn proportion_difference(new: &[Part], old: &[Part]) -> Option<TestedEstimate> {
    let (new, old) = (Proportion::from_trials(new)?, Proportion::from_trials(old)?);
    let point = new.point - old.point;
    let scatter = difference_interval(&new, &old);
    Some(TestedEstimate {
        p_value: scatter.map(|(ends, degrees)| p_value(point, ends, degrees)),
        is_paired: false,
        estimate: Estimate {
            point,
            interval: scatter.map(|(interval, _)| interval),
            count: new.count + old.count,
            least: None,
        },
    })
}

/// Of `new - old`, with its degrees of freedom.
fn difference_interval(new: &Proportion, old: &Proportion) -> Option<((f64, f64), f64)> {
    let (of_new, of_old) = new.degrees.zip(old.degrees)?;
    let point = new.point - old.point;
    let degrees = satterthwaite(&[(new.error2, of_new), (old.error2, of_old)]);
    let margin = critical_95(degrees) * (new.error2 + old.error2).sqrt();
    let (low, high) = newcombe_interval(new, old);
    let interval = (
        (point - margin).max(-1.0).min(low),
        (point + margin).min(1.0).max(high),
    );
    Some((interval, degrees))
}

/// That of the test whose 95 % interval this is.
fn p_value(point: f64, (low, high): (f64, f64), degrees: f64) -> f64 {
    let margin = if point > 0.0 {
        point - low
    } else {
        high - point
    };
    match (point, margin) {
        (0.0, _) => 1.0,
        (_, 0.0) => 0.0,
        _ => two_sided(critical_95(degrees) * point / margin, degrees),
    }
}

/// The interval of a difference of two shares of independent requests (Newcombe, 1998, method 10).
fn newcombe_interval(new: &Proportion, old: &Proportion) -> (f64, f64) {
    let (new_ends, old_ends) = (new.wilson_interval(), old.wilson_interval());
    let point = new.point - old.point;
    (
        point - (new.point - new_ends.0).hypot(old_ends.1 - old.point),
        point + (new_ends.1 - new.point).hypot(old.point - old_ends.0),
    )
}

struct Proportion {
    point: f64,
    /// Requests of all trials.
    all: f64,
    /// Standard error, squared; 0 for a single trial.
    error2: f64,
    /// `None` for a single trial.
    degrees: Option<f64>,
    count: usize,
}

impl Proportion {
    fn from_trials(trials: &[Part]) -> Option<Self> {
        let trials: Vec<Part> = trials
            .iter()
            .copied()
            .filter(|trial| trial.all > 0)
            .collect();
        if trials.is_empty() {
            return None;
        }
        let sum = |pick: fn(&Part) -> u64| {
            trials
                .iter()
                .map(|trial| count_as_f64(pick(trial)))
                .sum::<f64>()
        };
        let (part, all) = (sum(|trial| trial.of), sum(|trial| trial.all));
        let point = part / all;
        let count = size(trials.len());
        let degrees = (trials.len() > 1).then_some(count - 1.0);
        let squares: f64 = trials
            .iter()
            .map(|trial| (count_as_f64(trial.of) - point * count_as_f64(trial.all)).powi(2))
            .sum();
        let error2 = degrees.map_or(0.0, |degrees| squares * count / degrees / (all * all));
        Some(Self {
            point,
            all,
            error2,
            degrees,
            count: trials.len(),
        })
    }

    fn interval(&self) -> Option<(f64, f64)> {
        let margin = critical_95(self.degrees?) * self.error2.sqrt();
        let (low, high) = self.wilson_interval();
        Some((
            (self.point - margin).max(0.0).min(low),
            (self.point + margin).min(1.0).max(high),
        ))
    }

    /// The 95 % interval of a share of so many independent requests.
    fn wilson_interval(&self) -> (f64, f64) {
        const Z: f64 = 1.959_964;
        let z2 = Z * Z;
        let middle = self.point + z2 / (2.0 * self.all);
        let half = Z
            * (self.point * (1.0 - self.point) / self.all + z2 / (4.0 * self.all * self.all))
                .sqrt();
        let whole = 1.0 + z2 / self.all;
        (
            ((middle - half) / whole).max(0.0),
            ((middle + half) / whole).min(1.0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    fn difference(new: &[Part], old: &[Part]) -> Option<Estimate> {
        proportion_difference(new, old).map(|contrast| contrast.estimate)
    }

    fn parts(counts: &[(u64, u64)]) -> Vec<Part> {
        counts
            .iter()
            .map(|(part, all)| Part {
                of: *part,
                all: *all,
            })
            .collect()
    }

    fn assert_near(estimate: Option<Estimate>, point: f64, interval: Option<(f64, f64)>) {
        let estimate = estimate.unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 5e-4;
        assert!(close(estimate.point, point), "{estimate:?}");
        match (estimate.interval, interval) {
            (None, None) => {}
            (Some(a), Some(b)) => {
                assert!(
                    close(a.0, b.0) && close(a.1, b.1),
                    "{estimate:?}, expected {b:?}"
                );
            }
            _ => panic!("{estimate:?}, expected {interval:?}"),
        }
    }

    #[test]
    fn shares_by_hand() {
        assert_eq!(proportion(&[]), None);
        assert_eq!(proportion(&parts(&[(0, 0), (0, 0)])), None);
        assert_near(proportion(&parts(&[(3, 10)])), 0.3, None);
        // Shares 0.1, 0.2, 0.3 of 100 each: standard error 0.1 / sqrt(3), t(2) = 4.3027.
        assert_near(
            proportion(&parts(&[(10, 100), (20, 100), (30, 100)])),
            0.2,
            Some((0.0, 0.448)),
        );
        // The larger trial weighs more: 31 of 130; 5.15 requests more than the share says, and as many fewer.
        assert_near(
            proportion(&parts(&[(29, 100), (2, 30)])),
            0.2385,
            Some((0.0, 1.0)),
        );
        assert_near(
            proportion(&parts(&[(0, 50), (0, 70), (0, 0)])),
            0.0,
            // Of 120 independent requests none failed: 3.84 / 123.84.
            Some((0.0, 0.0310)),
        );
        assert_near(
            proportion(&parts(&[(50, 50), (70, 70)])),
            1.0,
            Some((0.9690, 1.0)),
        );
    }

    #[test]
    fn differences_by_hand() {
        let none = parts(&[(0, 100), (0, 100), (0, 100)]);
        let some = parts(&[(10, 100), (20, 100), (30, 100)]);
        assert_eq!(difference(&some, &[]), None);
        assert_near(difference(&some, &parts(&[(0, 10)])), 0.2, None);
        // All the scatter is on one side: two degrees of freedom.
        assert_near(difference(&some, &none), 0.2, Some((-0.0484, 0.4484)));
        assert_near(difference(&none, &some), -0.2, Some((-0.4484, 0.0484)));
        // Neither is known better than 300 independent requests let it be.
        assert_near(difference(&none, &none), 0.0, Some((-0.0126, 0.0126)));
        let all = parts(&[(9, 9), (8, 8)]);
        assert_near(difference(&all, &none), 1.0, Some((0.8153, 1.0)));
    }

    /// Trials whose own share scatters, as it does near overload.
    #[test]
    fn intervals_cover_the_truth_about_as_often_as_they_say() {
        const SEEDS: u64 = 2_000;
        let trial = |random: &mut Random, proportion: f64| {
            let all = random.lognormal(10_000.0, 0.05);
            let share = random.lognormal(proportion, 0.2).min(1.0);
            Part {
                of: (all * share) as u64,
                all: all as u64,
            }
        };
        // `lognormal` is centred on its median; the mean is higher by half of the variance.
        let truth = |middle: f64| middle * (0.2_f64 * 0.2 / 2.0).exp();
        for count in [3, 5, 10] {
            let covered = |seed: &u64| {
                let mut random = Random::from_seed(*seed);
                let draw = |random: &mut Random, proportion| -> Vec<Part> {
                    (0..count).map(|_| trial(random, proportion)).collect()
                };
                let (new, old) = (draw(&mut random, 0.2), draw(&mut random, 0.1));
                let (low, high) = difference(&new, &old).unwrap().interval.unwrap();
                (low..=high).contains(&(truth(0.2) - truth(0.1)))
            };
            let hits = (0..SEEDS).filter(covered).count();
            let proportion = size(hits) / 2_000.0;
            assert!(
                (0.92..=0.98).contains(&proportion),
                "{count} trials: {proportion}"
            );
        }
    }
}
