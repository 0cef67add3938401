//! Following the records of one trial: looks while load runs, the drain, and what looking costs the store.

use std::{cell::RefCell, time::Duration};

use tokio::time::{Instant, sleep, sleep_until, timeout};
use waggle_load::RequestOutcomes;
use waggle_results::{BacklogRow, DeliveryInfo, LedgerInfo, ProbeInfo, TrialWriter};

use crate::{
    Event,
    clock::Clock,
    counts::{as_f64, share},
    driver::{Driver, Failure},
    events::Events,
    ledger::{self, count_accepted, has_open, is_complete},
    probe::{Depth, Follower, Following, Seen},
    trial::{disturbing::Restarts, phases::Cut},
    web::Line,
};

/// Bytes that are read again to measure what reading costs.
const COST_AT_LEAST_BYTES: u64 = 2 * 1024 * 1024;
/// How long reading again may take, and how long its last answer is awaited beyond that.
const COST_AT_MOST: Duration = Duration::from_millis(500);
const COST_END_AT_MOST: Duration = Duration::from_secs(1);
/// The last look of a drain may take this long even where the drain's time is up; one that has no end is given up.
const LAST_LOOK_AT_MOST: Duration = Duration::from_secs(10);
/// Between two live events.
const LIVE_EVERY: Duration = Duration::from_secs(1);

/// Which of the places on the records' way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// One before the last, counted from 0.
    Intermediate(usize),
    /// Where records must arrive.
    Last,
}

/// A place of one trial, as it is followed.
pub(crate) struct Delivery<'a, N> {
    probe: &'a waggle_study::Probe,
    pub(crate) place: Place,
    poll: Duration,
    follower: Follower<N>,
    clock: Clock,
    /// Why the last look failed, if it did.
    problem: Option<String>,
    problems: u64,
    /// Read until the load had ended.
    read_under_load: u64,
    drained_after: Option<Duration>,
    /// The drain's time was up before all was read that the store had to show.
    unread: bool,
    probe_cpu_s: Option<f64>,
    restarts: Restarts,
    /// The components whose death was why it was read anew, each as often as that was so.
    begun_anew: Vec<String>,
    /// It is being read anew, and its end was not reached yet.
    is_behind_itself: bool,
}

impl<'a, N: Line> Delivery<'a, N> {
    pub(crate) fn new(
        following: &Following<'a>,
        place: Place,
        restarts: &Restarts,
        follower: Follower<N>,
    ) -> Self {
        Self {
            probe: following.probe,
            place,
            poll: following.delivery.poll_interval,
            follower,
            clock: following.clock,
            problem: None,
            problems: 0,
            read_under_load: 0,
            drained_after: None,
            unread: false,
            probe_cpu_s: None,
            restarts: restarts.clone(),
            begun_anew: Vec::new(),
            is_behind_itself: false,
        }
    }

    /// Looks again and again; ends only where the disk refuses.
    pub(crate) async fn follow(&mut self, writer: &RefCell<TrialWriter>) -> Cut {
        loop {
            let next = Instant::now() + self.poll;
            match self.look(Depth::Turn, writer).await {
                Ok(true) => {}
                Ok(false) => self.pause(next).await,
                Err(cut) => return cut,
            }
        }
    }

    /// Looks until every accepted record was seen and the store shows no more, and where others may still come until none has come
    /// for a while; or until the time is up. A store that cannot be read fails the trial: nothing could be said of what is in it.
    pub(crate) async fn drain(
        &mut self,
        writer: &RefCell<TrialWriter>,
        events: &Events,
        sent: Sent<'_>,
        DrainTimes { at_most, quiet }: DrainTimes,
    ) -> Result<(), Cut> {
        let start = Instant::now();
        let mut come = Come::new(count_accepted(sent.accounts, sent.records_per_request));
        self.read_under_load = self.follower.pace().bytes_read;
        let mut live_at = start + LIVE_EVERY;
        loop {
            let next = Instant::now() + self.poll;
            let look_at_most = at_most
                .saturating_sub(start.elapsed())
                .max(LAST_LOOK_AT_MOST);
            let is_quiet = come.is_complete && come.since.elapsed() >= quiet;
            let is_last = is_quiet || start.elapsed() + self.poll >= at_most;
            let has_more = self.drain_look(is_last, look_at_most, writer).await?;
            let is_new = self.follower.notes(|notes| come.look(sent, &notes.seen));
            if come.is_complete {
                self.drained_after.get_or_insert(start.elapsed());
                let ends = !come.is_open || (is_quiet && !is_new && self.problem.is_none());
                // What the store shows beyond that are copies, and records whose fate nobody knew.
                if ends && !has_more {
                    return Ok(());
                }
            }
            if start.elapsed() >= at_most {
                self.unread = has_more;
                break;
            }
            if self.place == Place::Last && Instant::now() >= live_at {
                events.show(Event::Draining {
                    visible: come.visible,
                    accepted: come.accepted,
                });
                live_at += LIVE_EVERY;
            }
            if !has_more {
                self.pause(next.min(start + at_most)).await;
            }
        }
        match self.problem.take() {
            Some(problem) => Err(Failure::new(format!(
                "the store cannot be read by probe \"{}\": {problem}",
                self.probe.name
            ))
            .into()),
            None => Ok(()),
        }
    }

    /// Reads again in quiet what was read before, and measures the store's CPU time meanwhile.
    pub(crate) async fn measure_cost(&mut self, driver: &impl Driver) {
        // A store that does not answer in time has no cost that is known.
        timeout(COST_AT_MOST + COST_END_AT_MOST, self.read_again(driver))
            .await
            .ok();
    }

    async fn read_again(&mut self, driver: &impl Driver) {
        let replica = format!("{}-0", self.probe.component);
        let cpu = || {
            driver
                .usage()
                .into_iter()
                .find(|usage| usage.replica == replica)
                .map(|usage| usage.cpu)
        };
        if self.read_under_load == 0 {
            return;
        }
        let Some(before) = cpu() else { return };
        let (mut bytes, start) = (0, Instant::now());
        while bytes < COST_AT_LEAST_BYTES && start.elapsed() < COST_AT_MOST {
            let Some(Ok(_)) = self.follower.ask_again(&mut bytes).await else {
                return;
            };
            // An empty answer would be asked for again at once; the store has rows, or nothing would have been read.
            if bytes == 0 {
                return;
            }
            sleep(Duration::ZERO).await;
        }
        let Some(after) = cpu() else { return };
        let per_byte = share(after.saturating_sub(before).as_secs_f64(), as_f64(bytes));
        self.probe_cpu_s = Some(per_byte * as_f64(self.read_under_load));
    }

    /// Writes down the delays; tells the account of every record.
    pub(crate) fn collect(
        &self,
        sent: Sent<'_>,
        writer: &RefCell<TrialWriter>,
    ) -> Result<ProbeInfo, Cut> {
        let mut writer = writer.borrow_mut();
        self.follower.notes(|notes| match self.place {
            Place::Last => writer.delivery_delay(notes.visible(), notes.arrival()),
            Place::Intermediate(place) => {
                writer.intermediate_delays(place, notes.visible(), notes.arrival())
            }
        })?;
        Ok(ProbeInfo {
            ledger: self.ledger(sent),
            delivery: self.info(),
        })
    }

    fn ledger(&self, sent: Sent<'_>) -> LedgerInfo {
        self.follower.notes(|notes| {
            ledger::ledger(
                sent.accounts,
                sent.records_per_request,
                &notes.seen,
                notes.late,
            )
        })
    }

    fn info(&self) -> DeliveryInfo {
        let pace = self.follower.pace();
        // What watches a place all the time is not bound to the time between two looks.
        let poll = self.follower.between_looks(self.poll);
        DeliveryInfo {
            probe: self.probe.name.clone(),
            resolution_ms: pace.longest_gap.max(poll).as_secs_f64() * 1e3,
            probe_lag_s: pace.longest_behind.as_secs_f64(),
            unread: self.unread,
            negative_delays: self.follower.notes(|notes| notes.negative_delays),
            drain_time_s: self.drained_after.map(|after| after.as_secs_f64()),
            polls: pace.polls,
            bytes_read: pace.bytes_read,
            probe_cpu_s: self.probe_cpu_s,
        }
    }

    /// What is worth a line in the report.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.problems > 0 {
            remarks.push(format!(
                "{} looks at the store failed and were repeated",
                self.problems
            ));
        }
        for (place, killed) in self.begun_anew.iter().enumerate() {
            if !self.begun_anew[..place].contains(killed) {
                remarks.push(format!(
                    "{killed} was killed, and what stood there was read anew when it was ready again: only what is still there counts as delivered"
                ));
            }
        }
        if self.unread {
            remarks.push(
                "the drain ended before all was read that the store had to show; what was not read counts as not there"
                    .to_owned(),
            );
        }
        remarks.extend(self.follower.remark());
        if self.place != Place::Last {
            let of = |remark| format!("at {}: {remark}", self.probe.name);
            remarks = remarks.into_iter().map(of).collect();
        }
        remarks
    }

    async fn pause(&self, next: Instant) {
        sleep_until(next.max(Instant::now() + self.follower.rest())).await;
    }

    /// One look of the drain; the last one goes back to whatever is missing, as far as its time allows.
    async fn drain_look(
        &mut self,
        is_last: bool,
        at_most: Duration,
        writer: &RefCell<TrialWriter>,
    ) -> Result<bool, Cut> {
        if !is_last {
            return self.look_within(Depth::Turn, at_most, writer).await;
        }
        let deadline = Instant::now() + at_most;
        self.follower.begin_anew();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let has_more = self.look_within(Depth::Whole, left, writer).await?;
            let goes_on = self.follower.shows_all_in_parts() && self.problem.is_none();
            if !has_more || !goes_on || Instant::now() >= deadline {
                return Ok(has_more);
            }
        }
    }

    /// One look that is given up where it takes longer than `at_most`; what it has brought by then counts.
    async fn look_within(
        &mut self,
        depth: Depth,
        at_most: Duration,
        writer: &RefCell<TrialWriter>,
    ) -> Result<bool, Cut> {
        let (start, rows) = (Instant::now(), self.follower.pace().rows_read);
        if let Ok(looked) = timeout(at_most, self.look(depth, writer)).await {
            return looked;
        }
        if self.follower.given_up(start, rows) {
            return Ok(true);
        }
        self.problem = Some(format!("no answer within {} s", at_most.as_secs_f64()));
        self.problems += 1;
        Ok(false)
    }

    /// A component that was killed may have lost what was shown of it.
    fn begin_anew_if_restarted(&mut self) {
        let restarts = self.restarts.restarts_behind(self.probe);
        if restarts.len() > self.begun_anew.len() {
            self.begun_anew = restarts;
            self.is_behind_itself = true;
            self.follower.forget();
        }
    }

    /// One look; a failed one is tried again at the next poll.
    async fn look(&mut self, depth: Depth, writer: &RefCell<TrialWriter>) -> Result<bool, Cut> {
        self.begin_anew_if_restarted();
        match self.follower.look(depth).await {
            Ok(has_more) => {
                self.problem = None;
                self.is_behind_itself &= has_more;
                if self.is_behind_itself {
                    // How far the store has come is not known before it was read to its end.
                    return Ok(has_more);
                }
                let row = BacklogRow {
                    at_s: self.clock.elapsed().as_secs_f64(),
                    visible: self.follower.notes(|notes| notes.seen.distinct),
                };
                let mut writer = writer.borrow_mut();
                match self.place {
                    Place::Last => writer.backlog(&row)?,
                    Place::Intermediate(place) => writer.intermediate_backlog(place, &row)?,
                }
                Ok(has_more)
            }
            Err(problem) => {
                self.problem = Some(problem.to_string());
                self.problems += 1;
                Ok(false)
            }
        }
    }
}

/// How long a drain goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainTimes {
    pub(crate) at_most: Duration,
    /// Without anything new, where all that was accepted is there and some was not accepted.
    pub(crate) quiet: Duration,
}

/// What has come until now.
#[derive(Debug)]
struct Come {
    accepted: u64,
    visible: u64,
    /// Records and copies of them; `None`: nobody has looked.
    arrived: Option<u64>,
    /// Nothing came after that.
    since: Instant,
    is_complete: bool,
    /// Records that were not accepted may still come.
    is_open: bool,
}

impl Come {
    fn new(accepted: u64) -> Self {
        Self {
            accepted,
            visible: 0,
            arrived: None,
            since: Instant::now(),
            is_complete: false,
            is_open: false,
        }
    }

    /// Takes up what was seen; true where there is more than before.
    fn look(&mut self, sent: Sent<'_>, seen: &Seen) -> bool {
        let arrived = Some(seen.distinct + seen.duplicates);
        if arrived == self.arrived {
            return false;
        }
        (self.arrived, self.since) = (arrived, Instant::now());
        self.visible = seen.distinct;
        let Sent {
            accounts,
            records_per_request,
        } = sent;
        // Counting is cheap, comparing is not: first the one, then the other.
        self.is_complete =
            seen.distinct >= self.accepted && is_complete(accounts, records_per_request, seen);
        self.is_open = self.is_complete && has_open(accounts, records_per_request, seen);
        true
    }
}

/// What the load sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) accounts: &'a [RequestOutcomes],
    pub(crate) records_per_request: u32,
}
