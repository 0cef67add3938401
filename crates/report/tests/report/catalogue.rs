//! Every row of the catalogue of metrics is evaluated in conditions, has a chart, is next to reference results and has its column.

use std::collections::HashSet;

use waggle_analysis::Model;
use waggle_metrics::{CATALOGUE, NamedMetric, Row, Subject, resolve};
use waggle_report::csv;
use waggle_spec::{LoadRole, Reference, ReferenceRow};

use crate::{
    html,
    seeded::{Seeded, Wrong, reference::column},
    seeded_model,
};

/// What comes before the name in the path of a number, in the made-up studies.
fn path_prefix(study: &Seeded, subject: Subject) -> &'static [&'static str] {
    let has_steps = !study.steps.is_empty();
    match subject {
        Subject::Load if has_steps => &["shopping.", "login."],
        Subject::WholeLoad | Subject::Answers if has_steps => &["shopping."],
        Subject::Load | Subject::WholeLoad | Subject::Answers => &["put-readings."],
        Subject::Sessions => &["sessions."],
        Subject::Clients => &["clients."],
        Subject::Probe if study.has_broker => &["delivery.", "delivery.broker."],
        Subject::Delivery | Subject::Probe => &["delivery."],
        Subject::Generator => &["generator."],
        Subject::Machine => &["machine."],
        Subject::Network => &["network."],
        Subject::System => &["system."],
        Subject::Recovery => &[""],
        Subject::Fault => &["faults."],
        Subject::SideLoad(LoadRole::Preparation) => &["prepare.fill."],
        Subject::SideLoad(LoadRole::Background) => &["background.lists."],
        Subject::Component => &["components.gateway."],
        Subject::SystemMetric => &["metrics.lag."],
    }
}

/// Every path that a row has in a study.
fn paths(study: &Seeded, row: &'static Row) -> Vec<String> {
    let befores = path_prefix(study, row.subject).iter();
    let all = befores.flat_map(|before| {
        row.all_statistics().map(move |statistic| match statistic {
            Some(statistic) => format!("{before}{}.{}", row.name, statistic.name()),
            None => format!("{before}{}", row.name),
        })
    });
    all.collect()
}

/// A study that has some of what can be measured, over a factor whose levels are numbers.
struct Part {
    study: Seeded,
    /// Paths that it has no number of; one that ends in `*` stands for all that begin so.
    without: &'static [&'static str],
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn parts() -> [Part; 4] {
    let records = || Seeded {
        wrong: vec![(1, Wrong::Errors), (3, Wrong::Stolen)],
        has_broker: true,
        has_limits: true,
        ..Seeded::plain(&[("connections", &["10", "50", "100"])], 2)
    };
    [
        Part {
            study: records(),
            without: &[
                "put-readings.offered",
                "put-readings.first_byte*",
                "put-readings.body_bytes*",
                "put-readings.decoded_bytes*",
                "put-readings.items*",
                "sessions.*",
                "clients.*",
                "prepare.*",
                "background.*",
                "delivery.end_to_end_delay.*",
                "delivery.arrival_delay.*",
                "delivery.broker.end_to_end_delay.*",
                "delivery.broker.probe_cpu",
                "recovery_time",
                "faults.*",
            ],
        },
        Part {
            study: Seeded {
                wrong: vec![(2, Wrong::Killed)],
                has_clients: true,
                inspects: true,
                ..records()
            },
            without: &[
                "put-readings.offered",
                "sessions.*",
                "prepare.*",
                "background.*",
                "delivery.end_to_end_delay.*",
                "delivery.arrival_delay.*",
                "delivery.broker.end_to_end_delay.*",
                "delivery.broker.probe_cpu",
                "machine.*",
                "recovery_time",
            ],
        },
        Part {
            study: Seeded::overload(),
            without: &[
                "put-readings.time_weighted_response_time.*",
                "put-readings.first_byte*",
                "put-readings.body_bytes*",
                "put-readings.decoded_bytes*",
                "put-readings.items*",
                "put-readings.failed_time.*",
                "sessions.*",
                "clients.*",
                "prepare.*",
                "background.*",
                "delivery.arrival_delay.*",
                "machine.*",
                "faults.*",
                "components.gateway.throttled",
                "network.*",
                "metrics.*",
            ],
        },
        Part {
            study: Seeded::shopping_study(),
            without: &[
                "shopping.first_byte*",
                "shopping.body_bytes*",
                "shopping.decoded_bytes*",
                "shopping.items*",
                "shopping.offered",
                "clients.*",
                "delivery.sent",
                "delivery.accepted",
                "delivery.rejected*",
                "delivery.unknown*",
                "delivery.delivered",
                "delivery.missing",
                "delivery.loss_rate",
                "delivery.duplicates",
                "delivery.late",
                "delivery.out_of_order",
                "delivery.unexpected",
                "delivery.delay*",
                "delivery.end_to_end_delay.*",
                "delivery.arrival_delay.*",
                "delivery.drain_time",
                "delivery.resolution",
                "delivery.negative_delays",
                "delivery.probe_cpu",
                "machine.*",
                "recovery_time",
                "faults.*",
                "components.gateway.throttled",
                "network.*",
                "metrics.*",
            ],
        },
    ]
}

/// The study, with every number of the catalogue in a condition and next to a reference result.
fn with_all_metrics(study: Seeded) -> Seeded {
    let thresholds: Vec<String> = CATALOGUE
        .iter()
        .flat_map(|row| paths(&study, row))
        .collect();
    let (factor, levels) = &study.factors[0];
    let reference = Reference {
        title: "Table 1".to_owned(),
        source: "Measured somewhere else.".to_owned(),
        match_on: vec![factor.clone()],
        columns: thresholds.iter().map(|path| column(path, path)).collect(),
        rows: levels
            .iter()
            .map(|level| ReferenceRow {
                levels: vec![level.clone()],
                values: vec![Some(1.0); thresholds.len()],
            })
            .collect(),
    };
    Seeded {
        reference: Some(reference),
        thresholds,
        ..study
    }
}

fn is_evaluated(model: &Model, path: &str) -> bool {
    let mut thresholds = model.thresholds.iter();
    let threshold = thresholds.find(|candidate| candidate.text.split(' ').next() == Some(path));
    let mut cells = threshold.expect("the study has it").cells.iter();
    cells.any(|cell| cell.observed.is_some())
}

fn is_beside_reference(model: &Model, path: &str) -> bool {
    let reference = model.reference.as_ref().expect("the study has figures");
    let mut columns = reference.info.columns.iter();
    let place = columns.position(|column| column.name == path);
    let place = place.expect("the study has it");
    let mut rows = reference.rows.iter();
    rows.any(|row| row.values[place].point.is_some())
}

/// Named by the figures' column, or by the catalogue where there is such a chart in any case; with the place where records must arrive.
fn is_drawn(model: &Model, path: &str, named: &NamedMetric<'_>) -> bool {
    let heading = named.heading();
    let last = model.info.delivery_probe.iter();
    let last = last.map(|place| format!("{heading} at {place}"));
    let names: Vec<String> = last.chain([path.to_owned(), heading.clone()]).collect();
    let curves = model.curves.as_ref().expect("levels are numbers");
    curves.charts.iter().any(|chart| {
        let mut points = chart.points.iter();
        names.contains(&chart.name)
            && points.any(|point| point.estimate.is_some() && point.reference.is_some())
    })
}

fn is_written(table: &str, named: &NamedMetric<'_>) -> bool {
    let mut lines = table.lines().map(fields);
    let heads = lines.next().expect("a table has heads");
    let place = heads.iter().position(|head| *head == named.column());
    place.is_some_and(|place| lines.any(|row| !row[place].is_empty()))
}

/// The fields of a line; commas between quotes part nothing.
pub(super) fn fields(line: &str) -> Vec<String> {
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

fn is_one_of(path: &str, patterns: &[&str]) -> bool {
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(before) => path.starts_with(before),
        None => path == *pattern,
    };
    patterns.iter().any(fits)
}

#[test]
fn each_number_is_met_wherever_numbers_are() {
    let all = CATALOGUE.iter().flat_map(|row| {
        let statistics = row.all_statistics();
        statistics.map(move |statistic| (row.metric, statistic))
    });
    let mut left: HashSet<_> = all.collect();
    for Part { study, without } in parts() {
        let study = with_all_metrics(study);
        let model = seeded_model(&study);
        let table = csv(&model);
        for path in &study.thresholds {
            let is_known = is_evaluated(&model, path);
            assert_eq!(is_known, !is_one_of(path, without), "{path}");
            if !is_known {
                continue;
            }
            let parts: Vec<&str> = path.split('.').collect();
            let named = resolve(&parts).expect("a path of the catalogue");
            let whole = ["put-readings", "shopping"];
            let named = NamedMetric {
                of: named.of.filter(|subject| !whole.contains(subject)),
                ..named
            };
            assert!(is_beside_reference(&model, path), "{path}");
            assert!(is_drawn(&model, path, &named), "{path} has no chart");
            assert!(is_written(&table, &named), "{path} has no column");
            left.remove(&(named.row.metric, named.statistic));
        }
    }
    assert!(left.is_empty(), "no study has {left:?}");
}

#[test]
fn the_map_offers_what_the_cells_have() {
    let page = html(&seeded_model(&Seeded {
        has_broker: true,
        thresholds: vec!["metrics.lag.mean".to_owned()],
        ..Seeded::plain(
            &[("connections", &["10", "50"]), ("workers", &["1", "2"])],
            2,
        )
    }));
    let (_, from) = page
        .split_once("id=\"model\" data-packed=\"zlib base64\">")
        .unwrap();
    let (text, _) = from.split_once("</script>").unwrap();
    let charts: serde_json::Value = serde_json::from_str(text).unwrap();
    let metrics = charts["metrics"].as_array().unwrap();
    let told = |index: usize| {
        let field = |key: &str| metrics[index][key].as_str().unwrap();
        (field("id"), field("label"), field("kind"), field("wish"))
    };
    let goodput = ("goodput_per_s", "Goodput, records/s", "rate", "more");
    assert_eq!(told(0), goodput);
    let p99 = ("response_time_p99_us", "Response time p99", "time", "less");
    assert_eq!(told(1), p99);
    let ids: Vec<&str> = (0..metrics.len()).map(|index| told(index).0).collect();
    assert!(
        ids.len() > 10 && ids.contains(&"metric_lag_mean"),
        "{ids:?}"
    );
    assert!(!ids.contains(&"arrival_delay_p99_us"), "no cell has it");
    assert_eq!(charts["map"], true);
    for cell in charts["cells"].as_array().unwrap() {
        let numbers = cell["numbers"].as_array().unwrap();
        assert_eq!(numbers.len(), metrics.len());
        assert_eq!(numbers[0], cell["goodput"]);
    }
}
