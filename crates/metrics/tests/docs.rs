//! `docs/metrics.md` is written from the catalogue: `UPDATE_GOLDEN=1` writes it anew.

use waggle_metrics::{CATALOGUE, NamedMetric, OverTrials, Row, Statistic, Subject, Unit, Wish};

const HEAD: &str = "# Metrics

Every number that can stand in a condition of `thresholds` or `find`, in `published` figures, in a chart over a
factor, and in `tables.csv`; in `find`, which judges each trial alone, no standard deviation over trials and no `recovery`. This page is written from the catalogue in `crates/metrics`; how a study names numbers is told in
[studies.md](studies.md#numbers-that-conditions-name).

*Better* says whether more or less of it is better. *Over trials* says how the trials of a cell make one number: their mean with an
interval, their sum, the largest or the smallest of them, the share of sums, or how far they lie from their mean. Of the statistic
`max` it is always the largest of all trials, without an interval.
";

/// What of, the path before the name, the column before its name, in the order of the page.
const SECTIONS: [(Subject, &str, &str, &str); 12] = [
    (
        Subject::Load,
        "A request, a scenario or one of its steps",
        "REQUEST.",
        "; of a step `STEP.` stands before the column",
    ),
    (
        Subject::WholeLoad,
        "A request or a scenario",
        "REQUEST.",
        "; a step has none of these",
    ),
    (Subject::Sessions, "Sessions of a scenario", "sessions.", ""),
    (Subject::Delivery, "Records", "delivery.", ""),
    (
        Subject::Probe,
        "Records at a place",
        "delivery.",
        "; at a place on the way `delivery.PLACE.`, and `PLACE.` stands before the column",
    ),
    (
        Subject::System,
        "The system",
        "system.",
        ", all components together",
    ),
    (
        Subject::Component,
        "A component",
        "components.NAME.",
        ", all its replicas together",
    ),
    (Subject::Watch, "A watch", "watches.NAME.", ""),
    (
        Subject::Disturbance,
        "What was killed on purpose",
        "disturb.",
        "",
    ),
    (Subject::Recovery, "Recovery after the load fell", "", ""),
    (Subject::Engine, "The load generator", "engine.", ""),
    (Subject::Machine, "The machine", "machine.", ""),
];

#[test]
fn the_page_of_metrics_is_that_of_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "docs/metrics.md is not what the catalogue says; UPDATE_GOLDEN=1 writes it anew"
    );
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut told = 0;
    for (subject, title, before, note) in SECTIONS {
        let rows: Vec<&'static Row> = CATALOGUE
            .iter()
            .filter(|row| row.subject == subject)
            .collect();
        told += rows.len();
        page += &format!("\n## {title}\n\n");
        if !before.is_empty() {
            page += &format!("`{before}…`{note}.\n\n");
        }
        page += "| number | what | counted in | better | over trials | column |\n|---|---|---|---|---|---|\n";
        for row in rows {
            page += &line(before, row);
        }
    }
    assert_eq!(told, CATALOGUE.len(), "a subject has no section");
    page
}

fn line(before: &str, row: &'static Row) -> String {
    let statistics: Vec<&str> = row.statistics.iter().map(|one| one.name()).collect();
    let number = match statistics[..] {
        [] => format!("`{before}{}`", row.name),
        _ => format!("`{before}{}.` {}", row.name, list_text(&statistics)),
    };
    let column = match row.statistics {
        [] => metric_path(row, None),
        [one] => metric_path(row, Some(*one)),
        [first, ..] => metric_path(row, Some(*first)) + ", …",
    };
    format!(
        "| {number} | {} | {} | {} | {} | {column} |\n",
        row.heading,
        counted_in(row.unit),
        better(row.wish),
        over_trials(row.over_trials),
    )
}

fn list_text(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn metric_path(row: &'static Row, statistic: Option<Statistic>) -> String {
    let of = match row.subject {
        Subject::Component | Subject::Watch => Some("NAME"),
        _ => None,
    };
    format!("`{}`", NamedMetric { row, statistic, of }.column())
}

fn counted_in(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "time, as `50ms`",
        Unit::Rate => "rate, as `1000/s`",
        Unit::Share => "share, as `1%` or `0.01`",
        Unit::Count => "count",
        Unit::Cpus => "CPUs, as `50%` or `0.5`",
        Unit::Bytes => "bytes, as `4KiB`",
        Unit::ByteRate => "bytes per second, as `10MiB/s`",
    }
}

fn better(wish: Wish) -> &'static str {
    match wish {
        Wish::More => "more",
        Wish::Less => "less",
        Wish::Neither => "–",
    }
}

fn over_trials(over_trials: OverTrials) -> &'static str {
    match over_trials {
        OverTrials::Mean => "mean",
        OverTrials::MeanOfAll => "mean; none where a trial has none",
        OverTrials::Sum => "sum",
        OverTrials::Max => "largest",
        OverTrials::MaxOfAll => "largest; none where a trial has none",
        OverTrials::Min => "smallest",
        OverTrials::ShareOfSums => "share of sums",
        OverTrials::StandardDeviation => "standard deviation",
    }
}
