//! What the checks of a trial and of a cell found, a sentence each: reasons of verdicts, and remarks.

use waggle_analysis::{CellReason, TrialRemark};
use waggle_stats::{
    AccountFinding, Backlog, Calibrated, CellFinding, Change, Finding, InstrumentFinding, Killed,
    Lag, LagAllowed, LatenessFinding, MIN_SAMPLES_BEYOND, Reason, RecordEquation, Series, Silence,
    Stretch, SystemFinding, ThinTail,
};

use super::text::{
    self, amount, count, plain, set_share, signed_text, three_digits, time_s, time_us,
};

/// Below this share of a CPU a wait for it shows in no percentage.
const WAIT_SHOWN: f64 = 0.01;

/// Why a trial has a verdict.
#[must_use]
pub fn reason(reason: &Reason) -> String {
    sentence(&reason.finding)
}

/// The same with the verdict before it: `overloaded: …`.
#[must_use]
pub fn named_reason(of: &Reason) -> String {
    format!("{}: {}", of.verdict.name(), reason(of))
}

/// Why a cell has a verdict: of a single trial with its repetition.
#[must_use]
pub fn cell_reason(of: &CellReason) -> String {
    match of.repetition {
        Some(repetition) => format!("repetition {repetition}: {}", reason(&of.reason)),
        None => reason(&of.reason),
    }
}

/// Worth a line, whoever saw it.
#[must_use]
pub fn remark(remark: &TrialRemark) -> String {
    match remark {
        TrialRemark::Seen(text) => text.clone(),
        TrialRemark::Found(finding) => sentence(finding),
    }
}

/// Why a percentile should not be relied on.
#[must_use]
pub fn thin(tail: &ThinTail) -> String {
    format!(
        "{} of {} samples lie beyond {}; {MIN_SAMPLES_BEYOND} are needed",
        count(tail.beyond),
        count(tail.samples),
        set_share(tail.quantile)
    )
}

/// What a check found.
#[must_use]
pub fn sentence(finding: &Finding) -> String {
    match finding {
        Finding::Ended(why) => why.clone(),
        Finding::NothingSent => {
            "no request was sent in the measured phase: there is nothing to judge".to_owned()
        }
        Finding::Account(of) => account(of),
        Finding::Lateness(of) => lateness(of),
        Finding::Instrument(of) => instrument(of),
        Finding::System(of) => system(of),
        Finding::Cell(of) => cell(of),
    }
}

/// Of requests and records that do not add up, or should not be as they are.
fn account(finding: &AccountFinding) -> String {
    match finding {
        AccountFinding::RequestFates {
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
                    Stretch::WholeRun => "whole run",
                },
                count(*sent),
                count(*succeeded),
                count(*failed),
                signed_text((*in_flight).into()),
                signed_text(fates),
            )
        }
        AccountFinding::RequestsDue { due, sent, skipped } => format!(
            "whole run: {} requests fell due, but {} sent + {} skipped = {}",
            count(*due),
            count(*sent),
            count(*skipped),
            count(u128::from(*sent) + u128::from(*skipped)),
        ),
        AccountFinding::Records(of) => equation(of),
        AccountFinding::NeverSent { records } => format!(
            "records: {} found in the store that should not be there",
            count(*records)
        ),
        AccountFinding::RejectedKept { kept, rejected } => format!(
            "{} of {} rejected records are in the store all the same",
            count(*kept),
            count(*rejected)
        ),
        AccountFinding::Missing {
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
fn equation(of: &RecordEquation) -> String {
    match of {
        RecordEquation::Sent {
            sent,
            accepted,
            rejected,
            unknown,
        } => records(
            (*sent, "sent"),
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
            (*accepted, "accepted"),
            &[(*delivered, "delivered"), (*missing, "missing")],
        ),
        RecordEquation::OfRequests {
            succeeded,
            accepted,
        } => records(
            (*succeeded, "in requests that succeeded"),
            &[(*accepted, "accepted by the ledger")],
        ),
    }
}

/// What is known of records that were not seen.
fn missing_as(unread: bool) -> &'static str {
    match unread {
        true => {
            "were not seen, but the probe had not read all that was in the store when the drain's time was up: they may be there"
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

fn records((whole, name): (u64, &str), parts: &[(u64, &str)]) -> String {
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

/// Of a generator that had too little of its CPU, or came late.
fn lateness(finding: &LatenessFinding) -> String {
    match finding {
        LatenessFinding::WorkerFull { busy, wanted } => format!(
            "the generator's busiest worker {}; it, not the system, was the limit",
            cpu_shortage_text(*busy, *wanted)
        ),
        LatenessFinding::WorkerBusy {
            busy,
            wanted,
            limit,
        } => format!(
            "the generator's busiest worker {}; from {} on the trial would not count",
            cpu_shortage_text(*busy, *wanted),
            set_share(*limit)
        ),
        LatenessFinding::KeptOff {
            wait_us,
            service_us,
            of_service,
            allowed_us,
        } => format!(
            "the generator was kept off its CPU: it waited {} on average before each turn on it, {} of the mean service time of {} ({} allowed)",
            time_us(*wait_us),
            text::share(*of_service),
            time_us(*service_us),
            time_us(*allowed_us),
        ),
        LatenessFinding::Late { lag, allowed_us } => format!(
            "the generator was late: p99 of its lag is {} ({} allowed)",
            lag_text(lag),
            time_us(*allowed_us),
        ),
        LatenessFinding::LateWithin { lag, because } => format!(
            "p99 of the generator's lag is {}: {}",
            lag_text(lag),
            match because {
                LagAllowed::Timers => "as fine as its timers go",
                LagAllowed::BesideBound => "little beside the time that is asked about",
                LagAllowed::OneTurn => "one turn over all that is in flight",
            },
        ),
        LatenessFinding::HostTook {
            share,
            awake_may_help,
        } => format!(
            "the host of this virtual machine took {} of the CPUs' time{}",
            text::share(*share),
            match awake_may_help {
                true => IDLE_POLL,
                false => "",
            }
        ),
        LatenessFinding::LateThoughIdle { idle_share } => format!(
            "the generator came late although the CPUs were {} idle{IDLE_POLL}",
            text::share(*idle_share)
        ),
    }
}

/// Of the instrument otherwise.
fn instrument(finding: &InstrumentFinding) -> String {
    match finding {
        InstrumentFinding::Rate {
            per_s,
            seconds,
            offered,
            due,
        } => format!(
            "{}/s for {} were asked for, which is {}, but {} requests fell due",
            amount(*per_s),
            time_s(*seconds),
            amount(offered.round()),
            count(*due)
        ),
        InstrumentFinding::Calibrated {
            sent_per_s,
            possible_per_s,
            share,
            shows,
        } => format!(
            "the generator sent {}/s, {} of the {}/s that it can send with such a load on this machine by its calibration{}",
            plain(*sent_per_s),
            text::share(*share),
            plain(*possible_per_s),
            match shows {
                Calibrated::Disproved =>
                    ": the calibration is wrong and says nothing here".to_owned(),
                Calibrated::Limit => "; it, not the system, was the limit".to_owned(),
                Calibrated::Near { limit } =>
                    format!("; above {} the trial would not count", set_share(*limit)),
            }
        ),
        InstrumentFinding::ProbeBehind {
            behind_s,
            allowed_s,
        } => format!(
            "the probe read for {} on end without coming to the end of the store ({} allowed): delays and backlog are its own",
            time_s(*behind_s),
            time_s(*allowed_s),
        ),
        InstrumentFinding::ConnectionsMissing { asked, typical } => format!(
            "{} connections asked for, {} open in the typical interval",
            count(*asked),
            count(*typical)
        ),
        InstrumentFinding::ConnectionsFewest { asked, fewest } => format!(
            "{} of {} connections open at the least",
            count(*fewest),
            count(*asked)
        ),
        InstrumentFinding::LittlesLaw {
            in_flight,
            per_s,
            service_us,
            beside,
            expected,
            apart,
            allowed,
        } => format!(
            "Little's law: {} in flight on average, but {}/s × {} + {} that failed or are under way = {} ({} apart; {} allowed)",
            plain(*in_flight),
            plain(*per_s),
            time_us(*service_us),
            plain(*beside),
            plain(*expected),
            text::share(*apart),
            text::share(*allowed),
        ),
    }
}

const IDLE_POLL: &str = "; --idle-poll may help";

/// What a worker had of its CPU.
fn cpu_shortage_text(busy: f64, wanted: f64) -> String {
    if wanted - busy >= WAIT_SHOWN {
        format!(
            "used {} of its CPU and waited for it another {} of the time",
            text::share(busy),
            text::share(wanted - busy)
        )
    } else {
        format!("used {} of its CPU", text::share(wanted))
    }
}

fn lag_text(lag: &Lag) -> String {
    format!(
        "{}, {} of the median response time of {}",
        time_us(lag.p99_us),
        text::share(lag.of_median),
        time_us(lag.median_us),
    )
}

/// Of the system.
fn system(finding: &SystemFinding) -> String {
    const WARM_UP: &str = "the warm-up ended at its limit, before the system was steady";
    match finding {
        SystemFinding::Unanswered {
            due,
            answered,
            answered_share,
            least_share,
            skipped,
        } => format!(
            "{} requests fell due and {} were answered ({}; {} is the least), {} were skipped",
            count(*due),
            count(*answered),
            text::share(*answered_share),
            set_share(*least_share),
            count(*skipped),
        ),
        SystemFinding::Grew { what, growth } => format!(
            "{} grew from {} to {}, by {}/s at {}/s asked",
            match what {
                Backlog::Requests => "requests waiting for their answer",
                Backlog::Records => "records accepted and not yet in the store",
            },
            plain(growth.from.max(0.0)),
            plain(growth.to),
            plain(growth.per_s),
            plain(growth.asked_per_s),
        ),
        SystemFinding::NotJudged(killed) => {
            let killed: Vec<String> = killed.iter().map(self::killed_text).collect();
            format!(
                "steadiness and backlogs were not judged: {}",
                killed.join(", ")
            )
        }
        SystemFinding::Staged => {
            "steadiness was not tested: the load changes by its stages".to_owned()
        }
        SystemFinding::TooFewIntervals { needed } => {
            format!("steadiness was not tested: it takes at least {needed} intervals")
        }
        SystemFinding::Changed {
            what,
            from,
            to,
            how,
        } => format!(
            "{} went from {} to {} {}",
            series(*what),
            level(*what, *from),
            level(*what, *to),
            match how {
                Change::Step { at_s } => format!("at {} of the measured phase", time_s(*at_s)),
                Change::Drift => "over the measured phase, bit by bit".to_owned(),
            }
        ),
        SystemFinding::WarmUpUnsteady => format!("{WARM_UP}; the measured phase was"),
        SystemFinding::NeverSteady => {
            format!("{WARM_UP}, and the measured phase is too short to test")
        }
        SystemFinding::Silent(silence) => silent(silence),
    }
}

/// Of a cell.
fn cell(finding: &CellFinding) -> String {
    match finding {
        CellFinding::OfTrials {
            verdict, trials: 1, ..
        } => format!("the only trial is {}", verdict.name()),
        CellFinding::OfTrials {
            verdict,
            count,
            trials,
        } => format!("{count} of {trials} trials: {}", verdict.name()),
        CellFinding::Wide { width, allowed } => format!(
            "the 95 % interval of goodput is {} of its point wide; {} is allowed",
            text::share(*width),
            set_share(*allowed)
        ),
    }
}

fn killed_text(killed: &Killed) -> String {
    format!(
        "{} was killed at {} of the measured phase",
        killed.name,
        time_s(killed.at_s)
    )
}

fn silent(silence: &Silence) -> String {
    let until = match silence.to_the_end {
        true => ", until its end",
        false => "",
    };
    let in_all = match silence.in_all_s > silence.longest_s {
        true => format!("; with all such stretches {}", time_s(silence.in_all_s)),
        false => String::new(),
    };
    format!(
        "no request succeeded for {} of {}, from {} of the measured phase on{until}, while answers were waited for{in_all}",
        time_s(silence.longest_s),
        time_s(silence.phase_s),
        time_s(silence.from_s),
    )
}

fn series(what: Series) -> &'static str {
    match what {
        Series::Throughput => "throughput",
        Series::P50 => "median response time",
        Series::P99 => "p99 of response time",
        Series::Cpu => "CPU of the system",
    }
}

fn level(what: Series, value: f64) -> String {
    match what {
        Series::Throughput => format!("{}/s", plain(value)),
        Series::P50 | Series::P99 => time_us(value),
        Series::Cpu => format!("{} cores", three_digits(value)),
    }
}
