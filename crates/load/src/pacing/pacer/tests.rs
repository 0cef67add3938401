//! Pacers on a simulated clock: when requests fall due, independent of earlier answers.

use std::time::Duration;

use waggle_spec::{Arrivals, LoadStage};

use super::*;

fn open(arrivals: Arrivals, rate: &RateProfile, workers: usize, max_requests: u64) -> Pacer {
    let schedule = Schedule::new(arrivals, rate.clone(), 0, workers, 7);
    Pacer::Open(Box::new(Open {
        ahead: schedule.walk(),
        behind: schedule.walk(),
        due_max: 10,
        max_requests,
        with_room: VecDeque::new(),
    }))
}

/// Users with this think time and immediate answers: how many send in each tenth of the first two seconds; it must be as many as
/// later, within six standard deviations.
fn check_beginning(think_time: Think, mean_ms: f64) {
    const USERS: u32 = 20_000;
    const TENTH_NS: u64 = 100_000_000;
    let timing = UserTiming {
        think_time,
        random: RandomStream::new(7, 0),
        stages: UserStages::new(&[]),
        worker: 0,
        workers: 1,
    };
    let mut users = Users::new(timing, USERS as usize);
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
            "{think_time:?}: {sent} in tenth {tenth}, not {expected}"
        );
    }
}

#[test]
fn users_begin_as_if_they_had_been_active_before() {
    let [half, second, three] = [500, 1_000, 3_000].map(Duration::from_millis);
    check_beginning(Think::Fixed(second), 1_000.0);
    check_beginning(Think::Exponential(second), 1_000.0);
    let uniform = |from, to| Think::Uniform { from, to };
    check_beginning(uniform(Duration::ZERO, second), 500.0);
    check_beginning(uniform(half, three), 1_750.0);
    check_beginning(uniform(second, second), 1_000.0);
}

#[test]
fn a_worker_that_falls_behind_continues_in_cycles_and_counts_all_at_the_end() {
    let hours_ns = 3_600_000_000_000;
    let ramp = RateProfile::with_stages(&[LoadStage {
        target: 1e7,
        duration: Duration::from_secs(3_600),
    }]);
    let check = |arrivals, rate: &RateProfile, workers, most, expected: u64, off: u64| {
        let mut pacer = open(arrivals, rate, workers, most);
        let first = pacer.collect_due(hours_ns - 1);
        let turn = DueCounts {
            due: STEPS_MAX,
            skipped: STEPS_MAX - 10,
        };
        assert_eq!(first, turn);
        let end = pacer.give_up(hours_ns - 1);
        let due = first.due + end.due;
        assert_eq!(due, first.skipped + end.skipped, "{arrivals:?} {rate:?}");
        assert!(due.abs_diff(expected) <= off, "{due}, not {expected}");
    };
    let flat = RateProfile::constant(1e7);
    let all = u64::MAX;
    check(Arrivals::Uniform, &flat, 1, all, 36_000_000_000, 0);
    check(Arrivals::Uniform, &flat, 4, all, 9_000_000_000, 0);
    check(Arrivals::Uniform, &flat, 1, 1_000_000, 1_000_000, 0);
    check(Arrivals::Uniform, &ramp, 1, all, 18_000_000_000, 9);
    check(Arrivals::Poisson, &flat, 2, all, 18_000_000_000, 1_000);
}

/// When a request was due, sent and answered, in milliseconds.
type Times = (u64, u64, u64);

const MS: u64 = 1_000_000;
const ALL: u64 = u64::MAX;

/// Drives a pacer as a worker does, with one request in flight at a time, on a clock that jumps from one event to the next.
/// `answered` returns the instant of the answer to a request that is sent at an instant, both in milliseconds.
fn drive(pacer: &mut Pacer, end_ms: u64, answered: impl Fn(u64) -> u64) -> Vec<Times> {
    let (mut now, mut times) = (0, Vec::new());
    pacer.note_room(0);
    while now < end_ms * MS {
        pacer.collect_due(now);
        if let Some(connection) = pacer.next_connection() {
            let due = pacer.take(connection, now).unwrap();
            let done = answered(now / MS) * MS;
            times.push((due / MS, now / MS, done / MS));
            now = done;
            pacer.on_request_end(connection, now, Ok(()));
            pacer.note_room(connection);
        } else if let Some(next) = pacer.next_instant() {
            now = next;
        } else {
            break;
        }
    }
    times
}

/// A thousand per second, uniform, of which any number may wait.
fn thousand_per_s(max_requests: u64) -> Pacer {
    let mut pacer = open(
        Arrivals::Uniform,
        &RateProfile::constant(1_000.0),
        1,
        max_requests,
    );
    if let Pacer::Open(open) = &mut pacer {
        open.due_max = ALL;
    }
    pacer
}

fn response_times(times: &[Times]) -> Vec<u64> {
    times.iter().map(|(due, _, done)| done - due).collect()
}

#[test]
fn requests_due_in_a_stall_wait_for_its_end() {
    // Answers are immediate, but from 4 s to 5 s of ten there are none.
    let mut pacer = thousand_per_s(10_000);
    let times = drive(&mut pacer, 20_000, |sent| match sent {
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
    let mut durations = response_times(&times);
    assert_eq!(durations, expected);
    // Half a second on average for a tenth of all: a 99th percentile of 0.9 s, which a closed load would not show.
    durations.sort_unstable();
    assert_eq!((durations[9_899], durations[9_900]), (900, 901));
    assert!(pacer.is_exhausted());
}

#[test]
fn a_server_that_is_too_slow_has_a_queue_in_its_response_times() {
    let mut pacer = thousand_per_s(ALL);
    let times = drive(&mut pacer, 1_000, |sent| sent + 10);
    let expected: Vec<Times> = (0..100).map(|n| (n, 10 * n, 10 * n + 10)).collect();
    assert_eq!(times, expected);
    let end = pacer.give_up(1_000 * MS - 1);
    assert_eq!(end.skipped, 1_000 - 100, "what was due and never went");
}

#[test]
fn a_closed_load_is_due_when_it_is_sent() {
    let mut pacer = Pacer::Closed;
    for now in [0, 7, 1_000] {
        assert_eq!(pacer.take(3, now), Some(now));
    }
}

#[test]
fn a_user_is_due_a_pause_after_its_answer() {
    let timing = UserTiming {
        think_time: Think::Fixed(Duration::from_millis(4)),
        random: RandomStream::new(7, 0),
        stages: UserStages::new(&[]),
        worker: 0,
        workers: 1,
    };
    let mut pacer = Pacer::Users(Box::new(Users::new(timing, 1)));
    // The second answer takes long, and nothing falls due in the meantime.
    let times = drive(&mut pacer, 100, |sent| {
        sent + if (6..12).contains(&sent) { 50 } else { 2 }
    });
    assert!(times.len() > 5, "{times:?}");
    for pair in times.windows(2) {
        let ((_, _, done), (due, sent, _)) = (pair[0], pair[1]);
        assert_eq!((due, sent), (done + 4, done + 4), "{times:?}");
    }
    assert!(response_times(&times).contains(&50), "{times:?}");
}
