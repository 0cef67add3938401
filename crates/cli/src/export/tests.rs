//! The metrics of a run, with generated events.

use std::{path::Path, sync::Arc, time::Duration};

use waggle_load::{Failure, Failures, Interval, SessionCounts, StepCounts, StepInterval};
use waggle_results::{LedgerInfo, PhaseName, TrialKey};
use waggle_runner::Event;
use waggle_spec::{StepTimes, TimeKind};
use waggle_study::Source;

use super::{
    catalogue::{self, CELL, ERROR_TYPE, Family, Label, STEP, Series},
    cells::{CELLS_MAX, OTHER, STEPS_MAX},
    loads::ERROR_TYPES_MAX,
    otlp::{self, Instants},
    prometheus,
    totals::{Pushes, Totals},
};
use crate::{
    output::golden::golden,
    trial::{
        aggregate::histogram,
        generated::{CALM, IntervalSpec, interval},
    },
};

const REQUEST: &str = "  request: { name: get, get: /records, expect: { status: 200 } }\n";

/// The sums of a study of the faulty store before its first event: one cell for each number of connections.
fn totals(connections: u32, load: &str) -> Totals {
    let levels: Vec<String> = (1..=connections).map(|level| level.to_string()).collect();
    let text = format!(
        "study: small\nquestion: Which?\nsystem: {{ use: faulty }}\n\
         factors: {{ connections: [{}] }}\n\
         load:\n  model: closed\n  connections: ${{connections}}\n{load}\
         schedule:\n  warm_up: 1s\n  measure: 4s\n  interval: 250ms\n  repeat: 2\n",
        levels.join(", ")
    );
    let source = |text: &str| Source {
        name: "small.yaml".to_owned(),
        text: text.to_owned(),
    };
    let system = include_str!("../../tests/systems/faulty/system.yaml");
    let system = waggle_study::read_system(&source(system)).unwrap();
    let study = waggle_study::read_study(&source(&text), &system).unwrap();
    Totals::new(&study, &system, Path::new("runs/small-1"))
}

fn start_trial(totals: &mut Totals, position: u32, key: TrialKey) {
    totals.apply(&Event::TrialStarted {
        position,
        key,
        levels: String::new(),
        level: None,
        operating_share: None,
        workers: 1,
    });
}

fn end_trial(totals: &mut Totals, key: TrialKey, failure: Option<&str>) {
    totals.apply(&Event::TrialEnded {
        key,
        failure: failure.map(str::to_owned),
        goodput_per_s: 1.0,
    });
}

fn add_interval(totals: &mut Totals, phase: PhaseName, interval: Interval) {
    totals.apply(&Event::Phase {
        phase,
        expected: None,
        at_most: Duration::from_secs(1),
    });
    totals.apply(&Event::Interval {
        phase,
        interval: Arc::new(interval),
    });
}

fn key(cell: u32, repetition: u32) -> TrialKey {
    TrialKey { cell, repetition }
}

/// A trial that has ended and one in its measured phase.
fn example() -> Totals {
    let put = "  request:\n    name: put\n    put: /records\n    records: { file: a.lp, per_request: 2 }\n    \
               expect: { status: 204 }\ndelivery: { probes: store }\n";
    let mut totals = totals(2, put);
    totals.apply(&Event::RunStarted {
        trials: 4,
        already_done: 1,
        expected: Duration::from_secs(40),
    });
    let failing = IntervalSpec {
        failures: 30,
        ..CALM
    };
    start_trial(&mut totals, 2, key(2, 1));
    add_interval(&mut totals, PhaseName::WarmUp, interval(0, CALM, &mut 0));
    for index in 1..3 {
        add_interval(
            &mut totals,
            PhaseName::Measure,
            interval(index, failing, &mut 0),
        );
    }
    end_trial(&mut totals, key(2, 1), None);
    totals.add_account(
        2,
        &LedgerInfo {
            sent: 6_060,
            accepted: 6_000,
            rejected: 60,
            delivered: 5_999,
            missing: 1,
            ..LedgerInfo::default()
        },
    );
    start_trial(&mut totals, 3, key(1, 1));
    add_interval(&mut totals, PhaseName::Measure, interval(0, CALM, &mut 0));
    totals.set_pushes(Pushes {
        accepted: 3,
        failed: 1,
    });
    totals
}

#[test]
fn metrics_in_both_formats() {
    let families = example().families();
    let instants = Instants {
        start_ns: 1_700_000_000_000_000_000,
        now_ns: 1_700_000_005_000_000_000,
    };
    let pushed = otlp::body(&families, instants);
    let pushed = serde_json::to_string_pretty(&pushed).unwrap() + "\n";
    golden("export-otlp.json", &pushed);
    golden("export-prometheus.txt", &prometheus::page(families));
}

/// The sums of a metric by a label.
fn sums(families: &[Family], name: &str, by: Label) -> Vec<(String, u64)> {
    let family = families.iter().find(|family| family.metric.name == name);
    let value = |labels: &super::catalogue::Labels| {
        let label = labels.iter().find(|(label, _)| *label == by);
        label.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    match &family.unwrap().series {
        Series::Counter(series) => {
            let series = series.iter();
            series.map(|(labels, sum)| (value(labels), *sum)).collect()
        }
        Series::Histogram(series) => {
            let series = series.iter();
            series
                .map(|(labels, histogram)| (value(labels), histogram.count()))
                .collect()
        }
        Series::Gauge(_) => panic!("{name} is a gauge"),
    }
}

#[test]
fn cells_beyond_the_limit_are_counted_together() {
    let cells = u32::try_from(CELLS_MAX).unwrap() + 3;
    let mut totals = totals(cells, REQUEST);
    for cell in 1..=cells {
        start_trial(&mut totals, cell, key(cell, 1));
        add_interval(&mut totals, PhaseName::Measure, interval(0, CALM, &mut 0));
        end_trial(&mut totals, key(cell, 1), None);
    }
    let families = totals.families();
    for name in [
        "waggle.requests.succeeded",
        "http.client.request.duration",
        "waggle.request.response_time",
    ] {
        let counts = sums(&families, name, CELL);
        assert_eq!(counts.len(), CELLS_MAX + 1, "{name}");
        let others = (OTHER.to_owned(), 3 * CALM.answers);
        assert!(counts.contains(&others), "{name}: {counts:?}");
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        assert_eq!(all, u64::from(cells) * CALM.answers);
    }
}

#[test]
fn errors_beyond_the_limit_are_counted_together() {
    let mut totals = totals(1, REQUEST);
    start_trial(&mut totals, 1, key(1, 1));
    for status in 0..40 {
        let mut trial_interval = interval(0, CALM, &mut 0);
        let mut failures = Failures::default();
        failures.add(Failure::Status(500 + status), 2);
        failures.add(Failure::TimedOut, 1);
        trial_interval.counts.failures = failures;
        add_interval(&mut totals, PhaseName::Measure, trial_interval);
    }
    let errors = sums(&totals.families(), "waggle.errors", ERROR_TYPE);
    assert_eq!(errors.len(), ERROR_TYPES_MAX + 1, "{errors:?}");
    assert!(errors.contains(&("500".to_owned(), 2)), "{errors:?}");
    assert!(errors.contains(&("timed_out".to_owned(), 40)), "{errors:?}");
    assert!(errors.iter().any(|(kind, _)| kind == OTHER), "{errors:?}");
    let all: u64 = errors.iter().map(|(_, count)| count).sum();
    assert_eq!(all, 40 * 3);
}

#[test]
fn steps_have_their_own_times_up_to_a_limit() {
    let steps = STEPS_MAX + 2;
    let list: String = (0..steps)
        .map(|step| format!("          - {{ name: s{step}, get: /{step} }}\n"))
        .collect();
    let load =
        format!("  scenario:\n    name: all\n    flows:\n      - name: f\n        steps:\n{list}");
    let mut totals = totals(1, &load);
    start_trial(&mut totals, 1, key(1, 1));
    let mut trial_interval = interval(0, CALM, &mut 0);
    trial_interval.steps = (1..=u64::try_from(steps).unwrap())
        .map(|count| {
            let mut times = histogram();
            times.record_n(700, count).unwrap();
            StepInterval {
                counts: StepCounts {
                    sent: count + 1,
                    succeeded: count,
                    failed: 1,
                    ..StepCounts::default()
                },
                times: StepTimes::from_fn(|kind| match kind {
                    TimeKind::Failed => histogram(),
                    _ => times.clone(),
                }),
            }
        })
        .collect();
    trial_interval.counts.sessions = SessionCounts {
        started: 9,
        completed: 6,
        failed: 2,
        retries: 0,
    };
    add_interval(&mut totals, PhaseName::Measure, trial_interval);
    let step_counts = sums(&totals.families(), "http.client.request.duration", STEP);
    assert_eq!(step_counts.len(), STEPS_MAX + 1, "{step_counts:?}");
    assert_eq!(step_counts[0], ("s0".to_owned(), 1));
    assert_eq!(step_counts[STEPS_MAX], (OTHER.to_owned(), 11 + 12));
    let families = totals.families();
    let step_counts = sums(&families, "waggle.step.requests", STEP);
    let of_first = step_counts.iter().filter(|(step, _)| step == "s0");
    assert_eq!(
        of_first.map(|(_, count)| *count).collect::<Vec<_>>(),
        [2, 1, 1]
    );
    let of_others = step_counts.iter().filter(|(step, _)| step == OTHER);
    assert_eq!(
        of_others.map(|(_, count)| *count).collect::<Vec<_>>(),
        [25, 23, 2]
    );
    let outcome = catalogue::OUTCOME;
    let expected = [("started", 9), ("completed", 6), ("failed", 2)];
    let expected = expected.map(|(outcome, count)| (outcome.to_owned(), count));
    assert_eq!(sums(&families, "waggle.sessions", outcome), expected);
}

#[test]
fn a_preparation_shows_how_far_it_is() {
    let mut totals = totals(1, REQUEST);
    start_trial(&mut totals, 1, key(1, 1));
    let shown = |totals: &Totals| {
        let families = totals.families();
        let mut families = families.iter();
        let family =
            families.find(|candidate| candidate.metric.name == "waggle.preparation.sessions");
        family.map(|family| match &family.series {
            Series::Gauge(series) => series.iter().map(|(_, value)| *value).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(shown(&totals), None);
    totals.apply(&Event::Preparing {
        load: "fill".to_owned(),
        done: 40,
        sessions: 100,
        retries: 0,
    });
    assert_eq!(shown(&totals), Some(vec![100, 40]));
    add_interval(&mut totals, PhaseName::WarmUp, interval(0, CALM, &mut 0));
    assert_eq!(shown(&totals), None);
}

#[test]
fn trials_are_counted_by_outcome() {
    let mut totals = totals(1, REQUEST);
    for (repetition, failure) in [(1, None), (2, Some("dead")), (3, None)] {
        start_trial(&mut totals, repetition, key(1, repetition));
        end_trial(&mut totals, key(1, repetition), failure);
    }
    let outcome = super::catalogue::OUTCOME;
    let counts = sums(&totals.families(), "waggle.trials.finished", outcome);
    let expected = [("completed".to_owned(), 2), ("failed".to_owned(), 1)];
    assert_eq!(counts, expected);
}

#[test]
fn two_trials_at_the_same_time_are_counted_by_their_cells() {
    let mut totals = totals(2, REQUEST);
    let partner =
        |totals: &mut Totals, event: Event| totals.apply(&Event::Partner(Box::new(event)));
    start_trial(&mut totals, 1, key(1, 1));
    partner(
        &mut totals,
        Event::TrialStarted {
            position: 2,
            key: key(2, 1),
            levels: String::new(),
            level: None,
            operating_share: None,
            workers: 1,
        },
    );
    let measure = PhaseName::Measure;
    add_interval(&mut totals, measure, interval(0, CALM, &mut 0));
    for index in 0..2 {
        let interval = Arc::new(interval(index, CALM, &mut 0));
        let phase = measure;
        partner(&mut totals, Event::Interval { phase, interval });
    }
    let sent = |totals: &Totals| -> Vec<u64> {
        let families = totals.families();
        let sent = families
            .iter()
            .find(|family| family.metric.name == catalogue::SENT.name);
        let Series::Counter(series) = &sent.unwrap().series else {
            panic!("{sent:?}");
        };
        series.iter().map(|(_, count)| *count).collect()
    };
    let [first, second] = sent(&totals)[..] else {
        panic!("{:?}", sent(&totals));
    };
    assert!(first > 0);
    assert_eq!(second, 2 * first);
    end_trial(&mut totals, key(1, 1), None);
    end_trial(&mut totals, key(2, 1), None);
    assert_eq!(sent(&totals), [first, second]);
}
