//! Findings of the checks of a trial and of a cell, a sentence each: reasons of verdicts, and remarks.

mod agents;
mod system;

use waggle_analysis::{CellReason, TrialRemark};
use waggle_stats::{
    AccountingFinding, CPU_STEAL_MAX, Calibrated, Contention, Drawn, Finding, InstrumentFinding,
    Lag, LagAllowed, LatenessFinding, MIN_SAMPLES_BEYOND, NthGenerator, Reason, RecordEquation,
    Stretch, ThinTail,
};

use super::format::{self, amount, count, plain, set_share, signed_text, time_s, time_us};
use system::{cell, system};

/// A smaller share of waiting for a CPU is not shown.
const WAIT_SHOWN: f64 = 0.01;

/// The reason of a verdict of a trial.
#[must_use]
pub fn reason(reason: &Reason) -> String {
    sentence(&reason.finding)
}

/// The same with the verdict before it: `overloaded: …`.
#[must_use]
pub fn named_reason(grounds: &Reason) -> String {
    format!("{}: {}", grounds.verdict.name(), reason(grounds))
}

/// The reason of a verdict of a cell: of a single trial with its repetition.
#[must_use]
pub fn cell_reason(grounds: &CellReason) -> String {
    match grounds.repetition {
        Some(repetition) => format!("repetition {repetition}: {}", reason(&grounds.reason)),
        None => reason(&grounds.reason),
    }
}

/// A remark of a trial.
#[must_use]
pub fn remark(remark: &TrialRemark) -> String {
    match remark {
        TrialRemark::Seen(text) => text.clone(),
        TrialRemark::Found(finding) => sentence(finding),
    }
}

/// Why a percentile is not reliable.
#[must_use]
pub fn thin(tail: &ThinTail) -> String {
    let (drawn, what) = match tail.drawn {
        Drawn::Values(samples) => (samples, "samples"),
        Drawn::Windows(Some(windows)) => (windows, "windows"),
        Drawn::Windows(None) => {
            return "records were followed in windows of a few milliseconds; how many is not known"
                .to_owned();
        }
    };
    if tail.quantile >= 1.0 {
        return format!(
            "the largest in {} {what}; that of all records is not known",
            count(drawn)
        );
    }
    format!(
        "{} of {} {what} are above {}; {MIN_SAMPLES_BEYOND} are needed",
        count(tail.samples_beyond().unwrap_or(0)),
        count(drawn),
        set_share(tail.quantile)
    )
}

/// A finding.
#[must_use]
pub fn sentence(finding: &Finding) -> String {
    match finding {
        Finding::Ended(why) => why.clone(),
        Finding::NothingSent => "no request was sent in the measured phase".to_owned(),
        Finding::Accounting(detail) => account(detail),
        Finding::Lateness(detail) => lateness(detail),
        Finding::Contention(detail) => contention(detail),
        Finding::Instrument(detail) => instrument(detail),
        Finding::System(detail) => system(detail),
        Finding::Cell(detail) => cell(detail),
    }
}

/// Counts of requests and records that do not add up, or should be zero.
fn account(finding: &AccountingFinding) -> String {
    match finding {
        AccountingFinding::RequestFates {
            stretch,
            sent,
            succeeded,
            failed,
            in_flight,
        } => {
            let fates = i128::from(*succeeded) + i128::from(*failed) + i128::from(*in_flight);
            format!(
                "{}: {} requests sent, but {} succeeded + {} failed + {} in flight = {}",
                match stretch {
                    Stretch::Measured => "measured phase",
                    Stretch::WholeRun => "whole load",
                },
                count(*sent),
                count(*succeeded),
                count(*failed),
                signed_text((*in_flight).into()),
                signed_text(fates),
            )
        }
        AccountingFinding::RequestsDue { due, sent, skipped } => format!(
            "whole load: {} requests fell due, but {} sent + {} skipped = {}",
            count(*due),
            count(*sent),
            count(*skipped),
            count(u128::from(*sent) + u128::from(*skipped)),
        ),
        AccountingFinding::Records(detail) => equation(detail),
        AccountingFinding::NeverSent { records } => format!(
            "records: {} in the store that were never sent",
            count(*records)
        ),
        AccountingFinding::RejectedDelivered { kept, rejected } => format!(
            "{} of {} rejected records are in the store",
            count(*kept),
            count(*rejected)
        ),
        AccountingFinding::Missing {
            missing,
            accepted,
            first_keys,
            unread,
        } => {
            let what = missing_as(*unread);
            format!(
                "{} of {} accepted records {what}{}",
                count(*missing),
                count(*accepted),
                first_keys_text(first_keys)
            )
        }
    }
}

/// Records that do not add up.
fn equation(balance: &RecordEquation) -> String {
    match balance {
        RecordEquation::Sent {
            sent,
            accepted,
            rejected,
            unknown,
        } => records(
            *sent,
            "sent",
            &[
                (*accepted, "accepted"),
                (*rejected, "rejected"),
                (*unknown, "unknown"),
            ],
        ),
        RecordEquation::Accepted {
            accepted,
            delivered,
            missing,
        } => records(
            *accepted,
            "accepted",
            &[(*delivered, "delivered"), (*missing, "missing")],
        ),
        RecordEquation::Requests {
            succeeded,
            accepted,
        } => records(
            *succeeded,
            "in requests that succeeded",
            &[(*accepted, "accepted by key")],
        ),
    }
}

/// The state of records that were not seen.
fn missing_as(unread: bool) -> &'static str {
    match unread {
        true => {
            "were not seen, but the probe had not read the whole store at the drain timeout, so they may be in it"
        }
        false => "are not in the store",
    }
}

fn first_keys_text(keys: &[u64]) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    match keys.as_slice() {
        [] => String::new(),
        keys => format!("; first keys: {}", keys.join(", ")),
    }
}

fn records(whole: u64, name: &str, parts: &[(u64, &str)]) -> String {
    let named: Vec<String> = parts
        .iter()
        .map(|(part, name)| format!("{} {name}", count(*part)))
        .collect();
    let sum: u128 = parts.iter().map(|(part, _)| u128::from(*part)).sum();
    format!(
        "records: {} {name}, but {} = {}",
        count(whole),
        named.join(" + "),
        count(sum)
    )
}

/// A load generator that had too little CPU, or was late.
fn lateness(finding: &LatenessFinding) -> String {
    match finding {
        LatenessFinding::WorkerFull {
            busy,
            wanted,
            generator,
        } => format!(
            "{} {}, so the load generator, not the system, was the limit",
            busiest_worker(*generator),
            cpu_shortage_text(*busy, *wanted)
        ),
        LatenessFinding::WorkerBusy {
            busy,
            wanted,
            limit,
            generator,
        } => format!(
            "{} {}; from {} the trial would not count",
            busiest_worker(*generator),
            cpu_shortage_text(*busy, *wanted),
            set_share(*limit)
        ),
        LatenessFinding::RunQueueWait {
            wait_us,
            service_us,
            of_service,
            allowed_us,
            generator,
        } => format!(
            "{} waited {} on average for a CPU (run queue), {} of the mean service time of {} ({} allowed)",
            generator_name(*generator),
            time_us(*wait_us),
            format::share(*of_service),
            time_us(*service_us),
            time_us(*allowed_us),
        ),
        LatenessFinding::Late {
            lag,
            allowed_us,
            generator,
        } => format!(
            "{} was late: its lag p99 is {} ({} allowed)",
            generator_name(*generator),
            lag_text(lag),
            time_us(*allowed_us),
        ),
        LatenessFinding::LateWithin {
            lag,
            because,
            generator,
        } => format!(
            "{} is {}: {}",
            lag_name(*generator),
            lag_text(lag),
            allowance(*because),
        ),
        LatenessFinding::LateThoughIdle { cpu_idle } => format!(
            "the load generator was late although the CPUs were {} idle{IDLE_POLL}",
            format::share(*cpu_idle)
        ),
    }
}

fn contention(finding: &Contention) -> String {
    let steal = format!(
        "CPU steal: the hypervisor took {} of this machine's CPU time",
        format::share(finding.cpu_steal)
    );
    let others = finding.other_cores.filter(|_| finding.by_programs);
    let others = others.map(|cores| {
        format!(
            "other programs used {} of the {} CPUs",
            format::three_digits(cores),
            finding.cpus
        )
    });
    match others {
        Some(others) if finding.cpu_steal >= CPU_STEAL_MAX => format!("{others}; {steal}"),
        Some(others) => others,
        None => steal,
    }
}

/// Findings about the probe; empty for others.
fn probe(finding: &InstrumentFinding) -> String {
    match finding {
        InstrumentFinding::ProbeLag { lag_s, allowed_s } => format!(
            "the probe lagged behind the store for {} ({} allowed), so delay and backlog are those of the probe",
            time_s(*lag_s),
            time_s(*allowed_s),
        ),
        InstrumentFinding::NegativeDelays { share, limit } => format!(
            "{} of the records were seen before they were sent ({} allowed): the clocks differ, so delays are wrong by an unknown time",
            format::share(*share),
            set_share(*limit)
        ),
        InstrumentFinding::ProbeCpu { share, limit } => format!(
            "reading the records back took {} of the CPU that the system used{}",
            format::share(*share),
            if share >= limit {
                ", so its goodput may be higher and its CPU lower than measured".to_owned()
            } else {
                format!(
                    " (from {} on, goodput and CPU are doubtful)",
                    set_share(*limit)
                )
            }
        ),
        _ => String::new(),
    }
}

/// Why a percentile is not the system's own.
pub(crate) fn hiding_lag(lag_us: f64) -> String {
    format!(
        "up to {} of it is the load generator's own lag at the same percentile",
        time_us(lag_us)
    )
}

const NOT_KNOWN: &str = "whether the load generator was the limit was not checked: the imported results do not show its lag, CPU \
                         and connections";

/// Other findings about the load generator and the probe.
fn instrument(finding: &InstrumentFinding) -> String {
    match finding {
        InstrumentFinding::NotKnown => NOT_KNOWN.to_owned(),
        InstrumentFinding::Rate {
            per_s,
            seconds,
            offered,
            due,
        } => format!(
            "{}/s over {} is an offered load of {} requests, but {} requests fell due",
            amount(*per_s),
            time_s(*seconds),
            amount(offered.round()),
            count(*due)
        ),
        InstrumentFinding::Calibrated {
            sent_per_s,
            capacity_per_s,
            share,
            shows,
        } => format!(
            "the load generator sent {}/s, {} of its calibrated capacity of {}/s for such a load on this machine{}",
            plain(*sent_per_s),
            format::share(*share),
            plain(*capacity_per_s),
            match shows {
                Calibrated::Disproved => "; the calibration is wrong and is not used".to_owned(),
                Calibrated::Limit =>
                    ", so the load generator, not the system, was the limit".to_owned(),
                Calibrated::Near { limit } =>
                    format!("; above {} the trial would not count", set_share(*limit)),
            }
        ),
        InstrumentFinding::ProbeLag { .. }
        | InstrumentFinding::ProbeCpu { .. }
        | InstrumentFinding::NegativeDelays { .. } => probe(finding),
        InstrumentFinding::Agent(finding) => agents::sentence(finding),
        InstrumentFinding::InFlightMissing { asked, mean } => format!(
            "{} requests in flight configured, {} on average",
            format::amount(*asked),
            plain(*mean)
        ),
        InstrumentFinding::ConnectionsMissing { asked, typical } => format!(
            "{} connections configured, {} open in the median interval",
            count(*asked),
            count(*typical)
        ),
        InstrumentFinding::ConnectionsFewest { asked, fewest } => format!(
            "at least once only {} of {} connections were open",
            count(*fewest),
            count(*asked)
        ),
        InstrumentFinding::LittlesLaw {
            in_flight,
            per_s,
            service_us,
            unexplained,
            expected,
            apart,
            allowed,
        } => format!(
            "Little's law: {} in flight on average, but {}/s × {} + {} failed or unfinished = {} (difference {}; {} allowed)",
            plain(*in_flight),
            plain(*per_s),
            time_us(*service_us),
            plain(*unexplained),
            plain(*expected),
            format::share(*apart),
            format::share(*allowed),
        ),
    }
}

const IDLE_POLL: &str = "; --idle-poll may help";

/// A generator, by its number if it is one of several.
fn generator_name(generator: Option<NthGenerator>) -> String {
    match generator {
        None => "the load generator".to_owned(),
        Some(NthGenerator { number, of }) => format!("load generator {number} of {of}"),
    }
}

fn busiest_worker(generator: Option<NthGenerator>) -> String {
    match generator {
        None => "the load generator's busiest worker".to_owned(),
        some => format!("the busiest worker of {}", generator_name(some)),
    }
}

fn lag_name(generator: Option<NthGenerator>) -> String {
    match generator {
        None => "the load generator's lag p99".to_owned(),
        some => format!("the lag p99 of {}", generator_name(some)),
    }
}

fn allowance(because: LagAllowed) -> &'static str {
    match because {
        LagAllowed::Timers => "within the resolution of its timers",
        LagAllowed::BelowSearchBound => "small compared with the time in the conditions",
        LagAllowed::OneTurn => "within one cycle over all requests in flight",
    }
}

/// CPU use of a worker.
fn cpu_shortage_text(busy: f64, wanted: f64) -> String {
    if wanted - busy >= WAIT_SHOWN {
        format!(
            "used {} of its CPU and waited for it another {} of the time",
            format::share(busy),
            format::share(wanted - busy)
        )
    } else {
        format!("used {} of its CPU", format::share(wanted))
    }
}

fn lag_text(lag: &Lag) -> String {
    format!(
        "{}, {} of the median response time of {}",
        time_us(lag.p99_us),
        format::share(lag.of_median),
        time_us(lag.median_us),
    )
}
