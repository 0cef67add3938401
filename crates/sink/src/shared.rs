//! What all parts of the sink share.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::back_off::BackOff;
use crate::backlog::Backlog;
use crate::batch::BatchLimits;
use crate::dead_letters::DeadLetters;
use crate::error::SinkError;
use crate::health::{Check, Health};
use crate::influxdb::Influxdb;
use crate::metrics::Metrics;
use crate::settings::SinkSettings;

/// What all parts share.
pub(crate) struct Shared {
    pub(crate) settings: SinkSettings,
    pub(crate) backlog: Backlog,
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
    pub(crate) influxdb: Influxdb,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) back_off: BackOff,
    has_written: AtomicBool,
}

impl Shared {
    pub(crate) fn new(settings: SinkSettings, token: Option<String>) -> Result<Self, SinkError> {
        settings.check()?;
        let limits = BatchLimits {
            lines: settings.batch_max_records,
            bytes: settings.batch_max_bytes,
            delay: settings.batch_delay,
            delay_behind: settings.batch_delay.max(settings.batch_delay_behind),
        };
        let back_off = BackOff {
            first: settings.back_off_min,
            most: settings.back_off_max,
        };
        Ok(Self {
            backlog: Backlog::new(limits, settings.unwritten_max_bytes),
            health: Health::default(),
            metrics: Metrics::default(),
            influxdb: Influxdb::new(&settings, token)?,
            dead_letters: DeadLetters::new(&settings)?,
            back_off,
            has_written: AtomicBool::new(false),
            settings,
        })
    }

    /// The database has taken something.
    pub(crate) fn database_works(&self) {
        self.has_written.store(true, Ordering::Relaxed);
        self.health.pass(Check::Database);
        self.health.pass(Check::Access);
    }

    /// Whether the database has ever taken something from us.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// As far as we know.
    pub(crate) fn database_is_there(&self) -> bool {
        !self.health.is_failing(Check::Database) && !self.health.is_failing(Check::Access)
    }
}
