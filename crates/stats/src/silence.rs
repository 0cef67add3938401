//! Stretches of the measured phase in which nothing succeeded although it was waited for.
//!
//! Found by whole intervals, so a stretch is at least as long as is said, and one that covers no whole interval is not
//! seen. Why it matters beside steadiness, and which limits hold: docs/design/0003-verdicts.md.

use crate::facts::Served;

/// What was found, in seconds of the measured phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Silence {
    /// The longest stretch, and when it began.
    pub longest_s: f64,
    pub from_s: f64,
    /// Whether it lasted until the end of the phase.
    pub to_the_end: bool,
    /// All stretches together.
    pub in_all_s: f64,
    /// The whole phase.
    pub phase_s: f64,
}

/// Looks for the longest stretch; `None` where something succeeded in every interval in which it was waited for.
pub(crate) fn silence(served: &[Served]) -> Option<Silence> {
    let mut longest: Option<(f64, f64, usize)> = None;
    let (mut now_s, mut in_all_s, mut since_s) = (0.0, 0.0, None);
    for (place, interval) in served.iter().enumerate() {
        let is_silent = interval.succeeded == 0 && interval.waited;
        let began_s = *since_s.get_or_insert(now_s);
        now_s += interval.seconds;
        if !is_silent {
            since_s = None;
            continue;
        }
        in_all_s += interval.seconds;
        let length_s = now_s - began_s;
        if longest.is_none_or(|(most, ..)| length_s > most) {
            longest = Some((length_s, began_s, place));
        }
    }
    longest.map(|(longest_s, from_s, last)| Silence {
        longest_s,
        from_s,
        to_the_end: last + 1 == served.len(),
        in_all_s,
        phase_s: now_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each letter is an interval of half a second: `.` nothing, `x` successes, `-` nothing, and nothing waited for.
    fn check(letters: &str, expected: Option<(f64, f64, bool, f64)>) {
        let served: Vec<Served> = letters
            .chars()
            .map(|letter| Served {
                seconds: 0.5,
                succeeded: u64::from(letter == 'x'),
                waited: letter != '-',
            })
            .collect();
        let found = silence(&served).map(|found| {
            (
                found.longest_s,
                found.from_s,
                found.to_the_end,
                found.in_all_s,
            )
        });
        assert_eq!(found, expected, "{letters}");
    }

    #[test]
    fn the_longest_stretch_is_found() {
        check("", None);
        check("xxxx", None);
        check("x--x", None);
        check("x.xx", Some((0.5, 0.5, false, 0.5)));
        check("x..x.x", Some((1.0, 0.5, false, 1.5)));
        check("x.-..x", Some((1.0, 1.5, false, 1.5)));
        check("x.x..", Some((1.0, 1.5, true, 1.5)));
        check("....", Some((2.0, 0.0, true, 2.0)));
    }
}
