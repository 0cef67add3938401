//! The records of a trial that a probe has seen, for every kind of probe.

use tokio::sync::watch;

use super::{
    config::{ProbeConfig, nanoseconds},
    delays::{Delays, Window},
    lines::RowStamp,
    seen_set::{Fate, SeenSet},
};
use crate::clock::Clock;

/// When a record was seen, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordTimes {
    /// When the probe received it.
    pub(crate) received_ns: u64,
    /// When the store received it, if the store provides that.
    pub(crate) arrived_ns: Option<u64>,
}

/// Whether a record was seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observation {
    /// It was never seen before.
    First,
    /// It was seen before the component was killed, and is still there.
    StillThere,
    /// It was seen before, or is not of this run.
    Known,
}

/// The records that one probe has seen.
#[derive(Debug)]
pub(crate) struct ProbeLog {
    pub(crate) clock: Clock,
    interval_ns: u64,
    late_after_us: Option<u64>,
    /// The records that the store has, as far as it was read.
    pub(crate) seen: SeenSet,
    /// The records that were seen before a restart.
    before: Option<SeenSet>,
    pub(crate) late: u64,
    pub(crate) negative_delays: u64,
    visible: Delays,
    arrival: Delays,
    arrivals_are_known: bool,
    has_others: bool,
    window: watch::Receiver<Option<Window>>,
}

impl ProbeLog {
    pub(crate) fn new(config: &ProbeConfig<'_>) -> Self {
        Self {
            clock: config.clock,
            interval_ns: nanoseconds(config.interval).max(1),
            late_after_us: config
                .delivery
                .late_threshold
                .map(|after| nanoseconds(after) / 1_000),
            seen: SeenSet::new(config.workers, config.sequence_max),
            before: None,
            late: 0,
            negative_delays: 0,
            visible: Delays::new(),
            arrival: Delays::new(),
            arrivals_are_known: false,
            has_others: config.has_others,
            window: config.window.clone(),
        }
    }

    /// Takes over the measured phase once it is known; call it before records are logged.
    pub(crate) fn update_window(&mut self) {
        if let Some(window) = *self.window.borrow() {
            self.visible.decide(window);
            self.arrival.decide(window);
        }
    }

    /// Starts to read the store again: a record counts only if it is seen again. Its delay is known and stays.
    pub(crate) fn restart(&mut self) {
        // The order of records also counts from the first read only: on a second read partitions come one after the other.
        let mut empty = self.seen.empty_copy();
        empty.out_of_order = self.seen.out_of_order;
        let seen = std::mem::replace(&mut self.seen, empty);
        match &mut self.before {
            Some(before) => before.join(&seen),
            None => self.before = Some(seen),
        }
    }

    /// The store has this record.
    pub(crate) fn record(&mut self, stamp: RowStamp, times: RecordTimes) -> Observation {
        let out_of_order = self.seen.out_of_order;
        let fate = self.seen.note(stamp.key);
        self.observe((fate, out_of_order), stamp, times)
    }

    /// The same at a store that is polled for the same range repeatedly and in any order: a repetition is not a copy.
    pub(crate) fn record_again(&mut self, stamp: RowStamp, times: RecordTimes) -> Observation {
        let out_of_order = self.seen.out_of_order;
        let fate = self.seen.note_again(stamp.key);
        self.observe((fate, out_of_order), stamp, times)
    }

    /// `out_of_order` is the count before this record.
    fn observe(
        &mut self,
        (fate, out_of_order): (Fate, u64),
        stamp: RowStamp,
        times: RecordTimes,
    ) -> Observation {
        if fate != Fate::New {
            return Observation::Known;
        }
        let before = self.before.as_ref();
        if before.is_some_and(|before| before.has_key(stamp.key)) {
            self.seen.out_of_order = out_of_order;
            return Observation::StillThere;
        }
        self.delays(stamp.time_ns, times);
        Observation::First
    }

    /// A record without this trial's mark was seen.
    pub(crate) fn note_foreign_record(&mut self) {
        if !self.has_others {
            self.seen.note_foreign();
        }
    }

    /// The same at a store that shows it in every poll: the number of times means nothing.
    pub(crate) fn note_foreign_repeat(&mut self) {
        if !self.has_others {
            self.seen.foreign = self.seen.foreign.max(1);
        }
    }

    /// Delays until visible of the records that were sent in the measured phase, in microseconds.
    pub(crate) fn visible(&self) -> &hdrhistogram::Histogram<u64> {
        self.visible.histogram()
    }

    /// Delays until the store had the record; `None` if the store does not provide them.
    pub(crate) fn arrival(&self) -> Option<&hdrhistogram::Histogram<u64>> {
        self.arrivals_are_known.then(|| self.arrival.histogram())
    }

    fn delays(&mut self, sent_ns: u64, times: RecordTimes) {
        let since_start = sent_ns.saturating_sub(self.clock.start_unix_ns());
        let interval = since_start / self.interval_ns;
        if let Some(arrived_ns) = times.arrived_ns {
            self.arrivals_are_known = true;
            match arrived_ns.checked_sub(sent_ns) {
                Some(delay_ns) => self.arrival.note(interval, delay_ns / 1_000),
                None => self.negative_delays += 1,
            }
        }
        let Some(delay_ns) = times.received_ns.checked_sub(sent_ns) else {
            self.negative_delays += 1;
            return;
        };
        let delay_us = delay_ns / 1_000;
        if self
            .late_after_us
            .is_some_and(|late_after| delay_us > late_after)
        {
            self.late += 1;
        }
        self.visible.note(interval, delay_us);
    }
}
