//! Following the records of one trial: looks while load runs, the drain, and what looking costs the store.

use std::{cell::RefCell, time::Duration};

use tokio::time::{Instant, sleep, sleep_until, timeout};
use waggle_load::Account;
use waggle_results::{BacklogRow, DeliveryInfo, LedgerInfo, TrialWriter};

use crate::{
    Event,
    clock::Clock,
    counts::{as_f64, share},
    driver::{Driver, Failure},
    events::Events,
    ledger::{self, accepted, is_complete},
    probe::{Follower, Following, page},
    trial::phases::Cut,
    web::{Ask, Line},
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

/// The store of one trial, as it is followed.
pub(crate) struct Delivery<'a, N> {
    probe: &'a waggle_study::Probe,
    poll: Duration,
    line: N,
    pub(crate) follower: Follower,
    clock: Clock,
    /// Why the last look failed, if it did.
    problem: Option<String>,
    problems: u64,
    /// Read until the load had ended.
    read_under_load: u64,
    drained_after: Option<Duration>,
    /// The drain's time was up before all was read that the store had to show.
    unread: bool,
    cost_cpu_s: Option<f64>,
}

impl<'a, N: Line> Delivery<'a, N> {
    pub(crate) fn new(following: &Following<'a>, line: N) -> Self {
        Self {
            probe: following.probe,
            poll: following.delivery.poll,
            line,
            follower: Follower::new(following),
            clock: following.clock,
            problem: None,
            problems: 0,
            read_under_load: 0,
            drained_after: None,
            unread: false,
            cost_cpu_s: None,
        }
    }

    /// Looks again and again; ends only where the disk refuses.
    pub(crate) async fn follow(&mut self, writer: &RefCell<TrialWriter>) -> Cut {
        loop {
            let next = Instant::now() + self.poll;
            match self.look(writer).await {
                Ok(true) => {}
                Ok(false) => sleep_until(next).await,
                Err(cut) => return cut,
            }
        }
    }

    /// Looks until every accepted record was seen and the store shows no more, or the time is up. A store that cannot be read fails the trial:
    /// nothing could be said of what is in it.
    pub(crate) async fn drain(
        &mut self,
        writer: &RefCell<TrialWriter>,
        events: &Events,
        sent: Sent<'_>,
        at_most: Duration,
    ) -> Result<(), Cut> {
        let start = Instant::now();
        let accepted = accepted(sent.accounts, sent.records_per_request);
        self.read_under_load = self.follower.bytes_read;
        let mut live_at = start + LIVE_EVERY;
        loop {
            let next = Instant::now() + self.poll;
            let look_at_most = at_most
                .saturating_sub(start.elapsed())
                .max(LAST_LOOK_AT_MOST);
            let has_more = self.look_within(look_at_most, writer).await?;
            let seen = self.follower.seen();
            // Counting is cheap, comparing is not: first the one, then the other.
            if seen.distinct >= accepted
                && is_complete(sent.accounts, sent.records_per_request, seen)
            {
                self.drained_after.get_or_insert(start.elapsed());
                // What the store shows beyond that are copies, and records whose fate nobody knew.
                if !has_more {
                    return Ok(());
                }
            }
            if start.elapsed() >= at_most {
                self.unread = has_more;
                break;
            }
            if Instant::now() >= live_at {
                events.show(Event::Draining {
                    visible: seen.distinct,
                    accepted,
                });
                live_at += LIVE_EVERY;
            }
            if !has_more {
                sleep_until(next.min(start + at_most)).await;
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
        let path = page(&self.probe.get, 0, self.probe.limit);
        while bytes < COST_AT_LEAST_BYTES && start.elapsed() < COST_AT_MOST {
            let mut count = |chunk: &[u8]| bytes += chunk.len() as u64;
            if self.line.ask(&Ask::get(&path), &mut count).await.is_err() {
                return;
            }
            // An empty answer would be asked for again at once; the store has rows, or nothing would have been read.
            if bytes == 0 {
                return;
            }
            sleep(Duration::ZERO).await;
        }
        let Some(after) = cpu() else { return };
        let per_byte = share(after.saturating_sub(before).as_secs_f64(), as_f64(bytes));
        self.cost_cpu_s = Some(per_byte * as_f64(self.read_under_load));
    }

    /// The account of every record.
    pub(crate) fn ledger(&self, sent: Sent<'_>) -> LedgerInfo {
        ledger::ledger(
            sent.accounts,
            sent.records_per_request,
            self.follower.seen(),
            self.follower.late(),
        )
    }

    pub(crate) fn info(&self) -> DeliveryInfo {
        DeliveryInfo {
            probe: self.probe.name.clone(),
            resolution_ms: self.follower.longest_gap.max(self.poll).as_secs_f64() * 1e3,
            behind_s: self.follower.longest_behind.as_secs_f64(),
            negative_delays: self.follower.negative_delays(),
            drained_after_s: self.drained_after.map(|after| after.as_secs_f64()),
            polls: self.follower.polls,
            bytes_read: self.follower.bytes_read,
            cost_cpu_s: self.cost_cpu_s,
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
        if self.unread {
            remarks.push(
                "the drain ended before all was read that the store had to show; what was not read counts as not there"
                    .to_owned(),
            );
        }
        if self.follower.without_offset > 0 {
            remarks.push(format!(
                "{} lines of the store had no offset",
                self.follower.without_offset
            ));
        }
        remarks
    }

    /// One look that is given up where it takes longer than `at_most`; what it has brought by then counts.
    async fn look_within(
        &mut self,
        at_most: Duration,
        writer: &RefCell<TrialWriter>,
    ) -> Result<bool, Cut> {
        let (start, rows) = (Instant::now(), self.follower.rows_read);
        if let Ok(looked) = timeout(at_most, self.look(writer)).await {
            return looked;
        }
        if self.follower.rows_read > rows {
            self.follower.is_behind(start);
            return Ok(true);
        }
        self.problem = Some(format!("no answer within {} s", at_most.as_secs_f64()));
        self.problems += 1;
        Ok(false)
    }

    /// One look; a failed one is tried again at the next poll.
    async fn look(&mut self, writer: &RefCell<TrialWriter>) -> Result<bool, Cut> {
        match self.follower.look(&mut self.line).await {
            Ok(has_more) => {
                self.problem = None;
                let row = BacklogRow {
                    at_s: self.clock.elapsed().as_secs_f64(),
                    visible: self.follower.seen().distinct,
                };
                writer.borrow_mut().backlog(&row)?;
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

/// What the load sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) accounts: &'a [Account],
    pub(crate) records_per_request: u32,
}
