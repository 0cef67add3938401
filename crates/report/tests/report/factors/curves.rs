//! Outcomes over a factor whose levels are numbers, two levels against each other, and reference results next to both.

use std::sync::LazyLock;

use waggle_analysis::{
    Ahead, Compared, ComparisonModel, Curve, CurvePoint, CurvesModel, Found, Measure, Model,
    Without,
};
use waggle_report::{markdown, wording};
use waggle_results::FailureKind;
use waggle_spec::{Reference, ReferenceRow};

use crate::{
    html,
    seeded::{Seeded, Wrong, reference::column},
    seeded_model,
};

/// Made once: many a test looks at it.
static TRANSPORTS: LazyLock<Model> = LazyLock::new(|| seeded_model(&Seeded::transports()));

fn curves(model: &Model) -> &CurvesModel {
    model
        .curves
        .as_ref()
        .expect("a factor's levels are numbers")
}

fn curve<'a>(model: &'a Model, name: &str) -> &'a Curve {
    let curve = curves(model).charts.iter().find(|chart| chart.name == name);
    curve.unwrap_or_else(|| panic!("there is a chart of {name}"))
}

fn point<'a>(model: &Model, chart: &'a Curve, line: &str, level: &str) -> &'a CurvePoint {
    let place = |names: Vec<&String>, name: &str| {
        let entry = names.iter().position(|candidate| *candidate == name);
        entry.unwrap_or_else(|| panic!("{name} is one of {names:?}"))
    };
    let line = place(
        curves(model)
            .lines
            .iter()
            .map(|candidate| &candidate.name)
            .collect(),
        line,
    );
    let level = place(curves(model).over.levels.iter().collect(), level);
    let entry = chart
        .points
        .iter()
        .find(|point| (point.line, point.level) == (line, level));
    entry.expect("there is a cell")
}

#[test]
fn lines_over_ascending_levels() {
    let model = &*TRANSPORTS;
    let curves = curves(model);
    assert_eq!(
        (curves.over.factor.as_str(), curves.over.levels.join(" ")),
        ("users", "50 100 150 200 250 300".to_owned())
    );
    assert_eq!(
        curves.over.at.as_deref(),
        Some(&[50.0, 100.0, 150.0, 200.0, 250.0, 300.0][..])
    );
    let lines: Vec<&str> = curves.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(lines, ["rest", "rabbitmq"]);
    let charts: Vec<&str> = curves
        .charts
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(
        charts,
        [
            "Goodput",
            "Response time p50",
            "Response time p99",
            "Error rate",
            "System CPU per request",
            "Mean time"
        ]
    );
    // The numbers are those of the cells.
    for chart in &curves.charts[..4] {
        assert_eq!(chart.points.len(), 12, "{}", chart.name);
    }
    for point in &curve(model, "Goodput").points {
        let cell = model
            .cells
            .iter()
            .find(|cell| cell.cell == point.cell)
            .unwrap();
        assert_eq!(point.estimate, cell.goodput);
    }
    for point in &curve(model, "Error rate").points {
        let cell = model
            .cells
            .iter()
            .find(|cell| cell.cell == point.cell)
            .unwrap();
        assert_eq!(point.estimate.map(|share| share.point), cell.error_rate);
    }
}

#[test]
fn reference_results_are_next_to_the_same_metric() {
    let model = &*TRANSPORTS;
    let reference = |name: &str, line: &str, level: &str| {
        point(model, curve(model, name), line, level).reference
    };
    assert_eq!(reference("Goodput", "rest", "300"), Some(2.6e3));
    assert_eq!(reference("Goodput", "rabbitmq", "200"), Some(29e3));
    assert_eq!(reference("Goodput", "rabbitmq", "150"), None);
    assert_eq!(reference("Error rate", "rest", "300"), Some(0.28));
    assert_eq!(reference("Error rate", "rabbitmq", "200"), None);
    assert_eq!(reference("Response time p99", "rest", "300"), None);
    // A number that has no chart otherwise gets one.
    let mean = point(model, curve(model, "Mean time"), "rest", "50");
    assert_eq!(mean.reference, Some(2e3));
    assert!(mean.estimate.is_some_and(|mean| mean.interval.is_some()));
    let measurement = point(model, curve(model, "Mean time"), "rabbitmq", "150");
    assert!(measurement.reference.is_none() && measurement.estimate.is_some());
    let (title, source) = curves(model).reference.clone().expect("a chart has some");
    assert!(title.contains("Figure 4") && source.contains("somebody else's"));
    let table = model.reference.as_ref().expect("the study names some");
    assert_eq!(table.rows.len(), 11);
}

#[test]
fn failures_go_by_kind() {
    let model = &*TRANSPORTS;
    let failed = curves(model).kinds.as_ref().expect("some requests failed");
    assert_eq!(
        failed.kinds,
        [
            FailureKind::TimedOut,
            FailureKind::Status(503),
            FailureKind::Reset
        ]
    );
    for (line, level, shares) in &failed.shares {
        let sum: f64 = shares.iter().sum();
        let chart = curve(model, "Error rate");
        let cell_point = chart
            .points
            .iter()
            .find(|point| (point.line, point.level) == (*line, *level));
        let share = cell_point
            .and_then(|cell_point| cell_point.estimate)
            .expect("the cell ran")
            .point;
        assert!((sum - share).abs() < 1e-9, "{sum} {share}");
    }
}

/// Of an outcome along the only line.
fn sentence(comparison: &ComparisonModel, outcome: &Compared) -> String {
    let mut sentences = wording::comparisons::outcome_sentences(comparison, outcome);
    assert_eq!(sentences.len(), 1, "one line, one sentence");
    sentences.remove(0)
}

fn find_outcome<'a>(comparison: &'a ComparisonModel, name: &str) -> &'a Compared {
    let entry = comparison
        .outcomes
        .iter()
        .find(|outcome| outcome.name == name);
    entry.unwrap_or_else(|| panic!("{name} is compared"))
}

fn leaders(outcome: &Compared) -> Vec<Ahead> {
    let line = outcome.at.first().expect("there is a line");
    line.iter()
        .map(|difference| outcome.leader(difference))
        .collect()
}

#[test]
fn who_is_ahead_changes_where_it_was_put_in() {
    use Ahead::{First, Neither, Second};
    let model = &*TRANSPORTS;
    let [comparison] = model.comparisons.as_slice() else {
        panic!("one factor has two levels: {:?}", model.comparisons);
    };
    assert_eq!(comparison.levels, ["rest", "rabbitmq"]);
    for name in ["Goodput", "Response time p50", "Response time p99"] {
        let outcome = find_outcome(comparison, name);
        assert_eq!(
            leaders(outcome),
            [Neither, First, First, First, Second, Second],
            "{name}: {:?}",
            outcome.at
        );
        let sentence = sentence(comparison, outcome);
        assert!(
            sentence.contains("The lead changes between 200 and 250."),
            "{sentence}"
        );
    }
    let errors = find_outcome(comparison, "Error rate");
    assert_eq!(errors.measure, Measure::Difference);
    assert_eq!(
        leaders(errors),
        [Neither, Neither, Neither, Second, Second, Second]
    );
    let at_300 = errors.at[0][5].number().expect("both ran").point;
    assert!((at_300 + 0.27).abs() < 0.02, "{at_300}");
    // Ratios of the effects are the same ones.
    let effects = model.effects.as_ref().expect("the grid is complete");
    let goodput = &effects.outcomes[0];
    let same = goodput
        .comparisons
        .iter()
        .find(|comparison| comparison.factor == 0)
        .expect("two levels are compared");
    // There in the order of the study: 100, 50, …
    let differences = &find_outcome(comparison, "Goodput").at[0];
    for (ratio, difference) in same.ratios.iter().zip([&differences[1], &differences[0]]) {
        let difference = difference.number().expect("both cells have the outcome");
        assert!((ratio.estimate.point / difference.point - 1.0).abs() < 1e-9);
        assert_eq!(ratio.estimate.count, difference.count);
    }
}

/// At 300 users no request of REST succeeds: nothing is divided by it.
#[test]
fn a_level_without_any_success_is_told_in_words() {
    let model = seeded_model(&Seeded::with_refusals());
    let comparison = &model.comparisons[0];
    for name in ["Goodput", "Response time p50", "Response time p99"] {
        let outcome = find_outcome(comparison, name);
        let last = &outcome.at[0][5];
        assert!(
            matches!(last, Found::NoSuccess(none) if none.of == Without::First && none.trials == 2),
            "{name}: {last:?}"
        );
        let sentence = sentence(comparison, outcome);
        assert!(
            sentence.contains("rest had no success at 300."),
            "{sentence}"
        );
    }
    let goodput = find_outcome(comparison, "Goodput");
    assert_eq!(leaders(goodput)[4..], [Ahead::Second, Ahead::Second]);
    assert_eq!(
        leaders(find_outcome(comparison, "Response time p99"))[5],
        Ahead::Unknown
    );
    let errors = find_outcome(comparison, "Error rate");
    let at_300 = errors.at[0][5].number().expect("all failed").point;
    assert!(at_300 < -0.98, "{at_300}");
    let text = markdown(&model);
    assert!(text.contains("| rest: no success |"));
    for wrong in ["inf", "NaN"] {
        assert!(!text.contains(&format!("{wrong}×")) && !text.contains(&format!("{wrong} ")));
    }
    assert!(html(&model).contains("rest had no success at 300."));
}

/// Of the two trials of REST at 200 users one failed, so there is no interval.
#[test]
fn a_level_without_an_interval_decides_nothing() {
    let model = seeded_model(&Seeded::with_refusals());
    let goodput = find_outcome(&model.comparisons[0], "Goodput");
    assert_eq!(leaders(goodput)[3], Ahead::Unsure);
    let sentence = sentence(&model.comparisons[0], goodput);
    assert!(
        sentence.contains("no interval at 200") && !sentence.contains("between 200"),
        "{sentence}"
    );
    let told = "Values at 200 have no interval, ";
    assert!(markdown(&model).contains(told) && html(&model).contains(told));
    // In the effects, too, where levels are in the order of the study: 100, 50, 150, 200.
    let effects = model.effects.as_ref().expect("the grid is complete");
    let comparisons = effects.outcomes.iter().flat_map(|entry| &entry.comparisons);
    let by_users: Vec<_> = comparisons.filter(|entry| entry.factor == 0).collect();
    assert!(!by_users.is_empty());
    for entry in by_users {
        assert!(entry.ratios[3].estimate.interval.is_none());
        assert!(
            entry
                .turns
                .iter()
                .all(|(before, after)| ![before, after].contains(&&3)),
            "{:?}",
            entry.turns
        );
    }
}

#[test]
fn a_third_factor_makes_lines() {
    let model = seeded_model(&Seeded::writers());
    let curves = curves(&model);
    assert_eq!(curves.over.factor, "flush_interval");
    assert_eq!(curves.others, ["writer", "partitions"]);
    let lines: Vec<&str> = curves.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(
        lines,
        [
            "telegraf, partitions 1",
            "telegraf, partitions 8",
            "sink, partitions 1",
            "sink, partitions 8"
        ]
    );
    let factors: Vec<(&str, usize)> = model
        .comparisons
        .iter()
        .map(|comparison| (comparison.factor.as_str(), comparison.lines.len()))
        .collect();
    assert_eq!(factors, [("writer", 2), ("partitions", 2)]);
    assert_eq!(
        model.comparisons[1].levels,
        ["partitions 1", "partitions 8"]
    );
    let delay = find_outcome(&model.comparisons[0], "Delivery delay p99 at store");
    for line in &delay.at {
        let ahead: Vec<Ahead> = line
            .iter()
            .map(|difference| delay.leader(difference))
            .collect();
        assert_eq!(ahead, [Ahead::First, Ahead::Second, Ahead::Second]);
    }
    // The sink at 100 ms failed once: it is named.
    let doubtful: usize = model.comparisons[0]
        .doubtful
        .iter()
        .flatten()
        .map(Vec::len)
        .sum();
    assert_eq!(doubtful, 1);
}

#[test]
fn what_did_not_run_leaves_a_gap() {
    let study = Seeded {
        wrong: vec![(1, Wrong::Fails)],
        ..Seeded::plain(
            &[
                ("users", &["10", "100", "1000"]),
                ("transport", &["a", "b"]),
            ],
            1,
        )
    };
    let model = seeded_model(&study);
    let chart = curve(&model, "Goodput");
    assert_eq!(point(&model, chart, "a", "10").estimate, None);
    assert!(point(&model, chart, "b", "10").estimate.is_some());
    let goodput = find_outcome(&model.comparisons[0], "Goodput");
    assert_eq!(leaders(goodput)[0], Ahead::Unknown);
    let sentence = sentence(&model.comparisons[0], goodput);
    assert!(
        sentence.contains("nothing to compare at 10") && sentence.contains("Without intervals"),
        "{sentence}"
    );
    assert!(model.effects.is_none(), "the grid has a hole");
}

#[test]
fn a_level_of_nothing_stands_at_zero() {
    let model = seeded_model(&Seeded::with_zero_level());
    let over = &curves(&model).over;
    assert_eq!(over.levels, ["0", "1ms", "100ms", "1s"]);
    assert_eq!(over.at.as_deref(), Some(&[0.0, 0.001, 0.1, 1.0][..]));
}

#[test]
fn a_chart_is_labelled_by_its_metric_whatever_it_is_called() {
    let columns = [
        ("Goodput", "put-readings.throughput"),
        ("Error rate", "generator.utilization"),
    ];
    let model = seeded_model(&Seeded {
        reference: Some(Reference {
            title: "Table 1".to_owned(),
            source: "Measured somewhere else.".to_owned(),
            match_on: vec!["connections".to_owned()],
            columns: columns.map(|(name, path)| column(name, path)).to_vec(),
            rows: vec![ReferenceRow {
                levels: vec!["10".to_owned()],
                values: vec![Some(1.0), Some(0.5)],
            }],
        }),
        ..Seeded::plain(&[("connections", &["10", "50", "100"])], 2)
    });
    let page = html(&model);
    let labels = |label: &str| {
        page.matches(&format!("-label\">{label}</figcaption>"))
            .count()
    };
    assert_eq!((labels("Goodput, records/s"), labels("Goodput")), (1, 1));
    assert_eq!(labels("Error rate"), 1);
}

#[test]
fn levels_without_an_order_are_compared_too() {
    let model = seeded_model(&Seeded::plain(
        &[
            ("backend", &["files", "memory"]),
            ("sync", &["on", "off", "auto"]),
        ],
        3,
    ));
    assert_eq!(model.curves, None);
    let [comparison] = model.comparisons.as_slice() else {
        panic!("one factor has two levels");
    };
    assert_eq!(
        (comparison.factor.as_str(), comparison.over.at.as_ref()),
        ("backend", None)
    );
}

#[test]
fn no_curves_where_there_is_nothing_to_go_along() {
    let has = |study: &Seeded| {
        let model = seeded_model(study);
        (model.curves.is_some(), model.comparisons.len())
    };
    assert_eq!(has(&Seeded::plain(&[], 3)), (false, 0));
    let surface = [
        ("connections", &["1", "10", "50"][..]),
        ("pipelining", &["1", "2", "5"]),
    ];
    assert_eq!(
        has(&Seeded::plain(&surface, 1)),
        (false, 0),
        "that is a map"
    );
    assert_eq!(
        has(&Seeded::plain(&[("connections", &["1", "10", "50"])], 1)),
        (true, 0)
    );
    let nothing_ran = Seeded {
        ran: Some(0),
        ..Seeded::transports()
    };
    assert_eq!(has(&nothing_ran), (false, 0));
}
