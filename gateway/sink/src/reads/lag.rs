//! Polls Kafka for the lag (end of the log minus committed offset), which also shows whether Kafka is available.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rdkafka::{Offset, TopicPartitionList, consumer::Consumer, error::KafkaResult};

use crate::{
    backlog::OwnedPartition, health::Check, reads::consumer::Group, settings::StartOffset,
    shared::Shared,
};

/// Poll interval.
const EVERY: Duration = Duration::from_secs(2);
/// Timeout of an answer of Kafka.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Interval of checks for a stop.
const STEP: Duration = Duration::from_millis(100);

/// Polls until `stop` is set.
pub(crate) fn run(shared: &Shared, group: &Group, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match round(shared, group, stop) {
            Ok(()) => {
                shared.health.pass(Check::KafkaAccess);
                shared.health.pass(Check::Kafka);
            }
            Err(error) => shared
                .health
                .fail(Check::Kafka, &format!("asking Kafka for offsets: {error}")),
        }
        let begun = Instant::now();
        while begun.elapsed() < EVERY && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STEP);
        }
    }
}

fn round(shared: &Shared, group: &Group, stop: &AtomicBool) -> KafkaResult<()> {
    let ours = shared.backlog.partitions();
    if ours.is_empty() {
        // Without partitions, metadata shows whether Kafka answers.
        group.fetch_metadata(None, ANSWER_WITHIN)?;
    }
    let known = committed_before(group, &ours)?;
    let mut lags = BTreeMap::new();
    for OwnedPartition { source, committed } in ours {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (low, high) = group.fetch_watermarks(&source.topic, source.partition, ANSWER_WITHIN)?;
        let key = (Arc::clone(&source.topic), source.partition);
        let begin = match shared.settings.offset_reset {
            StartOffset::Earliest => low,
            StartOffset::Latest => high,
        };
        let position = committed.or(known.get(&key).copied()).unwrap_or(begin);
        lags.insert(key, (high - position.max(low)).max(0));
    }
    shared.metrics.set_lags(lags);
    discover_topics(shared, group)
}

/// Notices that missing topics exist now.
fn discover_topics(shared: &Shared, group: &Group) -> KafkaResult<()> {
    if !shared.health.is_failing(Check::Topics) {
        return Ok(());
    }
    for topic in &shared.settings.topic {
        let answer = group.fetch_metadata(Some(topic), ANSWER_WITHIN)?;
        let hit = (answer.topics().iter()).any(|hit| {
            hit.name() == topic && hit.error().is_none() && !hit.partitions().is_empty()
        });
        if !hit {
            return Ok(());
        }
    }
    shared.health.pass(Check::Topics);
    Ok(())
}

/// Offsets that the group committed earlier, for partitions without a commit of this sink.
fn committed_before(
    group: &Group,
    ours: &[OwnedPartition],
) -> KafkaResult<BTreeMap<(Arc<str>, i32), i64>> {
    let mut asked = TopicPartitionList::new();
    for partition in ours
        .iter()
        .filter(|partition| partition.committed.is_none())
    {
        let source = &partition.source;
        asked.add_partition(&source.topic, source.partition);
    }
    if asked.count() == 0 {
        return Ok(BTreeMap::new());
    }
    let answered = group.committed_offsets(asked, ANSWER_WITHIN)?;
    let known = answered
        .elements()
        .iter()
        .filter_map(|element| match element.offset() {
            Offset::Offset(offset) => Some(((element.topic().into(), element.partition()), offset)),
            _ => None,
        })
        .collect();
    Ok(known)
}
