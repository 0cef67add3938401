//! The agents that make the measured load: their clocks and CPUs before and after it.

use std::sync::Arc;

use waggle_agents::{AgentUse, Fleet, FleetError, LoadUse};
use waggle_load::Outcome;
use waggle_results::{AgentInfo, ThrottledInfo, TrialInfo};
use waggle_system::components::driver::{Driver, Failure};

use crate::{
    number::as_f64,
    trial::beside::companion::{Companion, Follow, Part, View, Work},
    trial::phases::Abort,
};

/// The agents of a load; `None`: it is made here.
pub(in crate::trial) struct AgentReadings {
    fleet: Option<Arc<Fleet>>,
    agents: usize,
    load: Option<LoadUse>,
}

impl AgentReadings {
    pub(in crate::trial) fn new(fleet: Option<Arc<Fleet>>, generators: u32) -> Self {
        Self {
            fleet,
            agents: generators as usize,
            load: None,
        }
    }
}

impl<D: Driver, L, W> Companion<D, L, W> for AgentReadings {
    fn start<'t>(&'t mut self, _load: &'t mut L) -> Work<'t, Result<(), Failure>> {
        Box::pin(async {
            if let Some(fleet) = &self.fleet {
                let begun = fleet.begin_load(self.agents).await;
                self.load = Some(begun.map_err(|why| failure(&why))?);
            }
            Ok(())
        })
    }

    fn follow<'t>(&'t mut self, _view: &'t View<'t, D, W>, _part: Part<'t>) -> Follow<'t> {
        // That an agent is lost is found by the load itself.
        Follow::Nothing
    }

    fn collect<'t>(
        &'t mut self,
        _view: &'t View<'t, D, W>,
        outcome: &'t Outcome,
        info: &'t mut TrialInfo,
    ) -> Work<'t, Result<(), Abort>> {
        Box::pin(async {
            let (Some(fleet), Some(load)) = (&self.fleet, &self.load) else {
                return Ok(());
            };
            let uses = fleet.end_load(load).await.map_err(|why| failure(&why))?;
            let first_sends = outcome.first_sent_by_each.iter().copied();
            let first_sends = first_sends.chain(std::iter::repeat(None));
            let infos = uses
                .iter()
                .zip(first_sends)
                .map(|(agent, first_sent)| AgentInfo {
                    first_sent_ms: first_sent.map(|time| time.as_secs_f64() * 1e3),
                    ..agent_info(agent)
                });
            info.agents = infos.collect();
            Ok(())
        })
    }
}

fn failure(why: &FleetError) -> Failure {
    Failure::new(why.to_string())
}

fn agent_info(agent: &AgentUse) -> AgentInfo {
    let AgentUse {
        member,
        clock,
        throttle,
    } = agent;
    let ms = |ns: i64| milliseconds(ns.unsigned_abs()) * f64::from(ns.signum() as i8);
    AgentInfo {
        number: u32::try_from(member.number).unwrap_or(u32::MAX),
        name: member.host.name.clone(),
        offset_ms: ms(clock.before.offset_ns),
        offset_bound_ms: milliseconds(clock.before.bound_ns),
        offset_after_ms: ms(clock.after.offset_ns),
        offset_after_bound_ms: milliseconds(clock.after.bound_ns),
        wall_offset_ms: ms(clock.before.wall_offset_ns),
        drift_ppm: clock.drift_ppm,
        drift_bound_ppm: clock.drift_bound_ppm,
        clock_error_ms: milliseconds(clock.error_ns),
        readings: clock.readings,
        first_sent_ms: None,
        throttled: throttle.map(|throttle| ThrottledInfo {
            periods: throttle.periods,
            throttled: throttle.throttled,
            throttled_ms: milliseconds(throttle.throttled_ns),
        }),
    }
}

fn milliseconds(ns: u64) -> f64 {
    as_f64(ns) / 1e6
}
