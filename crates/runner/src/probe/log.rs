//! The records of a trial that a probe has seen, for every kind of probe.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};
use waggle_results::{DelayHistograms, InstantsInfo, MeasuredRecords};
use waggle_study::ProbeKind;

use super::{
    config::{ProbeConfig, nanoseconds},
    delays::{Delays, Window},
    due_instants::DueInstants,
    instants::Instants,
    lines::RowStamp,
    seen_set::{Fate, SeenSet},
    stretches::Stretches,
};
use crate::clock::Clock;

/// When a record was seen, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordTimes {
    /// It was visible at the latest now: when the probe received it, or when the store showed it by its own clock.
    pub(crate) received_ns: u64,
    /// It may have been visible since then, or since it was sent.
    pub(crate) since_ns: u64,
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
    /// It was never seen before, and is not in the sample of those whose delays are noted.
    Counted,
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
    /// Records whose delays were noted.
    pub(crate) followed: u64,
    /// One in so many is followed.
    one_in: u64,
    pub(crate) late: u64,
    pub(crate) negative_delays: u64,
    visible: Delays,
    earliest: Delays,
    end_to_end: Delays,
    earliest_end_to_end: Delays,
    arrival: Delays,
    /// Every record that was found once, with no delay: only their number counts.
    found: Delays,
    /// The stretches of time in which records were followed.
    stretches: Stretches,
    due_instants: Option<DueInstants>,
    instants: Instants,
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
            followed: 0,
            one_in: 1,
            late: 0,
            negative_delays: 0,
            visible: Delays::new(),
            earliest: Delays::new(),
            end_to_end: Delays::new(),
            earliest_end_to_end: Delays::new(),
            arrival: Delays::new(),
            found: Delays::new(),
            stretches: Stretches::default(),
            due_instants: config.due_instants.clone(),
            instants: match config.probe.kind {
                // A broker may show a record later than it appended it.
                ProbeKind::Kafka { .. } => Instants::append_instant(),
                _ => Instants::shown_instant(),
            },
            has_others: config.has_others,
            window: config.window.clone(),
        }
    }

    /// Takes over the measured phase once it is known; call it before records are logged.
    pub(crate) fn update_window(&mut self) {
        if let Some(window) = *self.window.borrow() {
            for delays in [
                &mut self.visible,
                &mut self.earliest,
                &mut self.end_to_end,
                &mut self.earliest_end_to_end,
                &mut self.arrival,
                &mut self.found,
            ] {
                delays.decide(window);
            }
        }
    }

    /// Start and end of the measured phase, once it is known.
    pub(crate) fn measured_phase(&self) -> Option<(Instant, Instant)> {
        let window = (*self.window.borrow())?;
        let instant = |interval: u64| {
            let after = Duration::from_nanos(self.interval_ns.saturating_mul(interval));
            self.clock.instant(after)
        };
        Some((instant(window.from), instant(window.to)))
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
        self.observe(fate, out_of_order, stamp, times)
    }

    /// The store has this record, and it is not known since when.
    pub(crate) fn count(&mut self, stamp: RowStamp, arrived_ns: Option<u64>) {
        let out_of_order = self.seen.out_of_order;
        if self.seen.note(stamp.key) == Fate::New {
            // It comes after records that were sent later because it was skipped.
            self.seen.out_of_order = out_of_order;
            let before = self.before.as_ref();
            if !before.is_some_and(|before| before.has_key(stamp.key)) {
                self.note_found(stamp.time_ns, arrived_ns);
            }
        }
    }

    /// From here on only one record in so many has its delays noted; which, is decided by its key.
    pub(crate) fn follow_one_in(&mut self, records: u64) {
        self.one_in = records.max(1);
    }

    /// The same at a store that is polled for the same range repeatedly and in any order: a repetition is not a copy.
    pub(crate) fn record_again(&mut self, stamp: RowStamp, times: RecordTimes) -> Observation {
        let out_of_order = self.seen.out_of_order;
        let fate = self.seen.note_again(stamp.key);
        self.observe(fate, out_of_order, stamp, times)
    }

    /// `out_of_order` is the count before this record.
    fn observe(
        &mut self,
        fate: Fate,
        out_of_order: u64,
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
        self.note_found(stamp.time_ns, times.arrived_ns);
        if self.one_in > 1 && !mix_bits(stamp.key).is_multiple_of(self.one_in) {
            self.seen.out_of_order = out_of_order;
            return Observation::Counted;
        }
        self.followed += 1;
        self.note_delays(stamp, times);
        Observation::First
    }

    /// Whether records without this trial's mark belong to others.
    pub(crate) fn has_others(&self) -> bool {
        self.has_others
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

    /// Delays of the records that were sent in the measured phase, in microseconds. Those from due are known only if no request was
    /// skipped between others.
    pub(crate) fn delay_histograms(&self, skipped_under_load: bool) -> DelayHistograms<'_> {
        let has_due = self.due_instants.is_some() && !skipped_under_load;
        DelayHistograms {
            delivery: self.visible.histogram(),
            earliest: Some(self.earliest.histogram()),
            end_to_end: has_due.then(|| self.end_to_end.histogram()),
            earliest_end_to_end: has_due.then(|| self.earliest_end_to_end.histogram()),
            arrival: self.instants.info().map(|_| self.arrival.histogram()),
        }
    }

    /// What is read from here on is another stretch of time than what was read before: something in between was skipped.
    pub(crate) fn end_stretch(&mut self) {
        self.stretches.end();
    }

    /// What was found of the records that were sent in the measured phase; `None`: there was none.
    pub(crate) fn measured_records(&self, is_sample: bool) -> Option<MeasuredRecords> {
        let window = (*self.window.borrow())?;
        Some(MeasuredRecords {
            found: self.found.histogram().len(),
            windows: is_sample.then(|| self.stretches.count_within(window)),
        })
    }

    /// What the store's own instants are; `None`: it shows none.
    pub(crate) fn instants(&self) -> Option<InstantsInfo> {
        self.instants.info()
    }

    fn interval_of(&self, sent_ns: u64) -> u64 {
        sent_ns.saturating_sub(self.clock.start_unix_ns()) / self.interval_ns
    }

    fn note_found(&mut self, sent_ns: u64, arrived_ns: Option<u64>) {
        let interval = self.interval_of(sent_ns);
        self.found.note(interval, 0);
        let Some(arrived_ns) = arrived_ns else { return };
        self.instants.note(arrived_ns);
        match arrived_ns.checked_sub(sent_ns) {
            Some(delay_ns) => self.arrival.note(interval, delay_ns / 1_000),
            None => self.negative_delays += 1,
        }
    }

    fn note_delays(&mut self, stamp: RowStamp, times: RecordTimes) {
        let sent_ns = stamp.time_ns;
        let interval = self.interval_of(sent_ns);
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
        let since_ns = times.since_ns.clamp(sent_ns, times.received_ns);
        self.stretches.note(interval);
        self.visible.note(interval, delay_us);
        self.earliest.note(interval, (since_ns - sent_ns) / 1_000);
        let instants = self.due_instants.as_mut();
        if let Some(due_ns) = instants.and_then(|instants| instants.due_unix_ns(stamp.key)) {
            let delay_us = |at_ns: u64| at_ns.saturating_sub(due_ns) / 1_000;
            self.end_to_end.note(interval, delay_us(times.received_ns));
            self.earliest_end_to_end.note(interval, delay_us(since_ns));
        }
    }
}

/// Spreads keys, of which neighbours come together, evenly.
fn mix_bits(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
