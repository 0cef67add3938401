//! Student's t distribution: tail probability and quantile; and the tail of the F distribution.

use std::sync::OnceLock;

/// What a 95 % interval leaves out, on both sides together.
const TAIL: f64 = 0.05;
/// Lanczos coefficients (g = 7, n = 9), relative error below 1e-14.
const LANCZOS: [f64; 8] = [
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];
const FRACTION_STEPS: u32 = 300;
const TINY: f64 = 1e-300;

/// P(|T| > |t|) with `degrees` of freedom.
pub(crate) fn two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// P(F > f) with `degrees` of freedom above and below.
pub(crate) fn f_tail(f: f64, (above, below): (f64, f64)) -> f64 {
    if f.is_infinite() {
        return 0.0;
    }
    incomplete_beta(below / 2.0, above / 2.0, below / (below + above * f))
}

/// The logarithm of a probability that is no number any more.
const LEAST_LOG: f64 = 700.0;

/// How many standard errors a 95 % interval reaches to either side.
pub(crate) fn critical_95(degrees: f64) -> f64 {
    // Groups have as many trials as the study repeats: the same whole degrees come again and again.
    static WHOLE_DEGREES: [OnceLock<f64>; 64] = [const { OnceLock::new() }; 64];
    let kept = (1_u32..).zip(&WHOLE_DEGREES);
    match kept
        .into_iter()
        .find(|(whole, _)| f64::from(*whole) == degrees)
    {
        Some((_, kept)) => *kept.get_or_init(|| critical(TAIL, degrees)),
        None => critical(TAIL, degrees),
    }
}

/// The same for a 90 % interval: 5 % on either side.
pub(crate) fn critical_90(degrees: f64) -> f64 {
    critical(2.0 * TAIL, degrees)
}

/// The t with P(|T| > t) = `tail`, by Ridders' method on the logarithm of the probability: exact to 1e-12 (Ridders, IEEE Transactions on
/// Circuits and Systems 26, 1979).
pub(crate) fn critical(tail: f64, degrees: f64) -> f64 {
    // Above 0 while t is too small.
    let excess = |t: f64| (two_sided(t, degrees) / tail).ln().max(-LEAST_LOG);
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, degrees) > tail && high < 1e12 {
        low = high;
        high *= 2.0;
    }
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        // The two are as good as neighbours.
        if high - low <= 1e-14 * high || at_low <= 0.0 || at_high >= 0.0 {
            break;
        }
        let at_middle = excess(middle);
        let root = (at_middle * at_middle - at_low * at_high).sqrt();
        let guess = middle + (middle - low) * at_middle / root;
        let at_guess = excess(guess);
        for (t, value) in [(middle, at_middle), (guess, at_guess)] {
            if value >= 0.0 && t > low && t < high {
                (low, at_low) = (t, value);
            } else if value < 0.0 && t > low && t < high {
                (high, at_high) = (t, value);
            }
        }
    }
    match (at_low <= 0.0, at_high >= 0.0) {
        (true, _) => low,
        (_, true) => high,
        _ => f64::midpoint(low, high),
    }
}

/// Degrees of freedom of a sum of independent terms (Satterthwaite, 1946), each given by its squared standard error and its degrees.
pub(crate) fn satterthwaite(terms: &[(f64, f64)]) -> f64 {
    let sum: f64 = terms.iter().map(|(error2, _)| error2).sum();
    let parts: f64 = terms
        .iter()
        .map(|(error2, degrees)| error2 * error2 / degrees)
        .sum();
    if parts > 0.0 {
        sum * sum / parts
    } else {
        terms.iter().map(|(_, degrees)| degrees).sum()
    }
}

fn ln_gamma(x: f64) -> f64 {
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    let mut term = 1.0;
    for coefficient in LANCZOS {
        sum += coefficient / (x + term);
        term += 1.0;
    }
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for step in 1..=FRACTION_STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let change = d * c;
        result *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{TAIL, critical, critical_95, f_tail, two_sided};

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Two-sided 5 % and 1 % points as printed in any table of Student's t.
        let check = |tail: f64, degrees: f64, expected: f64| {
            let actual = critical(tail, degrees);
            assert!(
                (actual - expected).abs() < 6e-4,
                "{tail} {degrees}: {actual}, expected {expected}"
            );
        };
        check(0.05, 1.0, 12.706);
        check(0.05, 2.0, 4.303);
        check(0.05, 4.0, 2.776);
        check(0.05, 9.0, 2.262);
        check(0.05, 30.0, 2.042);
        check(0.01, 2.0, 9.925);
        check(0.01, 10.0, 3.169);
        check(0.05, 1e6, 1.960);
    }

    #[test]
    fn what_is_kept_is_what_is_computed() {
        for degrees in [0.5, 1.0, 1.5, 2.0, 9.0, 63.0, 64.0, 64.5, 65.0, 1e9] {
            for _ in 0..2 {
                assert_eq!(critical_95(degrees), critical(TAIL, degrees), "{degrees}");
            }
        }
    }

    #[test]
    fn tails_of_f_are_those_of_the_tables() {
        // 5 % and 1 % points as printed in any table of the F distribution.
        let check = |f: f64, above: f64, below: f64, expected: f64| {
            let probability = f_tail(f, (above, below));
            assert!(
                (probability - expected).abs() < 2e-4,
                "{f} {above} {below}: {probability}"
            );
        };
        check(5.318, 1.0, 8.0, 0.05);
        check(3.885, 2.0, 12.0, 0.05);
        check(2.711, 5.0, 20.0, 0.05);
        check(5.994, 4.0, 10.0, 0.01);
        check(161.45, 1.0, 1.0, 0.05);
        check(0.0, 3.0, 7.0, 1.0);
        check(f64::INFINITY, 3.0, 7.0, 0.0);
    }

    #[test]
    fn the_tail_is_the_inverse_of_the_critical_value() {
        for degrees in [1.0, 2.5, 7.0, 50.0, 400.0] {
            for tail in [0.9, 0.3, 0.05, 1e-3, 1e-6] {
                let back = two_sided(critical(tail, degrees), degrees);
                assert!((back / tail - 1.0).abs() < 1e-6, "{degrees} {tail} {back}");
            }
        }
    }

    #[test]
    fn one_degree_is_the_cauchy_distribution() {
        for t in [0.1, 1.0, 3.0, 50.0_f64] {
            let expected = 1.0 - 2.0 * t.atan() / std::f64::consts::PI;
            assert!((two_sided(t, 1.0) - expected).abs() < 1e-12);
        }
    }
}
