//! Which difference a run could have shown, or planned repetitions will show.

use waggle_analysis::{Between, MetricPower, Model, PlannedPower, PowerModel, power};

use crate::words::{
    fact::Fact,
    format::{self, plural},
    sentence::uncapitalise,
};

/// An interval says how a repetition in this run would scatter, and nothing of another run.
pub(crate) const OF_THIS_RUN: &str =
    "Intervals are of this run only: another run, day or host varies more.";

/// The smallest difference of a metric, as the sentences say it: `25 %`, `2.4×`.
pub(crate) fn difference(share: f64) -> String {
    match share {
        share if share >= 0.995 => format::times(1.0 + share),
        share if share >= 0.095 => format!("{:.0} %", share * 100.0),
        share => format!("{:.1} %", share * 100.0),
    }
}

fn round_difference(share: f64) -> String {
    match share >= 1.0 {
        true => format::times(1.0 + share),
        false => format::set_share(share),
    }
}

fn pair_text(of: Between) -> &'static str {
    match of {
        Between::Cells => "between two cells",
        Between::Runs => "to another run, if runs scatter no more than their trials do,",
    }
}

/// What a reader of the answer needs to know; `None`: no scatter is known.
pub(crate) fn sentence(model: &Model) -> Option<String> {
    let power = power(model)?;
    let metric = |one: &MetricPower| {
        let smallest = difference(one.smallest?);
        Some(format!("{smallest} or more in {}", uncapitalise(&one.name)))
    };
    let metrics: Vec<String> = power.metrics.iter().filter_map(metric).collect();
    (!metrics.is_empty()).then(|| {
        format!(
            "80 of 100 runs like this one show a difference {} of {}.",
            pair_text(power.between),
            metrics.join(", of ")
        )
    })
}

/// For the methodology.
pub(crate) fn fact(model: &Model) -> Option<Fact> {
    let power = power(model)?;
    let metrics: Vec<String> = power
        .metrics
        .iter()
        .map(|one| metric(one, "trials"))
        .collect();
    let text = format!(
        "smallest difference {} that 80 of 100 runs like this one show, at 5 % on both sides, for one comparison that was chosen before; \
         among many, which are tested together, it must be larger: {}",
        pair_text(power.between),
        metrics.join("; ")
    );
    Some(("Power", text))
}

/// `goodput 25 % (3 trials of a cell, which scatter by 6.1 %, compared repetition by repetition); with 7 trials 10 %`.
fn metric(one: &MetricPower, trials: &str) -> String {
    let smallest = one
        .smallest
        .map_or_else(|| "not known".to_owned(), difference);
    let pairs = match one.is_paired() {
        true => ", compared repetition by repetition",
        false => "",
    };
    let more = one.more.map_or_else(String::new, |(count, smaller)| {
        format!("; with {count} {trials} {}", round_difference(smaller))
    });
    format!(
        "{} {smallest} ({} of a cell, which scatter by {}{pairs}){more}",
        uncapitalise(&one.name),
        plural(one.trials, "trial"),
        format::share(one.scatter.deviation)
    )
}

/// What planned repetitions show, a line each.
#[must_use]
pub fn plan_lines(planned: &PlannedPower, source: &str) -> Vec<String> {
    let PowerModel {
        between: of,
        metrics,
    } = &planned.power;
    let Some(first) = metrics.first() else {
        return Vec::new();
    };
    let heading = format!(
        "{} of a cell find in 80 of 100 runs, at 5 % on both sides, by the scatter in {source}, a difference {} of",
        plural(first.trials, "repetition"),
        pair_text(*of)
    );
    let line = |one: &MetricPower| {
        let scatter = format::share(one.scatter.deviation);
        let smallest = match one.smallest {
            Some(smallest) => format!("{} or more", difference(smallest)),
            None => "none, as one has no interval".to_owned(),
        };
        let more = one.more.map_or_else(String::new, |(count, smaller)| {
            format!("; {count} find {}", round_difference(smaller))
        });
        format!(
            "  {}: {smallest} (trials scatter by {scatter}){more}",
            uncapitalise(&one.name)
        )
    };
    [heading]
        .into_iter()
        .chain(metrics.iter().map(line))
        .collect()
}
