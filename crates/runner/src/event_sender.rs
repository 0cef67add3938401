//! Sends events to the caller, and never waits long for it.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::mpsc, time::timeout};
use waggle_load::Interval;
use waggle_results::PhaseName;

use crate::event::Event;

/// Intervals that may wait for the receiver: each has several histograms of a few hundred kilobytes.
const INTERVALS_MAX: usize = 8;
/// If the receiver is slower than this, events are dropped.
const WAIT_AT_MOST: Duration = Duration::from_secs(1);

/// Sends events.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    sender: mpsc::Sender<Event>,
    /// They are of the second of two trials at the same time.
    is_of_partner: bool,
}

impl Events {
    pub(crate) fn new(sender: mpsc::Sender<Event>) -> Self {
        Self {
            sender,
            is_of_partner: false,
        }
    }

    /// For the second of two trials at the same time.
    pub(crate) fn partner(&self) -> Self {
        Self {
            is_of_partner: true,
            ..self.clone()
        }
    }

    fn mark(&self, event: Event) -> Event {
        match self.is_of_partner {
            true => Event::Partner(Box::new(event)),
            false => event,
        }
    }

    /// Sends an event; waits a moment for a slow receiver.
    pub(crate) async fn report(&self, event: Event) {
        let event = self.mark(event);
        timeout(WAIT_AT_MOST, self.sender.send(event)).await.ok();
    }

    /// Sends an event without waiting; false if the receiver is too slow and misses it.
    pub(crate) fn show(&self, event: Event) -> bool {
        self.sender.try_send(self.mark(event)).is_ok()
    }
}

/// Sends the intervals of one load. If too many wait in the channel, new ones are merged until one can be sent: the load never
/// waits for its display.
#[derive(Debug)]
pub(crate) struct IntervalEvents {
    events: Events,
    /// The sent intervals, as long as the receiver holds them.
    sent: Vec<Weak<Interval>>,
    /// One per phase, in order.
    waiting: VecDeque<(PhaseName, Arc<Interval>)>,
}

impl IntervalEvents {
    pub(crate) fn new(events: Events) -> Self {
        Self {
            events,
            sent: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn show(&mut self, phase: PhaseName, interval: Arc<Interval>) {
        match self.waiting.back_mut() {
            Some((same, waiting)) if *same == phase => {
                Arc::make_mut(waiting).follow(&interval);
            }
            _ => self.waiting.push_back((phase, interval)),
        }
        self.send();
    }

    /// Sends another event, which a slow receiver misses.
    pub(crate) fn show_extra(&self, event: Event) {
        if self.waiting.is_empty() {
            self.events.show(event);
        }
    }

    /// The load has ended: sends what waits, however slow the receiver is.
    pub(crate) async fn end(&mut self) {
        for (phase, interval) in self.waiting.drain(..) {
            self.events
                .report(Event::Interval { phase, interval })
                .await;
        }
    }

    /// Sends what waits, if the receiver keeps up.
    fn send(&mut self) {
        self.sent.retain(|sent| sent.strong_count() > 0);
        while let Some((phase, interval)) = self.waiting.front()
            && self.sent.len() < INTERVALS_MAX
        {
            let (phase, sent) = (*phase, Arc::downgrade(interval));
            let interval = Arc::clone(interval);
            if !self.events.show(Event::Interval { phase, interval }) {
                return;
            }
            self.waiting.pop_front();
            self.sent.push(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::MachineInfo;
    use waggle_spec::TimeKind;

    use super::*;

    fn interval(index: u32) -> Arc<Interval> {
        let length = Duration::from_millis(250);
        let mut made = Interval::new(index.into(), length * index, 0);
        made.length = length;
        made.counts.succeeded = 1;
        made.times[TimeKind::Response]
            .record(u64::from(index) + 1)
            .unwrap();
        Arc::new(made)
    }

    fn received_intervals(receiver: &mut mpsc::Receiver<Event>) -> Vec<(PhaseName, Arc<Interval>)> {
        let mut received = Vec::new();
        while let Ok(event) = receiver.try_recv() {
            if let Event::Interval { phase, interval } = event {
                received.push((phase, interval));
            }
        }
        received
    }

    #[test]
    fn a_slow_receiver_gets_fewer_intervals_and_every_count() {
        let (sender, mut receiver) = mpsc::channel(100);
        let mut events = IntervalEvents::new(Events::new(sender));
        for index in 0..20 {
            events.show(PhaseName::WarmUp, interval(index));
        }
        for index in 20..40 {
            events.show(PhaseName::Measure, interval(index));
        }
        let first = received_intervals(&mut receiver);
        assert_eq!(first.len(), INTERVALS_MAX);
        drop(first);
        events.show(PhaseName::Measure, interval(40));
        events.show(PhaseName::Measure, interval(41));
        let [(_, warm_up), (_, together), (_, alone)] = &received_intervals(&mut receiver)[..]
        else {
            panic!("what waited goes as one a phase");
        };
        assert_eq!(warm_up.counts.succeeded, 12);
        assert_eq!(together.counts.succeeded, 21);
        assert_eq!(together.times[TimeKind::Response].len(), 21);
        assert_eq!(together.start, Duration::from_secs(5));
        assert_eq!(together.start + together.length, alone.start);
        assert_eq!(alone.counts.succeeded, 1);
    }

    #[test]
    fn a_full_channel_loses_no_count() {
        let (sender, mut receiver) = mpsc::channel(3);
        let mut events = IntervalEvents::new(Events::new(sender));
        let mut succeeded = 0;
        for round in 0..4 {
            for index in 0..10 {
                events.show(PhaseName::Measure, interval(10 * round + index));
                events.show_extra(Event::Machine {
                    used: MachineInfo::default(),
                    cpus: 2,
                });
            }
            let counts = received_intervals(&mut receiver);
            succeeded += counts
                .iter()
                .map(|(_, interval)| interval.counts.succeeded)
                .sum::<u64>();
        }
        let waiting = events.waiting.iter();
        let waiting = waiting.map(|(_, interval)| interval.counts.succeeded);
        assert_eq!(succeeded + waiting.sum::<u64>(), 40);
    }

    #[test]
    fn a_receiver_that_keeps_up_gets_each_interval() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut events = IntervalEvents::new(Events::new(sender));
        for index in 0..3 * u32::try_from(INTERVALS_MAX).unwrap() {
            events.show(PhaseName::Measure, interval(index));
            assert_eq!(
                received_intervals(&mut receiver).len(),
                1,
                "interval {index}"
            );
        }
    }

    #[tokio::test]
    async fn what_waits_at_the_end_is_sent() {
        let (sender, mut receiver) = mpsc::channel(100);
        let mut events = IntervalEvents::new(Events::new(sender));
        for index in 0..20 {
            events.show(PhaseName::Finish, interval(index));
        }
        events.end().await;
        let counts = received_intervals(&mut receiver);
        let counts = counts.iter().map(|(_, entry)| entry.counts.succeeded);
        assert_eq!(counts.sum::<u64>(), 20);
    }
}
