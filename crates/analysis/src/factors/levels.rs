//! Levels that are numbers: `50`, `100/s`, `10 ms`, `5%`, `4MiB`, `10MiB/s`; each put as a number of one unit, so that they can stand
//! on an axis.
//! A bare `0` is none of whatever the others are counted in.

use waggle_units::{Amount, Dimension, parse_amount};

/// Each level as a number, where all of them are numbers counted in the same; nothing for no level.
pub(crate) fn numbers(levels: &[String]) -> Option<Vec<f64>> {
    let amount = |level: &String| parse_amount(level.trim());
    let amounts: Vec<Amount> = levels.iter().map(amount).collect::<Option<_>>()?;
    let is_bare_zero = |level_amount: &Amount| {
        level_amount.dimension == Dimension::Count && level_amount.value == 0.0
    };
    let mut counted = amounts.iter().filter(|amount| !is_bare_zero(amount));
    let is_one = match counted.next() {
        Some(first) => counted.all(|other| other.dimension == first.dimension),
        None => !amounts.is_empty(),
    };
    is_one.then(|| amounts.iter().map(|amount| amount.value).collect())
}

/// Whether all levels are bare numbers.
pub(crate) fn are_counts(levels: &[String]) -> bool {
    let is_count = |level: &String| {
        parse_amount(level.trim()).is_some_and(|amount| amount.dimension == Dimension::Count)
    };
    levels.iter().all(is_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(levels: &[&str], expected: Option<&[f64]>) {
        let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
        let values = numbers(&levels);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
        match (&values, expected) {
            (Some(values), Some(expected)) => assert!(
                values.len() == expected.len() && values.iter().zip(expected).all(near),
                "{levels:?}: {values:?}"
            ),
            _ => assert!(
                values.is_none() && expected.is_none(),
                "{levels:?}: {values:?}"
            ),
        }
    }

    #[test]
    fn levels_of_one_unit_are_numbers() {
        check(&["50", "100", "0.5", "-1"], Some(&[50.0, 100.0, 0.5, -1.0]));
        check(&["10 ms", "1s", "2m"], Some(&[0.01, 1.0, 120.0]));
        check(&["100/s", "60/m"], Some(&[100.0, 1.0]));
        check(&["5%", "50%"], Some(&[0.05, 0.5]));
        check(&["4kB", "1MiB"], Some(&[4_000.0, 1_048_576.0]));
        check(&["1kB/s", "10kB/s"], Some(&[1e3, 1e4]));
        check(
            &["500MB", "1GB", "1GiB"],
            Some(&[5e8, 1e9, 1_073_741_824.0]),
        );
    }

    #[test]
    fn a_bare_zero_is_none_of_what_the_others_are() {
        check(&["0", "10ms", "1s"], Some(&[0.0, 0.01, 1.0]));
        check(&["100/s", "0", "1000/s"], Some(&[100.0, 0.0, 1_000.0]));
        check(&["1GB", "0"], Some(&[1e9, 0.0]));
        check(&["0", "5%"], Some(&[0.0, 0.05]));
        check(&["0", "1", "2"], Some(&[0.0, 1.0, 2.0]));
        check(&["0"], Some(&[0.0]));
        check(&["0", "10", "10ms"], None);
        check(&["0", "10ms", "5%"], None);
        check(&["0", "none"], None);
    }

    #[test]
    fn others_are_not() {
        check(&[], None);
        check(&["10", "10ms"], None);
        check(&["1MiB", "1MiB/s"], None);
        check(&[".5s", "1.s"], None);
        check(&["rest", "rabbitmq"], None);
        check(&["1", "2", "many"], None);
        check(&["true", "false"], None);
        check(&["1.2.3", "-", ""], None);
        check(&["inf", "NaN", "1e400"], None);
    }
}
