//! The words for verdicts, phases and kinds of failure, the same in every writer.

use waggle_results::PhaseName;
use waggle_stats::{Evidence, Verdict};

use waggle_analysis::Counted;

/// The verdict as it is shown.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    verdict.name()
}

/// What the verdict means, for a reader who sees it for the first time.
pub fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "every check passed",
        Verdict::Noisy => "the interval over trials is wider than the study allows",
        Verdict::Unsteady => "it never became steady, or changed its level while it was measured",
        Verdict::Overloaded => "a backlog or queue grew: the system did not keep up",
        Verdict::Incomplete => "accepted records were missing at the end",
        Verdict::InstrumentLimited => {
            "the load generator or the probe, not the system, was the limit"
        }
        Verdict::Inconsistent => "the account does not add up",
        Verdict::Failed => "the trial did not come to its end",
    }
}

/// What a trial of a search showed.
#[must_use]
pub fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Met => "met",
        Evidence::NotMet => "not met",
        Evidence::InstrumentLimited => "generator was the limit",
        Evidence::Nothing => "says nothing",
    }
}

/// What goodput counts: `records` or `requests`.
#[must_use]
pub fn counted_word(counted: Counted) -> &'static str {
    match counted {
        Counted::Records => "records",
        Counted::Requests => "requests",
    }
}

/// The phase as it is shown.
#[must_use]
pub fn phase(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Up => "up",
        PhaseName::Ready => "ready",
        PhaseName::Verify => "verify",
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

/// What a number is counted in, as the page's data name it.
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
