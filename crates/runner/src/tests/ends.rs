//! Loads that change by stages, and phases that end after a number of requests.

use std::time::Duration;

use waggle_results::{PhaseName, Trial, TrialEnd};
use waggle_spec::{LoadModel, LoadStage};

use super::{Bench, STUDY, Then, world};

const CLOSED: &str = "  model: closed\n  connections: ${connections}\n  pipelining: 1\n";
const WARM_UP: &str = "  warm_up: 1s\n";
const MEASURE: &str = "  measure: 2s\n";

/// Runs the study with these changes; returns its trials and the models of the load.
async fn run_study(changes: &[(&str, &str)]) -> (Vec<Trial>, Vec<(LoadModel, Vec<LoadStage>)>) {
    let mut study = STUDY.to_owned();
    for (old, new) in changes {
        assert!(study.contains(old), "{old}");
        study = study.replace(old, new);
    }
    let (bench, fake) = (Bench::new_with_study(&study), world(None));
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    let trials = bench.results().trials;
    for trial in &trials {
        assert_eq!(trial.info.end, TrialEnd::Completed);
        let ledger = trial.info.ledger.as_ref().unwrap();
        assert_eq!((ledger.missing, ledger.sent), (0, trial.info.totals.sent));
    }
    assert_eq!(trials.len(), 4);
    let models = std::mem::take(&mut fake.borrow_mut().models);
    (trials, models)
}

fn measured_phase(trial: &Trial) -> (f64, f64, u64) {
    let phase = trial.info.phase(PhaseName::Measure).unwrap();
    (phase.start_s, phase.end_s, trial.info.measured.sent)
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_goes_through_stages_is_measured_from_beginning_to_end() {
    let load = "  model: open\n  connections: ${connections}\n  stages: [{ duration: 1s, target: 400/s }, \
                { duration: 0s, target: 800/s }, { duration: 500ms, target: 0/s }]\n";
    let (trials, models) = run_study(&[(CLOSED, load), (WARM_UP, ""), (MEASURE, "")]).await;
    let stage = |target, ms| LoadStage {
        target,
        duration: Duration::from_millis(ms),
    };
    let expected = [stage(400.0, 1_000), stage(800.0, 0), stage(0.0, 500)];
    for (model, stages) in &models {
        assert!(matches!(model, LoadModel::Open { .. }), "{model:?}");
        assert_eq!(stages, &expected);
    }
    let info = |duration_s, target| LoadStage {
        duration: Duration::from_secs_f64(duration_s),
        target,
    };
    for trial in &trials {
        assert_eq!(measured_phase(trial), (0.0, 1.5, 600));
        assert_eq!(
            trial.info.stages,
            [info(1.0, 400.0), info(0.0, 800.0), info(0.5, 0.0)]
        );
        assert_eq!(trial.info.generator.as_ref().unwrap().offered_per_s, None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_stages_can_be_left_out_as_a_warm_up() {
    let load = "  model: users\n  think_time: 1s\n  stages: [{ duration: 1s, target: 40 }, { duration: 1s, target: 40 }]\n  \
                workers: ${connections}\n";
    let (trials, models) = run_study(&[(CLOSED, load), (MEASURE, "")]).await;
    let expected = [LoadStage {
        duration: Duration::from_secs(1),
        target: 40.0,
    }; 2];
    for (model, stages) in &models {
        assert!(
            matches!(model, LoadModel::Users { users: 40, .. }),
            "{model:?}"
        );
        assert_eq!(stages, &expected);
    }
    for trial in &trials {
        assert_eq!(measured_phase(trial), (1.0, 2.0, 400));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_warm_up_exactly_as_many_requests_are_sent_as_the_study_says() {
    let (trials, _) =
        run_study(&[(WARM_UP, ""), (MEASURE, "  measure: { requests: 350 }\n")]).await;
    for trial in &trials {
        assert_eq!(trial.info.totals.sent, 350);
        // The last interval ends with the last answer.
        assert_eq!(measured_phase(trial), (0.0, 0.875, 350));
        assert_eq!(trial.info.measured.seconds, 0.875);
    }
}

#[tokio::test(start_paused = true)]
async fn a_warm_up_and_a_measured_phase_end_with_the_interval_that_has_the_last_of_their_requests()
{
    let warm_up = "  warm_up: { requests: 250, timeout: 5s }\n";
    let measure = "  measure: { requests: 201, timeout: 5s }\n";
    let (trials, _) = run_study(&[(WARM_UP, warm_up), (MEASURE, measure)]).await;
    for trial in &trials {
        assert_eq!(measured_phase(trial), (0.75, 1.5, 300));
    }
    // Or when their timeout is reached.
    let warm_up = "  warm_up: { requests: 250, timeout: 500ms }\n";
    let measure = "  measure: { requests: 2000, timeout: 1s }\n";
    let (trials, _) = run_study(&[(WARM_UP, warm_up), (MEASURE, measure)]).await;
    for trial in &trials {
        assert_eq!(measured_phase(trial), (0.5, 1.5, 400));
    }
}

/// Runs the study with these phases; returns the maximum duration that the engine gets in its first trial.
async fn max_duration(warm_up: &str, measure: &str) -> Duration {
    let study = STUDY.replace(WARM_UP, warm_up).replace(MEASURE, measure);
    let (bench, fake) = (Bench::new_with_study(&study), world(None));
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    fake.borrow().at_most[0]
}

#[tokio::test(start_paused = true)]
async fn with_a_number_of_requests_nothing_falls_due_behind_the_measured_time_either() {
    let seconds = Duration::from_secs;
    assert_eq!(max_duration(WARM_UP, MEASURE).await, seconds(3));
    let requests = "  measure: { requests: 100000, timeout: 2s }\n";
    assert_eq!(max_duration(WARM_UP, requests).await, seconds(3));
    assert_eq!(max_duration("", requests).await, seconds(2));
    // The end of the warm-up is not known in advance.
    let warm_up = "  warm_up: { requests: 250, timeout: 1s }\n";
    assert_eq!(max_duration(warm_up, requests).await, seconds(33));
}
