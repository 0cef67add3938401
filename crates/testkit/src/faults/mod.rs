//! Kills under load on the whole way from the gateway to the database, and the account of it afterwards.
//!
//! The same in two forms: a few kills in a test, many by a command (`bench/faults`).

mod bed;
mod found;
mod schedule;

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use self::bed::{Bed, TELEGRAF_BUCKET, TOPIC};
pub use self::{
    found::{Balance, Found},
    schedule::{Kill, Target, schedule},
};
use crate::writers::{Account, Epoch, Fate, Told, Writers};

/// After a restart records must be acknowledged again by then: a broker's start takes longest, on a machine with much else to do.
pub(crate) const BACK_WITHIN: Duration = Duration::from_secs(300);
/// As fast as answers come, to know what half of that is.
const CAPACITY_FOR: Duration = Duration::from_secs(3);
/// Between two looks whether all has arrived.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Acknowledgements that show that records are taken again.
const BACK_RECORDS: u64 = 20;
/// What a cold broker takes before its capacity is measured.
const WARM_UP_RECORDS: u64 = 2_000;

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The built `waggle-gateway`.
    pub program: PathBuf,
    pub kills: Vec<Kill>,
    /// Half of the capacity is sent, and no more than so many requests per second.
    pub rate_max: u64,
    /// All that was acknowledged must be in the database so soon after the last kill.
    pub arrive_within: Duration,
}

/// One kill, carried out.
#[derive(Debug, Clone, Copy)]
pub struct Killed {
    pub kill: Kill,
    /// Since the first.
    pub at: Duration,
    /// From the restart until it took connections.
    pub up_after: Duration,
    /// From then until records were acknowledged.
    pub back_after: Duration,
    pub told: Told,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Requests per second that were acknowledged without a limit, before the first kill.
    pub capacity: u64,
    /// Requests per second that were sent from then on.
    pub rate: u64,
    pub told: Told,
    /// Records by their last word.
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

/// Carries a plan out; `tell` hears of every kill when it is over.
pub fn run(plan: &Plan, mut tell: impl FnMut(&Killed)) -> Outcome {
    let mut bed = Bed::start(&plan.program);
    let writers = Writers::start(bed.load.clone());
    wait_until_acknowledged(&writers, &bed, WARM_UP_RECORDS);
    let capacity = capacity(&writers);
    let rate = (capacity / 2).clamp(1, plan.rate_max);
    writers.pace(rate);
    let begun = Instant::now();
    for kill in &plan.kills {
        thread::sleep(kill.after);
        let at = begun.elapsed();
        bed.kill(kill.target);
        thread::sleep(kill.down);
        let restart = Instant::now();
        bed.restart(kill.target);
        let up_after = restart.elapsed();
        let back_after = wait_until_acknowledged(&writers, &bed, BACK_RECORDS);
        tell(&Killed {
            kill: *kill,
            at,
            up_after,
            back_after,
            told: writers.counts(),
        });
    }
    let (told, epoch) = (writers.counts(), writers.epoch);
    let accounts = writers.stop();
    settle(&bed, plan, &accounts, epoch, (capacity, rate, told))
}

/// Waits until so many records are acknowledged.
fn wait_until_acknowledged(writers: &Writers, bed: &Bed, records: u64) -> Duration {
    writers
        .wait_for_more(records, BACK_WITHIN)
        .unwrap_or_else(|| {
            panic!(
                "nothing is acknowledged within {BACK_WITHIN:?}:\n{}",
                bed.log_ends()
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

/// Waits for what is on its way, and draws the balances.
fn settle(
    bed: &Bed,
    plan: &Plan,
    accounts: &[Account],
    epoch: Epoch,
    (capacity, rate, told): (u64, u64, Told),
) -> Outcome {
    let strange = accounts.iter().find_map(|account| account.strange.as_ref());
    assert!(strange.is_none(), "{strange:?}\n{}", bed.log_ends());
    let begun = Instant::now();
    let wait_for = |bucket: &str| loop {
        let found = Found::in_influxdb(&bed.influxdb, bucket, epoch, accounts);
        let balance = found.balance(accounts);
        if balance.missing == 0 || begun.elapsed() > plan.arrive_within {
            assert_eq!(found.strangers(accounts), 0, "in {bucket}");
            return balance;
        }
        thread::sleep(LOOK_EVERY);
    };
    let (sink, telegraf) = (wait_for(bed.influxdb.bucket()), wait_for(TELEGRAF_BUCKET));
    let arrived_after = begun.elapsed();
    let kafka = Found::in_kafka(&bed.kafka.brokers(), TOPIC).balance(accounts);
    let count = |of: Fate| {
        let fates = accounts.iter().flat_map(|account| &account.fates);
        fates.filter(|fate| **fate == of).count()
    };
    Outcome {
        capacity,
        rate,
        told,
        acknowledged: count(Fate::Acknowledged),
        refused: count(Fate::Refused),
        unknown: count(Fate::Unknown),
        kafka,
        sink,
        telegraf,
        arrived_after,
    }
}
