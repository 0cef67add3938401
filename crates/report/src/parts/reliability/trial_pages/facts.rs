//! The numbers of one trial, and what was read from the system in it.

use crate::{
    layout::{
        document::Term,
        table::{Column, Field, Table},
    },
    parts::{capacity::search::words::level, columns::per_second},
    words::{
        format::{self, NONE, Unit},
        labels,
    },
};
use waggle_analysis::{Model, TrialModel, TrialNumbers, TrialPercentiles, unit_of_metric};
use waggle_metrics::Statistic;
use waggle_spec::TimeKind;

/// What there is of it.
pub(super) fn facts(model: &Model, trial: &TrialModel) -> Vec<Term> {
    let info = &trial.info;
    let searched = model.search.as_ref().zip(info.level);
    let level = searched.map(|(search, value)| level(search.info.maximize, value));
    let numbers = trial.numbers.as_ref();
    let rate = numbers.map(|numbers| format::plain(numbers.goodput_per_s));
    let ledger = info.ledger.as_ref().map(|ledger| {
        let [delivered, missing] = [ledger.delivered, ledger.missing].map(format::count);
        format!("{delivered} delivered, {missing} missing")
    });
    let all = [
        (
            "Started",
            Some(format!(
                "{}, position {} of the run",
                info.started_utc, info.position
            )),
        ),
        ("Level", level),
        (
            "Phases",
            Some(phases(trial)).filter(|text| !text.is_empty()),
        ),
        ("Response time", numbers.and_then(response_time)),
        (
            "Failed requests",
            numbers.map(|numbers| format::count(numbers.counts.failed)),
        ),
        ("Records", ledger),
        ("CPU", numbers.and_then(cores)),
        ("Memory, peak", numbers.and_then(memory)),
        (
            "Load generator",
            numbers.map(|numbers| {
                format!(
                    "{} of a worker's CPU",
                    format::share(numbers.generator_utilization)
                )
            }),
        ),
    ];
    let goodput = rate.map(|rate| term("Goodput", format!("{rate} {}", per_second(model.counted))));
    let terms = all
        .into_iter()
        .filter_map(|(name, text)| Some(term(name, text?)));
    let mut terms: Vec<Term> = terms.collect();
    let place = terms.len().min(2 + usize::from(info.level.is_some()));
    terms.splice(place..place, goodput);
    terms
}

fn term(name: &str, meaning: String) -> Term {
    Term {
        name: Field::plain(name),
        code: None,
        meaning,
    }
}

/// Seconds since the start of the load.
pub(super) fn phases(trial: &TrialModel) -> String {
    let spans = trial.info.phases.iter().map(|phase| {
        format!(
            "{} {} to {} s",
            labels::phase(phase.phase),
            format::three_digits(phase.start_s),
            format::three_digits(phase.end_s)
        )
    });
    spans.collect::<Vec<_>>().join(" · ")
}

fn response_time(numbers: &TrialNumbers) -> Option<String> {
    let times: &TrialPercentiles = numbers.times[TimeKind::Response].as_ref()?;
    let named = [
        ("p50", Statistic::P50),
        ("p90", Statistic::P90),
        ("p99", Statistic::P99),
        ("p99.9", Statistic::P999),
        ("max", Statistic::Max),
    ];
    let shown = named.iter().filter_map(|(name, statistic)| {
        Some(format!(
            "{name} {}",
            Unit::Time.show(times.statistic(*statistic)?)
        ))
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| shown.join(" · "))
}

fn cores(numbers: &TrialNumbers) -> Option<String> {
    let each = numbers.component_cores.iter();
    let each = each.map(|(name, cores)| format!("{name} {} cores", format::plain(*cores)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(" · "))
}

fn memory(numbers: &TrialNumbers) -> Option<String> {
    let each = numbers.component_rss.iter();
    let each = each.map(|(name, memory)| format!("{name} {}", format::bytes(memory.max_bytes)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(" · "))
}

/// `None` if nothing was read.
pub(super) fn system_metrics(model: &Model, trial: &TrialModel) -> Option<Table> {
    let numbers = trial.numbers.as_ref()?;
    type Row<'a> = &'a waggle_analysis::TrialSystemMetric;
    let shown = |metric: &Row<'_>, value: Option<f64>| {
        let unit = unit_of_metric(&model.info.metrics, &metric.name);
        Field::plain(value.map_or_else(|| NONE.to_owned(), |value| format::in_unit(value, unit)))
    };
    let columns = vec![
        Column::words("what the system said", |metric: &Row<'_>| {
            Field::plain(metric.name.as_str())
        }),
        Column::numbers("mean", |metric: &Row<'_>| {
            shown(metric, metric.measured.map(|measured| measured.mean))
        }),
        Column::numbers("max", |metric: &Row<'_>| {
            shown(metric, metric.measured.map(|measured| measured.max))
        }),
        Column::numbers("end", |metric: &Row<'_>| shown(metric, Some(metric.end))),
    ];
    let caption =
        "Metrics of the system: mean and max over the measured phase, and the last reading";
    let table = Table::new("trial-metrics", caption, columns, &numbers.metrics);
    table.without_heading().unless_empty()
}
