//! The question, its answer, and the tiles: the few values that a reader looks for first.

use waggle_analysis::{AnswerOf, AnswerRole, CellModel, MetricAnswer, Model, Number};
use waggle_metrics::{Metric, Wish};
use waggle_spec::{LoadKind, TimeKind};
use waggle_stats::Estimate;

use super::{asked_before, power, warnings, words};
use crate::{
    layout::document::{Figure, Opening},
    words::{
        format::{self, Unit},
        labels,
        names::name_of,
        sentence::uncapitalise,
    },
};

pub(crate) fn opening(model: &Model) -> Opening {
    let info = &model.info;
    let question = match info.question.is_empty() {
        true => &info.study,
        false => &info.question,
    };
    Opening {
        study: info.study.clone(),
        started_utc: info.started_utc.clone(),
        question: question.clone(),
        verdict: model
            .answer
            .verdict
            .map(|verdict| labels::verdict(verdict).to_owned()),
        answer: words::sentences(model),
        notes: notes(model),
        warnings: warnings::sentences(model),
        figures: figures(model),
    }
}

/// What was asked before, and how far the intervals reach.
fn notes(model: &Model) -> Vec<String> {
    let asked = model.cells.iter().flat_map(|cell| &cell.asked);
    let mut numbers = asked.filter_map(|metric| metric.number);
    let has_interval =
        |number| matches!(number, Number::Estimate(estimate) if estimate.interval.is_some());
    let has_intervals = model.search.is_none() && numbers.any(has_interval);
    let of_this_run = has_intervals.then(|| power::OF_THIS_RUN.to_owned());
    let all = [
        asked_before::mark_of_answer(model),
        of_this_run,
        power::sentence(model),
    ];
    all.into_iter().flatten().collect()
}

/// So many metrics that the study asks about have a tile.
const ASKED_TILES: usize = 2;

fn figures(model: &Model) -> Vec<Figure> {
    let metrics: &[MetricAnswer] = match &model.answer.of {
        AnswerOf::Metrics(metrics) => metrics,
        AnswerOf::Nothing | AnswerOf::Searches(_) => &[],
    };
    let is_asked = |answer: &&MetricAnswer| answer.role == AnswerRole::Asked;
    let asked: Vec<&MetricAnswer> = metrics.iter().filter(is_asked).collect();
    let best = model.answer.cell.and_then(|number| model.cell(number));
    let mut figures: Vec<Figure> = asked
        .iter()
        .take(ASKED_TILES)
        .map(|metric| of_metric(model, metric))
        .collect();
    figures.extend(
        best.map(|cell| of_best(model, cell, &asked))
            .into_iter()
            .flatten(),
    );
    figures.extend(missing_figure(model));
    figures.push(doubt_figure(model));
    figures
}

/// The best value of a metric that the study asks about, and its cell.
fn of_metric(model: &Model, answer: &MetricAnswer) -> Figure {
    let lone = model.cells.len() == 1;
    let what = match (lone, answer.wish) {
        (true, _) => answer.name.clone(),
        (false, Wish::Less) => format!("Lowest {}", uncapitalise(&answer.name)),
        (false, Wish::More | Wish::Neither) => format!("Highest {}", uncapitalise(&answer.name)),
    };
    let shown = |value: f64| format::in_unit(value, answer.unit);
    let least = answer.best.number.shown_least();
    let lowest = least.map(|least| format!("≥ {} · ", shown(least)));
    let lowest = lowest.unwrap_or_default();
    let certainty = match answer.best.number {
        Number::Estimate(estimate) => match estimate.interval {
            Some(ends) => format::ends_in_unit(ends, answer.unit),
            None => format!("{lowest}single trial"),
        },
        Number::Exact(_) | Number::Within(_) => format!("{lowest}over all trials"),
    };
    Figure {
        what: match answer.metric {
            Metric::Goodput => format!("{what}, {}", labels::counted_word(model.counted)),
            _ => what,
        },
        value: words::bound_sign(&answer.best, shown(answer.best.number.point())),
        small: match lone {
            true => certainty,
            false => format!("{certainty} · {}", name_of(model, answer.best.cell)),
        },
    }
}

/// What else a reader looks for, in the same cell. The rate of a load that comes by itself was asked for, and is no finding.
fn of_best(model: &Model, cell: &CellModel, asked: &[&MetricAnswer]) -> Vec<Figure> {
    let place = match model.cells.len() {
        1 => "",
        _ => ", at that cell",
    };
    let is_asked = |metric: Metric| asked.iter().any(|answer| answer.metric == metric);
    let figure = |metric: Metric, what: &str, estimate: Option<&Estimate>, unit: Unit| {
        let estimate = estimate.filter(|_| !is_asked(metric))?;
        Some(estimate_figure(format!("{what}{place}"), estimate, unit))
    };
    let is_finding = matches!(model.info.load_model, LoadKind::Closed | LoadKind::Clients)
        || model.search.is_some();
    let goodput = cell.goodput.as_ref().filter(|_| is_finding);
    let goodput = figure(
        Metric::Goodput,
        &format!("Goodput, {}/s", labels::counted_word(model.counted)),
        goodput,
        Unit::Plain,
    );
    let time = |metric, what, estimate| figure(metric, what, estimate, Unit::Time);
    let response = cell.response.p99.estimate.as_ref();
    let cpu = cell.system_cpu_us_per_request.as_ref();
    // A few windows of a sample do not show it.
    let is_delay_shown = (cell.delay.p99.thin).is_none_or(|thin| !thin.is_of_windows());
    [
        goodput,
        time(
            Metric::Time(TimeKind::Response),
            "Response time p99",
            response,
        ),
        time(
            Metric::Delay,
            "Delivery delay p99",
            cell.delay.p99.estimate.as_ref().filter(|_| is_delay_shown),
        ),
        time(Metric::SystemCpuPerRequest, "System CPU per request", cpu),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn estimate_figure(what: String, estimate: &Estimate, unit: Unit) -> Figure {
    Figure {
        what,
        value: format::point(estimate, unit),
        small: format::certainty(estimate, unit).unwrap_or_else(|| "single trial".to_owned()),
    }
}

fn missing_figure(model: &Model) -> Option<Figure> {
    let account = model.account.as_ref()?;
    let scope = match model.search {
        Some(_) => "at the highest holding levels",
        None => "all trials",
    };
    Some(Figure {
        what: "Missing records".to_owned(),
        value: format::count(account.missing.sum),
        small: format!("{} delivered, {scope}", format::count(account.delivered)),
    })
}

/// The same cells as those in the note of the terminal.
fn doubt_figure(model: &Model) -> Figure {
    let doubtful = model.doubtful();
    let counts: Vec<String> = model
        .verdict_counts()
        .iter()
        .map(|(verdict, count)| format!("{count} {}", labels::verdict(*verdict)))
        .collect();
    Figure {
        what: "Cells with doubts".to_owned(),
        value: format!("{} of {}", doubtful.cells, doubtful.of),
        small: counts.join(", "),
    }
}
