//! When the gathered records are sent, and by whom: a worker that has records or has answered clients, the thread for
//! acknowledgements, or the one for timeouts at the end of `--kafka-linger`.

use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rdkafka::producer::BaseRecord;

use super::{
    Inner,
    batch::{Message, Sender},
    flight::Flight,
    metrics::Failure,
    settings::Gathering,
    staging::Staging,
    topic_admin,
};
use crate::{
    answers::problem::Problem,
    log::ticket::{Fate, Ticket},
};

/// Interval of checks for late batches, and for small batches that have waited.
const WATCH_EVERY: Duration = Duration::from_millis(5);
impl Inner {
    /// Accepts what a worker staged, and sends the gathered records if they are due.
    pub(crate) fn submit(
        &self,
        staging: &mut Staging,
        worker: u32,
    ) -> Result<Vec<(u32, Ticket)>, Problem> {
        staging.take_back();
        let records = staging.batch.records();
        let mut sender = self.sender();
        if let Err((problem, failure)) = self.admit(&sender, records) {
            drop(sender);
            staging.clear();
            self.metrics.count_failure(failure, records);
            return Err(problem);
        }
        let tickets = sender
            .gathering
            .take_in(&mut staging.batch, worker, self.limits);
        let is_first = sender.since.is_none() && !sender.gathering.is_empty();
        if is_first {
            sender.since = Some(Instant::now());
        }
        self.send_gathered(&mut sender);
        let waits = is_first && sender.since.is_some();
        drop(sender);
        if waits && !self.settings.kafka_linger.is_zero() {
            self.linger_begins.notify_one();
        }
        Ok(tickets)
    }

    fn admit(&self, sender: &Sender, records: usize) -> Result<(), (Problem, Failure)> {
        if sender.is_closed {
            return Err((
                Problem::new(503, "the gateway is shutting down"),
                Failure::Away,
            ));
        }
        if let Some(reason) = self.health.outage_reason() {
            return Err((topic_admin::unavailable_problem(&reason), Failure::Away));
        }
        let waiting = sender.gathering.records();
        if waiting > 0 && waiting + records > self.queue_max_records {
            return Err((Problem::queue_full(), Failure::Full));
        }
        Ok(())
    }

    /// Sends the gathered records if they are due.
    pub(crate) fn send(&self) {
        self.send_gathered(&mut self.sender());
    }

    /// Sends the gathered records if they are many. A worker sends a small batch, after answering clients, whose next requests
    /// may join it.
    pub(super) fn send_large(&self) {
        let mut sender = self.sender();
        if sender.gathering.records() >= self.settings.kafka_batch_min_records {
            self.send_gathered(&mut sender);
        }
    }

    pub(super) fn send_gathered(&self, sender: &mut Sender) {
        if sender.is_held
            || !self.is_to_be_sent(sender)
            || self.health.is_away()
            || sender.gathering.is_empty()
        {
            return;
        }
        let since = sender.since.take().unwrap_or_else(Instant::now);
        for lines in sender.gathering.topics() {
            let flight = Arc::new(Flight::new(lines, since));
            self.flights.add(&flight);
            lines.topic.end_turn();
            for message in lines.messages() {
                self.send_message(&lines.topic.name, message, &flight);
            }
        }
        sender.gathering.clear();
    }

    /// Whether the gathered records are due.
    fn is_to_be_sent(&self, sender: &Sender) -> bool {
        let waited = || sender.since.map_or(Duration::ZERO, |since| since.elapsed());
        let gathering = Gathering {
            records: sender.gathering.records(),
            batches_in_flight: self.flights.count(),
        };
        self.settings.is_due(gathering, waited)
    }

    fn send_message(&self, topic: &str, message: &Message, flight: &Arc<Flight>) {
        let lines = message.bytes.strip_suffix(b"\n").unwrap_or(&message.bytes);
        let partition = i32::try_from(message.partition).expect("Kafka counts them so");
        let record = BaseRecord::<(), [u8], _>::with_opaque_to(topic, Arc::clone(flight))
            .partition(partition)
            .payload(lines);
        if let Err((error, _)) = self.producer.client().send(record) {
            self.health.note_message(&format!(
                "a message for partition {partition} of topic {topic} could not be queued: {error}"
            ));
            if flight.on_acknowledgement(message.partition, false) {
                self.settle_flight(flight);
            }
        }
    }

    /// The thread for timeouts, until the log is closed and every record is settled.
    pub(super) fn watch(&self) {
        loop {
            self.send_lingering(Instant::now() + WATCH_EVERY);
            self.give_up_late();
            if let Some(reason) = self.health.outage_reason() {
                self.topics
                    .refuse_pending(|| topic_admin::unavailable_problem(&reason));
            }
            let mut sender = self.sender();
            let is_late = |since: Instant| since.elapsed() >= self.settings.kafka_delivery_timeout;
            if self.health.is_away() || sender.since.is_some_and(is_late) {
                self.refuse_gathered(&mut sender);
            }
            self.send_gathered(&mut sender);
            if sender.is_closed && sender.gathering.is_empty() && self.flights.count() == 0 {
                break;
            }
        }
    }

    /// Sends what has waited for `--kafka-linger`, until an instant.
    fn send_lingering(&self, until: Instant) {
        let mut sender = self.sender();
        loop {
            self.send_gathered(&mut sender);
            let now = Instant::now();
            if now >= until {
                return;
            }
            // What is left after its linger waits for an acknowledgement.
            let ends = sender.since.map(|since| since + self.settings.kafka_linger);
            let next = ends.filter(|end| (now..until).contains(end));
            let pause = next.unwrap_or(until).duration_since(now);
            let waited = self.linger_begins.wait_timeout(sender, pause);
            sender = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn refuse_gathered(&self, sender: &mut Sender) {
        let mut workers = 0;
        for lines in sender.gathering.topics() {
            if let Some(ticket) = &lines.ticket {
                ticket.settle(Fate::Failed);
            }
            self.metrics.count_failure(Failure::Timeout, lines.records);
            workers |= lines.workers;
        }
        sender.gathering.clear();
        sender.since = None;
        self.wake(workers);
    }

    pub(super) fn sender(&self) -> MutexGuard<'_, Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
