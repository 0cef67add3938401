//! The generator: whether it, and not the system, made the numbers (method rule 9).

use crate::{
    judgement::{
        checks::{
            findings::{ACHIEVED_MIN, CHANCE, Findings, SEARCH_BOUND_SHARE, float},
            limits::{BUSY_LIMIT, CPU_STEAL_MAX, GENERATOR_BUSY, MOSTLY_IDLE},
        },
        finding::{Calibrated, InstrumentFinding, Lag, LagAllowed, LatenessFinding, NthGenerator},
        verdict::Verdict,
    },
    over_time::trial_facts::{Arrivals, GeneratorPart, LoadModel, TrialFacts},
};

/// A rate above this share of the calibrated capacity shows that the calibration is wrong.
const DISPROVED: f64 = 1.05;
/// Lag against the median response time.
const LAG_SHARE: f64 = 0.10;
/// The kernel's timer slack (50 µs) and a wake-up, which no sleeping load generator avoids.
const LAG_FLOOR_US: f64 = 100.0;
/// Little's law.
const LITTLE_APART: f64 = 0.03;
/// Resolution of a histogram in microseconds.
const RESOLUTION_US: f64 = 1.0;
/// How long a probe may lag, as a share of the measured phase; and in seconds if that phase is short.
const PROBE_LAG_SHARE: f64 = 0.10;
const PROBE_LAG_MIN_S: f64 = 1.0;
/// CPU time of the system that the probe causes, as a share of all: worth a remark, and too much.
const PROBE_CPU_REMARK: f64 = 0.05;
const PROBE_CPU_LIMIT: f64 = 0.10;
/// Records that were seen before they were sent.
const NEGATIVE_DELAYS_MAX: f64 = 0.001;
/// Requests in flight in closed load against those asked for.
const IN_FLIGHT_MIN: f64 = 0.97;
/// Requests of a uniform schedule that may fall on the other side of the phase's ends.
const AT_THE_ENDS: f64 = 2.0;
/// Open connections against configured ones, in the median interval.
const CONNECTIONS_MIN: f64 = 0.99;

/// If other processes keep the load generator off its CPU, its own use is low; so its wait counts as use.
pub(super) fn cpu(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let (part, generator) = worst(facts, |part| part.utilization_wanted.max(part.utilization));
    let busy = part.utilization;
    let wanted = part.utilization_wanted.max(busy);
    if wanted < GENERATOR_BUSY {
        return;
    }
    if wanted >= BUSY_LIMIT {
        findings.reason(
            Verdict::InstrumentLimited,
            LatenessFinding::WorkerFull {
                busy,
                wanted,
                generator,
            },
        );
    } else {
        findings.remark(LatenessFinding::WorkerBusy {
            busy,
            wanted,
            limit: BUSY_LIMIT,
            generator,
        });
    }
}

/// The generator with the highest value: one of several, or all of the load; or the worker of a background load.
fn worst(
    facts: &TrialFacts<'_>,
    value: impl Fn(&GeneratorPart) -> f64,
) -> (GeneratorPart, Option<NthGenerator>) {
    let count = u32::try_from(facts.generators.len()).unwrap_or(u32::MAX);
    let parts = (1..).zip(&facts.generators);
    let worst =
        parts.max_by(|(_, candidate), (_, other)| value(candidate).total_cmp(&value(other)));
    let generator = &facts.generator;
    let whole = GeneratorPart {
        utilization: generator.utilization,
        utilization_wanted: generator.utilization_wanted,
        run_queue_wait_mean_us: generator.run_queue_wait_mean_us,
        lag_p99_us: generator.lag_p99_us,
    };
    let foreground = worst.map_or((whole, None), |(number, part)| {
        (*part, Some(NthGenerator { number, of: count }))
    });
    let background = facts.background.iter();
    let background =
        background.max_by(|candidate, other| value(candidate).total_cmp(&value(other)));
    match background {
        Some(part) if value(part) > value(&foreground.0) => (*part, None),
        _ => foreground,
    }
}

/// In closed load a cycle of the event loop over everything in flight is a batch and not lateness: answers to a pipeline arrive
/// together and are sent on together.
fn batch_us(facts: &TrialFacts<'_>) -> f64 {
    let generator = &facts.generator;
    match facts.model {
        LoadModel::Closed | LoadModel::Clients => {
            generator.in_flight_mean / f64::from(generator.workers.max(1))
                * generator.cpu_us_per_request
        }
        LoadModel::Open | LoadModel::Users => 0.0,
    }
}

/// The lag that is small compared with the time in the conditions of a search; 0 without a search.
fn search_allowance_us(facts: &TrialFacts<'_>) -> f64 {
    SEARCH_BOUND_SHARE * facts.time_bound_us.unwrap_or(0.0)
}

/// How late the load generator may be if its lateness is a part of `time_us`.
fn allowed_us(facts: &TrialFacts<'_>, time_us: f64) -> f64 {
    (LAG_SHARE * time_us)
        .max(LAG_FLOOR_US)
        .max(search_allowance_us(facts))
        .max(batch_us(facts))
}

/// Checks how long the load generator waited in the run queue before each time slice; whether that was too long. While it waits,
/// answers are not read, so the wait is part of the service time.
pub(super) fn run_queue(facts: &TrialFacts<'_>, findings: &mut Findings) -> bool {
    let Some(service) = facts.service_mean_us else {
        return false;
    };
    let allowed = allowed_us(facts, service);
    let (part, generator) = worst(facts, |part| part.run_queue_wait_mean_us);
    let wait = part.run_queue_wait_mean_us;
    let late = wait > allowed;
    if late {
        findings.reason(
            Verdict::InstrumentLimited,
            LatenessFinding::RunQueueWait {
                wait_us: wait,
                service_us: service,
                of_service: wait / service.max(RESOLUTION_US),
                allowed_us: allowed,
                generator,
            },
        );
    }
    late
}

/// How late the generator itself was; whether that was too late.
pub(super) fn lag(facts: &TrialFacts<'_>, findings: &mut Findings) -> bool {
    let Some(p50) = facts.response_p50_us else {
        return false;
    };
    let allowed_us = allowed_us(facts, p50);
    let (part, generator) = worst(facts, |part| part.lag_p99_us);
    let lag_us = part.lag_p99_us;
    let late = lag_us > allowed_us;
    let lag = Lag {
        p99_us: lag_us,
        median_us: p50,
        of_median: lag_us / p50.max(RESOLUTION_US),
    };
    if late {
        findings.reason(
            Verdict::InstrumentLimited,
            LatenessFinding::Late {
                lag,
                allowed_us,
                generator,
            },
        );
    } else if lag_us > LAG_SHARE * p50 {
        let because = if lag_us <= LAG_FLOOR_US {
            LagAllowed::Timers
        } else if lag_us <= search_allowance_us(facts) {
            LagAllowed::BelowSearchBound
        } else {
            LagAllowed::OneTurn
        };
        findings.remark(LatenessFinding::LateWithin {
            lag,
            because,
            generator,
        });
    }
    late
}

/// Whether fewer requests fell due than the offered load has: the timers of the load generator did not hold the rate.
pub(super) fn rate(facts: &TrialFacts<'_>, findings: &mut Findings) -> bool {
    let (Some(per_s), LoadModel::Open) = (facts.offered_per_s, facts.model) else {
        return false;
    };
    let offered = per_s * facts.measured.seconds;
    let due = float(facts.measured.due);
    // The count of Poisson arrivals varies by its root; that of a uniform schedule is known.
    let by_chance = match facts.arrivals {
        Arrivals::Poisson => CHANCE * offered.max(0.0).sqrt(),
        Arrivals::Uniform => AT_THE_ENDS,
    };
    let apart = (1.0 - ACHIEVED_MIN) * offered + by_chance;
    if (offered - due).abs() > apart {
        findings.reason(
            Verdict::InstrumentLimited,
            InstrumentFinding::Rate {
                per_s,
                seconds: facts.measured.seconds,
                offered,
                due: facts.measured.due,
            },
        );
    }
    offered - due > apart
}

/// Whether idle polling may help a load generator that was `late` for want of a CPU: CPUs that halt, or whose time is stolen.
pub(super) fn machine(facts: &TrialFacts<'_>, late: bool, findings: &mut Findings) {
    let Some(machine) = facts.machine else {
        return;
    };
    let is_stolen = machine.cpu_steal >= CPU_STEAL_MAX;
    let is_idle = machine.cpu_idle >= MOSTLY_IDLE;
    findings.idle_poll_may_help = late && !machine.idle_poll && (is_stolen || is_idle);
    if findings.idle_poll_may_help && !is_stolen {
        findings.remark(LatenessFinding::LateThoughIdle {
            cpu_idle: machine.cpu_idle,
        });
    }
}

/// The generator sent about as much as it can with such a load on this machine, by its calibration: then its own cost, and not
/// the system's, made the rate.
pub(super) fn check_capacity(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let Some(possible) = facts.generator.capacity_per_s.filter(|rate| *rate > 0.0) else {
        return;
    };
    if facts.measured.seconds <= 0.0 {
        return;
    }
    let sent = float(facts.measured.sent) / facts.measured.seconds;
    let used = sent / possible;
    let finding = |shows| InstrumentFinding::Calibrated {
        sent_per_s: sent,
        capacity_per_s: possible,
        share: used,
        shows,
    };
    if used > DISPROVED {
        // It did more than the calibration says is possible.
        findings.remark(finding(Calibrated::Disproved));
    } else if used > BUSY_LIMIT {
        findings.reason(Verdict::InstrumentLimited, finding(Calibrated::Limit));
    } else if used >= GENERATOR_BUSY {
        findings.remark(finding(Calibrated::Near { limit: BUSY_LIMIT }));
    }
}

/// A probe that reads on and on and does not come to the store's end shows its own speed instead of the store's.
pub(super) fn probe(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let allowed = (PROBE_LAG_SHARE * facts.measured.seconds).max(PROBE_LAG_MIN_S);
    if let Some(behind) = facts.probe_lag_s
        && behind > allowed
    {
        findings.reason(
            Verdict::InstrumentLimited,
            InstrumentFinding::ProbeLag {
                lag_s: behind,
                allowed_s: allowed,
            },
        );
    }
}

/// What the probe takes of the system's CPU is missing where the system is at its limit, and is in its CPU time everywhere.
pub(super) fn probe_cpu(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let Some(share) = facts.probe_cpu_share else {
        return;
    };
    let finding = InstrumentFinding::ProbeCpu {
        share,
        limit: PROBE_CPU_LIMIT,
    };
    if share >= PROBE_CPU_LIMIT {
        findings.reason(Verdict::InstrumentLimited, finding);
    } else if share >= PROBE_CPU_REMARK {
        findings.remark(finding);
    }
}

/// A record cannot be seen before it is sent: the clock that says so differs from the one that stamped it, and so all delays are wrong
/// by an unknown time.
pub(super) fn clocks(facts: &TrialFacts<'_>, findings: &mut Findings) {
    if let Some(share) = facts.negative_delay_share
        && share > NEGATIVE_DELAYS_MAX
    {
        findings.reason(
            Verdict::InstrumentLimited,
            InstrumentFinding::NegativeDelays {
                share,
                limit: NEGATIVE_DELAYS_MAX,
            },
        );
    }
}

/// A closed load keeps a number of requests in flight; a generator that is slow to send the next ones does not. With fewer streams than were
/// asked for it is the system that does not: a remark says so, and what was measured is what such a client gets.
pub(super) fn in_flight(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let generator = &facts.generator;
    let (Some(asked), Some(mean), LoadModel::Closed) = (
        generator.in_flight_asked,
        generator.in_flight_sending,
        facts.model,
    ) else {
        return;
    };
    let is_own = !generator.is_system_narrow && !facts.has_faults();
    if mean < IN_FLIGHT_MIN * asked && is_own {
        findings.reason(
            Verdict::InstrumentLimited,
            InstrumentFinding::InFlightMissing { asked, mean },
        );
    }
}

pub(super) fn connections(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let generator = &facts.generator;
    let (asked, typical, fewest) = (
        generator.connections_asked,
        generator.connections_open_median,
        generator.connections_open_min,
    );
    // Clients close theirs as they end.
    if facts.model == LoadModel::Clients {
        return;
    }
    // A killed component has no connections while it is down.
    if float(typical) < CONNECTIONS_MIN * float(asked) && !facts.has_faults() {
        findings.reason(
            Verdict::Inconsistent,
            InstrumentFinding::ConnectionsMissing { asked, typical },
        );
    } else if fewest < asked {
        findings.remark(InstrumentFinding::ConnectionsFewest { asked, fewest });
    }
}

/// Mean in flight = goodput × mean service time + what belongs to no success. The two sides come from different counters: the
/// left one is kept while requests are in flight, the right one when they are answered.
pub(super) fn littles_law(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let measured = &facts.measured;
    let Some(mean_us) = facts.service_mean_us else {
        return;
    };
    if measured.succeeded == 0 || measured.seconds <= 0.0 {
        return;
    }
    let per_s = float(measured.succeeded) / measured.seconds;
    let unexplained = facts.generator.in_flight_unexplained;
    let expected = per_s * mean_us / 1e6 + unexplained;
    let in_flight = facts.generator.in_flight_mean;
    let allowed = LITTLE_APART + RESOLUTION_US / mean_us.max(RESOLUTION_US);
    let apart = (in_flight - expected).abs() / in_flight.max(expected).max(f64::MIN_POSITIVE);
    if apart > allowed {
        findings.reason(
            Verdict::Inconsistent,
            InstrumentFinding::LittlesLaw {
                in_flight,
                per_s,
                service_us: mean_us,
                unexplained,
                expected,
                apart,
                allowed,
            },
        );
    }
}
