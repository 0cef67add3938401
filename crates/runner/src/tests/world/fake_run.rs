//! The run of a fake load, which sends records according to its course.

use std::{rc::Rc, time::Duration};

use hdrhistogram::Histogram;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use waggle_load::{Counts, Interval, Outcome, RequestOutcome, RequestOutcomes, key_of};
use waggle_results::PhaseName;
use waggle_spec::TimeKind;

use super::fake_load::{Course, LoadEnd, histogram};
use crate::{
    clock::Clock,
    load::load_run::{LoadError, LoadRun, Replacer},
    tests::world::{Fault, PER_INTERVAL, STEP, Shared},
};

/// A load that sends records according to its course.
#[derive(Debug)]
pub(crate) struct FakeRun {
    pub(super) world: Shared,
    pub(super) start: Instant,
    /// From the start of the world to that of the load.
    pub(super) started_monotonic: Duration,
    pub(super) clock: Clock,
    pub(super) interval: Duration,
    pub(super) connections: u64,
    /// How many requests a closed load keeps in flight; 0: another load.
    pub(super) keeps_in_flight: u32,
    pub(super) course: Course,
    pub(super) done: u32,
    pub(super) due: u64,
    /// Requests that are due and wait to be sent.
    pub(super) waiting: u64,
    pub(super) failed: u64,
    pub(super) account: RequestOutcomes,
    /// Requests that a stalled server has not answered.
    pub(super) unanswered: u64,
    pub(super) end: LoadEnd,
    pub(super) stop: watch::Sender<bool>,
    /// Its name, if it is a background load: it then sends no records.
    pub(super) background: Option<String>,
}

/// Requests of a background load in an interval.
pub(crate) const BACKGROUND_PER_INTERVAL: u64 = 10;

impl FakeRun {
    fn send_records(&mut self, requests: u64, time: Duration) -> Counts {
        let mut world = self.world.borrow_mut();
        let due = if world.is_dead { 0 } else { requests };
        let sent = (self.waiting + due).min(self.course.answers_at_most);
        self.due += due;
        self.waiting = self.waiting + due - sent;
        let mut failed = 0;
        let is_refused = matches!(world.fault, Some(Fault::Refuses(from)) if self.done > from);
        for _ in 0..sent {
            let request = self.account.send();
            let stored = (key_of(0, request), self.clock.unix_ns());
            if is_refused {
                self.account.note(request, RequestOutcome::Rejected);
                failed += 1;
                continue;
            }
            if let Some(Fault::LeavesUnanswered(nth, _)) = world.fault
                && (request + 1).is_multiple_of(nth)
            {
                world.unanswered.push_back(stored);
                continue;
            }
            if let Some(Fault::HoldsAtMost(most)) = world.fault
                && self.connections > most
                && request.is_multiple_of(2)
            {
                self.account.note(request, RequestOutcome::Rejected);
                failed += 1;
                continue;
            }
            self.account.note(request, RequestOutcome::Accepted);
            match world.fault {
                Some(Fault::Loses(nth)) if (request + 1).is_multiple_of(nth) => {}
                Some(Fault::Doubles(nth)) if (request + 1).is_multiple_of(nth) => {
                    world.stored.extend([stored; 2])
                }
                _ => world.stored.push(stored),
            }
        }
        self.failed += failed;
        Counts {
            due,
            sent,
            succeeded: sent - failed,
            failed,
            connections_open: self.connections,
            in_flight_time: time * u32::try_from(sent).unwrap(),
            in_flight_unexplained_ns: i64::try_from(time.as_nanos()).unwrap()
                * i64::try_from(failed).unwrap(),
            ..Counts::default()
        }
    }

    /// The next interval of a background load.
    async fn next_in_background(&mut self) -> Option<Interval> {
        let fault = self.fault();
        if *self.stop.borrow() || fault == Some(Fault::BackgroundEnds(self.done)) {
            sleep(STEP).await;
            return None;
        }
        let start = self.interval * self.done;
        sleep_until(self.start + start + self.interval).await;
        self.done += 1;
        let (connections, succeeded) = match fault {
            Some(Fault::BackgroundUnconnected) => (0, 0),
            _ => (self.connections, BACKGROUND_PER_INTERVAL),
        };
        let counts = Counts {
            sent: succeeded,
            succeeded,
            connections_open: connections,
            engine_cpu_busiest: self.interval / 2,
            ..Counts::default()
        };
        let times = histogram(self.interval / 10, succeeded);
        Some(self.interval_of((start, self.interval), counts, (times.clone(), times)))
    }

    fn fault(&self) -> Option<Fault> {
        self.world.borrow().fault
    }

    /// The interval in which a stalled server answers.
    async fn last_answers(&mut self) -> Option<Interval> {
        let succeeded = std::mem::take(&mut self.unanswered);
        if succeeded == 0 {
            return None;
        }
        let start = self.interval * self.done;
        self.done += 1;
        sleep_until(self.start + start + self.interval).await;
        let counts = Counts {
            succeeded,
            connections_open: self.connections,
            ..Counts::default()
        };
        let times = histogram(self.interval, succeeded);
        Some(self.interval_of((start, self.interval), counts, (times.clone(), times)))
    }

    /// An interval with these times from due and from sent to done.
    fn interval_of(
        &self,
        (start, length): (Duration, Duration),
        counts: Counts,
        (response_time, service_time): (Histogram<u64>, Histogram<u64>),
    ) -> Interval {
        let index = start.as_nanos() / self.interval.as_nanos();
        let mut made = Interval::new(u64::try_from(index).unwrap(), start, 0);
        (made.length, made.counts) = (length, counts);
        made.times[TimeKind::Response] = response_time;
        made.times[TimeKind::Service] = service_time;
        made.times[TimeKind::Lag] = histogram(self.course.lag, PER_INTERVAL);
        made
    }
}

impl LoadRun for FakeRun {
    async fn next_interval(&mut self) -> Result<Option<Interval>, LoadError> {
        if self.background.is_some() {
            return Ok(self.next_in_background().await);
        }
        if *self.stop.borrow() || self.end.is_reached(self.interval * self.done) {
            sleep(STEP).await;
            return match self.fault() {
                Some(Fault::Hangs(PhaseName::Finish)) => std::future::pending().await,
                _ => Ok(self.last_answers().await),
            };
        }
        // The fake measures from its fourth interval on: the warm-up of the tests has that many.
        match self.fault() {
            Some(Fault::Fails(PhaseName::Measure)) if self.done >= 4 => return Ok(None),
            Some(Fault::Hangs(PhaseName::Measure)) if self.done >= 4 => {
                std::future::pending().await
            }
            // After as many measured intervals as the tests have, and one more.
            Some(Fault::Fails(PhaseName::Recovery)) if self.done >= 13 => return Ok(None),
            Some(Fault::Hangs(PhaseName::WarmUp)) => std::future::pending().await,
            Some(Fault::Panics(PhaseName::WarmUp)) => panic!("the load panicked"),
            _ => {}
        }
        let index = self.done;
        let together = match self.fault() {
            Some(Fault::HandsOverLate(intervals, from)) if from == index => intervals,
            _ => 1,
        };
        let requests = (self.course.requests)(index);
        let (requests, percent) = self.end.take(requests);
        let time = match self.keeps_in_flight {
            0 => (self.course.time)(index),
            all => self.interval * all / u32::try_from(requests.max(1)).unwrap(),
        };
        let length = self.interval * together * percent / 100;
        sleep_until(self.start + self.interval * index + length).await;
        self.done += together;
        let mut counts = self.send_records(requests, time);
        if let Some(Fault::StallsAt(stall_index, stalled)) = self.fault()
            && stall_index == index
        {
            self.unanswered = stalled;
            counts.succeeded -= stalled;
            counts.in_flight = stalled;
        }
        let waited = self.course.wait(self.waiting, self.interval);
        let response_time = histogram(time + waited, counts.succeeded);
        let service_time = histogram(time, counts.succeeded);
        let times = (response_time, service_time);
        let interval = self.interval_of((self.interval * index, length), counts, times);
        Ok(Some(interval))
    }

    fn started_unix_ns(&self) -> u64 {
        self.clock.start_unix_ns()
    }

    fn started_monotonic(&self) -> Duration {
        self.started_monotonic
    }

    fn stop(&self) {
        let was_stopped = self.stop.send_replace(true);
        let mut world = self.world.borrow_mut();
        if let Some(name) = &self.background {
            if !was_stopped {
                world.done.push(format!("stop {name}"));
            }
            return;
        }
        if !world.load_has_stopped && world.fault == Some(Fault::ShowsAgain) {
            world.stored.extend_from_within(..);
        }
        if let (false, Some(Fault::LeavesUnanswered(_, each_ms))) =
            (world.load_has_stopped, world.fault)
        {
            world.takes_next_at = Some(Instant::now() + Duration::from_millis(each_ms));
        }
        world.load_has_stopped = true;
    }

    fn replacer(&self) -> Replacer {
        let world = Rc::clone(&self.world);
        Box::new(move |what| {
            world.borrow_mut().replaced.push(what.clone());
            Ok(())
        })
    }

    async fn join(self) -> Result<Outcome, LoadError> {
        self.world.borrow_mut().done.push(match &self.background {
            Some(name) => format!("joined {name}"),
            None => "joined".to_owned(),
        });
        if self.fault() == Some(Fault::Fails(PhaseName::Finish)) {
            return Err(LoadError::Lost);
        }
        let sent = self.account.sent_count();
        let skipped = self.fault() == Some(Fault::Skips);
        Ok(Outcome {
            kept: waggle_load::KeptRows::default(),
            mismatches: Vec::new(),
            examples: Vec::new(),
            totals: Counts {
                due: self.due,
                sent,
                succeeded: sent - self.failed,
                failed: self.failed,
                skipped: self.waiting,
                ..Counts::default()
            },
            started_unix_ns: self.clock.start_unix_ns(),
            ran_for: self.start.elapsed(),
            connections_asked: self.connections,
            request_outcomes: vec![self.account],
            steps: Vec::new(),
            feeds_used_up: Vec::new(),
            clients: Vec::new(),
            request_outcomes_full: false,
            skipped_under_load: skipped,
            unconnected_for: None,
            first_sent: None,
            first_sent_by_each: Vec::new(),
        })
    }
}
