//! One service in many technologies, at many numbers of connections and sizes of an answer: some fail above a number.

use waggle_results::{CellInfo, TrialKey};
use waggle_spec::{BestAndWorst, OrderedMetric, Successes};

use super::{Seeded, Wrong};

const TECHNOLOGIES: [&str; 13] = [
    "actix",
    "cowboy",
    "express",
    "flask-uwsgi",
    "go",
    "ktor",
    "micronaut",
    "node",
    "phoenix",
    "ratpack",
    "tornado",
    "trot",
    "vertx",
];

impl Seeded {
    /// 13 × 5 × 3 cells.
    pub(crate) fn technologies() -> Self {
        Self {
            question: "Which technology serves most, and which never fails?".to_owned(),
            best_and_worst: Some(best_and_worst("technology")),
            asks: vec![["put-readings", "goodput"].map(str::to_owned).to_vec()],
            ..Self::plain(
                &[
                    ("technology", &TECHNOLOGIES),
                    ("connections", &["100", "500", "1000", "1500", "2500"]),
                    ("traffic", &["2", "6", "10"]),
                ],
                5,
            )
        }
    }

    /// Three of them at two numbers of connections; a trial does not come to its end.
    pub(crate) fn few_technologies() -> Self {
        Self {
            wrong: vec![(8, Wrong::Fails)],
            ..Self {
                factors: Self::plain(
                    &[
                        (
                            "technology",
                            &["flask-uwsgi", "ktor", "micronaut", "tornado"],
                        ),
                        ("connections", &["100", "1500"]),
                    ],
                    3,
                )
                .factors,
                repeat: 3,
                ..Self::technologies()
            }
        }
    }
}

fn best_and_worst(rows: &str) -> BestAndWorst {
    let path = |name: &str| vec!["put-readings".to_owned(), name.to_owned()];
    let ordered = |name: &str, is_lowest_best: bool| OrderedMetric {
        metric: path(name),
        is_lowest_best,
    };
    BestAndWorst {
        order: vec![ordered("succeeded", false), ordered("goodput", false)],
        rows: vec![rows.to_owned()],
        failures: Some(path("failed")),
        successes: Some(Successes {
            metric: path("succeeded"),
            of: vec![path("succeeded"), path("failed")],
        }),
    }
}

/// How quick a cell is, where 1 is usual, and the share of its requests that fail; `None`: it is no technology's.
pub(super) fn pace(cell: &CellInfo, key: TrialKey) -> Option<(f64, f64)> {
    let level = |name: &str| {
        let entry = cell.levels.iter().find(|(factor, _)| factor == name);
        entry.map(|(_, level)| level.as_str())
    };
    let technology = level("technology")?;
    let number = |name: &str| level(name).and_then(|level| level.parse::<f64>().ok());
    let connections = number("connections").unwrap_or(1.0);
    let traffic = number("traffic").unwrap_or(1.0);
    let speed = match technology {
        "actix" | "go" => 0.11,
        "ktor" | "vertx" => 0.062,
        "cowboy" | "node" => 0.05,
        "express" | "micronaut" | "ratpack" => 0.047,
        "phoenix" | "trot" => 0.03,
        "flask-uwsgi" => 0.018,
        _ => 0.014,
    };
    let odd = key.repetition % 2 == 1;
    let fails = match technology {
        "actix" | "go" | "ktor" | "vertx" => 0.0,
        "flask-uwsgi" => 0.02 * connections / 500.0,
        "tornado" if connections >= 1000.0 => 0.4,
        "ratpack" if connections >= 2500.0 && odd => 0.04,
        _ if connections >= 1000.0 && odd => 0.03 * connections / 1000.0,
        _ => 0.0,
    };
    Some((speed / (0.7 + 0.15 * traffic), fails))
}
