//! Every row of the catalogue of metrics is evaluated in conditions, has a chart, stands beside published figures and has its column.

use std::collections::HashSet;

use waggle_analysis::Model;
use waggle_metrics::{CATALOGUE, NamedMetric, Row, Subject, resolve};
use waggle_report::csv;
use waggle_results::{PublishedInfo, PublishedRowInfo};

use crate::{
    seeded::{Seeded, Wrong, published::column},
    seeded_model,
};

/// What comes before the name in the path of a number, in the made-up studies.
fn before(study: &Seeded, subject: Subject) -> &'static [&'static str] {
    let has_steps = !study.steps.is_empty();
    match subject {
        Subject::Load if has_steps => &["shopping.", "login."],
        Subject::WholeLoad if has_steps => &["shopping."],
        Subject::Load | Subject::WholeLoad => &["put-readings."],
        Subject::Sessions => &["sessions."],
        Subject::Probe if study.has_broker => &["delivery.", "delivery.broker."],
        Subject::Delivery | Subject::Probe => &["delivery."],
        Subject::Engine => &["engine."],
        Subject::Machine => &["machine."],
        Subject::System => &["system."],
        Subject::Recovery => &[""],
        Subject::Disturbance => &["disturb."],
        Subject::Component => &["components.gateway."],
        Subject::Watch => &["watches.lag."],
    }
}

/// Every path that a row has in a study.
fn paths(study: &Seeded, row: &'static Row) -> Vec<String> {
    let befores = before(study, row.subject).iter();
    let all = befores.flat_map(|before| {
        row.all_statistics().map(move |statistic| match statistic {
            Some(statistic) => format!("{before}{}.{}", row.name, statistic.name()),
            None => format!("{before}{}", row.name),
        })
    });
    all.collect()
}

/// Studies of which each has some of what can be measured, over a factor whose levels are numbers.
fn studies() -> [Seeded; 4] {
    let records = || Seeded {
        wrong: vec![(1, Wrong::Errors), (3, Wrong::Stolen)],
        has_broker: true,
        ..Seeded::plain(&[("connections", &["10", "50", "100"])], 2)
    };
    [
        records(),
        Seeded {
            wrong: vec![(2, Wrong::Killed)],
            ..records()
        },
        Seeded::overload(),
        Seeded::shopping(),
    ]
}

/// The study, with every number of the catalogue in a condition and beside a published figure.
fn asked(study: Seeded) -> Seeded {
    let thresholds: Vec<String> = CATALOGUE
        .iter()
        .flat_map(|row| paths(&study, row))
        .collect();
    let (factor, levels) = &study.factors[0];
    let published = PublishedInfo {
        title: "Table 1".to_owned(),
        source: "Measured somewhere else.".to_owned(),
        by: vec![factor.clone()],
        columns: thresholds.iter().map(|path| column(path, path)).collect(),
        rows: levels
            .iter()
            .map(|level| PublishedRowInfo {
                levels: vec![level.clone()],
                values: vec![Some(1.0); thresholds.len()],
            })
            .collect(),
    };
    Seeded {
        published: Some(published),
        thresholds,
        ..study
    }
}

fn is_evaluated(model: &Model, path: &str) -> bool {
    let mut thresholds = model.thresholds.iter();
    let found = thresholds.find(|one| one.text.split(' ').next() == Some(path));
    let mut cells = found.expect("the study has it").cells.iter();
    cells.any(|cell| cell.observed.is_some())
}

fn is_beside_published(model: &Model, path: &str) -> bool {
    let published = model.published.as_ref().expect("the study has figures");
    let mut columns = published.info.columns.iter();
    let place = columns.position(|column| column.name == path);
    let place = place.expect("the study has it");
    let mut rows = published.rows.iter();
    rows.any(|row| row.values[place].point.is_some())
}

/// Named by the figures' column, or by the catalogue where there is such a chart in any case.
fn is_drawn(model: &Model, path: &str, named: &NamedMetric<'_>) -> bool {
    let heading = named.heading();
    let curves = model.curves.as_ref().expect("levels are numbers");
    curves.charts.iter().any(|chart| {
        let mut points = chart.points.iter();
        (chart.name == path || chart.name.starts_with(&heading))
            && points.any(|point| point.estimate.is_some() && point.published.is_some())
    })
}

fn is_written(table: &str, named: &NamedMetric<'_>) -> bool {
    let mut lines = table.lines().map(fields);
    let heads = lines.next().expect("a table has heads");
    let place = heads.iter().position(|head| *head == named.column());
    place.is_some_and(|place| lines.any(|row| !row[place].is_empty()))
}

/// The fields of a line; commas between quotes part nothing.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields
}

#[test]
fn each_number_is_met_wherever_numbers_are() {
    let all = CATALOGUE.iter().flat_map(|row| {
        let statistics = row.all_statistics();
        statistics.map(move |statistic| (row.metric, statistic))
    });
    let mut left: HashSet<_> = all.collect();
    for study in studies().map(asked) {
        let model = seeded_model(&study);
        let table = csv(&model);
        for path in &study.thresholds {
            if !is_evaluated(&model, path) {
                continue;
            }
            let parts: Vec<&str> = path.split('.').collect();
            let named = resolve(&parts).expect("a path of the catalogue");
            let whole = ["put-readings", "shopping"];
            let named = NamedMetric {
                of: named.of.filter(|of| !whole.contains(of)),
                ..named
            };
            assert!(is_beside_published(&model, path), "{path}");
            assert!(is_drawn(&model, path, &named), "{path} has no chart");
            assert!(is_written(&table, &named), "{path} has no column");
            left.remove(&(named.row.metric, named.statistic));
        }
    }
    assert!(left.is_empty(), "no study has {left:?}");
}
