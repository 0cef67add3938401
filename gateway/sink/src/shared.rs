//! State that all parts of the sink share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use waggle_kafka::Access;

use crate::{
    backlog::Backlog,
    backoff::Backoff,
    error::SinkError,
    health::{Check, Health},
    metrics::Metrics,
    settings::SinkSettings,
    writes::{batch::BatchLimits, dead_letters::DeadLetters, influxdb::Influxdb},
};

/// State that all parts share.
pub(crate) struct Shared {
    pub(crate) settings: SinkSettings,
    pub(crate) access: Arc<Access>,
    pub(crate) backlog: Backlog,
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
    pub(crate) influxdb: Influxdb,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) backoff: Backoff,
    has_written: AtomicBool,
}

impl Shared {
    pub(crate) fn new(settings: SinkSettings, token: Option<String>) -> Result<Self, SinkError> {
        settings.check()?;
        let limits = BatchLimits {
            lines: settings.batch_max_records,
            bytes: settings.batch_max_bytes,
            linger: settings.linger,
            linger_busy: settings.linger.max(settings.linger_busy),
        };
        let backoff = Backoff {
            first: settings.backoff_min,
            most: settings.backoff_max,
        };
        let variable = |name: &str| std::env::var(name).ok();
        let brokers = &settings.kafka_brokers;
        let access = Arc::new(Access::new(brokers, &settings.security, variable)?);
        Ok(Self {
            backlog: Backlog::new(limits, settings.buffer_max_bytes),
            health: Health::default(),
            metrics: Metrics::default(),
            influxdb: Influxdb::new(&settings, token)?,
            dead_letters: DeadLetters::new(&settings, Arc::clone(&access))?,
            backoff,
            has_written: AtomicBool::new(false),
            settings,
            access,
        })
    }

    /// Notes that the database accepted a write.
    pub(crate) fn database_works(&self) {
        self.has_written.store(true, Ordering::Relaxed);
        self.health.pass(Check::Database);
        self.health.pass(Check::Access);
    }

    /// Whether the database has ever accepted a write of this sink.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// Whether the database is available, as far as known.
    pub(crate) fn database_is_there(&self) -> bool {
        !self.health.is_failing(Check::Database) && !self.health.is_failing(Check::Access)
    }
}
