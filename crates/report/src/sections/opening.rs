//! The question, its answer, and the tiles: the few values that a reader looks for first.

use waggle_stats::Estimate;

use crate::{
    document::{Figure, Opening},
    format::{self, Unit},
    labels,
    wording::{answer, warnings},
};
use waggle_analysis::{CellModel, Model};

pub(super) fn opening(model: &Model) -> Opening {
    let info = &model.info;
    let question = match info.question.is_empty() {
        true => &info.study,
        false => &info.question,
    };
    Opening {
        study: info.study.clone(),
        started_utc: info.started_utc.clone(),
        question: question.clone(),
        verdict: model.answer.verdict,
        answer: answer::sentences(model),
        warnings: warnings::sentences(model),
        figures: figures(model),
    }
}

fn figures(model: &Model) -> Vec<Figure> {
    let best = model
        .answer
        .cell
        .and_then(|number| model.cells.iter().find(|cell| cell.cell == number));
    let mut figures: Vec<Figure> = best.map(|cell| of_best(model, cell)).unwrap_or_default();
    figures.extend(missing_figure(model));
    figures.push(reliable_figure(model));
    figures
}

fn of_best(model: &Model, cell: &CellModel) -> Vec<Figure> {
    let lone = model.cells.len() == 1;
    let (most, place) = if lone {
        ("Goodput", "")
    } else {
        ("Highest goodput", ", at that cell")
    };
    let figure = |what: String, estimate: Option<&Estimate>, unit: Unit| {
        let estimate = estimate?;
        let small = match estimate.interval {
            Some(_) => format::interval(estimate, unit),
            None => "single trial".to_owned(),
        };
        Some(Figure {
            what,
            value: unit.show(estimate.point),
            small,
        })
    };
    let word = labels::counted_word(model.counted);
    let goodput = figure(
        format!("{most}, {word}"),
        cell.goodput.as_ref(),
        Unit::Plain,
    );
    let goodput = goodput.map(|figure| Figure {
        value: format!("{}/s", figure.value),
        small: match lone {
            true => figure.small,
            false => format!("{} · {}", figure.small, format::levels(&cell.levels)),
        },
        ..figure
    });
    let time = |what: &str, estimate: Option<&Estimate>| {
        figure(format!("{what}{place}"), estimate, Unit::Time)
    };
    [
        goodput,
        time("Response time p99", cell.response.p99.estimate.as_ref()),
        time("Delivery delay p99", cell.delay.p99.estimate.as_ref()),
        time(
            "System CPU per request",
            cell.system_cpu_us_per_request.as_ref(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn missing_figure(model: &Model) -> Option<Figure> {
    let account = model.account.as_ref()?;
    let of = match model.search {
        Some(_) => "at the highest holding levels",
        None => "all trials",
    };
    Some(Figure {
        what: "Missing records".to_owned(),
        value: format::count(account.missing.sum),
        small: format!("{} delivered, {of}", format::count(account.delivered)),
    })
}

fn reliable_figure(model: &Model) -> Figure {
    let believed = model.cells.iter().filter(|cell| cell.is_believed()).count();
    let counts: Vec<String> = model
        .verdict_counts()
        .iter()
        .map(|(verdict, count)| format!("{count} {}", labels::verdict(*verdict)))
        .collect();
    Figure {
        what: "Reliable cells".to_owned(),
        value: format!("{believed} of {}", model.cells.len()),
        small: counts.join(", "),
    }
}
