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

fn pair_text(kind: Between) -> &'static str {
    match kind {
        Between::Cells => "between two cells",
        Between::Runs => "to another run, if runs scatter no more than their trials do,",
    }
}

/// What a reader of the answer needs to know; `None`: no scatter is known.
pub(crate) fn sentence(model: &Model) -> Option<String> {
    let power = power(model)?;
    let metric = |metric_power: &MetricPower| {
        let smallest = difference(metric_power.smallest?);
        let name = uncapitalise(&metric_power.name);
        Some(format!("{smallest} or more in {name}"))
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
        .map(|metric_power| metric(metric_power, "trials"))
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
fn metric(metric_power: &MetricPower, trials: &str) -> String {
    let smallest = metric_power
        .smallest
        .map_or_else(|| "not known".to_owned(), difference);
    let pairs = match metric_power.is_paired() {
        true => ", compared repetition by repetition",
        false => "",
    };
    let more = metric_power
        .more
        .map_or_else(String::new, |(count, smaller)| {
            format!("; with {count} {trials} {}", round_difference(smaller))
        });
    format!(
        "{} {smallest} ({} of a cell, which scatter by {}{pairs}){more}",
        uncapitalise(&metric_power.name),
        plural(metric_power.trials, "trial"),
        format::share(metric_power.scatter.deviation)
    )
}

/// What planned repetitions show, a line each.
#[must_use]
pub fn plan_lines(planned: &PlannedPower, source: &str) -> Vec<String> {
    let PowerModel {
        between: kind,
        metrics,
    } = &planned.power;
    let Some(first) = metrics.first() else {
        return Vec::new();
    };
    let heading = format!(
        "{} of a cell find in 80 of 100 runs, at 5 % on both sides, by the scatter in {source}, a difference {} of",
        plural(first.trials, "repetition"),
        pair_text(*kind)
    );
    let lines = metrics.iter().map(plan_line);
    [heading].into_iter().chain(lines).collect()
}

fn plan_line(metric_power: &MetricPower) -> String {
    let scatter = format::share(metric_power.scatter.deviation);
    let smallest = match metric_power.smallest {
        Some(smallest) => format!("{} or more", difference(smallest)),
        None => "none, as one has no interval".to_owned(),
    };
    let more = metric_power
        .more
        .map_or_else(String::new, |(count, smaller)| {
            format!("; {count} find {}", round_difference(smaller))
        });
    format!(
        "  {}: {smallest} (trials scatter by {scatter}){more}",
        uncapitalise(&metric_power.name)
    )
}
