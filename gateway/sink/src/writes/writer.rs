//! A writer: takes a batch, retries until all of it is in the database or in the dead-letter topic, takes the next.

use std::{
    io::Write,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use waggle_influxdb::NoAnswer;

use crate::{
    backoff::chance,
    health::Check,
    metrics::{Dead, Retry},
    shared::Shared,
    writes::{
        batch::{Batch, Unwritten},
        bisect::Bisection,
        influxdb::{Body, Connection},
        verdict::{Answer, Cause, Refusal, Verdict, verdict},
    },
};

pub(crate) struct Writer {
    shared: Arc<Shared>,
    connection: Connection,
}

/// Outcome of a write after its retries.
enum Settled {
    Written,
    Refused(Refusal),
    TooLarge(String),
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            connection: Connection::default(),
        }
    }

    /// Runs until the backlog has ended.
    pub(crate) async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        while let Some(mut batch) = shared.backlog.take().await {
            self.settle(&mut batch).await;
            shared.metrics.batch_done(&batch);
            shared.backlog.on_written(batch.id);
        }
    }

    async fn settle(&mut self, batch: &mut Batch) {
        let wrong = std::mem::take(&mut batch.wrong);
        self.put_aside(Dead::Unreadable, &wrong).await;
        if batch.lines() == 0 {
            return;
        }
        let body = Bytes::from(std::mem::take(&mut batch.body));
        let settled = self.write(&body, batch.lines()).await;
        // The lines are needed again only after a refusal.
        match settled {
            Settled::Written => {}
            settled => {
                batch.body = body.into();
                self.bisect(batch, settled).await;
            }
        }
    }

    /// Finds the refused lines, writes them to the dead-letter topic, and writes the others to the database.
    async fn bisect(&mut self, batch: &Batch, first: Settled) {
        let messages = batch.first_lines();
        let mut bisection = Bisection::new(batch.lines(), &messages);
        let mut settled = Some(first);
        while let Some(piece) = bisection.piece() {
            let outcome = match settled.take() {
                Some(outcome) => outcome,
                None => self.write(&batch.body_of(piece).into(), piece.len()).await,
            };
            let (named, reason, dead) = match outcome {
                Settled::Written => {
                    bisection.on_written();
                    continue;
                }
                Settled::Refused(refusal) => (
                    refused_lines(batch, piece, &refusal),
                    refusal.reason,
                    Dead::Refused,
                ),
                Settled::TooLarge(reason) => (Vec::new(), reason, Dead::TooLarge),
            };
            let at_fault = bisection.on_refusal(&named, &reason);
            let letters: Vec<Unwritten> = (at_fault.into_iter())
                .map(|fault| batch.unwritten(fault.line, fault.reason))
                .collect();
            self.put_aside(dead, &letters).await;
        }
    }

    /// Writes with retries until the database accepts or refuses the lines.
    async fn write(&mut self, lines: &Bytes, count: usize) -> Settled {
        let shared = Arc::clone(&self.shared);
        let body = self.body(lines);
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            let writing = shared.metrics.write_begins();
            let answered = self.connection.write(&shared.influxdb, &body).await;
            drop(writing);
            let said = match answered {
                Ok(answered) => {
                    shared
                        .metrics
                        .count_answer(answered.status, begun.elapsed());
                    let answer = Answer {
                        status: answered.status,
                        retry_after: answered.retry_after.as_deref(),
                        body: &answered.body,
                    };
                    verdict(&answer, SystemTime::now())
                }
                Err(failure) => unreachable_verdict(&failure),
            };
            let (retry, wait) = match said {
                Verdict::Written => {
                    shared.database_works();
                    shared
                        .metrics
                        .count_written(lines.len(), body.bytes.len(), count);
                    return Settled::Written;
                }
                Verdict::Refused(refusal) if self.is_of_lines(&refusal) => {
                    shared.health.pass(Check::Database);
                    shared.health.pass(Check::Access);
                    return Settled::Refused(refusal);
                }
                Verdict::TooLarge(reason) => {
                    shared.health.pass(Check::Database);
                    shared.backlog.shrink(lines.len() / 2);
                    return Settled::TooLarge(reason);
                }
                Verdict::Refused(refusal) => self.denied_retry(&refusal.reason),
                Verdict::Denied(reason) => self.denied_retry(&reason),
                Verdict::Later { reason, wait } => {
                    shared.health.fail(
                        Check::Database,
                        &format!("the database is unavailable: {reason}"),
                    );
                    (Retry::Database, wait)
                }
            };
            failures += 1;
            shared.metrics.count_retry(retry);
            tokio::time::sleep(shared.backoff.wait(failures, wait, chance())).await;
        }
    }

    /// Whether a refusal is about the lines. If it may be about the request, it is only if an earlier write succeeded.
    fn is_of_lines(&self, refusal: &Refusal) -> bool {
        refusal.cause != Cause::Unknown || self.shared.has_written()
    }

    fn denied_retry(&self, reason: &str) -> (Retry, Option<Duration>) {
        let health = &self.shared.health;
        health.fail(
            Check::Access,
            &format!("the database refuses the sink: {reason}"),
        );
        if let Err(problem) = self.shared.influxdb.renew_token() {
            health.fail(Check::Access, &problem.to_string());
        }
        (Retry::Access, None)
    }

    fn body(&self, lines: &Bytes) -> Body {
        let level = self.shared.settings.gzip_level;
        let compressed = (level > 0).then(|| gzip(lines, level)).transpose();
        match compressed {
            Ok(Some(bytes)) => Body {
                bytes,
                is_gzip: true,
            },
            // Compression in memory does not fail; if it did, the lines are sent uncompressed.
            Ok(None) | Err(_) => Body {
                bytes: lines.clone(),
                is_gzip: false,
            },
        }
    }

    /// Writes lines to the dead-letter topic, with retries until Kafka has them all.
    async fn put_aside(&self, dead: Dead, letters: &[Unwritten]) {
        let shared = &self.shared;
        let mut failures = 0;
        if letters.is_empty() {
            return;
        }
        while let Err(problem) = shared.dead_letters.write(letters).await {
            shared.health.fail(Check::DeadLetters, &problem.to_string());
            failures += 1;
            shared.metrics.count_retry(Retry::DeadLetters);
            tokio::time::sleep(shared.backoff.wait(failures, None, chance())).await;
        }
        shared.health.pass(Check::DeadLetters);
        shared.metrics.put_aside(dead, letters.len());
    }
}

/// The lines of a piece that the refusal names; none if that is not certain.
fn refused_lines(batch: &Batch, piece: &[usize], refusal: &Refusal) -> Vec<usize> {
    let means = |line: &usize| refusal.means(batch.line(*line));
    let named: Vec<usize> = piece.iter().copied().filter(means).collect();
    // If the number differs from the dropped lines, the refusal has further reasons.
    if refusal.dropped == Some(named.len()) {
        named
    } else {
        Vec::new()
    }
}

fn unreachable_verdict(failure: &NoAnswer) -> Verdict {
    Verdict::Later {
        reason: failure.to_string(),
        wait: None,
    }
}

fn gzip(lines: &[u8], level: u32) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 4), Compression::new(level));
    encoder.write_all(lines)?;
    Ok(encoder.finish()?.into())
}
