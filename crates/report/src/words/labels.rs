//! Labels of verdicts, phases, evidence and units, the same in every format.

use waggle_analysis::Counted;
use waggle_results::PhaseName;
use waggle_stats::{Evidence, Verdict};

/// The verdict.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    verdict.name()
}

/// Definition of the verdict.
pub fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "every check passed",
        Verdict::Unsteady => "it never became steady, or its level changed in the measured phase",
        Verdict::Contended => {
            "other programs, or the hypervisor, used CPU that the system could have had: alone it does as much or more, as fast or faster"
        }
        Verdict::Overloaded => "a backlog or queue grew: the system did not keep up",
        Verdict::Incomplete => "accepted records are missing at the end",
        Verdict::InstrumentLimited => {
            "the load generator or the probe, not the system, was the limit"
        }
        Verdict::Inconsistent => "the counts of requests or records do not add up",
        Verdict::Failed => "the trial was not completed",
    }
}

/// What a trial shows a search.
#[must_use]
pub fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Met => "holds",
        Evidence::NotMet => "fails",
        Evidence::PoolLimited => "connections were the limit",
        Evidence::InstrumentLimited => "load generator limit",
        Evidence::Unsteady => "unsteady",
        Evidence::Nothing => "no evidence",
    }
}

/// The unit of goodput: `records` or `requests`.
#[must_use]
pub fn counted_word(counted: Counted) -> &'static str {
    match counted {
        Counted::Records => "records",
        Counted::Requests => "requests",
    }
}

/// The phase.
#[must_use]
pub fn phase(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Up => "up",
        PhaseName::Ready => "ready",
        PhaseName::Verify => "verify",
        PhaseName::Prepare => "prepare",
        PhaseName::WarmUp => "warm-up",
        PhaseName::Measure => "measure",
        PhaseName::Recovery => "recovery",
        PhaseName::Finish => "finish",
        PhaseName::Drain => "drain",
        PhaseName::Collect => "collect",
        PhaseName::Down => "down",
        PhaseName::CoolDown => "cool-down",
    }
}

/// The unit of a metric in the page's data.
#[must_use]
pub fn unit(unit: waggle_metrics::Unit) -> &'static str {
    use waggle_metrics::Unit;
    match unit {
        Unit::Time => "time",
        Unit::Share | Unit::Cpus => "share",
        Unit::Rate => "rate",
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::ByteRate => "byte_rate",
    }
}
/// `kill of orders-0`: what a fault does, as a study names it, and to what.
#[must_use]
pub fn fault(kind: &str, name: &str) -> String {
    format!("{kind} of {name}")
}
