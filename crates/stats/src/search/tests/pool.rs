//! Pools of connections: a system's capacity is found whatever the pool begins with, and a pool that is the limit is said to be it.

use super::*;

/// A system as a closed network: a time that it takes without any limit, and stations that serve one request at a time.
struct System {
    delay_s: f64,
    stations_s: &'static [f64],
}

/// It sleeps, and does nothing else.
const SLEEPER: System = System {
    delay_s: 0.05,
    stations_s: &[],
};
const ONE_WORKER: System = System {
    delay_s: 0.0,
    stations_s: &[0.005],
};
/// It waits for others most of the time.
const WAITER: System = System {
    delay_s: 0.05,
    stations_s: &[0.001],
};
/// No station is the bottleneck: its capacity shows with many requests in flight only.
const BALANCED: System = System {
    delay_s: 0.0,
    stations_s: &[0.002; 5],
};

impl System {
    fn capacity(&self) -> f64 {
        1.0 / self.stations_s.iter().copied().fold(0.0, f64::max)
    }

    /// Requests in flight, and their mean time, at an offered rate; whether it is reached (mean value analysis).
    fn serve(&self, rate: f64, in_flight_max: u32) -> (f64, f64, bool) {
        let mut queues = vec![0.0; self.stations_s.len()];
        let (mut before, mut service) = ((0.0, 0.0), 0.0);
        for in_flight in 1..=in_flight_max {
            let times = self.stations_s.iter().zip(&queues);
            let times: Vec<f64> = times
                .map(|(station, queue)| station * (1.0 + queue))
                .collect();
            service = self.delay_s + times.iter().sum::<f64>();
            let reached = f64::from(in_flight) / service;
            queues = times.iter().map(|time| reached * time).collect();
            if reached >= rate {
                let (few, at_few) = before;
                let share = (rate - at_few) / (reached - at_few);
                return (few + share * (f64::from(in_flight) - few), service, true);
            }
            before = (f64::from(in_flight), reached);
        }
        (f64::from(in_flight_max), service, false)
    }
}

/// Searches with a pool of `connections` that may grow to `max`; all connections above `refused` are refused.
fn search_with_pool(system: &System, (connections, max, refused): (u32, u32, u32)) -> Search {
    let settings = Settings {
        max_connections: Some(max),
        max: 1e5,
        ..RATE
    };
    let mut search = Search::new(settings).unwrap();
    while let Some(level) = search.next().level() {
        let size = search.connections().unwrap_or(connections);
        let (in_flight_mean, service_s, reached) = system.serve(level, size);
        let pool = PoolUse {
            in_flight_max: f64::from(size),
            in_flight_mean,
            service_mean_us: service_s * 1e6,
            may_be_limit: true,
        };
        let shown = SearchTrial {
            connections: Some(size),
            pool: (size <= refused).then_some(pool),
            ..SearchTrial::new(level, Evidence::Nothing)
        };
        search.report(SearchTrial {
            evidence: match reached {
                _ if size > refused => Evidence::Nothing,
                true => Evidence::Met,
                false => Evidence::NotMet,
            },
            ..shown
        });
    }
    search
}

#[test]
fn a_system_has_its_own_capacity_whatever_the_pool_begins_with() {
    for system in [&ONE_WORKER, &WAITER, &BALANCED] {
        for connections in [1, 2, 5, 10, 50, 200, 2_000] {
            let search = search_with_pool(system, (connections, 10_000, u32::MAX));
            let answer = search.answer();
            assert_eq!(answer.end, End::Found, "{connections}: {answer:?}");
            let held = answer.holds.unwrap().level / system.capacity();
            let failed = answer.fails.unwrap() / system.capacity();
            assert!(
                held >= 0.79 && failed <= 1.06,
                "{connections}: {held}, {failed}"
            );
        }
    }
}

#[test]
fn a_server_without_a_limit_has_no_capacity() {
    // Up to the highest rate, with as many connections as that needs.
    let answer = search_with_pool(&SLEEPER, (10, 20_000, u32::MAX)).answer();
    assert_eq!(answer.end, End::MetUpToMost);
    assert_eq!(answer.holds.map(|held| held.level), Some(1e5));
    // As far as the pool may grow: 1,000 connections are good for 20,000/s.
    let answer = search_with_pool(&SLEEPER, (10, 1_000, u32::MAX)).answer();
    assert_eq!((answer.end, answer.fails), (End::PoolLimited, None));
    assert_eq!(answer.pool.map(|pool| pool.connections), Some(1_000));
    assert!((18_500.0..=20_000.0).contains(&answer.holds.unwrap().level));
    assert!(answer.is_lower_bound() && !answer.is_open());
    // Not at all.
    let answer = search_with_pool(&SLEEPER, (10, 10, u32::MAX)).answer();
    assert_eq!((answer.end, answer.fails), (End::PoolLimited, None));
    assert!((185.0..=200.0).contains(&answer.holds.unwrap().level));
    assert_eq!(answer.fitted_level(), None);
}

#[test]
fn a_full_pool_of_a_system_at_its_limit_is_not_the_limit() {
    // Ten connections to one worker are enough, although all of them are always busy above its capacity.
    let search = search_with_pool(&ONE_WORKER, (10, 10, u32::MAX));
    let answer = search.answer();
    assert_eq!(answer.end, End::Found, "{answer:?}");
    assert!((185.0..=200.0).contains(&answer.holds.unwrap().level));
    let shown = search.evidence();
    assert!(!shown.contains(&Evidence::PoolLimited), "{shown:?}");
}

#[test]
fn a_pool_that_the_system_refuses_is_given_up() {
    let search = search_with_pool(&SLEEPER, (10, 10_000, 99));
    let answer = search.answer();
    assert_eq!(answer.end, End::PoolLimited);
    let pool = answer.pool.unwrap();
    assert_eq!((pool.connections, pool.unusable), (10, Some(100)));
    assert!((185.0..=200.0).contains(&answer.holds.unwrap().level));
    let refused = search.evidence();
    let refused = refused
        .iter()
        .filter(|evidence| **evidence == Evidence::Nothing);
    assert_eq!(refused.count(), 2);
}

/// Failures are the system's, however busy the pool is.
#[test]
fn what_waiting_does_not_explain_is_no_limit_of_the_pool() {
    let search = run_pooled(PoolUse {
        in_flight_max: 10.0,
        in_flight_mean: 10.0,
        service_mean_us: 50_000.0,
        may_be_limit: false,
    });
    assert!(!search.evidence().contains(&Evidence::PoolLimited));
    // Nor is a pool that is half empty.
    let search = run_pooled(PoolUse {
        in_flight_max: 10.0,
        in_flight_mean: 5.0,
        service_mean_us: 50_000.0,
        may_be_limit: true,
    });
    assert!(!search.evidence().contains(&Evidence::PoolLimited));
}

fn run_pooled(pool: PoolUse) -> Search {
    let mut search = Search::new(RATE).unwrap();
    while let Some(level) = search.next().level() {
        search.report(SearchTrial {
            connections: Some(10),
            pool: Some(pool),
            ..SearchTrial::new(level, up_to(3_333.0)(level, 0))
        });
    }
    assert_eq!(search.answer().end, End::Found);
    search
}
