//! Which numbers of a trial are looked at as outcomes: over factors, over the levels of one, of two levels against each other.

use crate::{CellModel, TrialModel, TrialNumbers, TrialPercentiles, text::Unit};

pub(crate) const GOODPUT: &str = "goodput_per_s";
pub(crate) const LAST_DELAY: &str = "delivery_delay_p99_us";
pub(crate) const RESPONSE_TIME: &str = "response_time_p99_us";

/// A number of each trial.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) column: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// Path of the same number in a study, without the request's name; empty where no condition can name it.
    pub(crate) path: Vec<String>,
    pick: Pick,
}

/// Which way an outcome is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Quicker,
    Cheaper,
    FewerErrors,
}

enum Pick {
    Number(fn(&TrialNumbers) -> Option<f64>),
    /// Of the place on the way with this name.
    Place(String, fn(&TrialPercentiles) -> f64),
}

impl Outcome {
    /// The outcome in one trial; `None` where it was not measured.
    pub(crate) fn of(&self, trial: &TrialModel, numbers: &TrialNumbers) -> Option<f64> {
        match &self.pick {
            Pick::Number(pick) => pick(numbers),
            Pick::Place(name, pick) => {
                let place = trial.on_the_way.iter().find(|place| place.name == *name)?;
                place.delay.as_ref().map(pick)
            }
        }
    }

    /// The outcome in each trial of a cell that came to its end.
    pub(crate) fn of_cell(&self, cell: &CellModel, trials: &[TrialModel]) -> Vec<f64> {
        let own = trials.iter().filter(|trial| trial.key.cell == cell.cell);
        own.filter_map(|trial| self.of(trial, trial.counts()?))
            .collect()
    }

    /// Why the outcome of a cell should not be relied on, where too few samples lie beyond a percentile.
    pub(crate) fn thin<'a>(&self, cell: &'a CellModel) -> Option<&'a str> {
        let percentile = match self.column.as_str() {
            "response_time_p50_us" => &cell.response.p50,
            RESPONSE_TIME => &cell.response.p99,
            "delivery_delay_p50_us" => &cell.delay.p50,
            LAST_DELAY => &cell.delay.p99,
            _ => return None,
        };
        percentile.thin.as_deref()
    }
}

/// In the order in which they are shown: what was reached, how late, at what cost.
pub(crate) fn outcomes(cells: &[&CellModel], delivery_at: Option<&str>) -> Vec<Outcome> {
    let response = |percentile: &str, pick| Outcome {
        name: format!("Response time {percentile}"),
        column: format!("response_time_{percentile}_us"),
        unit: Unit::Time,
        better: Better::Quicker,
        path: path(&["response_time", percentile]),
        pick: Pick::Number(pick),
    };
    let mut all = vec![
        Outcome {
            name: "Goodput".to_owned(),
            column: GOODPUT.to_owned(),
            unit: Unit::Plain,
            better: Better::Higher,
            path: path(&["goodput"]),
            pick: Pick::Number(|numbers| Some(numbers.goodput_per_s)),
        },
        response("p50", |numbers| {
            numbers.response.as_ref().map(|times| times.p50.us)
        }),
        response("p99", |numbers| {
            numbers.response.as_ref().map(|times| times.p99.us)
        }),
    ];
    for place in places(cells) {
        all.extend(delays_at(&place));
    }
    let at = delivery_at
        .map(|place| format!(" at {place}"))
        .unwrap_or_default();
    let delay = |percentile: &str, pick| Outcome {
        name: format!("Delivery delay {percentile}{at}"),
        column: format!("delivery_delay_{percentile}_us"),
        unit: Unit::Time,
        better: Better::Quicker,
        path: path(&["delivery", "delay", percentile]),
        pick: Pick::Number(pick),
    };
    all.extend([
        delay("p50", |numbers| {
            numbers.delay.as_ref().map(|times| times.p50.us)
        }),
        delay("p99", |numbers| {
            numbers.delay.as_ref().map(|times| times.p99.us)
        }),
        Outcome {
            name: "System CPU per request".to_owned(),
            column: "system_cpu_us_per_request".to_owned(),
            unit: Unit::Time,
            better: Better::Cheaper,
            path: Vec::new(),
            pick: Pick::Number(|numbers| numbers.system_cpu_us_per_request),
        },
    ]);
    all
}

fn path(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

fn delays_at(place: &str) -> [Outcome; 2] {
    let delay = |percentile: &str, pick| Outcome {
        name: format!("Delivery delay {percentile} at {place}"),
        column: format!("{place}.delivery_delay_{percentile}_us"),
        unit: Unit::Time,
        better: Better::Quicker,
        path: path(&["delivery", place, "delay", percentile]),
        pick: Pick::Place(place.to_owned(), pick),
    };
    [
        delay("p50", |times| times.p50.us),
        delay("p99", |times| times.p99.us),
    ]
}

/// Every place on the way of any cell, in its order.
fn places(cells: &[&CellModel]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for place in cells.iter().flat_map(|cell| &cell.on_the_way) {
        if !names.contains(&place.name) {
            names.push(place.name.clone());
        }
    }
    names
}
