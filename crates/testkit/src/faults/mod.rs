//! Kills programs of the pipeline from gateway to database under load, and accounts for every record afterwards.
//!
//! Two forms: a few kills in a test, many by a command (`bench/faults`).

mod pipeline;
mod schedule;
mod stored;

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use self::pipeline::{Pipeline, TELEGRAF_BUCKET, TOPIC};
pub use self::{
    schedule::{Kill, Target, schedule},
    stored::{Balance, StoredKeys},
};
use crate::writers::{AnswerCounts, Epoch, Fate, WriterLog, Writers};

/// Timeout until records are acknowledged again after a restart: the start of a broker on a busy machine takes longest.
pub(crate) const BACK_WITHIN: Duration = Duration::from_secs(300);
/// Time at full speed, to measure the capacity.
const CAPACITY_FOR: Duration = Duration::from_secs(3);
/// Interval of checks whether all has arrived.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Acknowledgements that show that records are accepted again.
const BACK_RECORDS: u64 = 20;
/// Records for the warm-up of a broker before its capacity is measured.
const WARM_UP_RECORDS: u64 = 2_000;

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The built `waggle-gateway`.
    pub program: PathBuf,
    pub kills: Vec<Kill>,
    /// Most requests per second; at most half of the capacity is sent.
    pub rate_max: u64,
    /// Timeout after the last kill until all acknowledged records are in the database.
    pub arrive_within: Duration,
}

/// One kill and its restart.
#[derive(Debug, Clone, Copy)]
pub struct Killed {
    pub kill: Kill,
    /// Since the first.
    pub at: Duration,
    /// From the restart until it accepted connections.
    pub up_after: Duration,
    /// From then until records were acknowledged.
    pub back_after: Duration,
    pub answers: AnswerCounts,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Requests per second that were acknowledged without a limit, before the first kill.
    pub capacity: u64,
    /// Requests per second that were sent from then on.
    pub rate: u64,
    pub answers: AnswerCounts,
    /// Records by their last answer.
    pub acknowledged: usize,
    pub refused: usize,
    pub unknown: usize,
    pub kafka: Balance,
    /// What the sink wrote, and what Telegraf wrote.
    pub sink: Balance,
    pub telegraf: Balance,
    /// From the end of the load until all was in the database.
    pub arrived_after: Duration,
}

/// Executes a plan; `report` is called after every kill.
pub fn run(plan: &Plan, mut report: impl FnMut(&Killed)) -> Outcome {
    let mut pipeline = Pipeline::start(&plan.program);
    let writers = Writers::start(pipeline.load.clone());
    wait_until_acknowledged(&writers, &pipeline, WARM_UP_RECORDS);
    let capacity = capacity(&writers);
    let rate = (capacity / 2).clamp(1, plan.rate_max);
    writers.set_rate(rate);
    let begun = Instant::now();
    for kill in &plan.kills {
        thread::sleep(kill.after);
        let moment = begun.elapsed();
        pipeline.kill(kill.target);
        thread::sleep(kill.down);
        let restart = Instant::now();
        pipeline.restart(kill.target);
        let up_after = restart.elapsed();
        let back_after = wait_until_acknowledged(&writers, &pipeline, BACK_RECORDS);
        report(&Killed {
            kill: *kill,
            at: moment,
            up_after,
            back_after,
            answers: writers.counts(),
        });
    }
    let sent = Sent {
        capacity,
        rate,
        answers: writers.counts(),
        epoch: writers.epoch,
        logs: writers.stop(),
    };
    settle(&pipeline, plan, &sent)
}

/// The whole load, after its end.
struct Sent {
    /// See [`Outcome`].
    capacity: u64,
    rate: u64,
    answers: AnswerCounts,
    epoch: Epoch,
    logs: Vec<WriterLog>,
}

/// Waits until this many records are acknowledged.
fn wait_until_acknowledged(writers: &Writers, pipeline: &Pipeline, records: u64) -> Duration {
    writers
        .wait_for_more(records, BACK_WITHIN)
        .unwrap_or_else(|| {
            panic!(
                "nothing is acknowledged within {BACK_WITHIN:?}:\n{}",
                pipeline.log_ends()
            )
        })
}

fn capacity(writers: &Writers) -> u64 {
    let before = writers.counts().acknowledged;
    let begun = Instant::now();
    thread::sleep(CAPACITY_FOR);
    let acknowledged = writers.counts().acknowledged - before;
    let millis = u64::try_from(begun.elapsed().as_millis()).expect("a few seconds");
    acknowledged * 1000 / millis.max(1)
}

/// Waits until all records have arrived, and compares.
fn settle(pipeline: &Pipeline, plan: &Plan, sent: &Sent) -> Outcome {
    let logs = &sent.logs;
    let unexpected = logs.iter().find_map(|log| log.unexpected.as_ref());
    assert!(
        unexpected.is_none(),
        "{unexpected:?}\n{}",
        pipeline.log_ends()
    );
    let begun = Instant::now();
    let deadline = begun + plan.arrive_within;
    let sink = wait_for_arrival(pipeline, pipeline.influxdb.bucket(), sent, deadline);
    let telegraf = wait_for_arrival(pipeline, TELEGRAF_BUCKET, sent, deadline);
    let arrived_after = begun.elapsed();
    let kafka = StoredKeys::in_kafka(&pipeline.kafka.brokers(), TOPIC).balance(logs);
    let count = |kind: Fate| {
        let fates = logs.iter().flat_map(|log| &log.fates);
        fates.filter(|fate| **fate == kind).count()
    };
    Outcome {
        capacity: sent.capacity,
        rate: sent.rate,
        answers: sent.answers,
        acknowledged: count(Fate::Acknowledged),
        refused: count(Fate::Refused),
        unknown: count(Fate::Unknown),
        kafka,
        sink,
        telegraf,
        arrived_after,
    }
}

/// The balance of a bucket, as soon as no record is missing there, or at the deadline.
fn wait_for_arrival(pipeline: &Pipeline, bucket: &str, sent: &Sent, deadline: Instant) -> Balance {
    loop {
        let keys = StoredKeys::in_influxdb(&pipeline.influxdb, bucket, sent.epoch, &sent.logs);
        let balance = keys.balance(&sent.logs);
        if balance.missing == 0 || Instant::now() > deadline {
            assert_eq!(keys.unknown_keys(&sent.logs), 0, "in {bucket}");
            return balance;
        }
        thread::sleep(LOOK_EVERY);
    }
}
