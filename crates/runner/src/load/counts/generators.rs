//! Each of several generators over the measured phase. Pure.

use std::time::Duration;

use waggle_load::GeneratorInterval;
use waggle_results::GeneratorPartInfo;

use crate::{
    histogram::quantile,
    number::{as_f64, share},
};

/// The sums of each generator on disk, in their order, for a phase of this many seconds; empty if the load is made by one.
pub(crate) fn generator_parts(parts: &[GeneratorInterval], seconds: f64) -> Vec<GeneratorPartInfo> {
    let of_time = |time: Duration| share(time.as_secs_f64(), seconds);
    let mut infos = Vec::with_capacity(parts.len());
    for part in parts {
        infos.push(GeneratorPartInfo {
            sent: part.sent,
            utilization: of_time(part.engine_cpu_busiest),
            utilization_wanted: of_time(part.engine_cpu_wanted_busiest),
            run_queue_wait_mean_us: share(
                part.engine_run_queue_wait.as_secs_f64() * 1e6,
                as_f64(part.engine_time_slices),
            ),
            lag_p99_us: quantile(&part.lag, 0.99),
        });
    }
    infos
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waggle_load::GeneratorInterval;

    use super::generator_parts;

    #[test]
    fn each_generator_has_its_own_sums() {
        let part = |sent, busy_ms, lag_us| {
            let mut part = GeneratorInterval::new();
            part.sent = sent;
            part.engine_cpu_busiest = Duration::from_millis(busy_ms);
            part.engine_cpu_wanted_busiest = Duration::from_millis(2 * busy_ms);
            part.engine_run_queue_wait = Duration::from_micros(10);
            part.engine_time_slices = 5;
            part.lag.record_n(lag_us, sent).unwrap();
            part
        };
        assert!(generator_parts(&[], 1.0).is_empty());
        let mut parts = [part(10, 100, 5), part(20, 900, 50)];
        parts[0].follow(&part(30, 200, 7));
        parts[1].follow(&part(1, 800, 900));
        let [first, second] = generator_parts(&parts, 2.0)[..] else {
            panic!("two generators");
        };
        assert_eq!((first.sent, second.sent), (40, 21));
        assert_eq!((first.utilization, second.utilization), (0.15, 0.85));
        assert_eq!(second.utilization_wanted, 1.7);
        assert_eq!((first.lag_p99_us, second.lag_p99_us), (7.0, 900.0));
        assert_eq!(first.run_queue_wait_mean_us, 2.0);
    }
}
