//! What was found of a trial's records at one place, however the place is looked at.

use tokio::sync::watch;

use super::{
    delays::{Delays, Window},
    following::{Following, nanoseconds},
    lines::RowStamp,
    seen::{Fate, Seen},
};
use crate::clock::Clock;

/// When a record was noticed, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noticed {
    /// The probe had it.
    pub(crate) received_ns: u64,
    /// The place had it, where it says so itself.
    pub(crate) arrived_ns: Option<u64>,
}

/// What was known of a record when it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It was never seen before.
    First,
    /// It was seen before the place's component was killed, and is still there.
    StillThere,
    /// Nothing new, or none of this run's.
    Known,
}

/// The account of one place.
#[derive(Debug)]
pub(crate) struct Notes {
    pub(crate) clock: Clock,
    interval_ns: u64,
    late_after_us: Option<u64>,
    /// What stands there, as far as it was read.
    pub(crate) seen: Seen,
    /// What stood there before it was read anew.
    before: Option<Seen>,
    pub(crate) late: u64,
    pub(crate) negative_delays: u64,
    visible: Delays,
    arrival: Delays,
    arrivals_are_known: bool,
    has_others: bool,
    window: watch::Receiver<Option<Window>>,
}

impl Notes {
    pub(crate) fn new(following: &Following<'_>) -> Self {
        Self {
            clock: following.clock,
            interval_ns: nanoseconds(following.interval).max(1),
            late_after_us: following
                .delivery
                .late_threshold
                .map(|after| nanoseconds(after) / 1_000),
            seen: Seen::new(following.workers, following.sequence_max),
            before: None,
            late: 0,
            negative_delays: 0,
            visible: Delays::new(),
            arrival: Delays::new(),
            arrivals_are_known: false,
            has_others: following.has_others,
            window: following.window.clone(),
        }
    }

    /// Takes up the measured phase as soon as it is known; due before records are noted.
    pub(crate) fn look_at_window(&mut self) {
        if let Some(window) = *self.window.borrow() {
            self.visible.decide(window);
            self.arrival.decide(window);
        }
    }

    /// The place is read anew: what was seen there counts only where it is seen again. Its delays are known, and stay.
    pub(crate) fn begin_anew(&mut self) {
        // Of the order, too, what counts is how records came first: partitions that are read anew come one after the other.
        let mut empty = self.seen.empty_copy();
        empty.out_of_order = self.seen.out_of_order;
        let seen = std::mem::replace(&mut self.seen, empty);
        match &mut self.before {
            Some(before) => before.join(&seen),
            None => self.before = Some(seen),
        }
    }

    /// A record stands in the place.
    pub(crate) fn record(&mut self, stamp: RowStamp, noticed: Noticed) -> Sight {
        let out_of_order = self.seen.out_of_order;
        let fate = self.seen.note(stamp.key);
        self.sight((fate, out_of_order), stamp, noticed)
    }

    /// The same at a place that is read again and again, and not in order: once more is no copy.
    pub(crate) fn record_again(&mut self, stamp: RowStamp, noticed: Noticed) -> Sight {
        let out_of_order = self.seen.out_of_order;
        let fate = self.seen.note_again(stamp.key);
        self.sight((fate, out_of_order), stamp, noticed)
    }

    /// `out_of_order` is how many were before this one.
    fn sight(
        &mut self,
        (fate, out_of_order): (Fate, u64),
        stamp: RowStamp,
        noticed: Noticed,
    ) -> Sight {
        if fate != Fate::New {
            return Sight::Known;
        }
        let before = self.before.as_ref();
        if before.is_some_and(|before| before.has_key(stamp.key)) {
            self.seen.out_of_order = out_of_order;
            return Sight::StillThere;
        }
        self.delays(stamp.time_ns, noticed);
        Sight::First
    }

    /// A record was seen that has not this trial's mark.
    pub(crate) fn note_foreign_record(&mut self) {
        if !self.has_others {
            self.seen.note_foreign();
        }
    }

    /// The same at a place that is read again and again: how often says nothing.
    pub(crate) fn other_again(&mut self) {
        if !self.has_others {
            self.seen.foreign = self.seen.foreign.max(1);
        }
    }

    /// Delays until visible of what was sent in the measured phase, in microseconds.
    pub(crate) fn visible(&self) -> &hdrhistogram::Histogram<u64> {
        self.visible.histogram()
    }

    /// Delays until the place had it; `None` where it does not say.
    pub(crate) fn arrival(&self) -> Option<&hdrhistogram::Histogram<u64>> {
        self.arrivals_are_known.then(|| self.arrival.histogram())
    }

    fn delays(&mut self, sent_ns: u64, noticed: Noticed) {
        let since_start = sent_ns.saturating_sub(self.clock.start_unix_ns());
        let interval = since_start / self.interval_ns;
        if let Some(arrived_ns) = noticed.arrived_ns {
            self.arrivals_are_known = true;
            match arrived_ns.checked_sub(sent_ns) {
                Some(delay_ns) => self.arrival.note(interval, delay_ns / 1_000),
                None => self.negative_delays += 1,
            }
        }
        let Some(delay_ns) = noticed.received_ns.checked_sub(sent_ns) else {
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
