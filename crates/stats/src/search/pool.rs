//! The pool of connections of a load: whether it, and not the system, was the limit of a trial, and how large it is next.
//!
//! In open load a request that falls due waits for a free connection. If all are taken, the offered rate is not reached and times
//! grow, whatever the system could do: ten connections to a server that takes 50 ms are good for 200 requests per second. A system
//! at its own limit fills the pool, too; but then requests wait in the system, and its service time grows with their number.

use crate::search::{Evidence, SearchTrial, Settings};

/// Conditions may fail for want of a connection if this share of all requests that may be in flight were so on average: of ten
/// connections that are busy for two thirds of the time, all are busy often enough to matter to a p99.
const BUSY_MIN: f64 = 2.0 / 3.0;
/// A system whose service time is at least so many times that of the search's fastest trial has a queue of its own. Below that more
/// requests in flight may still get more done: of a system without one bottleneck, at three times the least service time, 70 % of
/// its capacity is reached.
const QUEUED: f64 = 3.0;
/// The next pool has room for so many times the requests that are expected in flight.
const ROOM: f64 = 2.0;
/// A larger pool with which so many trials show nothing, and none shows anything, is none that the system or the machine allows.
const UNUSABLE_TRIALS: usize = 2;

/// The pool of connections in one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolUse {
    /// Requests that may be in flight at a time.
    pub in_flight_max: f64,
    pub in_flight_mean: f64,
    pub service_mean_us: f64,
    /// All that failed in the trial are times and rates, which waiting for a connection makes worse.
    pub may_be_limit: bool,
}

/// The pool that a search ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimit {
    pub connections: u32,
    /// A larger pool, with which no trial succeeded.
    pub unusable: Option<u32>,
}

/// What each trial shows by itself, and by the service times of the others.
pub(super) fn judged_evidence(tried: &[SearchTrial]) -> Vec<Evidence> {
    let services = tried.iter().filter_map(|trial| trial.pool);
    let fastest = services
        .map(|pool| pool.service_mean_us)
        .fold(f64::INFINITY, f64::min);
    let is_limit = |pool: PoolUse| {
        pool.may_be_limit
            && pool.in_flight_mean >= BUSY_MIN * pool.in_flight_max
            && pool.service_mean_us < QUEUED * fastest
    };
    let evidence = |trial: &SearchTrial| match trial.evidence {
        Evidence::NotMet if trial.pool.is_some_and(is_limit) => Evidence::PoolLimited,
        evidence => evidence,
    };
    tried.iter().map(evidence).collect()
}

/// The trials of a search by the pools that they had.
pub(super) struct Pools<'a> {
    tried: &'a [SearchTrial],
    judged: Vec<Evidence>,
    /// The largest with which a trial showed something; `None`: none is known.
    current: Option<u32>,
    unusable: Option<u32>,
    /// As large as it may get.
    max: Option<u32>,
}

impl<'a> Pools<'a> {
    pub(super) fn new(settings: &Settings, tried: &'a [SearchTrial]) -> Self {
        let judged = judged_evidence(tried);
        let with = |is: fn(Evidence) -> bool| {
            let all = tried.iter().zip(&judged);
            all.filter(move |(_, evidence)| is(**evidence))
                .filter_map(|(trial, _)| trial.connections)
        };
        let known = with(|evidence| evidence != Evidence::Nothing).max();
        let current = known.or_else(|| tried.iter().filter_map(|trial| trial.connections).min());
        let larger = with(|evidence| evidence == Evidence::Nothing);
        let larger: Vec<u32> = larger.filter(|size| Some(*size) > current).collect();
        let count = |size: u32| larger.iter().filter(|other| **other == size).count();
        let unusable = larger.iter().copied();
        let unusable = unusable
            .filter(|size| count(*size) >= UNUSABLE_TRIALS)
            .min();
        let allowed = settings.max_connections.filter(|_| unusable.is_none());
        Self {
            tried,
            judged,
            current,
            unusable,
            max: current.map(|current| allowed.unwrap_or(current).max(current)),
        }
    }

    fn can_grow(&self) -> bool {
        self.max > self.current
    }

    /// Trials that count, with their indices and what they show: of those in which the pool was the limit, only those with the
    /// largest pool there may be; and none with a pool that cannot be used.
    pub(super) fn counted_trials(&self) -> Vec<(usize, SearchTrial)> {
        let all = self.tried.iter().zip(&self.judged).enumerate();
        let counts = |trial: &SearchTrial, evidence: Evidence| {
            let is_smaller = trial.connections < self.current || self.can_grow();
            let is_larger = trial.connections > self.current;
            !(evidence == Evidence::PoolLimited && is_smaller || is_larger)
        };
        all.filter(|(_, (trial, evidence))| counts(trial, **evidence))
            .map(|(index, (trial, evidence))| {
                let evidence = *evidence;
                (index, SearchTrial { evidence, ..*trial })
            })
            .collect()
    }

    /// The size for the next trial; `None`: as the load is set.
    pub(super) fn next(&self) -> Option<u32> {
        let (current, max) = (self.current?, self.max?);
        if !self.can_grow() {
            return Some(current);
        }
        let limited = self.tried.iter().zip(&self.judged);
        let limited = limited.filter(|(trial, evidence)| {
            **evidence == Evidence::PoolLimited && trial.connections == Some(current)
        });
        let wanted = limited
            .filter_map(|(trial, _)| wanted_size(trial, current))
            .max();
        Some(wanted.map_or(current, |wanted| {
            wanted.max(current.saturating_mul(2)).min(max)
        }))
    }

    /// What held the load, if its pool cannot be larger.
    pub(super) fn limit(&self) -> Option<PoolLimit> {
        Some(PoolLimit {
            connections: self.current?,
            unusable: self.unusable,
        })
    }
}

/// Connections that the level of a trial needs by Little's law, with room; each carries as many requests as before.
fn wanted_size(trial: &SearchTrial, connections: u32) -> Option<u32> {
    let pool = trial.pool?;
    let of_each = pool.in_flight_max / f64::from(connections);
    let needed = ROOM * trial.level * pool.service_mean_us / 1e6 / of_each.max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of connections; the cast saturates"
    )]
    let whole = needed.ceil() as u32;
    Some(whole)
}
