//! Which metrics a finding makes doubtful, and in which direction they can be wrong.
//!
//! A doubt belongs to a metric, not to a trial: a probe that falls behind says nothing against the goodput, and a generator that
//! is late only lengthens times, so that an upper bound that holds all the same holds. Why so: docs/design/0046.

use crate::{
    intervals::range::Bias,
    judgement::finding::{
        AccountingFinding, AgentFinding, Backlog, CellFinding, Finding, InstrumentFinding,
        LatenessFinding, SystemFinding,
    },
    over_time::steady::Series,
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
            Self::Accounting(finding) => finding.doubts(),
            Self::Lateness(finding) => finding.doubts(),
            Self::Instrument(finding) => finding.doubts(),
            Self::System(finding) => finding.doubts(),
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
            Self::Agent(AgentFinding::Throttled { .. }) => LAGGED,
            Self::Agent(AgentFinding::Drift { .. }) => {
                &[const { doubt(Aspect::Delivery, Bias::Unknown) }]
            }
            Self::ProbeCpu { .. } => PROBE_CPU,
            Self::InFlightMissing { .. } => FEWER_IN_FLIGHT,
            Self::ConnectionsFewest { .. }
            | Self::NotKnown
            | Self::Agent(AgentFinding::NodeShared { .. }) => &[],
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_taints_what_it_concerns_and_nothing_else() {
        let check = |finding: Finding, expected: &[(Aspect, Bias)]| {
            let doubts: Vec<(Aspect, Bias)> = finding
                .doubts()
                .iter()
                .map(|doubt| (doubt.aspect, doubt.bias))
                .collect();
            assert_eq!(doubts, expected, "{finding:?}");
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
            how: crate::judgement::finding::Change::Drift,
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
