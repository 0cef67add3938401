//! Results of other tools: what they do not show, and what follows from that.

use waggle_results::{RunInfo, UnknownFact};
use waggle_spec::LoadKind;

use super::format::{self, Unit};

/// The times of imported results.
pub(crate) const RESPONSE_TIME: &str =
    "from sent to the complete answer: the results do not say when requests were due";

/// A resolution that needs no mention.
const HISTOGRAM_US: f64 = 1.0;

/// The warning at the top of the report.
pub(crate) fn warning(tool: &str, resolution_us: f64, facts: &[UnknownFact]) -> String {
    let resolution = match resolution_us > HISTOGRAM_US {
        true => format!(
            " Times have a resolution of {}.",
            Unit::Time.show(resolution_us)
        ),
        false => String::new(),
    };
    format!(
        "Imported from {tool}: response times count from when a request was sent. A slow server delays the next requests, so times are \
         too short under overload (coordinated omission).{resolution} Verdicts rest on what the files show; not known: {}.",
        unknown(facts)
    )
}

/// A list of what is not known.
pub(crate) fn unknown(facts: &[UnknownFact]) -> String {
    let facts: Vec<&str> = facts.iter().map(|fact| name(*fact)).collect();
    facts.join("; ")
}

fn name(fact: UnknownFact) -> &'static str {
    match fact {
        UnknownFact::DueTimes => "when requests were due",
        UnknownFact::Generator => "lag, CPU and connections of the load generator",
        UnknownFact::Machine => "the machine and its CPU steal",
        UnknownFact::SystemResources => "CPU and memory of the system",
        UnknownFact::Delivery => "which records arrived",
        UnknownFact::WarmUp => "where the warm-up ends",
        UnknownFact::SingleRequests => {
            "single requests, hence steadiness and all percentiles but those of the tool"
        }
        UnknownFact::FailedRequests => {
            "which requests failed: times are those of failed requests too"
        }
        UnknownFact::StartTime => "when the load started (shown: the date of the file)",
        UnknownFact::BytesSent => "bytes sent",
        UnknownFact::BytesReceived => "bytes received",
    }
}

/// Why the report has no resource use.
pub(crate) fn no_resources(tool: &str) -> String {
    format!(
        "Not known: the results of {tool} have no CPU and memory of the system, and none of the load generator."
    )
}

/// Why trials have no line in charts; `None`: all have one.
pub(crate) fn missing_lines(info: &RunInfo) -> Option<&'static str> {
    let imported = info.imported.as_ref()?;
    let is_missing = imported.unknown.contains(&UnknownFact::SingleRequests);
    is_missing.then_some("Trials of which only quantiles are known have no line here.")
}

/// Why a cell is valid.
pub(crate) const VALID: &str = "every check that the results allow passed";

/// What a verdict of such results rests on.
pub(crate) const CHECKS: &str = "Imported results: the counts of requests, stalls, and steadiness (with single requests and four intervals) were checked. Whether \
     the load generator was the limit, and whether all records arrived, was not.";

pub(crate) fn load_model(model: LoadKind) -> &'static str {
    match model {
        LoadKind::Closed => {
            "closed, as given at the import: an answer makes room for the next request"
        }
        LoadKind::Open => "open, as given at the import: requests fall due at a rate",
        LoadKind::Users => {
            "users, as given at the import: users think between an answer and the next request"
        }
        LoadKind::Clients => "clients with a number of requests each",
    }
}

/// How much of the start of each file is left out.
pub(crate) fn warm_up(info: &RunInfo) -> String {
    let seconds = info.schedule.warm_up_timeout_s;
    match seconds > 0.0 {
        true => format!("{}, as given at the import", format::set_time_s(seconds)),
        false => "none".to_owned(),
    }
}
