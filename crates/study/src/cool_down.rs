//! What ends a cool-down before its timeout.

use std::{fmt, time::Duration};

use waggle_units::format_duration;

/// A value of the machine with its bound, read until the bound holds.
#[derive(Debug, Clone, PartialEq)]
pub struct CoolDownUntil {
    pub sensor: Sensor,
    /// A value is multiplied by this.
    pub scale: f64,
    pub bound: CoolDownBound,
    /// Between two readings.
    pub poll_interval: Duration,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sensor {
    /// The path of a file, in which `*` and `?` match within a name; the bound must hold for all files.
    File(String),
    /// At least the program.
    Command(Vec<String>),
    /// Name of one of the system's metrics, of an external component.
    Metric(String),
    /// Over one minute.
    LoadAverage,
    /// The idle share of the CPU time between two readings.
    IdleCpu,
}

/// When a value ends the cool-down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CoolDownBound {
    Below(f64),
    AtMost(f64),
    Above(f64),
    AtLeast(f64),
}

impl CoolDownBound {
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(bound) => value < bound,
            Self::AtMost(bound) => value <= bound,
            Self::Above(bound) => value > bound,
            Self::AtLeast(bound) => value >= bound,
        }
    }

    /// The value that is farther from the end of the cool-down.
    #[must_use]
    pub fn worse(self, value: f64, other: f64) -> f64 {
        match self {
            Self::Below(_) | Self::AtMost(_) => value.max(other),
            Self::Above(_) | Self::AtLeast(_) => value.min(other),
        }
    }
}

/// `below 60`.
impl fmt::Display for CoolDownBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(bound) => write!(f, "below {bound}"),
            Self::AtMost(bound) => write!(f, "at most {bound}"),
            Self::Above(bound) => write!(f, "above {bound}"),
            Self::AtLeast(bound) => write!(f, "at least {bound}"),
        }
    }
}

impl Sensor {
    /// The key that has it in a study.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Command(_) => "command",
            Self::Metric(_) => "metric",
            Self::LoadAverage => "load_average",
            Self::IdleCpu => "idle_cpu",
        }
    }
}

impl CoolDownUntil {
    /// What is read: `/sys/class/thermal/thermal_zone*/temp × 0.001`.
    #[must_use]
    pub fn value_name(&self) -> String {
        let name = match &self.sensor {
            Sensor::File(path) => path.clone(),
            Sensor::Command(command) => format!("the output of {}", command.join(" ")),
            Sensor::Metric(name) => format!("the metric {name}"),
            Sensor::LoadAverage => "the load average".to_owned(),
            Sensor::IdleCpu => "the idle share of the CPUs".to_owned(),
        };
        match self.scale == 1.0 {
            true => name,
            false => format!("{name} × {}", self.scale),
        }
    }
}

/// `until the load average is at most 0.5, polled every 5s`.
impl fmt::Display for CoolDownUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "until {} is {}, polled every {}",
            self.value_name(),
            self.bound,
            format_duration(self.poll_interval)
        )
    }
}
