//! The delivery of the records of a trial: what each probe on their way shows.

mod probe;

use futures_util::future::{select_all, try_join_all};
use waggle_load::Outcome;
use waggle_results::TrialInfo;
use waggle_study::{Cell, Probe, ProbeKind, System};
use waggle_system::{
    components::driver::{Driver, Failure},
    http::client::{Connection, HttpConnector},
};

use self::probe::{Delivery, ProbePosition, Sent};
use crate::{
    clock::Clock,
    load::{job, job::RECORDS_PER_WORKER_MAX},
    probe::{ProbeConfig, ProbeReader, WatchStream, open_stream},
    trial::{
        TrialContext,
        beside::{
            companion::{Companion, Follow, LoadCourse, Part, View, Work},
            faults::Restarts,
        },
        load_content::mark,
        phases::Abort,
    },
};

/// What all probes of a trial show.
pub(in crate::trial) struct Deliveries<'a, N> {
    context: TrialContext<'a>,
    /// Before the first record was sent.
    before: Clock,
    restarts: Restarts,
    /// Agents have tried the load's requests before it, with records that have other marks.
    pub(in crate::trial) has_smoke_records: bool,
    /// With its stream, if it reads one; in the order of the records' path. Taken when the load has started.
    probes: Vec<(&'a Probe, Option<WatchStream>)>,
    /// In the same order.
    followed: Vec<Delivery<'a, N>>,
}

impl<'a, N: Connection> Deliveries<'a, N> {
    /// Finds the probes of a cell, and opens their streams.
    pub(in crate::trial) async fn set_up<D: Driver>(
        context: TrialContext<'a>,
        driver: &D,
        before: Clock,
        restarts: Restarts,
    ) -> Result<Self, Failure> {
        let mut probes = Vec::new();
        for name in probe_names(context.cell) {
            let probe = probe(context.system, name)?;
            let peers = driver.peers(&probe.component, &probe.port);
            probes.push((probe, open_stream(probe, &peers, context.secrets).await?));
        }
        Ok(Self {
            context,
            before,
            restarts,
            has_smoke_records: false,
            probes,
            followed: Vec::new(),
        })
    }

    /// Waits until the probes have seen the records.
    async fn drain<D: Driver, W>(
        &mut self,
        view: &View<'_, D, W>,
        outcome: &Outcome,
    ) -> Result<(), Abort> {
        let sent = sent_records(outcome, self.context.cell);
        let deliveries = self.followed.iter_mut();
        let drains = deliveries.map(|delivery| delivery.drain(view.trial, sent));
        try_join_all(drains).await?;
        for delivery in &mut self.followed {
            delivery.measure_cost(view.driver).await;
        }
        Ok(())
    }
}

impl<D: Driver, L, W: HttpConnector> Companion<D, L, W> for Deliveries<'_, W::Connection> {
    fn load_started(&mut self, view: &View<'_, D, W>, load: &LoadCourse) -> Result<(), Abort> {
        let (context, cell) = (self.context, self.context.cell);
        let Some(delivery) = &cell.delivery else {
            return Ok(());
        };
        let View { driver, http, .. } = view;
        let probes = self.probes.len();
        for (number, (probe, stream)) in self.probes.drain(..).enumerate() {
            let config = ProbeConfig {
                probe,
                delivery,
                run: mark(self.before, context.position),
                workers: load.workers,
                sequence_max: RECORDS_PER_WORKER_MAX,
                interval: cell.schedule.interval,
                clock: load.clock,
                since_ns: self.before.start_unix_ns(),
                has_others: self.has_smoke_records || has_others(context, probe),
                sample_limits: context.sample_limits,
                secrets: context.secrets,
                due_instants: load.due_instants.clone(),
                window: load.measured.window.clone(),
            };
            let peers = driver.peers(&probe.component, &probe.port);
            let reader = match (stream, &probe.kind) {
                (Some(stream), ProbeKind::Watch(watch)) => {
                    ProbeReader::watch(&config, watch, stream)?
                }
                _ => ProbeReader::new(&config, &peers, |peer| http.connection(peer))?,
            };
            let position = ProbePosition::new(number, probes);
            self.followed
                .push(Delivery::new(&config, position, &self.restarts, reader));
        }
        Ok(())
    }

    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, part: Part<'t>) -> Follow<'t> {
        let writer = view.trial.writer;
        match part {
            _ if self.followed.is_empty() => Follow::Nothing,
            Part::Load(_) => {
                let deliveries = self.followed.iter_mut();
                let polls = deliveries.map(|delivery| Box::pin(delivery.follow(writer)));
                let polls = select_all(polls);
                Follow::Throughout(Box::pin(async { polls.await.0 }))
            }
            Part::Drain(outcome) => Follow::UntilOver(Box::pin(self.drain(view, outcome))),
        }
    }

    fn collect<'t>(
        &'t mut self,
        view: &'t View<'t, D, W>,
        outcome: &'t Outcome,
        info: &'t mut TrialInfo,
    ) -> Work<'t, Result<(), Abort>> {
        Box::pin(async {
            let sent = sent_records(outcome, self.context.cell);
            for delivery in &self.followed {
                let probe = delivery.collect(sent, view.trial.writer)?;
                match delivery.position {
                    ProbePosition::Intermediate(_) => info.intermediate_probes.push(probe),
                    ProbePosition::Last => {
                        info.ledger = Some(probe.ledger);
                        info.delivery = Some(probe.delivery);
                    }
                }
                info.remarks.extend(delivery.remarks());
            }
            Ok(())
        })
    }
}

fn sent_records<'o>(outcome: &'o Outcome, cell: &Cell) -> Sent<'o> {
    Sent {
        accounts: &outcome.request_outcomes,
        records_per_request: job::records_per_request(cell),
        skipped_under_load: outcome.skipped_under_load,
    }
}

/// The probes of a cell, in the order of the records' path.
pub(in crate::trial) fn probe_names(cell: &Cell) -> &[String] {
    let asked = cell.delivery.as_ref();
    asked.map_or(&[], |asked| &asked.probes)
}

/// The probe with this name.
fn probe<'a>(system: &'a System, name: &str) -> Result<&'a Probe, Failure> {
    let entry = system.probes.iter().find(|probe| probe.name == name);
    entry.ok_or_else(|| Failure::new(format!("the system has no probe \"{name}\"")))
}

/// Whether others may write where a probe reads, too.
fn has_others(context: TrialContext<'_>, probe: &Probe) -> bool {
    let is_from_outside = |source| is_external(context.system, source);
    context.is_up || probe.sources().any(is_from_outside)
}

/// Whether a component runs already and may have data.
fn is_external(system: &System, name: &str) -> bool {
    let mut components = system.components.iter();
    components.any(|component| component.name == name && component.external.is_some())
}
