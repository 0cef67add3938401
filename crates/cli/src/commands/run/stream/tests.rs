//! The stream without a runner: its lines, the state so far, and followers that do as they like.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use waggle_load::Interval;
use waggle_results::{AddedReason, AddedTrial, MachineInfo, PhaseName, TrialKey};
use waggle_spec::FaultKind;
use waggle_stats::{Evidence, Verdict};

use super::{
    followers::{FOLLOWERS_MAX, WAITING_MAX},
    message::{Ended, Message, line},
    offer::{Offer, Watched},
    replay::{INTERVALS_MAX, NOTES_MAX, Replay},
    socket,
};
use crate::{
    commands::run::progress::{
        CellJudged, EndedTrial, Judged, Outline, Progress, StartedTrial, StudyFacts,
    },
    live::Title,
    process::interrupts::Interrupts,
    trial::generated::{CALM, IntervalSpec, interval, shape},
};

/// A limit on a wait that ends soon if all is well.
const TIMEOUT: Duration = Duration::from_secs(180);

fn facts() -> StudyFacts {
    StudyFacts {
        name: "small".to_owned(),
        question: "Is it followed?".to_owned(),
        factors: Vec::new(),
        cells: Vec::new(),
        outline: Outline {
            repeat: 1,
            repeat_max: 1,
            what: None,
        },
        idle_poll: false,
    }
}

const KEY: TrialKey = TrialKey {
    cell: 7,
    repetition: 2,
};

fn trial_start() -> Progress {
    Progress::TrialStarted(Box::new(StartedTrial {
        position: 3,
        key: KEY,
        levels: "workers=2".to_owned(),
        level: Some(2.5),
        operating_share: None,
        title: Title::default(),
        shape: shape(),
    }))
}

/// Few: each test has hundreds of them.
const FEW: IntervalSpec = IntervalSpec {
    answers: 50,
    ..CALM
};

fn interval_step(index: u64) -> Progress {
    Progress::Interval {
        phase: PhaseName::Measure,
        interval: Arc::new(interval(index, FEW, &mut 0)),
    }
}

fn success_count(message: &Message) -> u64 {
    interval_in(message).map_or(0, |interval| interval.counts.succeeded)
}

/// With few digits: the last one of others may differ after reading.
fn any_number() -> impl Strategy<Value = f64> {
    any::<i32>().prop_map(|number| f64::from(number) / 8.0)
}

fn any_judged() -> impl Strategy<Value = Judged> {
    (any_number(), any::<bool>()).prop_map(|(widest, has_cell)| Judged {
        verdict: Verdict::InstrumentLimited,
        cell: has_cell.then_some(CellJudged {
            verdict: Verdict::Contended,
            goodput: None,
            widest: Some(widest),
        }),
    })
}

fn any_duration() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_nanos)
}

fn any_step() -> impl Strategy<Value = Progress> {
    let step = prop_oneof![any_step_of_run(), any_step_of_trial()];
    (step, any::<bool>()).prop_map(|(step, is_of_partner)| match is_of_partner {
        true => Progress::Partner(Box::new(step)),
        false => step,
    })
}

fn any_step_of_run() -> impl Strategy<Value = Progress> {
    let text = any::<String>;
    prop_oneof![
        (any::<u32>(), any_duration(), any_judged()).prop_map(|(trials, expected, judged)| {
            Progress::RunStarted {
                trials,
                already_done: 1,
                expected,
                ended: vec![EndedTrial { key: KEY, judged }],
            }
        }),
        text().prop_map(Progress::Calibrating),
        text().prop_map(Progress::Notice),
        text().prop_map(Progress::Warning),
        Just(trial_start()),
        (text(), text(), any_duration())
            .prop_map(|(url, why, at_most)| Progress::WaitingForServer { url, why, at_most }),
        (any_number(), any::<u32>(), any_duration()).prop_map(|(other_cores, cpus, at_most)| {
            Progress::WaitingForQuiet {
                other_cores,
                cpus,
                at_most,
            }
        }),
        any::<u32>().prop_map(|repetition| Progress::TrialsAdded(vec![AddedTrial {
            key: KEY,
            reason: AddedReason::Disturbed { repetition },
        }])),
        (any_number(), prop::collection::vec(text(), 0..3)).prop_map(|(level, why)| {
            Progress::Searched {
                key: KEY,
                level,
                evidence: Evidence::PoolLimited,
                why,
            }
        }),
        (text(), text(), any::<u32>()).prop_map(|(answer, sentence, not_needed)| {
            Progress::Found {
                cell: 1,
                answer,
                sentence,
                not_needed,
            }
        }),
    ]
}

fn any_step_of_trial() -> impl Strategy<Value = Progress> {
    let text = any::<String>;
    prop_oneof![
        prop::option::of(any_duration()).prop_map(|expected| Progress::Phase {
            phase: PhaseName::WarmUp,
            expected,
        }),
        any::<u16>().prop_map(|index| interval_step(index.into())),
        (any_number(), any::<u32>()).prop_map(|(idle, cpus)| Progress::Machine {
            used: MachineInfo {
                cpu_idle: idle,
                own_cores: Some(idle),
                ..MachineInfo::default()
            },
            cpus,
        }),
        text().prop_map(|name| Progress::FaultBegan {
            kind: FaultKind::Upgrade,
            name,
        }),
        (text(), any_duration()).prop_map(|(name, after)| Progress::UpAgain { name, after }),
        (text(), any::<[u64; 3]>()).prop_map(|(load, [done, sessions, retries])| {
            Progress::Preparing {
                load,
                done,
                sessions,
                retries,
            }
        }),
        any::<[u64; 2]>().prop_map(|[visible, accepted]| Progress::Draining { visible, accepted }),
        (
            prop::option::of(text()),
            any_number(),
            prop::option::of(any_judged())
        )
            .prop_map(|(failure, goodput_per_s, judged)| Progress::TrialEnded {
                key: KEY,
                failure,
                goodput_per_s,
                judged,
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_step_is_read_as_it_was_written(step in any_step(), elapsed_us in any::<u64>()) {
        let sent = Message::Step { elapsed_us, step };
        let written = line(&sent);
        prop_assert_eq!(written.matches('\n').count(), 1);
        let mut read: Message = serde_json::from_str(&written).unwrap();
        if let (Some(sent), Some(read)) = (interval_in(&sent), interval_in(&read)) {
            prop_assert_eq!(&sent.counts, &read.counts);
            prop_assert_eq!(class_counts(sent), class_counts(read));
            prop_assert_eq!((sent.index, sent.start, sent.length), (read.index, read.start, read.length));
        }
        if let Some(interval) = interval_in(&sent) {
            // A histogram may be written with another number of zeros at its end.
            replace_interval(&mut read, interval);
        }
        prop_assert_eq!(line(&read), written);
    }
}

/// Every class of every histogram with its count; the exact maximum is not kept.
fn class_counts(interval: &Interval) -> Vec<(u64, u64)> {
    let times = interval.times.iter();
    times
        .flat_map(|(_, histogram)| histogram.iter_recorded())
        .map(|class| (class.value_iterated_to(), class.count_at_value()))
        .collect()
}

fn interval_in(message: &Message) -> Option<&Arc<Interval>> {
    match message {
        Message::Step { step, .. } => match step.split().1 {
            Progress::Interval { interval, .. } => Some(interval),
            _ => None,
        },
        _ => None,
    }
}

fn replace_interval(message: &mut Message, by: &Arc<Interval>) {
    let Message::Step { step, .. } = message else {
        return;
    };
    let step = match step {
        Progress::Partner(step) => &mut **step,
        step => step,
    };
    if let Progress::Interval { interval, .. } = step {
        interval.clone_from(by);
    }
}

fn add(replay: &mut Replay, step: &Progress) {
    let line = line(&Message::Step {
        elapsed_us: 1,
        step: step.clone(),
    });
    replay.add(step, &line);
}

fn messages(replay: &Replay) -> Vec<Message> {
    let lines = replay.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_state_so_far_is_bounded_and_loses_no_count() {
    let mut replay = Replay::default();
    add(&mut replay, &trial_start());
    for index in 0..300 {
        add(&mut replay, &interval_step(index));
        add(
            &mut replay,
            &Progress::Partner(Box::new(interval_step(index))),
        );
        add(
            &mut replay,
            &Progress::Draining {
                visible: index,
                accepted: 300,
            },
        );
    }
    let state = messages(&replay);
    assert!(state.len() <= INTERVALS_MAX + 2, "{}", state.len());
    let sum: u64 = state.iter().map(success_count).sum();
    assert_eq!(sum, 2 * 300 * FEW.answers);
    for number in 0..2 * NOTES_MAX {
        add(&mut replay, &Progress::Warning(number.to_string()));
    }
    add(
        &mut replay,
        &Progress::TrialEnded {
            key: KEY,
            failure: None,
            goodput_per_s: 1.0,
            judged: None,
        },
    );
    let state = messages(&replay);
    assert_eq!(state.len(), NOTES_MAX + 1);
}

/// The offer of a run in a folder that only looks like one.
fn offer(run: &Path, interrupts: &Interrupts) -> Offer {
    std::fs::write(run.join("run.json"), "{}").unwrap();
    let watched = Watched {
        run_folder: run,
        measuring: Arc::default(),
    };
    let mut offer = Offer::new(&watched, facts(), interrupts.clone(), Instant::now());
    assert!(offer.add(&trial_start()).is_none());
    offer
}

fn connect(run: &Path) -> BufReader<UnixStream> {
    let stream = socket::connect(run).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    BufReader::new(stream)
}

/// The next message; `None`: the stream has ended.
fn next(from: &mut BufReader<UnixStream>) -> Option<Message> {
    let mut text = String::new();
    // A reset is an end as well: the other end had not read everything.
    let read = from.read_line(&mut text).unwrap_or(0);
    (read > 0).then(|| serde_json::from_str(&text).unwrap())
}

fn run_end() -> Ended {
    Ended {
        exit_code: 3,
        text: "as expected\n".to_owned(),
        mistake: None,
    }
}

#[test]
fn a_stuck_follower_stops_nobody_and_has_the_state_when_it_reads() {
    const STEPS: u64 = WAITING_MAX as u64 + 400;
    let run = tempfile::tempdir().unwrap();
    let interrupts = Interrupts::new(|| {});
    let mut offer = offer(run.path(), &interrupts);
    let mut stuck = connect(run.path());
    let mut quick = connect(run.path());
    for index in 0..STEPS {
        offer.add(&interval_step(index));
    }
    for follower in [&mut stuck, &mut quick] {
        // What a state shows, and what came after it, is all there is.
        let mut sum = 0;
        while sum < STEPS * FEW.answers {
            match next(follower).unwrap() {
                Message::State { .. } => sum = 0,
                message => sum += success_count(&message),
            }
        }
        assert_eq!(sum, STEPS * FEW.answers);
    }
    offer.end(&run_end());
    for mut follower in [stuck, quick] {
        let last = std::iter::from_fn(|| next(&mut follower)).last().unwrap();
        assert!(matches!(last, Message::Ended(end) if end == run_end()));
    }
    assert_eq!(super::ended::read(run.path()).unwrap(), Some(run_end()));
    assert!(socket::connect(run.path()).is_err());
}

#[test]
fn orders_reach_the_run_and_noise_ends_the_connection() {
    let run = tempfile::tempdir().unwrap();
    let interrupts = Interrupts::new(|| {});
    let offer = offer(run.path(), &interrupts);
    let mut noisy = connect(run.path());
    let mut follower = connect(run.path());
    noisy.get_mut().write_all(b"GET / HTTP/1.1\n").unwrap();
    while next(&mut noisy).is_some() {}
    assert_eq!(interrupts.count(), 0);
    follower.get_mut().write_all(b"\"stop\"\n\"st").unwrap();
    follower.get_mut().write_all(b"op\"\n").unwrap();
    waggle_testkit::wait_until("both orders have come", || interrupts.count() == 2);
    // Without an end the stream is cut.
    drop(offer);
    let all: Vec<Message> = std::iter::from_fn(|| next(&mut follower)).collect();
    assert!(matches!(all[0], Message::Hello(_)));
    assert!(
        !all.iter()
            .any(|message| matches!(message, Message::Ended(_)))
    );
    assert_eq!(super::ended::read(run.path()).unwrap(), None);
}

#[test]
fn one_follower_too_many_is_refused() {
    let run = tempfile::tempdir().unwrap();
    let offer = offer(run.path(), &Interrupts::new(|| {}));
    let mut followers: Vec<_> = (0..FOLLOWERS_MAX).map(|_| connect(run.path())).collect();
    for follower in &mut followers {
        assert!(matches!(next(follower), Some(Message::Hello(_))));
    }
    let mut other = connect(run.path());
    assert!(matches!(next(&mut other), Some(Message::Hello(_))));
    assert!(matches!(next(&mut other), Some(Message::Refused(_))));
    assert!(next(&mut other).is_none());
    drop(offer);
}

#[test]
fn a_long_path_is_no_obstacle() {
    let around = tempfile::tempdir().unwrap();
    let run = around.path().join("a".repeat(120));
    std::fs::create_dir(&run).unwrap();
    let offer = offer(&run, &Interrupts::new(|| {}));
    assert!(matches!(next(&mut connect(&run)), Some(Message::Hello(_))));
    drop(offer);
    let left: Vec<_> = std::fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["run.json"]);
}
