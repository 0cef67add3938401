//! The columns of places on the records' way, of arrivals and of watches, in runs that have them.

use super::{number, of_times};
use waggle_analysis::{Model, TrialModel, TrialPlace};

/// What a column holds for a place on the way.
type PlaceColumn = fn(&TrialPlace) -> String;

/// The columns of each place; each name follows the place's own and a point.
const PLACE_COLUMNS: [(&str, PlaceColumn); 17] = [
    ("records_delivered", |place| {
        place.ledger.delivered.to_string()
    }),
    ("records_missing", |place| place.ledger.missing.to_string()),
    ("records_unexpected", |place| {
        place.ledger.unexpected.to_string()
    }),
    ("records_duplicates", |place| {
        place.ledger.duplicates.to_string()
    }),
    ("records_late", |place| place.ledger.late.to_string()),
    ("records_out_of_order", |place| {
        place.ledger.out_of_order.to_string()
    }),
    ("delivery_delay_p50_us", |place| {
        of_times(place.delay.as_ref(), |times| times.p50.us)
    }),
    ("delivery_delay_p90_us", |place| {
        of_times(place.delay.as_ref(), |times| times.p90.us)
    }),
    ("delivery_delay_p99_us", |place| {
        of_times(place.delay.as_ref(), |times| times.p99.us)
    }),
    ("delivery_delay_max_us", |place| {
        of_times(place.delay.as_ref(), |times| times.max.us)
    }),
    ("delivery_delay_mean_us", |place| {
        of_times(place.delay.as_ref(), |times| times.mean_us)
    }),
    ("arrival_delay_p50_us", |place| {
        of_times(place.arrival.as_ref(), |times| times.p50.us)
    }),
    ("arrival_delay_p99_us", |place| {
        of_times(place.arrival.as_ref(), |times| times.p99.us)
    }),
    ("arrival_delay_mean_us", |place| {
        of_times(place.arrival.as_ref(), |times| times.mean_us)
    }),
    ("delivery_backlog_max", |place| {
        place.backlog_max.map(number).unwrap_or_default()
    }),
    ("delivery_resolution_ms", |place| {
        number(place.delivery.resolution_ms)
    }),
    ("drained_after_s", |place| {
        place
            .delivery
            .drained_after_s
            .map(number)
            .unwrap_or_default()
    }),
];

/// The columns of the last place's own arrivals.
const ARRIVAL_HEADS: [&str; 3] = [
    "arrival_delay_p50_us",
    "arrival_delay_p99_us",
    "arrival_delay_mean_us",
];

pub(super) fn heads(model: &Model) -> Vec<String> {
    let arrivals = has_arrivals(model).then_some(ARRIVAL_HEADS);
    let arrivals = arrivals.into_iter().flatten().map(str::to_owned);
    let places = model.info.on_the_way.iter().flat_map(|name| {
        let columns = PLACE_COLUMNS.iter();
        columns.map(move |(head, _)| format!("{name}.{head}"))
    });
    let watches = model.info.watches.iter().flat_map(|watch| {
        ["mean", "max", "end"].map(|which| format!("watch_{}_{which}", watch.name))
    });
    arrivals.chain(places).chain(watches).collect()
}

pub(super) fn fields(model: &Model, trial: &TrialModel) -> Vec<String> {
    let numbers = trial.numbers.as_ref();
    let mut fields = Vec::new();
    if has_arrivals(model) {
        let arrival = numbers.and_then(|numbers| numbers.arrival.as_ref());
        fields.extend([
            of_times(arrival, |times| times.p50.us),
            of_times(arrival, |times| times.p99.us),
            of_times(arrival, |times| times.mean_us),
        ]);
    }
    for name in &model.info.on_the_way {
        let place = trial.on_the_way.iter().find(|place| place.name == *name);
        let columns = PLACE_COLUMNS.iter();
        fields.extend(columns.map(|(_, field)| place.map(field).unwrap_or_default()));
    }
    for watch in &model.info.watches {
        let watched = numbers
            .into_iter()
            .flat_map(|numbers| &numbers.watches)
            .find(|one| one.name == watch.name);
        let measured = watched.and_then(|one| one.measured);
        let all = [
            measured.map(|one| one.mean),
            measured.map(|one| one.max),
            watched.map(|one| one.end),
        ];
        fields.extend(all.map(|value| value.map(number).unwrap_or_default()));
    }
    fields
}

fn has_arrivals(model: &Model) -> bool {
    let mut numbers = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    numbers.any(|numbers| numbers.arrival.is_some())
}
