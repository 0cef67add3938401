//! Paces on a clock that is given to them: when requests fall due, whatever becomes of those before.

use std::time::Duration;

use super::*;
use crate::{Arrivals, Rate, Stage};

fn open(arrivals: Arrivals, rate: &Rate, workers: usize, requests_at_most: u64) -> Pace {
    let schedule = Schedule::new(arrivals, rate, 0, workers, 7);
    Pace::Open(Box::new(Open {
        ahead: schedule.walk(),
        behind: schedule.walk(),
        due_max: 10,
        requests_at_most,
        with_room: VecDeque::new(),
    }))
}

/// Of users that have pauses of `think` and get their answers at once, how many send in each tenth of the first two
/// seconds: as many as later, give or take six times what is chance.
fn check_beginning(think: Think, mean_ms: f64) {
    const USERS: u32 = 20_000;
    const TENTH_NS: u64 = 100_000_000;
    let habits = Habits {
        think,
        chance: Stream::new(7, 0),
        presence: Presence::new(&[]),
        worker: 0,
        workers: 1,
    };
    let mut users = Users::new(habits, USERS as usize);
    let expected = f64::from(USERS) * 100.0 / mean_ms;
    for tenth in 1..=20 {
        let mut sent = 0_u32;
        while let Some(&Reverse((instant, user))) = users.pausing.peek()
            && instant < tenth * TENTH_NS
        {
            users.pausing.pop();
            users.pause(user, instant);
            sent += 1;
        }
        let off = (f64::from(sent) - expected).abs();
        assert!(
            off < 6.0 * expected.sqrt(),
            "{think:?}: {sent} in tenth {tenth}, not {expected}"
        );
    }
}

#[test]
fn users_begin_as_if_they_had_been_there_before() {
    let [half, second, three] = [500, 1_000, 3_000].map(Duration::from_millis);
    check_beginning(Think::Fixed(second), 1_000.0);
    check_beginning(Think::Exponential(second), 1_000.0);
    let uniform = |from, to| Think::Uniform { from, to };
    check_beginning(uniform(Duration::ZERO, second), 500.0);
    check_beginning(uniform(half, three), 1_750.0);
    check_beginning(uniform(second, second), 1_000.0);
}

#[test]
fn a_worker_that_falls_behind_goes_on_in_turns_and_counts_all_at_the_end() {
    let hours_ns = 3_600_000_000_000;
    let ramp = Rate::Stages(vec![Stage {
        to_per_s: 1e7,
        over: Duration::from_secs(3_600),
    }]);
    let check = |arrivals, rate: &Rate, workers, most, expected: u64, off: u64| {
        let mut pace = open(arrivals, rate, workers, most);
        let first = pace.fall(hours_ns - 1);
        let turn = Fallen {
            due: STEPS_MAX,
            skipped: STEPS_MAX - 10,
        };
        assert_eq!(first, turn);
        let end = pace.give_up(hours_ns - 1);
        let due = first.due + end.due;
        assert_eq!(due, first.skipped + end.skipped, "{arrivals:?} {rate:?}");
        assert!(due.abs_diff(expected) <= off, "{due}, not {expected}");
    };
    let flat = Rate::Constant(1e7);
    let all = u64::MAX;
    check(Arrivals::Uniform, &flat, 1, all, 36_000_000_000, 0);
    check(Arrivals::Uniform, &flat, 4, all, 9_000_000_000, 0);
    check(Arrivals::Uniform, &flat, 1, 1_000_000, 1_000_000, 0);
    check(Arrivals::Uniform, &ramp, 1, all, 18_000_000_000, 9);
    check(Arrivals::Poisson, &flat, 2, all, 18_000_000_000, 1_000);
}

/// Of one request: when it was due, sent and answered, in milliseconds.
type Times = (u64, u64, u64);

const MS: u64 = 1_000_000;
const ALL: u64 = u64::MAX;

/// Drives a pace as a worker does, with one request on its way at a time, on a clock that jumps from one event to the next.
/// `answered` gives the instant of the answer to what is sent at an instant, both in milliseconds.
fn drive(pace: &mut Pace, end_ms: u64, answered: impl Fn(u64) -> u64) -> Vec<Times> {
    let (mut now, mut times) = (0, Vec::new());
    pace.note_room(0);
    while now < end_ms * MS {
        pace.fall(now);
        if let Some(connection) = pace.next_connection() {
            let due = pace.take(connection, now).unwrap();
            let done = answered(now / MS) * MS;
            times.push((due / MS, now / MS, done / MS));
            now = done;
            pace.on_request_end(connection, now);
            pace.note_room(connection);
        } else if let Some(next) = pace.next_instant() {
            now = next;
        } else {
            break;
        }
    }
    times
}

/// A thousand a second, evenly, of which any number may wait.
fn thousand_per_s(requests_at_most: u64) -> Pace {
    let mut pace = open(
        Arrivals::Uniform,
        &Rate::Constant(1_000.0),
        1,
        requests_at_most,
    );
    if let Pace::Open(open) = &mut pace {
        open.due_max = ALL;
    }
    pace
}

fn response_times(times: &[Times]) -> Vec<u64> {
    times.iter().map(|(due, _, done)| done - due).collect()
}

#[test]
fn what_falls_due_in_a_stall_has_waited_for_its_end() {
    // Answers come at once, but from 4 s to 5 s of ten there are none.
    let mut pace = thousand_per_s(10_000);
    let times = drive(&mut pace, 20_000, |sent| match sent {
        4_000..5_000 => 5_000,
        _ => sent,
    });
    let due: Vec<u64> = times.iter().map(|(due, _, _)| *due).collect();
    assert_eq!(
        due,
        (0..10_000).collect::<Vec<u64>>(),
        "nothing is left out"
    );
    let expected: Vec<u64> = (0..10_000)
        .map(|due| {
            if (4_000..5_000).contains(&due) {
                5_000 - due
            } else {
                0
            }
        })
        .collect();
    let mut found = response_times(&times);
    assert_eq!(found, expected);
    // Half a second on average for a tenth of all: that is the 99th percentile of 0.9 s that a closed load would not have seen.
    found.sort_unstable();
    assert_eq!((found[9_899], found[9_900]), (900, 901));
    assert!(pace.is_exhausted());
}

#[test]
fn a_server_that_is_too_slow_has_a_queue_in_its_response_times() {
    let mut pace = thousand_per_s(ALL);
    let times = drive(&mut pace, 1_000, |sent| sent + 10);
    let expected: Vec<Times> = (0..100).map(|n| (n, 10 * n, 10 * n + 10)).collect();
    assert_eq!(times, expected);
    let end = pace.give_up(1_000 * MS - 1);
    assert_eq!(end.skipped, 1_000 - 100, "what was due and never went");
}

#[test]
fn a_closed_load_is_due_when_it_is_sent() {
    let mut pace = Pace::Closed;
    for now in [0, 7, 1_000] {
        assert_eq!(pace.take(3, now), Some(now));
    }
}

#[test]
fn a_user_is_due_a_pause_after_its_answer() {
    let habits = Habits {
        think: Think::Fixed(Duration::from_millis(4)),
        chance: Stream::new(7, 0),
        presence: Presence::new(&[]),
        worker: 0,
        workers: 1,
    };
    let mut pace = Pace::Users(Box::new(Users::new(habits, 1)));
    // The second answer takes long, and nothing falls due in the meantime.
    let times = drive(&mut pace, 100, |sent| {
        sent + if (6..12).contains(&sent) { 50 } else { 2 }
    });
    assert!(times.len() > 5, "{times:?}");
    for pair in times.windows(2) {
        let ((_, _, done), (due, sent, _)) = (pair[0], pair[1]);
        assert_eq!((due, sent), (done + 4, done + 4), "{times:?}");
    }
    assert!(response_times(&times).contains(&50), "{times:?}");
}
