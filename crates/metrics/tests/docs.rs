//! `docs/reference/metrics.md` is written from the catalogue: `cargo xtask reference` rewrites it.

use waggle_metrics::{CATALOGUE, NamedMetric, OverTrials, Row, Statistic, Subject, Unit, Wish};
use waggle_spec::LoadRole;

const HEAD: &str = "# Metrics

Every metric that a condition of `thresholds` or `search` can name, or a column of `reference`; each has a column in
`tables.csv`, and a chart over a factor if the study names it. A search judges each trial alone, so that its conditions name no
standard deviation over trials and no `recovery_time`. This page is written from the catalogue in `crates/metrics` by `cargo
xtask reference`; how a study names metrics is described in [studies.md](studies.md#thresholds-and-conditions-metrics-and-operators).

*Better* says whether more or less of it is better. *Over trials* says how the trials of a cell make one value: their mean with
an interval, their sum, the largest or the smallest of them, the share of sums, or their standard deviation. Of the statistic
`max` it is always the largest of all trials, without an interval.

A delivery delay and an end-to-end delay are the latest that they may be, and their intervals begin with the earliest
([probes.md](probes.md#delays)); columns with `_earliest` in front of the unit have that. If a probe followed a sample, delays,
late records and records out of order are those of the sample.
";

/// Subject, title, what comes before the name in the path, what comes before the column; in the order of the page.
const SECTIONS: [(Subject, &str, &str, &str); 17] = [
    (
        Subject::Load,
        "A request, a scenario or one of its steps",
        "REQUEST.",
        "; of a step `STEP.…`, and the column begins with `STEP.`",
    ),
    (
        Subject::WholeLoad,
        "A request or a scenario",
        "REQUEST.",
        "; a step has none of these",
    ),
    (
        Subject::Answers,
        "Inspected answers",
        "REQUEST.",
        ", of a request with [`inspect`](studies.md#measuring-answers); items of one with `inspect.count`",
    ),
    (Subject::Sessions, "Sessions of a scenario", "sessions.", ""),
    (
        Subject::Clients,
        "Clients",
        "clients.",
        ", of a load of `clients`",
    ),
    (Subject::Delivery, "Records", "delivery.", ""),
    (
        Subject::Probe,
        "Delivery at a probe",
        "delivery.",
        "; at an intermediate probe `delivery.PROBE.…`, and the column begins with `PROBE.`",
    ),
    (
        Subject::System,
        "The system",
        "system.",
        ", all components together",
    ),
    (
        Subject::Network,
        "The network",
        "network.",
        ", of a study with `network`: counts of the kernel in the measured phase",
    ),
    (
        Subject::Component,
        "A component",
        "components.NAME.",
        ", all its replicas together",
    ),
    (
        Subject::SystemMetric,
        "System metrics",
        "metrics.NAME.",
        ": counts, or what the system says with `unit` ([probes.md](probes.md#system-metrics-prometheus-json-consumer-lag)), whose name is then the end of the column, as in `metric_NAME_max_bytes`",
    ),
    (
        Subject::SideLoad(LoadRole::Preparation),
        "A load of the preparation",
        "prepare.NAME.",
        ", in the trials that prepared the system",
    ),
    (
        Subject::SideLoad(LoadRole::Background),
        "A background load",
        "background.NAME.",
        ", in the measured phase of trials in which it runs",
    ),
    (Subject::Fault, "Faults", "faults.", ""),
    (Subject::Recovery, "Recovery", "", ""),
    (Subject::Generator, "The load generator", "generator.", ""),
    (Subject::Machine, "The machine", "machine.", ""),
];

#[test]
fn the_reference_of_metrics_is_that_of_the_catalogue() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/metrics.md"
    );
    let page = page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/metrics.md is not what the catalogue says; `cargo xtask reference` rewrites it"
    );
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut listed = 0;
    for (subject, title, before, note) in SECTIONS {
        let rows: Vec<&'static Row> = CATALOGUE
            .iter()
            .filter(|row| row.subject == subject)
            .collect();
        listed += rows.len();
        page += &format!("\n## {title}\n\n");
        if !before.is_empty() {
            page += &format!("`{before}…`{note}.\n\n");
        }
        page += "| metric | what | counted in | better | over trials | column |\n|---|---|---|---|---|---|\n";
        for row in rows {
            page += &line(before, row);
        }
    }
    assert_eq!(listed, CATALOGUE.len(), "a subject has no section");
    page
}

fn line(before: &str, row: &'static Row) -> String {
    let statistics: Vec<&str> = row
        .statistics
        .iter()
        .map(|statistic| statistic.name())
        .collect();
    let number = match statistics[..] {
        [] => format!("`{before}{}`", row.name),
        _ => format!("`{before}{}.` {}", row.name, list_text(&statistics)),
    };
    let column = match row.statistics {
        [] => metric_path(row, None),
        [statistic] => metric_path(row, Some(*statistic)),
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
    let owner = match row.subject {
        Subject::Component | Subject::SystemMetric | Subject::SideLoad(_) => Some("NAME"),
        _ => None,
    };
    format!(
        "`{}`",
        NamedMetric {
            row,
            statistic,
            of: owner
        }
        .column()
    )
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
        OverTrials::MeanOfAll => "mean; none if a trial has none",
        OverTrials::Sum => "sum",
        OverTrials::Max => "largest",
        OverTrials::MaxOfAll => "largest; none if a trial has none",
        OverTrials::Min => "smallest",
        OverTrials::ShareOfSums => "share of sums",
        OverTrials::StandardDeviation => "standard deviation",
    }
}
