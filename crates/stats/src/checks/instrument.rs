//! The generator: whether it, and not the system, made the numbers (method rule 9).

use super::findings::{ACHIEVED_MIN, BESIDE_BOUND, CHANCE, Findings, float};
use crate::{
    Calibrated, InstrumentFinding, Lag, LagAllowed, LatenessFinding, Verdict,
    facts::{LoadModel, TrialFacts},
};

/// CPU of the busiest worker thread, used or waited for: worth a remark, and too much.
pub const GENERATOR_BUSY: f64 = 0.80;
const BUSY_LIMIT: f64 = 0.95;
/// More than this share of what a calibration calls possible shows that it is wrong, and not how fast the generator is.
const DISPROVED: f64 = 1.05;
/// Lag against the median response time.
const LAG_SHARE: f64 = 0.10;
/// The kernel's timer slack (50 µs) and a wake-up: what no sleeping generator avoids.
const LAG_FLOOR_US: f64 = 100.0;
/// Little's law.
const LITTLE_APART: f64 = 0.03;
/// What a histogram of microseconds does not tell apart.
const RESOLUTION_US: f64 = 1.0;
/// The time a probe may be behind, as a share of the measured phase, and in seconds where that phase is short.
const BEHIND_SHARE: f64 = 0.10;
const BEHIND_MIN_S: f64 = 1.0;
/// What the machine's host took of the CPUs is said from this share on.
const STOLEN_REMARK: f64 = 0.02;
/// CPUs that had so little to do could have been there for the generator.
const MOSTLY_IDLE: f64 = 0.50;
/// Connections open against asked, in the typical interval.
const CONNECTIONS_MIN: f64 = 0.99;

/// A generator that others keep off its CPU uses little of it; so what it waited for counts like what it had.
pub(super) fn cpu(facts: &TrialFacts<'_>, found: &mut Findings) {
    let busy = facts.engine.busy_share;
    let wanted = facts.engine.wanted_share.max(busy);
    if wanted < GENERATOR_BUSY {
        return;
    }
    if wanted >= BUSY_LIMIT {
        found.reason(
            Verdict::InstrumentLimited,
            LatenessFinding::WorkerFull { busy, wanted },
        );
    } else {
        found.remark(LatenessFinding::WorkerBusy {
            busy,
            wanted,
            limit: BUSY_LIMIT,
        });
    }
}

/// In closed load a turn of the loop over everything in flight is a batch and not lateness: answers to a pipeline
/// arrive together and are sent on together.
fn batch_us(facts: &TrialFacts<'_>) -> f64 {
    let engine = &facts.engine;
    match facts.model {
        LoadModel::Closed => {
            engine.in_flight_mean / f64::from(engine.workers.max(1)) * engine.cpu_us_per_request
        }
        LoadModel::Open | LoadModel::Users => 0.0,
    }
}

/// What is little beside the time that a search asks about; 0 where nothing is searched.
fn beside_bound_us(facts: &TrialFacts<'_>) -> f64 {
    BESIDE_BOUND * facts.time_bound_us.unwrap_or(0.0)
}

/// How late the generator may be, where `time_us` is the time that its lateness is a part of.
fn allowed_us(facts: &TrialFacts<'_>, time_us: f64) -> f64 {
    (LAG_SHARE * time_us)
        .max(LAG_FLOOR_US)
        .max(beside_bound_us(facts))
        .max(batch_us(facts))
}

/// How long the generator waited for its CPU before each turn on it; whether that was too long. While it waits, answers lie
/// unread: the wait is in the service time, whatever queue stood before it.
pub(super) fn turns(facts: &TrialFacts<'_>, found: &mut Findings) -> bool {
    let Some(service) = facts.service_mean_us else {
        return false;
    };
    let allowed = allowed_us(facts, service);
    let wait = facts.engine.turn_wait_mean_us;
    let late = wait > allowed;
    if late {
        found.reason(
            Verdict::InstrumentLimited,
            LatenessFinding::KeptOff {
                wait_us: wait,
                service_us: service,
                of_service: wait / service.max(RESOLUTION_US),
                allowed_us: allowed,
            },
        );
    }
    late
}

/// How late the generator itself was; whether that was too late.
pub(super) fn lag(facts: &TrialFacts<'_>, found: &mut Findings) -> bool {
    let Some(p50) = facts.response_p50_us else {
        return false;
    };
    let allowed_us = allowed_us(facts, p50);
    let lag_us = facts.engine.lag_p99_us;
    let late = lag_us > allowed_us;
    let lag = Lag {
        p99_us: lag_us,
        median_us: p50,
        of_median: lag_us / p50.max(RESOLUTION_US),
    };
    if late {
        found.reason(
            Verdict::InstrumentLimited,
            LatenessFinding::Late { lag, allowed_us },
        );
    } else if lag_us > LAG_SHARE * p50 {
        let because = if lag_us <= LAG_FLOOR_US {
            LagAllowed::Timers
        } else if lag_us <= beside_bound_us(facts) {
            LagAllowed::BesideBound
        } else {
            LagAllowed::OneTurn
        };
        found.remark(LatenessFinding::LateWithin { lag, because });
    }
    late
}

/// Whether fewer requests fell due than were asked for: the generator's own clockwork did not hold the rate.
pub(super) fn rate(facts: &TrialFacts<'_>, found: &mut Findings) -> bool {
    let (Some(per_s), LoadModel::Open) = (facts.offered_per_s, facts.model) else {
        return false;
    };
    let offered = per_s * facts.measured.seconds;
    let due = float(facts.measured.due);
    // Poisson arrivals: the count varies by its root.
    let apart = (1.0 - ACHIEVED_MIN) * offered + CHANCE * offered.max(0.0).sqrt();
    if (offered - due).abs() > apart {
        found.reason(
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

/// What the machine's host took of the CPUs, and what may help a generator that came `late` for want of one.
pub(super) fn machine(facts: &TrialFacts<'_>, late: bool, found: &mut Findings) {
    let Some(machine) = facts.machine else {
        return;
    };
    let is_greedy = machine.stolen_share >= STOLEN_REMARK;
    let is_idle = machine.idle_share >= MOSTLY_IDLE;
    found.awake_may_help = late && !machine.kept_awake && (is_greedy || is_idle);
    if is_greedy {
        found.remark(LatenessFinding::HostTook {
            share: machine.stolen_share,
            awake_may_help: found.awake_may_help,
        });
    } else if found.awake_may_help {
        found.remark(LatenessFinding::LateThoughIdle {
            idle_share: machine.idle_share,
        });
    }
}

/// The generator sent about as much as it can with such a load on this machine, by its calibration: then its own cost,
/// and not the system's, made the rate.
pub(super) fn check_capacity(facts: &TrialFacts<'_>, found: &mut Findings) {
    let Some(possible) = facts.engine.possible_per_s.filter(|rate| *rate > 0.0) else {
        return;
    };
    if facts.measured.seconds <= 0.0 {
        return;
    }
    let sent = float(facts.measured.sent) / facts.measured.seconds;
    let used = sent / possible;
    let finding = |shows| InstrumentFinding::Calibrated {
        sent_per_s: sent,
        possible_per_s: possible,
        share: used,
        shows,
    };
    if used > DISPROVED {
        // It did what it was said to be unable to do.
        found.remark(finding(Calibrated::Disproved));
    } else if used > BUSY_LIMIT {
        found.reason(Verdict::InstrumentLimited, finding(Calibrated::Limit));
    } else if used >= GENERATOR_BUSY {
        found.remark(finding(Calibrated::Near { limit: BUSY_LIMIT }));
    }
}

/// A probe that reads on and on and does not come to the store's end shows its own speed instead of the store's.
pub(super) fn probe(facts: &TrialFacts<'_>, found: &mut Findings) {
    let allowed = (BEHIND_SHARE * facts.measured.seconds).max(BEHIND_MIN_S);
    if let Some(behind) = facts.probe_behind_s
        && behind > allowed
    {
        found.reason(
            Verdict::InstrumentLimited,
            InstrumentFinding::ProbeBehind {
                behind_s: behind,
                allowed_s: allowed,
            },
        );
    }
}

pub(super) fn connections(facts: &TrialFacts<'_>, found: &mut Findings) {
    let engine = &facts.engine;
    let (asked, typical, fewest) = (
        engine.connections_asked,
        engine.connections_open_median,
        engine.connections_open_min,
    );
    // Those of a component that was killed on purpose are missed for as long as it is down.
    if float(typical) < CONNECTIONS_MIN * float(asked) && !facts.is_disturbed() {
        found.reason(
            Verdict::Inconsistent,
            InstrumentFinding::ConnectionsMissing { asked, typical },
        );
    } else if fewest < asked {
        found.remark(InstrumentFinding::ConnectionsFewest { asked, fewest });
    }
}

/// Mean in flight = goodput × mean service time + what belongs to no success. The two sides come from different books:
/// the left one is kept while requests fly, the right one when they land.
pub(super) fn littles_law(facts: &TrialFacts<'_>, found: &mut Findings) {
    let measured = &facts.measured;
    let Some(mean_us) = facts.service_mean_us else {
        return;
    };
    if measured.succeeded == 0 || measured.seconds <= 0.0 {
        return;
    }
    let per_s = float(measured.succeeded) / measured.seconds;
    let beside = facts.engine.in_flight_beside;
    let expected = per_s * mean_us / 1e6 + beside;
    let in_flight = facts.engine.in_flight_mean;
    let allowed = LITTLE_APART + RESOLUTION_US / mean_us.max(RESOLUTION_US);
    let apart = (in_flight - expected).abs() / in_flight.max(expected).max(f64::MIN_POSITIVE);
    if apart > allowed {
        found.reason(
            Verdict::Inconsistent,
            InstrumentFinding::LittlesLaw {
                in_flight,
                per_s,
                service_us: mean_us,
                beside,
                expected,
                apart,
                allowed,
            },
        );
    }
}
