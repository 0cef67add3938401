//! Levels that are numbers: `50`, `100/s`, `10 ms`, `5%`, `4MiB`; each put as a number of one unit, so that they can stand on an axis.
//! A bare `0` is none of whatever the others are counted in.

/// What a level is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Count,
    Time,
    Rate,
    Share,
    Size,
}

/// Units as studies write them, with their size in seconds, events per second, ones and bytes.
const UNITS: [(&str, Dimension, f64); 19] = [
    ("", Dimension::Count, 1.0),
    ("ns", Dimension::Time, 1e-9),
    ("us", Dimension::Time, 1e-6),
    ("µs", Dimension::Time, 1e-6),
    ("ms", Dimension::Time, 1e-3),
    ("s", Dimension::Time, 1.0),
    ("m", Dimension::Time, 60.0),
    ("h", Dimension::Time, 3_600.0),
    ("/s", Dimension::Rate, 1.0),
    ("/m", Dimension::Rate, 1.0 / 60.0),
    ("/h", Dimension::Rate, 1.0 / 3_600.0),
    ("%", Dimension::Share, 0.01),
    ("B", Dimension::Size, 1.0),
    ("kB", Dimension::Size, 1e3),
    ("MB", Dimension::Size, 1e6),
    ("GB", Dimension::Size, 1e9),
    ("KiB", Dimension::Size, 1_024.0),
    ("MiB", Dimension::Size, 1_048_576.0),
    ("GiB", Dimension::Size, 1_073_741_824.0),
];

/// Each level as a number, where all of them are numbers counted in the same; nothing for no level.
pub(crate) fn numbers(levels: &[String]) -> Option<Vec<f64>> {
    let amounts: Vec<(Dimension, f64)> = levels
        .iter()
        .map(|level| amount(level))
        .collect::<Option<_>>()?;
    let is_bare_zero =
        |(dimension, value): &(Dimension, f64)| *dimension == Dimension::Count && *value == 0.0;
    let mut counted = amounts.iter().filter(|amount| !is_bare_zero(amount));
    let is_one = match counted.next() {
        Some((first, _)) => counted.all(|(dimension, _)| dimension == first),
        None => !amounts.is_empty(),
    };
    is_one.then(|| amounts.iter().map(|(_, value)| *value).collect())
}

fn amount(level: &str) -> Option<(Dimension, f64)> {
    let level = level.trim();
    let is_of_number = |at: usize, c: char| c.is_ascii_digit() || c == '.' || (at == 0 && c == '-');
    let end = level
        .char_indices()
        .find(|(at, c)| !is_of_number(*at, *c))
        .map_or(level.len(), |(at, _)| at);
    let number: f64 = level[..end].parse().ok()?;
    let unit = level[end..].trim_start();
    let (_, dimension, size) = UNITS.iter().find(|(name, ..)| *name == unit)?;
    Some((*dimension, number * size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(levels: &[&str], expected: Option<&[f64]>) {
        let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
        let found = numbers(&levels);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
        match (&found, expected) {
            (Some(found), Some(expected)) => assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(near),
                "{levels:?}: {found:?}"
            ),
            _ => assert!(
                found.is_none() && expected.is_none(),
                "{levels:?}: {found:?}"
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
        check(&["rest", "rabbitmq"], None);
        check(&["1", "2", "many"], None);
        check(&["true", "false"], None);
        check(&["1.2.3", "-", ""], None);
        check(&["inf", "NaN", "1e400"], None);
    }
}
