//! The thread for topic metadata: creates topics, notices new partitions, deleted topics and changed credentials, and checks whether
//! an unavailable cluster is back. It may block on answers, so that no other thread does.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use rdkafka::{
    admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication},
    client::DefaultClientContext,
    error::KafkaError,
    metadata::Metadata,
    producer::Producer,
    types::RDKafkaErrorCode,
};

use super::{
    Inner,
    acknowledging::Acknowledging,
    producer::{Renewal, create, release},
    settings::{BATCH_OVERHEAD_BYTES, KafkaSettings},
    topic::{Asking, Task, TopicMetadata, Wanted},
};
use crate::{
    answers::problem::Problem,
    clients::identity::{audit::Event, caller::Caller},
};

/// Interval of checks for tasks.
const ROUND: Duration = Duration::from_millis(100);
/// Timeout for creating a topic, until all its partitions have leaders.
const MADE_WITHIN: Duration = Duration::from_secs(10);
/// Interval of checks for the leaders of a new topic, and for the end of what is in flight.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest name of a topic in Kafka.
const NAME_MAX_BYTES: usize = 249;
/// Prefix of topics that Kafka and programs beside it, such as a schema registry, keep for themselves.
const INTERNAL_PREFIX: &str = "_";

pub(super) struct TopicAdmin {
    inner: Arc<Inner>,
    runtime: tokio::runtime::Runtime,
    refreshed: Instant,
    renewal: Renewal,
}

/// State of a topic in the cluster.
enum TopicState {
    Here(u32),
    /// Some partition has no leader yet.
    NotYet,
    Absent,
}

impl TopicAdmin {
    pub(super) fn new(inner: Arc<Inner>) -> std::io::Result<Self> {
        Ok(Self {
            inner,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?,
            refreshed: Instant::now(),
            renewal: Renewal::new(),
        })
    }

    /// Runs until topics are closed.
    pub(super) fn run(mut self) {
        loop {
            match self.inner.topics.next(ROUND) {
                Task::Find(wanted) => self.look_up(wanted),
                Task::Nothing => {}
                Task::Closed => return,
            }
            let inner = &self.inner;
            self.renewal.look(&inner.access, || replace_producer(inner));
            if self.inner.health.is_to_be_seen() {
                self.check_cluster();
            } else if self.refreshed.elapsed()
                >= self.inner.settings.kafka_metadata_refresh_interval
            {
                self.refresh();
            }
        }
    }

    /// Finds a topic for who waits for it. It does not count as new if it was there, or if nobody could say whether it was.
    fn look_up(&self, mut wanted: Wanted) {
        let name = &wanted.name;
        let kafka_name = format!("{}{name}", self.inner.settings.kafka_topic_prefix);
        let metadata = self.find(&kafka_name, wanted.asking.as_mut());
        if let Err(problem) = &metadata {
            self.inner.health.note_message(&problem.detail);
            if problem.status == 503 {
                take_back(wanted.asking.as_mut());
            }
        }
        self.inner.topics.note(name, kafka_name, metadata);
    }

    /// Finds a topic or creates it for a client, and reads its limits.
    fn find(&self, name: &str, asking: Option<&mut Asking>) -> Result<TopicMetadata, Problem> {
        if name.starts_with(INTERNAL_PREFIX) {
            return Err(Problem::new(
                403,
                format!(
                    "topic {name} is internal to Kafka or its programs: its name begins with {INTERNAL_PREFIX}"
                ),
            ));
        }
        if let Some(reason) = self.inner.health.outage_reason() {
            return Err(unavailable_problem(&reason));
        }
        let begun = Instant::now();
        let mut look = self.inspect(name)?;
        if matches!(look, TopicState::Absent) {
            if !self.inner.settings.kafka_create_topics {
                let problem = "there is no topic {name} in Kafka, and this gateway creates none (--kafka-create-topics)";
                return Err(Problem::new(404, problem.replace("{name}", name)));
            }
            let Some(asking) = asking.filter(|asking| asking.may_create) else {
                let problem = format!("there is no topic {name} in Kafka");
                return Err(Problem::new(404, problem));
            };
            self.make(name, &asking.caller)?;
        } else {
            take_back(asking);
        }
        let partitions = loop {
            match look {
                TopicState::Here(partitions) => break partitions,
                _ if begun.elapsed() > MADE_WITHIN => {
                    return Err(unavailable_problem(&format!(
                        "not every partition of topic {name} has a leader"
                    )));
                }
                TopicState::NotYet | TopicState::Absent => std::thread::sleep(LOOK_EVERY),
            }
            look = self.inspect(name)?;
        };
        Ok(TopicMetadata {
            partitions,
            record_max_bytes: self.record_max_bytes(name)?,
        })
    }

    fn metadata(&self, topic: Option<&str>) -> Result<Metadata, KafkaError> {
        let producer = self.inner.producer.client();
        let client = producer.client();
        client.fetch_metadata(topic, self.inner.settings.kafka_delivery_timeout)
    }

    fn inspect(&self, name: &str) -> Result<TopicState, Problem> {
        let metadata = self.metadata(Some(name)).map_err(|error| {
            self.inner.health.doubt();
            unavailable_problem(&format!("asking for topic {name}: {error}"))
        })?;
        let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else {
            return Ok(TopicState::Absent);
        };
        match topic.error().map(RDKafkaErrorCode::from) {
            None if topic.partitions().is_empty() => Ok(TopicState::Absent),
            None if topic
                .partitions()
                .iter()
                .any(|partition| partition.leader() < 0) =>
            {
                Ok(TopicState::NotYet)
            }
            None => Ok(TopicState::Here(
                u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX),
            )),
            Some(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => {
                Ok(TopicState::Absent)
            }
            Some(RDKafkaErrorCode::LeaderNotAvailable) => Ok(TopicState::NotYet),
            Some(code @ RDKafkaErrorCode::InvalidTopic) => Err(refusal_problem(name, &code)),
            Some(code) => Err(unavailable_problem(&format!("topic {name}: {code}"))),
        }
    }

    fn make(&self, name: &str, creator: &Caller) -> Result<(), Problem> {
        let settings = &self.inner.settings;
        let replicas = TopicReplication::Fixed(settings.kafka_replicas.unwrap_or(-1));
        let topic = NewTopic::new(name, settings.kafka_partitions.unwrap_or(-1), replicas)
            .set("message.timestamp.type", "LogAppendTime");
        let options = AdminOptions::new()
            .operation_timeout(Some(MADE_WITHIN))
            .request_timeout(Some(MADE_WITHIN));
        let failed = |error: &dyn std::fmt::Display| {
            unavailable_problem(&format!("creating topic {name}: {error}"))
        };
        let admin = self.admin().map_err(|error| failed(&error))?;
        let results = self
            .runtime
            .block_on(admin.create_topics([&topic], &options))
            .map_err(|error| failed(&error))?;
        match results.into_iter().next() {
            Some(Ok(_)) => {
                creator.note(Event::TopicCreated { topic: name });
                Ok(())
            }
            // Another gateway has created it.
            Some(Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => Ok(()),
            Some(Err((_, RDKafkaErrorCode::InvalidTopic)))
                if name.len() <= NAME_MAX_BYTES && name.contains(['.', '_']) =>
            {
                Err(Problem::new(
                    409,
                    format!(
                        "Kafka refuses topic {name}: another one probably differs from it in . and _ alone"
                    ),
                ))
            }
            Some(Err((_, code @ RDKafkaErrorCode::InvalidTopic))) => {
                Err(refusal_problem(name, &code))
            }
            Some(Err((_, code))) => Err(failed(&code)),
            None => Err(failed(&"no answer")),
        }
    }

    /// The largest record of the topic: the lower of its own limit and the gateway's.
    fn record_max_bytes(&self, name: &str) -> Result<usize, Problem> {
        const SETTING: &str = "max.message.bytes";
        let failed = |error: &dyn std::fmt::Display| {
            unavailable_problem(&format!("asking for {SETTING} of topic {name}: {error}"))
        };
        let admin = self.admin().map_err(|error| failed(&error))?;
        let options = AdminOptions::new().request_timeout(Some(MADE_WITHIN));
        let asked = [ResourceSpecifier::Topic(name)];
        let results = self
            .runtime
            .block_on(admin.describe_configs(&asked, &options))
            .map_err(|error| failed(&error))?;
        let described = match results.into_iter().next() {
            Some(Ok(described)) => described,
            Some(Err(code)) => return Err(failed(&code)),
            None => return Err(failed(&"no answer")),
        };
        let value = described
            .get(SETTING)
            .and_then(|entry| entry.value.as_deref())
            .and_then(|value| value.parse::<usize>().ok())
            .ok_or_else(|| failed(&"no number"))?;
        let least = self.inner.settings.kafka_request_max_bytes + BATCH_OVERHEAD_BYTES;
        if value < least {
            return Err(unavailable_problem(&format!(
                "{SETTING} of topic {name} is {value}, and the gateway sends up to {least} at once (--kafka-request-max-bytes)"
            )));
        }
        let most = value - BATCH_OVERHEAD_BYTES;
        Ok(most.min(self.inner.settings.kafka_record_max_bytes))
    }

    fn admin(&self) -> Result<AdminClient<DefaultClientContext>, KafkaError> {
        let mut config = KafkaSettings::client(&self.inner.access);
        config.set("socket.timeout.ms", MADE_WITHIN.as_millis().to_string());
        self.inner.access.admin_client(&config)
    }

    /// Checks whether the cluster answers and its topics have leaders.
    fn check_cluster(&self) {
        let health = &self.inner.health;
        if health.fatal_error().is_some() {
            return;
        }
        let ready = self.inner.topics.all_ready();
        // A single topic is requested by name, else all topics at once.
        let only = match &ready[..] {
            [(_, topic)] => Some(&*topic.name),
            _ => None,
        };
        let metadata = match self.metadata(only) {
            Ok(metadata) => metadata,
            Err(error) => return health.set_away(&format!("asking for metadata: {error}")),
        };
        let ours = |name: &str| ready.iter().any(|(_, topic)| *topic.name == *name);
        let topics = metadata.topics().iter();
        let partitions = topics
            .filter(|topic| ours(topic.name()))
            .flat_map(|topic| topic.partitions());
        let mut leaders = partitions.map(|partition| partition.leader()).peekable();
        // A topic without leaders is no reason to refuse the others.
        if leaders.peek().is_none() || leaders.any(|leader| leader >= 0) {
            health.set_back();
        } else {
            health.set_away("no partition has a leader");
        }
    }

    /// Notices new partitions and deleted topics.
    fn refresh(&mut self) {
        self.refreshed = Instant::now();
        for (name, topic) in self.inner.topics.all_ready() {
            match self.inspect(&topic.name) {
                Ok(TopicState::Here(partitions)) if partitions != topic.partitions() => {
                    waggle_service::log::note(format_args!(
                        "topic {} has {partitions} partitions now",
                        topic.name
                    ));
                    topic.set_partitions(partitions);
                }
                Ok(TopicState::Absent) => {
                    waggle_service::log::warn(format_args!("topic {} was deleted", topic.name));
                    self.inner.topics.remove(&name);
                }
                Ok(TopicState::Here(_) | TopicState::NotYet) => {}
                Err(problem) => {
                    self.inner.health.note_message(&problem.detail);
                    return;
                }
            }
        }
    }
}

/// A topic that was named does not count as new.
fn take_back(asking: Option<&mut Asking>) {
    if let Some(named) = asking.and_then(|asking| asking.named.take()) {
        named.take_back();
    }
}

/// Makes a new producer, which sends after what is in flight has its outcome, so that records stay in order.
fn replace_producer(inner: &Arc<Inner>) -> Result<(), KafkaError> {
    let context = Acknowledging {
        access: Arc::clone(&inner.access),
        health: Arc::clone(&inner.health),
        latest: Arc::clone(&inner.latest),
        inner: OnceLock::from(Arc::downgrade(inner)),
    };
    let client = create(
        &inner.access,
        &inner.settings,
        inner.in_flight_max_bytes,
        context,
    )?;
    inner.sender().is_held = true;
    let begun = Instant::now();
    // Late batches are given up, so this ends.
    while inner.flights.count() > 0 && begun.elapsed() < 2 * inner.settings.kafka_delivery_timeout {
        std::thread::sleep(LOOK_EVERY);
    }
    let mut sender = inner.sender();
    let replaced = inner.producer.replace(client);
    sender.is_held = false;
    inner.send_gathered(&mut sender);
    drop(sender);
    inner.health.doubt();
    release(replaced);
    Ok(())
}

/// The problem while the cluster is unavailable.
pub(super) fn unavailable_problem(reason: &str) -> Problem {
    Problem::new(
        503,
        format!("Kafka is unavailable, nothing of this request was stored: {reason}"),
    )
}

fn refusal_problem(name: &str, code: &RDKafkaErrorCode) -> Problem {
    Problem::new(400, format!("Kafka refuses topic {name}: {code}"))
}
