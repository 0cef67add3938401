//! `tables.csv`: one row a trial that has run, the unit at the end of each column's name, numbers in full.

mod busiest;
mod disturbed;
mod effects;
mod places;
mod recovery;

pub use effects::effects;
use waggle_results::{FailureCount, SessionCounts};

use crate::{
    tables::{Align, Field, Head, Table},
    words,
};
use waggle_analysis::{CellSearch, Model, TrialModel, TrialNumbers, TrialPercentiles, TrialStep};

/// What a column holds for a trial; empty where there is nothing.
type Column = fn(&TrialModel) -> String;

/// The columns behind the factors' own.
const COLUMNS: [(&str, Column); 56] = [
    ("verdict", |trial| words::verdict(trial.verdict).to_owned()),
    ("measured_s", |trial| {
        of(trial, |numbers| Some(numbers.seconds))
    }),
    ("goodput_per_s", |trial| {
        of(trial, |numbers| Some(numbers.goodput_per_s))
    }),
    ("throughput_requests_per_s", |trial| {
        of(trial, |numbers| Some(numbers.throughput_per_s))
    }),
    ("achieved_share", |trial| {
        of(trial, |numbers| numbers.achieved_share)
    }),
    ("offered_requests_per_s", |trial| {
        of(trial, |numbers| numbers.offered_per_s)
    }),
    ("succeeded", |trial| {
        count(trial, |numbers| numbers.succeeded)
    }),
    ("failed", |trial| count(trial, |numbers| numbers.failed)),
    ("skipped", |trial| count(trial, |numbers| numbers.skipped)),
    ("response_time_p50_us", |trial| {
        time(trial, response, |times| times.p50.us)
    }),
    ("response_time_p90_us", |trial| {
        time(trial, response, |times| times.p90.us)
    }),
    ("response_time_p99_us", |trial| {
        time(trial, response, |times| times.p99.us)
    }),
    ("response_time_p99_9_us", |trial| {
        time(trial, response, |times| times.p999.us)
    }),
    ("response_time_max_us", |trial| {
        time(trial, response, |times| times.max.us)
    }),
    ("response_time_mean_us", |trial| {
        time(trial, response, |times| times.mean_us)
    }),
    ("service_time_p50_us", |trial| {
        time(trial, service, |times| times.p50.us)
    }),
    ("service_time_p99_us", |trial| {
        time(trial, service, |times| times.p99.us)
    }),
    ("service_time_max_us", |trial| {
        time(trial, service, |times| times.max.us)
    }),
    ("service_time_mean_us", |trial| {
        time(trial, service, |times| times.mean_us)
    }),
    ("failed_time_p50_us", |trial| {
        time(trial, failed, |times| times.p50.us)
    }),
    ("failed_time_max_us", |trial| {
        time(trial, failed, |times| times.max.us)
    }),
    ("records_sent", |trial| ledger(trial, |ledger| ledger.sent)),
    ("records_accepted", |trial| {
        ledger(trial, |ledger| ledger.accepted)
    }),
    ("records_rejected", |trial| {
        ledger(trial, |ledger| ledger.rejected)
    }),
    ("records_unknown", |trial| {
        ledger(trial, |ledger| ledger.unknown)
    }),
    ("records_delivered", |trial| {
        ledger(trial, |ledger| ledger.delivered)
    }),
    ("records_missing", |trial| {
        ledger(trial, |ledger| ledger.missing)
    }),
    ("records_unknown_delivered", |trial| {
        ledger(trial, |ledger| ledger.unknown_delivered)
    }),
    ("records_rejected_delivered", |trial| {
        ledger(trial, |ledger| ledger.rejected_delivered)
    }),
    ("records_unexpected", |trial| {
        ledger(trial, |ledger| ledger.unexpected)
    }),
    ("records_duplicates", |trial| {
        ledger(trial, |ledger| ledger.duplicates)
    }),
    ("records_late", |trial| ledger(trial, |ledger| ledger.late)),
    ("records_out_of_order", |trial| {
        ledger(trial, |ledger| ledger.out_of_order)
    }),
    ("delivery_delay_p50_us", |trial| {
        time(trial, delay, |times| times.p50.us)
    }),
    ("delivery_delay_p90_us", |trial| {
        time(trial, delay, |times| times.p90.us)
    }),
    ("delivery_delay_p99_us", |trial| {
        time(trial, delay, |times| times.p99.us)
    }),
    ("delivery_delay_max_us", |trial| {
        time(trial, delay, |times| times.max.us)
    }),
    ("delivery_delay_mean_us", |trial| {
        time(trial, delay, |times| times.mean_us)
    }),
    ("delivery_backlog_max", |trial| {
        of(trial, |numbers| numbers.backlog_max)
    }),
    ("delivery_resolution_ms", |trial| {
        delivery(trial, |delivery| Some(delivery.resolution_ms))
    }),
    ("delivery_negative_delays", |trial| {
        trial
            .delivery
            .as_ref()
            .map(|delivery| delivery.negative_delays.to_string())
            .unwrap_or_default()
    }),
    ("drained_after_s", |trial| {
        delivery(trial, |delivery| delivery.drained_after_s)
    }),
    ("probe_cost_cpu_s", |trial| {
        delivery(trial, |delivery| delivery.cost_cpu_s)
    }),
    ("system_cpu_us_per_request", |trial| {
        of(trial, |numbers| numbers.system_cpu_us_per_request)
    }),
    ("engine_cpu_us_per_request", |trial| {
        of(trial, |numbers| Some(numbers.engine_cpu_us_per_request))
    }),
    ("engine_busy_share", |trial| {
        of(trial, |numbers| Some(numbers.engine_busy_share))
    }),
    ("engine_lag_p99_us", |trial| {
        of(trial, |numbers| Some(numbers.engine_lag_p99_us))
    }),
    ("cpus_stolen_share", |trial| {
        of(trial, |numbers| numbers.cpus_stolen_share)
    }),
    ("cpus_idle_share", |trial| {
        of(trial, |numbers| numbers.cpus_idle_share)
    }),
    ("engine_possible_per_s", |trial| {
        of(trial, |numbers| numbers.engine_possible_per_s)
    }),
    ("system_rss_max_bytes", |trial| {
        of(trial, |numbers| numbers.system_rss_max_bytes)
    }),
    ("bytes_sent", |trial| {
        count(trial, |numbers| numbers.bytes_sent)
    }),
    ("bytes_received", |trial| {
        count(trial, |numbers| numbers.bytes_received)
    }),
    ("failures", |trial| {
        let numbers = trial.numbers.as_ref();
        kinds(numbers.map_or(&[], |numbers| &numbers.failures))
    }),
    ("level", |trial| trial.level.map(number).unwrap_or_default()),
    ("reasons", |trial| {
        trial
            .reasons
            .iter()
            .map(|reason| reason.text.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    }),
];

/// What a column of a run that searches holds for a trial: what it showed, and the answer of its cell.
type SearchColumn = fn(&CellSearch, &TrialModel) -> String;

/// The columns behind the others, in a run that searches.
const SEARCH: [(&str, SearchColumn); 5] = [
    ("evidence", |search, trial| {
        let step = search.steps.iter().find(|step| step.key == trial.key);
        step.map(|step| words::evidence(step.evidence).to_owned())
            .unwrap_or_default()
    }),
    ("cell_holds_at", |search, _| {
        let held = search.answer.holds;
        held.map(|held| number(held.level)).unwrap_or_default()
    }),
    ("cell_holds_trials", |search, _| {
        let held = search.answer.holds;
        held.map(|held| held.trials.to_string()).unwrap_or_default()
    }),
    ("cell_fails_at", |search, _| {
        search.answer.fails.map(number).unwrap_or_default()
    }),
    ("cell_search_ended", |search, _| {
        search.answer.end.name().to_owned()
    }),
];

fn search(model: &Model, trial: &TrialModel) -> Vec<String> {
    let find = model.find.as_ref();
    let search = find.and_then(|find| find.of_cell(trial.key.cell));
    let of = |search| {
        SEARCH
            .iter()
            .map(|(_, field)| field(search, trial))
            .collect()
    };
    search.map(of).unwrap_or_default()
}

/// The table of trials, by cell and repetition.
#[must_use]
pub fn csv(model: &Model) -> String {
    let mut out = String::new();
    line(&mut out, heads(model));
    for trial in &model.trials {
        line(&mut out, fields(model, trial));
    }
    out
}

/// The same as a table for the page, where every number must stand without scripts.
pub(crate) fn table(model: &Model) -> Table {
    let head = |text: String| Head {
        text,
        align: Align::Right,
    };
    Table {
        id: Some("every"),
        title: None,
        caption: "Every number of every trial, as in tables.csv".to_owned(),
        heads: heads(model).map(head).collect(),
        rows: model
            .trials
            .iter()
            .map(|trial| fields(model, trial).map(Field::plain).collect())
            .collect(),
    }
}

/// What a column holds for a step of a scenario.
type StepColumn = fn(&TrialStep) -> String;

/// The columns of each step, behind all others; each name follows the step's own and a point.
const STEP_COLUMNS: [(&str, StepColumn); 12] = [
    ("goodput_per_s", |step| number(step.goodput_per_s)),
    ("succeeded", |step| step.succeeded.to_string()),
    ("failed", |step| step.failed.to_string()),
    ("response_time_p50_us", |step| {
        of_times(step.response.as_ref(), |times| times.p50.us)
    }),
    ("response_time_p90_us", |step| {
        of_times(step.response.as_ref(), |times| times.p90.us)
    }),
    ("response_time_p99_us", |step| {
        of_times(step.response.as_ref(), |times| times.p99.us)
    }),
    ("response_time_p99_9_us", |step| {
        of_times(step.response.as_ref(), |times| times.p999.us)
    }),
    ("response_time_max_us", |step| {
        of_times(step.response.as_ref(), |times| times.max.us)
    }),
    ("response_time_mean_us", |step| {
        of_times(step.response.as_ref(), |times| times.mean_us)
    }),
    ("service_time_p50_us", |step| {
        of_times(step.service.as_ref(), |times| times.p50.us)
    }),
    ("service_time_p99_us", |step| {
        of_times(step.service.as_ref(), |times| times.p99.us)
    }),
    ("failures", |step| kinds(&step.failures)),
];

/// What a column holds for the sessions of a scenario.
type SessionColumn = fn(&SessionCounts) -> u64;

const SESSION_COLUMNS: [(&str, SessionColumn); 3] = [
    ("sessions_started", |sessions| sessions.started),
    ("sessions_completed", |sessions| sessions.completed),
    ("sessions_failed", |sessions| sessions.failed),
];

/// Every step of any trial, in their order; none without a scenario.
fn step_names(model: &Model) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let all = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    for step in all.flat_map(|numbers| &numbers.steps) {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    names
}

fn scenario_heads(model: &Model) -> Vec<String> {
    let names = step_names(model);
    let sessions = SESSION_COLUMNS.iter().map(|(head, _)| (*head).to_owned());
    let steps = names.iter().flat_map(|name| {
        let heads = STEP_COLUMNS.iter();
        heads.map(move |(head, _)| format!("{name}.{head}"))
    });
    if names.is_empty() {
        Vec::new()
    } else {
        sessions.chain(steps).collect()
    }
}

fn scenario_fields(model: &Model, trial: &TrialModel) -> Vec<String> {
    let names = step_names(model);
    if names.is_empty() {
        return Vec::new();
    }
    let numbers = trial.numbers.as_ref();
    let sessions = SESSION_COLUMNS.iter().map(|(_, pick)| {
        let counts = numbers.and_then(|numbers| numbers.sessions.as_ref());
        counts
            .map(|counts| pick(counts).to_string())
            .unwrap_or_default()
    });
    let steps = names.iter().flat_map(|name| {
        let steps = numbers.map_or(&[][..], |numbers| &numbers.steps);
        let step = steps.iter().find(|step| step.name == *name);
        STEP_COLUMNS
            .iter()
            .map(move |(_, field)| step.map(field).unwrap_or_default())
    });
    sessions.chain(steps).collect()
}

fn kinds(failures: &[FailureCount]) -> String {
    let one = |failure: &FailureCount| format!("{}={}", failure.kind, failure.count);
    failures.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn of_times(times: Option<&TrialPercentiles>, pick: fn(&TrialPercentiles) -> f64) -> String {
    times.map(|times| number(pick(times))).unwrap_or_default()
}

fn heads(model: &Model) -> impl Iterator<Item = String> {
    let place = ["cell", "repetition", "position", "started_utc"]
        .into_iter()
        .map(str::to_owned);
    // A factor may be called like a column of ours.
    let factors = model
        .factors
        .iter()
        .map(|factor| format!("factor_{}", factor.name));
    place
        .chain(factors)
        .chain(COLUMNS.iter().map(|(name, _)| (*name).to_owned()))
        .chain(scenario_heads(model))
        .chain(places::heads(model))
        .chain(busiest::heads(model))
        .chain(disturbed::heads(model))
        .chain(recovery::heads(model))
        .chain(
            SEARCH
                .iter()
                .filter(|_| model.find.is_some())
                .map(|(name, _)| (*name).to_owned()),
        )
}

fn fields(model: &Model, trial: &TrialModel) -> impl Iterator<Item = String> {
    let place = [
        trial.key.cell.to_string(),
        trial.key.repetition.to_string(),
        trial.position.to_string(),
        trial.started_utc.clone(),
    ];
    let levels = model.factors.iter().map(|factor| {
        let level = trial.levels.iter().find(|(name, _)| *name == factor.name);
        level.map(|(_, level)| level.clone()).unwrap_or_default()
    });
    place
        .into_iter()
        .chain(levels)
        .chain(COLUMNS.iter().map(|(_, field)| field(trial)))
        .chain(scenario_fields(model, trial))
        .chain(places::fields(model, trial))
        .chain(busiest::fields(model, trial))
        .chain(disturbed::fields(model, trial))
        .chain(recovery::fields(model, trial))
        .chain(search(model, trial))
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (place, field) in fields.enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(&quoted(field));
    }
    out.push('\n');
}

/// RFC 4180; and a leading sign that a spreadsheet would run as a formula is kept from it.
fn quoted(field: String) -> String {
    let formula =
        field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = if formula { format!("'{field}") } else { field };
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

fn of(trial: &TrialModel, pick: fn(&TrialNumbers) -> Option<f64>) -> String {
    trial
        .numbers
        .as_ref()
        .and_then(pick)
        .map(number)
        .unwrap_or_default()
}

fn count(trial: &TrialModel, pick: fn(&TrialNumbers) -> u64) -> String {
    trial
        .numbers
        .as_ref()
        .map(|numbers| pick(numbers).to_string())
        .unwrap_or_default()
}

fn time(
    trial: &TrialModel,
    which: fn(&TrialNumbers) -> Option<&TrialPercentiles>,
    pick: fn(&TrialPercentiles) -> f64,
) -> String {
    trial
        .numbers
        .as_ref()
        .and_then(which)
        .map(|times| number(pick(times)))
        .unwrap_or_default()
}

fn ledger(trial: &TrialModel, pick: fn(&waggle_results::LedgerInfo) -> u64) -> String {
    trial
        .ledger
        .as_ref()
        .map(|ledger| pick(ledger).to_string())
        .unwrap_or_default()
}

fn delivery(trial: &TrialModel, pick: fn(&waggle_results::DeliveryInfo) -> Option<f64>) -> String {
    trial
        .delivery
        .as_ref()
        .and_then(pick)
        .map(number)
        .unwrap_or_default()
}

/// Six decimals at most: a table of results, not of rounding noise.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn response(numbers: &TrialNumbers) -> Option<&TrialPercentiles> {
    numbers.response.as_ref()
}

fn service(numbers: &TrialNumbers) -> Option<&TrialPercentiles> {
    numbers.service.as_ref()
}

fn failed(numbers: &TrialNumbers) -> Option<&TrialPercentiles> {
    numbers.failed_times.as_ref()
}

fn delay(numbers: &TrialNumbers) -> Option<&TrialPercentiles> {
    numbers.delay.as_ref()
}
