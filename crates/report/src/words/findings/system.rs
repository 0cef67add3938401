//! Findings about the system: whether it kept up and had one level, in a trial and over the trials of a cell.

use waggle_stats::{
    Backlog, CellFinding, Change, FullInFlight, Growth, InjectedFault, Series, Stall, SystemFinding,
};

use crate::words::{
    format::{self, count, plain, set_share, three_digits, time_s, time_us},
    labels,
};

/// Why an open load could not send more, and what would show more.
fn full_in_flight(full: &FullInFlight) -> String {
    let answer_us = full.mean / full.answered_per_s * 1e6;
    format!(
        "the connections had nearly always as many requests in flight as they may ({}): {} ÷ {} for each answer is {}/s (Little's law), \
         and more connections may reach more",
        count(full.max),
        plain(full.mean),
        time_us(answer_us),
        plain(full.answered_per_s),
    )
}

/// A backlog that grew.
fn grew(what: Backlog, growth: &Growth) -> String {
    format!(
        "{} grew from {} to {}, by {}/s at a load of {}/s",
        match what {
            Backlog::Requests => "unanswered requests",
            Backlog::Records => "records accepted but not yet in the store",
        },
        plain(growth.from.max(0.0)),
        plain(growth.to),
        plain(growth.per_s),
        plain(growth.asked_per_s),
    )
}

/// Findings about the system.
pub(super) fn system(finding: &SystemFinding) -> String {
    const WARM_UP: &str = "the warm-up reached its timeout before the system was steady";
    match finding {
        SystemFinding::Unanswered {
            due,
            answered,
            answered_share,
            least_share,
            skipped,
        } => format!(
            "{} requests fell due and {} were answered ({}; at least {} required), {} were skipped",
            count(*due),
            count(*answered),
            format::share(*answered_share),
            set_share(*least_share),
            count(*skipped),
        ),
        SystemFinding::FullInFlight(full) => full_in_flight(full),
        SystemFinding::LeftFromWarmUp {
            requests,
            succeeded_more,
        } => format!(
            "{} more requests were answered than fell due: the warm-up had left them{}",
            count(*requests),
            match succeeded_more {
                true => ", and goodput is above the offered load",
                false => "",
            }
        ),
        SystemFinding::Grew { what, growth } => grew(*what, growth),
        SystemFinding::NotJudged(faults) => {
            let faults: Vec<String> = faults.iter().map(fault_text).collect();
            format!(
                "steadiness and backlogs were not judged: {}",
                faults.join(", ")
            )
        }
        SystemFinding::Ending => {
            "steadiness was not tested: the load ends with the last request of each client"
                .to_owned()
        }
        SystemFinding::Staged => "steadiness was not tested: the load changes in stages".to_owned(),
        SystemFinding::TooFewIntervals { needed } => {
            format!("steadiness was not tested: it needs at least {needed} intervals")
        }
        SystemFinding::Changed {
            what,
            from,
            to,
            how,
        } => format!(
            "{} changed from {} to {} {}",
            series(*what),
            level(*what, *from),
            level(*what, *to),
            match how {
                Change::Step { at_s } => format!("at {} of the measured phase", time_s(*at_s)),
                Change::Drift => "gradually over the measured phase".to_owned(),
            }
        ),
        SystemFinding::WarmUpUnsteady => format!("{WARM_UP}; the measured phase was steady"),
        SystemFinding::NeverSteady => {
            format!("{WARM_UP}, and the measured phase is too short to test")
        }
        SystemFinding::Stalled(silence) => silent(silence),
        SystemFinding::Omitted(silence) => format!(
            "{}; nobody arrives meanwhile, so times are at least those measured (coordinated omission)",
            silent(silence)
        ),
    }
}

/// Findings about a cell.
pub(super) fn cell(finding: &CellFinding) -> String {
    match finding {
        CellFinding::Trials {
            verdict, trials: 1, ..
        } => format!("the only trial is {}", verdict.name()),
        CellFinding::Trials {
            verdict,
            count,
            trials,
        } => format!("{count} of {trials} trials: {}", verdict.name()),
        CellFinding::Changed { ratio } => format!(
            "the trials have a change in common: throughput in the second half of the measured phase is {} that in the first",
            format::times(*ratio)
        ),
    }
}

fn fault_text(fault: &InjectedFault) -> String {
    format!(
        "{} at {} of the measured phase",
        labels::fault(fault.kind, &fault.name),
        time_s(fault.at_s)
    )
}

fn silent(silence: &Stall) -> String {
    let until = match silence.to_the_end {
        true => " until its end",
        false => "",
    };
    let in_all = match silence.in_all_s > silence.longest_s {
        true => format!("; {} in total", time_s(silence.in_all_s)),
        false => String::new(),
    };
    format!(
        "no request succeeded for {} of {}, from {} of the measured phase{until}, although requests were waiting{in_all}",
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
