//! Stalls: stretches of the measured phase without a success although requests were pending.
//!
//! Found by whole intervals: the true length is at least the one found, and a stall that covers no whole interval is not seen.
//! Why they are checked in addition to steadiness, and the limits: docs/design/0003-verdicts.md.

use crate::trial_facts::Served;

/// The stalls of one measured phase, in seconds of that phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
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

/// The longest stall; `None` if something succeeded in every interval in which requests were pending.
pub(crate) fn longest_stall(served: &[Served]) -> Option<Stall> {
    let mut longest: Option<(f64, f64, usize)> = None;
    let (mut now_s, mut in_all_s, mut since_s) = (0.0, 0.0, None);
    for (index, interval) in served.iter().enumerate() {
        let is_stalled = interval.succeeded == 0 && interval.waited;
        let began_s = *since_s.get_or_insert(now_s);
        now_s += interval.seconds;
        if !is_stalled {
            since_s = None;
            continue;
        }
        in_all_s += interval.seconds;
        let length_s = now_s - began_s;
        if longest.is_none_or(|(most, ..)| length_s > most) {
            longest = Some((length_s, began_s, index));
        }
    }
    longest.map(|(longest_s, from_s, last)| Stall {
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
        let found = longest_stall(&served).map(|found| {
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
