//! All functions return a result for any numbers: results may come from a damaged or foreign file.

use proptest::prelude::*;
use waggle_stats::{
    ChangeLimits, Counts, Generator, HistoryRun, Ledger, LoadModel, RunningTotals, Sample, Scale,
    Steadiness, SteadyBins, TrialFacts, Verdict, backlog_grows, change_points, check, estimate,
    median, ratio, steady, thin_tail, verdict_of,
};

/// Numbers of every kind, the odd ones often.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..1e6_f64,
        prop::sample::select(vec![
            0.0,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE
        ]),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(any_number(), 0..24)
}

fn any_counts() -> impl Strategy<Value = Counts> {
    (any_number(), any::<[u64; 6]>(), any::<i64>()).prop_map(
        |(seconds, counts, in_flight_change)| {
            let [due, sent, succeeded, failed, skipped, records_succeeded] = counts;
            Counts {
                seconds,
                due,
                sent,
                succeeded,
                failed,
                skipped,
                in_flight_change,
                records_succeeded,
            }
        },
    )
}

fn any_generator() -> impl Strategy<Value = Generator> {
    (
        any::<u32>(),
        prop::array::uniform8(any_number()),
        any::<[u64; 3]>(),
    )
        .prop_map(|(workers, numbers, connections)| Generator {
            workers,
            utilization: numbers[0],
            cpu_us_per_request: numbers[1],
            lag_p99_us: numbers[2],
            connections_asked: connections[0],
            connections_open_min: connections[1],
            connections_open_median: connections[2],
            in_flight_mean: numbers[3],
            in_flight_sending: Some(numbers[3]),
            in_flight_asked: Some(numbers[2]),
            in_flight_max: Some(connections[2]),
            utilization_wanted: numbers[4],
            in_flight_unexplained: numbers[5],
            run_queue_wait_mean_us: numbers[6],
            capacity_per_s: Some(numbers[7]),
            is_system_narrow: connections[0] % 7 == 0,
        })
}

fn any_ledger() -> impl Strategy<Value = Ledger> {
    any::<[u64; 8]>().prop_map(|counts| {
        let [
            sent,
            accepted,
            rejected,
            unknown,
            delivered,
            missing,
            rejected_delivered,
            unexpected,
        ] = counts;
        let missing_keys = vec![sent];
        Ledger {
            sent,
            accepted,
            rejected,
            unknown,
            delivered,
            missing,
            rejected_delivered,
            unexpected,
            missing_keys,
        }
    })
}

proptest! {
    #[test]
    fn every_check_has_an_answer(
        model in prop::sample::select(vec![LoadModel::Closed, LoadModel::Open, LoadModel::Users]),
        counts in (any_counts(), any_counts()),
        generator in any_generator(),
        ledger in prop::option::of(any_ledger()),
        times in prop::array::uniform4(prop::option::of(any_number())),
        series in (numbers(), numbers(), numbers()),
    ) {
        let totals = RunningTotals { at_s: &series.0, asked: &series.1, done: &series.2 };
        let outcome = check(&TrialFacts {
            model,
            measured: counts.0,
            totals: counts.1,
            generator,
            offered_per_s: times[0],
            response_p50_us: times[1],
            service_mean_us: times[2],
            probe_lag_s: times[3],
            store_unread: times[3].is_some_and(|time| time > 1.0),
            ledger,
            delivery: totals,
            answers: totals,
            bins: SteadyBins { throughput: &series.0, p50: &series.1, p99: &series.2, cpu: &series.0, min_time_change: 0.0 },
            bin_s: 1.0,
            ..TrialFacts::default()
        });
        let verdict = verdict_of(&outcome.reasons);
        prop_assert_eq!(outcome.reasons.is_empty(), verdict == Verdict::Valid);
    }

    #[test]
    fn estimates_are_finite_or_absent(new in numbers(), old in numbers(), resolution in any_number()) {
        let samples = |values: &[f64]| -> Vec<Sample> {
            let sample = |(repetition, value): (u32, &f64)| Sample::exact(repetition, *value);
            (1..).zip(values).map(sample).collect()
        };
        let compared = ratio(&samples(&new), &samples(&old), resolution);
        let outcome = [
            estimate(&new, Scale::from_resolution(resolution)),
            median(&new),
            compared.map(|outcome| outcome.estimate),
        ];
        for outcome in outcome.into_iter().flatten() {
            prop_assert!(outcome.point.is_finite());
            if let Some((low, high)) = outcome.interval {
                prop_assert!(low <= high, "{outcome:?}");
            }
        }
        let _ = backlog_grows(&new, &old, &new);
        let _ = thin_tail(new.len() as u64, 0.99);
    }

    /// The unit does not matter, nor does the order of time to whether there is a change.
    #[test]
    fn steadiness_has_no_unit_and_no_direction(values in prop::collection::vec(1.0..1_000.0_f64, 4..40)) {
        let steadiness = |values: &[f64]| steady(&SteadyBins { throughput: values, ..SteadyBins::default() });
        let is_steady = steadiness(&values) == Steadiness::Steady;
        let scaled: Vec<f64> = values.iter().map(|value| value * 1_024.0).collect();
        prop_assert_eq!(steadiness(&scaled) == Steadiness::Steady, is_steady);
        let mut reversed = values;
        reversed.reverse();
        prop_assert_eq!(steadiness(&reversed) == Steadiness::Steady, is_steady);
    }

    #[test]
    fn change_points_are_in_order(values in numbers(), errors in numbers(), min_change in any_number()) {
        let errors = errors.into_iter().map(Some).chain(std::iter::repeat(None));
        let runs = values.into_iter().zip(errors);
        let runs: Vec<HistoryRun> = runs.map(|(value, log_error)| HistoryRun { value, log_error }).collect();
        let limits = ChangeLimits { false_alarms: 0.5, min_change };
        let outcome = change_points(&runs, Scale::default(), limits).unwrap_or_default();
        prop_assert!(outcome.windows(2).all(|pair| pair[0].index < pair[1].index));
        prop_assert!(outcome.iter().all(|change| (1..runs.len()).contains(&change.index)));
    }
}
