//! Several statements that hold together (Holm, 1979).

use crate::arithmetic::sample::size;

/// The largest p-value that is rejected if, of all these null hypotheses together, one is to be rejected wrongly in no more than
/// this share of cases, however they depend on each other; below 0 if none is rejected.
#[must_use]
pub fn rejection_limit(p_values: &[f64], wrongly: f64) -> f64 {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let ranked = sorted.iter().enumerate();
    let rejected = ranked.take_while(|(rank, p_value)| **p_value <= wrongly / size(count - rank));
    rejected.last().map_or(-1.0, |(_, p_value)| *p_value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    #[test]
    fn the_smallest_is_compared_with_the_strictest_limit() {
        let check = |p_values: &[f64], expected: f64| {
            assert!(
                (rejection_limit(p_values, 0.05) - expected).abs() < 1e-12,
                "{p_values:?}"
            );
        };
        check(&[], -1.0);
        check(&[0.04], 0.04);
        check(&[0.04, 0.04], -1.0);
        check(&[0.04, 0.02], 0.04);
        check(&[0.01, 0.03, 0.04], 0.01);
        check(&[f64::NAN, 0.01], 0.01);
    }

    #[test]
    fn of_many_true_hypotheses_one_is_rejected_in_one_of_twenty_cases() {
        let wrong = (0..2_000).filter(|seed| {
            let mut random = Random::from_seed(*seed);
            let p_values: Vec<f64> = (0..42).map(|_| random.unit()).collect();
            rejection_limit(&p_values, 0.05) >= 0.0
        });
        assert!((60..=130).contains(&wrong.count()));
    }
}
