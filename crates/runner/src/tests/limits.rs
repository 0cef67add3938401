//! Limits of replicas in the result of a trial: as they were applied, with what was met in the measured phase.

use waggle_results::{CpuLimit, LimitInfo, LimitMeans, MemoryLimit, PhaseName, TrialEnd};
use waggle_system::components::{driver::LimitReading, limits::Throttled};

use super::{Bench, Then, world, world::Fault};

fn limit_reading(oom_kills: u64) -> LimitReading {
    LimitReading {
        info: LimitInfo {
            replica: "fake-0".to_owned(),
            cpus: Some(CpuLimit {
                cpus: 0.5,
                by: LimitMeans::CgroupV2,
            }),
            memory: Some(MemoryLimit {
                bytes: 64 << 20,
                by: LimitMeans::CgroupV2,
                oom_kills,
            }),
            throttling: None,
        },
        throttled: Some(Throttled::default()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_trial_has_its_limits_and_the_throttling_of_its_measured_phase() {
    let bench = Bench::new();
    let world = world(None);
    world.borrow_mut().limits = vec![limit_reading(0)];
    bench.run(&world, Then::Nothing).await.0.unwrap();
    for trial in bench.results().trials {
        let [limit] = &trial.info.limits[..] else {
            panic!("{:?}", trial.info.limits);
        };
        assert_eq!(
            (limit.cpus, limit.memory),
            (limit_reading(0).info.cpus, limit_reading(0).info.memory)
        );
        // One reading at its start, one at its end.
        let throttling = limit.throttling.unwrap();
        assert_eq!((throttling.periods, throttling.throttled_periods), (10, 4));
        assert!((throttling.throttled_s - 0.01).abs() < 1e-9);
        assert!(trial.info.remarks.is_empty(), "{:?}", trial.info.remarks);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_trial_has_its_limits_and_lost_processes() {
    let bench = Bench::new();
    let world = world(Some(Fault::Fails(PhaseName::Verify)));
    world.borrow_mut().limits = vec![limit_reading(2)];
    bench.run(&world, Then::Nothing).await.0.unwrap();
    let trial = &bench.results().trials[0];
    assert!(matches!(trial.info.end, TrialEnd::Failed { .. }));
    assert_eq!(trial.info.limits, [limit_reading(2).info]);
    let remark = "fake-0: processes that the kernel killed because they were out of memory, with the limit of 64MiB: 2";
    assert_eq!(trial.info.remarks, [remark]);
}

#[tokio::test(start_paused = true)]
async fn a_trial_without_limits_has_none() {
    let bench = Bench::new();
    bench.run(&world(None), Then::Nothing).await.0.unwrap();
    let trials = bench.results().trials;
    assert!(trials.iter().all(|trial| trial.info.limits.is_empty()));
}
