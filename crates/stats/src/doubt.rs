//! Which metrics a finding makes doubtful, and in which direction they can be wrong.
//!
//! A doubt belongs to a metric, not to a trial: a probe that falls behind says nothing against the goodput, and a generator that
//! is late only lengthens times, so that an upper bound that holds all the same holds. Why so: docs/design/0046.

use crate::{
    AccountingFinding, Backlog, CellFinding, Finding, InstrumentFinding, LatenessFinding, Series,
    SystemFinding,
};

/// What a metric is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// Rates and counts of requests and sessions.
    Goodput,
    /// Response, service and failed times, requests in flight, recovery.
    Times,
    /// Delivery delays and backlogs.
    Delivery,
    /// CPU time and memory of the system, and its own metrics.
    Cpu,
    /// Counts of records, by key.
    Accounting,
    /// Measurements of the load generator and the machine: no finding makes them doubtful.
    Generator,
}

impl Aspect {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Goodput,
        Self::Times,
        Self::Delivery,
        Self::Cpu,
        Self::Accounting,
        Self::Generator,
    ];
}

/// Where the system's own value can lie if the measured one is doubtful.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Bias {
    /// At the measured value or below it.
    AtMost,
    /// At the measured value or below it, by no more than the lag of the load generator. Percentiles of response times have the lowest
    /// value of each trial, so that their intervals hold it already.
    ByLag,
    /// At the measured value or above it.
    AtLeast,
    /// Between the measured value divided by this factor, which is 1 or more, and the measured value times the factor.
    Factor(f64),
    /// Anywhere.
    Unknown,
}

/// One metric's doubt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubt {
    pub aspect: Aspect,
    pub bias: Bias,
}

const fn doubt(aspect: Aspect, bias: Bias) -> Doubt {
    Doubt { aspect, bias }
}

/// The trial measured nothing. The accounts of the others are exact all the same.
const NOT_MEASURED: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::Unknown),
    doubt(Aspect::Times, Bias::Unknown),
    doubt(Aspect::Delivery, Bias::Unknown),
    doubt(Aspect::Cpu, Bias::Unknown),
];
/// The counts of the trial are wrong.
const EVERYTHING: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::Unknown),
    doubt(Aspect::Times, Bias::Unknown),
    doubt(Aspect::Delivery, Bias::Unknown),
    doubt(Aspect::Cpu, Bias::Unknown),
    doubt(Aspect::Accounting, Bias::Unknown),
];
/// Requests were not those that were configured, or were not counted right.
const REQUESTS: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::Unknown),
    doubt(Aspect::Times, Bias::Unknown),
];
const RECORDS: &[Doubt] = &[
    doubt(Aspect::Delivery, Bias::Unknown),
    doubt(Aspect::Accounting, Bias::Unknown),
];
/// Nothing is known of the level.
const LEVEL: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::Unknown),
    doubt(Aspect::Times, Bias::Unknown),
    doubt(Aspect::Cpu, Bias::Unknown),
];
/// The generator took the time of its own lateness for the system's.
const LATE: &[Doubt] = &[doubt(Aspect::Times, Bias::AtMost)];
/// The same, of a generator whose lag is known at each percentile.
const LAGGED: &[Doubt] = &[doubt(Aspect::Times, Bias::ByLag)];
/// With a faster generator the system would have done more, or as much in less time.
const GENERATOR_LIMIT: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::AtLeast),
    doubt(Aspect::Times, Bias::AtMost),
];
/// The probe took CPU from the system.
const PROBE_CPU: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::AtLeast),
    doubt(Aspect::Cpu, Bias::AtMost),
];
/// Alone on the machine the system would have done more, or as much in less time. Shared caches cost it CPU as well.
const CONTENDED: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::AtLeast),
    doubt(Aspect::Times, Bias::AtMost),
    doubt(Aspect::Delivery, Bias::AtMost),
    doubt(Aspect::Cpu, Bias::AtMost),
];
/// Fewer requests were in flight than asked for.
const FEWER_IN_FLIGHT: &[Doubt] = &[
    doubt(Aspect::Goodput, Bias::AtLeast),
    doubt(Aspect::Times, Bias::AtLeast),
];

impl Finding {
    /// The metrics that it makes doubtful as the reason of a verdict. As a remark it makes none doubtful.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        let doubts = match self {
            Self::System(SystemFinding::Changed { what, from, to, .. }) => {
                return level_doubts(level_aspects(*what), from / to);
            }
            Self::Cell(CellFinding::Changed { ratio }) => {
                return level_doubts(level_aspects(Series::Throughput), *ratio);
            }
            Self::Ended(_) | Self::NothingSent => NOT_MEASURED,
            Self::Accounting(found) => found.doubts(),
            Self::Lateness(found) => found.doubts(),
            Self::Instrument(found) => found.doubts(),
            Self::System(found) => found.doubts(),
            Self::Contention(_) => CONTENDED,
            Self::Cell(CellFinding::Trials { .. }) => &[],
        };
        doubts.to_vec()
    }
}

/// The metrics that change with a series. Times and throughput of a closed load change together; the finding names the series
/// that changed most.
pub(crate) fn level_aspects(series: Series) -> &'static [Aspect] {
    match series {
        Series::Throughput => &[Aspect::Goodput, Aspect::Times, Aspect::Cpu],
        Series::P50 => &[Aspect::Goodput, Aspect::Times],
        Series::P99 => &[Aspect::Times],
        Series::Cpu => &[Aspect::Cpu],
    }
}

/// The level changed by a factor: the mean says how long each level lasted, and the system's own value is one of them.
fn level_doubts(aspects: &[Aspect], ratio: f64) -> Vec<Doubt> {
    let factor = ratio.max(1.0 / ratio);
    let bias = match factor.is_finite() {
        true => Bias::Factor(factor),
        false => Bias::Unknown,
    };
    aspects.iter().map(|aspect| doubt(*aspect, bias)).collect()
}

impl AccountingFinding {
    fn doubts(&self) -> &'static [Doubt] {
        match self {
            Self::RequestFates { .. } | Self::RequestsDue { .. } => EVERYTHING,
            Self::Records(_) | Self::NeverSent { .. } => RECORDS,
            // What the system kept or lost is what was to be seen.
            Self::RejectedDelivered { .. } => &[],
            Self::Missing { unread: true, .. } => {
                &[const { doubt(Aspect::Accounting, Bias::AtMost) }]
            }
            // Delays are those of the records that arrived.
            Self::Missing { unread: false, .. } => {
                &[const { doubt(Aspect::Delivery, Bias::AtLeast) }]
            }
        }
    }
}

impl LatenessFinding {
    fn doubts(&self) -> &'static [Doubt] {
        match self {
            Self::WorkerFull { .. } => GENERATOR_LIMIT,
            Self::RunQueueWait { .. } => LATE,
            Self::Late { .. } => LAGGED,
            Self::WorkerBusy { .. } | Self::LateWithin { .. } | Self::LateThoughIdle { .. } => &[],
        }
    }
}

impl InstrumentFinding {
    fn doubts(&self) -> &'static [Doubt] {
        match self {
            Self::Rate { .. } | Self::ConnectionsMissing { .. } | Self::LittlesLaw { .. } => {
                REQUESTS
            }
            Self::Calibrated { .. } => GENERATOR_LIMIT,
            Self::ProbeLag { .. } => &[const { doubt(Aspect::Delivery, Bias::AtMost) }],
            Self::NegativeDelays { .. } => &[const { doubt(Aspect::Delivery, Bias::Unknown) }],
            Self::ProbeCpu { .. } => PROBE_CPU,
            Self::InFlightMissing { .. } => FEWER_IN_FLIGHT,
            Self::ConnectionsFewest { .. } | Self::NotKnown => &[],
        }
    }
}

impl SystemFinding {
    fn doubts(&self) -> &'static [Doubt] {
        match self {
            // What waits is not in the times yet, and waits longer the longer the load goes on.
            Self::Unanswered { .. }
            | Self::Grew {
                what: Backlog::Requests,
                ..
            } => &[const { doubt(Aspect::Times, Bias::AtLeast) }],
            Self::Grew {
                what: Backlog::Records,
                ..
            } => &[const { doubt(Aspect::Delivery, Bias::AtLeast) }],
            Self::NeverSteady | Self::Stalled(_) => LEVEL,
            // The mean rate has the stall in it.
            Self::Omitted(_) => &[const { doubt(Aspect::Times, Bias::AtLeast) }],
            // By its size, in `Finding::doubts`.
            Self::Changed { .. }
            | Self::LeftFromWarmUp { .. }
            | Self::FullInFlight(_)
            | Self::NotJudged(_)
            | Self::Staged
            | Self::Ending
            | Self::TooFewIntervals { .. }
            | Self::WarmUpUnsteady => &[],
        }
    }
}

/// The values that the system can have, by what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// A range that is a larger share of its high end than this is wide.
const WIDE_FROM: f64 = 0.1;

/// How far a metric of a cell is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricVerdict {
    /// Its interval says where the system's own value is.
    Estimate,
    /// The system's own value is on one side of the measured one.
    Bound,
    /// The system's own value may be anything.
    Unknown,
}

impl MetricVerdict {
    /// As it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Bound => "bound",
            Self::Unknown => "unknown",
        }
    }
}

impl Range {
    /// Both ends are known, one of them, or none.
    #[must_use]
    pub fn verdict(self) -> MetricVerdict {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => MetricVerdict::Estimate,
            (false, false) => MetricVerdict::Unknown,
            _ => MetricVerdict::Bound,
        }
    }

    /// All values of both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Whether its high end alone would say too much.
    #[must_use]
    pub fn is_wide(self) -> bool {
        self.high - self.low > WIDE_FROM * self.high
    }

    /// From an interval (for a number without one its point, twice), and the doubts about the number.
    #[must_use]
    pub fn new((low, high): (f64, f64), biases: impl IntoIterator<Item = Bias>) -> Self {
        let mut range = Self { low, high };
        let (factors, biases): (Vec<Bias>, Vec<Bias>) = biases
            .into_iter()
            .partition(|bias| matches!(bias, Bias::Factor(_)));
        for bias in factors {
            if let Bias::Factor(factor) = bias {
                range.low = range.low.min(low / factor);
                range.high = range.high.max(high * factor);
            }
        }
        for bias in biases {
            if matches!(bias, Bias::AtMost | Bias::ByLag | Bias::Unknown) {
                range.low = f64::NEG_INFINITY;
            }
            if matches!(bias, Bias::AtLeast | Bias::Unknown) {
                range.high = f64::INFINITY;
            }
        }
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_opens_the_range_on_its_side() {
        let check = |biases: &[Bias], low: f64, high: f64| {
            let range = Range::new((2.0, 3.0), biases.iter().copied());
            assert_eq!(range, Range { low, high }, "{biases:?}");
        };
        check(&[], 2.0, 3.0);
        check(&[Bias::AtMost], f64::NEG_INFINITY, 3.0);
        check(&[Bias::AtLeast], 2.0, f64::INFINITY);
        check(
            &[Bias::AtMost, Bias::AtLeast],
            f64::NEG_INFINITY,
            f64::INFINITY,
        );
        check(&[Bias::Unknown], f64::NEG_INFINITY, f64::INFINITY);
        check(&[Bias::Factor(2.0)], 1.0, 6.0);
        check(&[Bias::Factor(1.5), Bias::Factor(2.0)], 1.0, 6.0);
        check(&[Bias::AtMost, Bias::Factor(2.0)], f64::NEG_INFINITY, 6.0);
    }

    #[test]
    fn a_finding_taints_what_it_concerns_and_nothing_else() {
        let check = |finding: Finding, expected: &[(Aspect, Bias)]| {
            let found: Vec<(Aspect, Bias)> = finding
                .doubts()
                .iter()
                .map(|doubt| (doubt.aspect, doubt.bias))
                .collect();
            assert_eq!(found, expected, "{finding:?}");
        };
        check(
            InstrumentFinding::ProbeLag {
                lag_s: 2.0,
                allowed_s: 1.0,
            }
            .into(),
            &[(Aspect::Delivery, Bias::AtMost)],
        );
        check(
            LatenessFinding::WorkerFull {
                busy: 0.99,
                wanted: 0.99,
                generator: None,
            }
            .into(),
            &[
                (Aspect::Goodput, Bias::AtLeast),
                (Aspect::Times, Bias::AtMost),
            ],
        );
        let changed = |from, to| SystemFinding::Changed {
            what: Series::P50,
            from,
            to,
            how: crate::Change::Drift,
        };
        let within = |bias| [(Aspect::Goodput, bias), (Aspect::Times, bias)];
        check(changed(3.0, 1.5).into(), &within(Bias::Factor(2.0)));
        check(changed(1.0, 4.0).into(), &within(Bias::Factor(4.0)));
        check(changed(0.0, 4.0).into(), &within(Bias::Unknown));
        let missing = |unread| AccountingFinding::Missing {
            missing: 1,
            accepted: 2,
            first_keys: vec![7],
            unread,
        };
        check(missing(true).into(), &[(Aspect::Accounting, Bias::AtMost)]);
        check(missing(false).into(), &[(Aspect::Delivery, Bias::AtLeast)]);
    }
}
