//! Which numbers of a trial are looked at as outcomes.

use super::OutcomeEffects;
use crate::{
    model::{CellModel, TrialModel, TrialNumbers, TrialPercentiles},
    text::Unit,
};

const LAST_DELAY: &str = "delivery_delay_p99_us";
const RESPONSE_TIME: &str = "response_time_p99_us";

/// A number of each trial.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) column: String,
    pub(crate) unit: Unit,
    pick: Pick,
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
}

/// In the order in which they are shown: what was reached, how late, at what cost.
pub(crate) fn outcomes(cells: &[&CellModel], delivery_at: Option<&str>) -> Vec<Outcome> {
    let number = |name: &str, column: &str, unit, pick| Outcome {
        name: name.to_owned(),
        column: column.to_owned(),
        unit,
        pick: Pick::Number(pick),
    };
    let mut all = vec![
        number("Goodput", "goodput_per_s", Unit::Plain, |numbers| {
            Some(numbers.goodput_per_s)
        }),
        number("Response time p99", RESPONSE_TIME, Unit::Time, |numbers| {
            numbers.response.as_ref().map(|times| times.p99.us)
        }),
    ];
    for place in places(cells) {
        let delay = |percentile: &str, pick| Outcome {
            name: format!("Delivery delay {percentile} at {place}"),
            column: format!("{place}.delivery_delay_{percentile}_us"),
            unit: Unit::Time,
            pick: Pick::Place(place.clone(), pick),
        };
        all.extend([
            delay("p50", |times| times.p50.us),
            delay("p99", |times| times.p99.us),
        ]);
    }
    let at = delivery_at
        .map(|place| format!(" at {place}"))
        .unwrap_or_default();
    all.extend([
        number(
            &format!("Delivery delay p50{at}"),
            "delivery_delay_p50_us",
            Unit::Time,
            |numbers| numbers.delay.as_ref().map(|times| times.p50.us),
        ),
        number(
            &format!("Delivery delay p99{at}"),
            LAST_DELAY,
            Unit::Time,
            |numbers| numbers.delay.as_ref().map(|times| times.p99.us),
        ),
        number(
            "System CPU per request",
            "system_cpu_us_per_request",
            Unit::Time,
            |numbers| numbers.system_cpu_us_per_request,
        ),
    ]);
    all
}

/// Place of the outcome that a study is most often about: how late at the end of the way, else the response time, else any.
pub(crate) fn first(outcomes: &[OutcomeEffects]) -> usize {
    let at = |column: &str| outcomes.iter().position(|one| one.column == column);
    at(LAST_DELAY).or_else(|| at(RESPONSE_TIME)).unwrap_or(0)
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
