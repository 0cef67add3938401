//! What is read of a store that grows: under load a sample, in the end everything, each record once.

use std::{cell::RefCell, rc::Rc, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_load::key_of;
use waggle_study::{Extract, ProbeKind};
use waggle_system::http::client::{Connection, HttpError, Request};

use super::{Offset, Tail};
use crate::probe::{
    ProbeConfig, SampleLimits,
    tests::{Bench, RUN},
};

/// How long each answer of the store takes.
const ANSWER: Duration = Duration::from_millis(1);

/// A store whose records come at a constant rate, each visible at once.
#[derive(Debug)]
struct Store {
    start: Instant,
    start_ns: u64,
    per_s: u64,
    /// Nothing comes after it.
    ends: Duration,
    /// Offsets are multiples of it.
    step: u64,
    /// Records by sequence that the store has twice, loses, or has from another run.
    doubled: Vec<u64>,
    lost: Vec<u64>,
    foreign: Vec<u64>,
    /// Most rows of an answer, whatever its limit is.
    rows_max: u64,
    /// Refuses an offset beyond the end.
    refuses: bool,
    /// Rows that were shown while records came.
    shown: u64,
}

impl Store {
    fn new(bench: &Bench, per_s: u64) -> Self {
        Self {
            start: Instant::now(),
            start_ns: bench.start_probe().clock.unix_ns(),
            per_s,
            ends: Duration::from_secs(4),
            step: 1,
            doubled: Vec::new(),
            lost: Vec::new(),
            foreign: Vec::new(),
            rows_max: u64::MAX,
            refuses: false,
            shown: 0,
        }
    }

    /// Sequences of the records that have come, as the store has them.
    fn stored_count(&self) -> u64 {
        let nanoseconds = self.start.elapsed().min(self.ends).as_nanos();
        u64::try_from(nanoseconds * u128::from(self.per_s) / 1_000_000_000).unwrap()
    }

    fn is_full(&self) -> bool {
        self.start.elapsed() >= self.ends
    }

    /// The row at this place; `None` if there is none, and an empty one if it was lost.
    fn row(&self, place: u64) -> Option<String> {
        // Copies come right after their record.
        let first_place = |sequence: u64| {
            let before = self
                .doubled
                .iter()
                .filter(|duplicate| **duplicate < sequence);
            sequence + before.count() as u64
        };
        let least = place.saturating_sub(self.doubled.len() as u64);
        let sequence = (least..=place)
            .rev()
            .find(|sequence| first_place(*sequence) <= place)?;
        if sequence >= self.stored_count() {
            return None;
        }
        if self.lost.contains(&sequence) {
            return Some(String::new());
        }
        let offset = place * self.step;
        let time = self.start_ns + sequence * 1_000_000_000 / self.per_s;
        let run = match self.foreign.contains(&sequence) {
            true => "other",
            false => RUN,
        };
        let key = key_of(0, sequence);
        Some(format!(
            "offset={offset} run={run} key={key} committed={time} time={time}\n"
        ))
    }
}

#[derive(Debug, Clone)]
struct Fake(Rc<RefCell<Store>>);

impl Connection for Fake {
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError> {
        sleep(ANSWER).await;
        let mut numbers = request.path.split('/').filter_map(|part| part.parse().ok());
        let (offset, limit): (u64, u64) = (numbers.next().unwrap(), numbers.next().unwrap());
        let mut store = self.0.borrow_mut();
        let mut rows = 0;
        for place in offset.div_ceil(store.step).. {
            let Some(row) = store
                .row(place)
                .filter(|_| rows < limit.min(store.rows_max))
            else {
                break;
            };
            rows += u64::from(!row.is_empty());
            chunk(row.as_bytes());
        }
        if rows == 0 && store.refuses {
            return Ok(416);
        }
        if !store.is_full() {
            store.shown += rows;
        }
        Ok(200)
    }
}

fn bench() -> Bench {
    let kind = ProbeKind::Tail {
        get: "/${offset}/${limit}".to_owned(),
        offset_after: "offset=".to_owned(),
        arrival_after: Some("committed=".to_owned()),
        limit: 4_000,
    };
    let extract = Extract::After {
        key: "key=".to_owned(),
        run: Some("run=".to_owned()),
        time: Some("time=".to_owned()),
    };
    Bench::new(kind, extract)
}

/// The rows of the tests have about 60 bytes.
const LIMITS: SampleLimits = SampleLimits {
    whole_bytes_per_s: 100_000,
    burst_bytes: 10_000,
    share: 32,
    window: Duration::from_millis(5),
};

struct Found {
    offset: Offset,
    store: Rc<RefCell<Store>>,
    /// What was said to be visible, and what had come, after each look.
    looks: Vec<(u64, u64)>,
}

/// Polls every 50 ms while records come, and then until everything was read. The load ends at this time.
async fn read_all(bench: &Bench, store: Store, load_ends: Duration) -> Found {
    let ProbeKind::Tail {
        get,
        offset_after,
        arrival_after,
        limit,
    } = bench.kind()
    else {
        panic!("it is a tail");
    };
    let config = ProbeConfig {
        sample_limits: LIMITS,
        ..bench.start_probe()
    };
    let tail = Tail {
        get: &get,
        offset_after: &offset_after,
        arrival_after: arrival_after.as_deref(),
        limit,
    };
    let mut offset = Offset::new(&config, tail);
    let start = Instant::now();
    let store = Rc::new(RefCell::new(store));
    let mut fake = Fake(Rc::clone(&store));
    let mut looks = Vec::new();
    let mut is_over = false;
    loop {
        if !is_over && start.elapsed() >= load_ends {
            is_over = true;
            offset.end_load();
        }
        let polled = offset.poll(&mut fake).await;
        if offset.has_looked && polled.is_ok() {
            looks.push((offset.visible(), store.borrow().stored_count()));
        }
        let has_more = polled.unwrap_or(false);
        if is_over && !has_more && store.borrow().is_full() {
            break;
        }
        if !has_more {
            sleep(Duration::from_millis(50)).await;
        }
    }
    Found {
        offset,
        store,
        looks,
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_grows_slowly_is_followed_completely() {
    let bench = bench();
    let store = Store::new(&bench, 1_000);
    let reading = read_all(&bench, store, Duration::from_secs(4)).await;
    let log = &reading.offset.log;
    assert!(!reading.offset.is_sample());
    assert_eq!((log.followed, log.seen.distinct), (4_000, 4_000));
    assert_eq!(log.delay_histograms(false).delivery.len(), 4_000);
    let measured = log.measured_records(reading.offset.is_sample()).unwrap();
    assert_eq!((measured.found, measured.windows), (4_000, None));
}

#[tokio::test(start_paused = true)]
async fn of_a_store_that_grows_quickly_a_sample_is_followed_and_everything_counted() {
    let bench = bench();
    let mut store = Store::new(&bench, 40_000);
    // At the beginning, in the middle, at the end, and in a row.
    store.doubled = vec![0, 77_777, 77_778, 159_998];
    store.foreign = vec![5, 100_000, 159_000];
    let reading = read_all(&bench, store, Duration::from_secs(4)).await;
    let (log, store) = (&reading.offset.log, reading.store.borrow());
    assert!(reading.offset.is_sample());
    let seen = &log.seen;
    assert_eq!((seen.distinct, seen.duplicates), (160_000 - 3, 4));
    assert_eq!((seen.foreign, seen.out_of_order), (3, 0));
    // A share of 1 in 32 and the first 10 kB, and what is needed to find the end.
    assert!((2_000..16_000).contains(&store.shown), "{}", store.shown);
    assert!(
        log.followed > 1_000 && log.followed < store.shown,
        "{}",
        log.followed
    );
    // A record is seen at most one window, and two answers, after it came.
    let delays = log.delay_histograms(false);
    assert_eq!(delays.delivery.len(), log.followed);
    assert_eq!(delays.earliest.unwrap().len(), log.followed);
    // Of every record it is known when the store had it, which is when it was sent.
    let arrival = delays.arrival.unwrap();
    assert_eq!(arrival.len(), seen.distinct);
    assert!(arrival.max() <= 1);
    assert!(log.instants().unwrap().ends_delay);
    // Every record was found, and the sample is of about one window in 200 ms.
    let measured = log.measured_records(true).unwrap();
    assert_eq!(measured.found, seen.distinct);
    let windows = measured.windows.unwrap();
    assert!((8..80).contains(&windows), "{windows}");
    assert!(delays.delivery.value_at_quantile(0.5) < 10_000);
    // What is visible is known although it was not read.
    for (visible, came) in &reading.looks {
        assert!(visible.abs_diff(*came) <= 2_000, "{visible} of {came}");
    }
    assert_eq!(reading.offset.visible(), seen.distinct);
    assert_eq!(reading.offset.pace.longest_behind, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn records_that_come_after_the_load_are_counted_too() {
    let bench = bench();
    // The load ends in the middle, and the store goes on to fill.
    let store = Store::new(&bench, 40_000);
    let reading = read_all(&bench, store, Duration::from_millis(1_973)).await;
    let log = &reading.offset.log;
    assert_eq!((log.seen.distinct, log.seen.duplicates), (160_000, 0));
    // Of those after the load no larger share is followed than of the others.
    assert!(log.followed < 160_000 / 16, "{}", log.followed);
    assert!(reading.offset.last_row().unwrap().elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_and_gaps_between_offsets_are_not_made_up() {
    let bench = bench();
    for step in [1, 3] {
        let mut store = Store::new(&bench, 40_000);
        store.step = step;
        store.rows_max = 3_000;
        store.lost = vec![3, 80_000, 80_001, 159_999];
        let reading = read_all(&bench, store, Duration::from_secs(4)).await;
        let seen = &reading.offset.log.seen;
        assert_eq!(
            (seen.distinct, seen.duplicates, seen.foreign),
            (160_000 - 4, 0, 0),
            "{step}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_offsets_beyond_its_end_is_read_completely() {
    let bench = bench();
    let mut store = Store::new(&bench, 40_000);
    store.refuses = true;
    let reading = read_all(&bench, store, Duration::from_secs(4)).await;
    let log = &reading.offset.log;
    assert!(!reading.offset.is_sample());
    assert_eq!((log.followed, log.seen.distinct), (160_000, 160_000));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_read_again_counts_only_what_it_shows_again() {
    let bench = bench();
    let store = Store::new(&bench, 40_000);
    let mut reading = read_all(&bench, store, Duration::from_secs(4)).await;
    let followed = reading.offset.log.followed;
    reading.offset.forget();
    assert_eq!(reading.offset.log.seen.distinct, 0);
    let mut fake = Fake(Rc::clone(&reading.store));
    while reading.offset.poll(&mut fake).await.unwrap() {}
    let log = &reading.offset.log;
    assert_eq!((log.seen.distinct, log.seen.duplicates), (160_000, 0));
    assert_eq!(log.followed, followed);
}
