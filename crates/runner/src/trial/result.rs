//! The result of a trial, collected while it runs → `trial.json`.

use std::io;

use tokio::time::Instant;
use waggle_load::{ClientEnd, ClientOutcome, Outcome};
use waggle_results::{
    BackgroundInfo, ClientEndInfo, ClientInfo, ConnectingInfo, CoolDownInfo, CountsRow,
    DeliveryInfo, FORMAT, FaultInfo, GeneratorInfo, LedgerInfo, LimitInfo, LoadDropInfo,
    MachineInfo, NetworkCounts, NetworkInfo, PhaseInfo, PhaseName, PreparationInfo, ProbeInfo,
    QuietWaitInfo, SessionsInfo, StepCounts, StepInfo, StoppedInfo, ThrottlingInfo, TrialEnd,
    TrialInfo, TrialKey,
};
use waggle_spec::LoadStage;
use waggle_study::Cell;
use waggle_system::{
    components::driver::{Failure, LimitReading},
    failure_kind::failure_kind,
    host::cpu_time::{CpuClocks, CpuReading},
    secrets::words::Secrets,
};
use waggle_units::format_size;

use crate::{
    clock::Clock,
    load::{
        counts::{Carried, GeneratorSettings, outcome_remarks, session_counts, step_counts},
        job,
        load_run::LoadRun,
    },
    number::as_f64,
    trial::{
        TrialContext,
        beside::{background::Background, delivery::ProbePosition},
        load_phases,
        load_phases::Progress,
        phases::Phases,
    },
};

/// Collects the parts of a trial's result.
#[derive(Debug)]
pub(crate) struct Report {
    key: TrialKey,
    position: u32,
    /// The load level, if the study searches for one.
    pub(crate) level: Option<f64>,
    started_utc: String,
    end: TrialEnd,
    load: Option<LoadFacts>,
    pub(crate) warm_up_steady: Option<bool>,
    measured: CountsRow,
    /// Start and end of the measured intervals, in seconds since the start of the load.
    measured_within: Option<(f64, f64)>,
    /// End of the intervals after the load had dropped, in the same unit.
    recovery_until: Option<f64>,
    load_drop: Option<LoadDropInfo>,
    totals: CountsRow,
    generator: GeneratorInfo,
    machine: Option<MachineInfo>,
    limits: Vec<LimitInfo>,
    /// The network of the trial's own.
    pub(crate) network: Option<NetworkInfo>,
    /// Of the measured phase, by replica.
    throttling: Vec<(String, ThrottlingInfo)>,
    stages: Vec<LoadStage>,
    stopped: Option<StoppedInfo>,
    ledger: Option<LedgerInfo>,
    delivery: Option<DeliveryInfo>,
    intermediate_probes: Vec<ProbeInfo>,
    steps: Vec<StepInfo>,
    sessions: Option<SessionsInfo>,
    clients: Vec<ClientInfo>,
    connecting: Option<ConnectingInfo>,
    pub(crate) remarks: Vec<String>,
    pub(crate) preparation: Option<PreparationInfo>,
    background: Vec<BackgroundInfo>,
    pub(crate) cool_down: Option<CoolDownInfo>,
    pub(crate) quiet_wait: Option<QuietWaitInfo>,
    /// The faults that were injected so far.
    pub(crate) faults: Vec<FaultInfo>,
}

/// Facts about a load that are known when it starts.
#[derive(Debug)]
struct LoadFacts {
    clock: Clock,
    settings: GeneratorSettings,
    possible_per_s: Option<f64>,
    carried: Carried,
}

impl Report {
    pub(crate) fn new(key: TrialKey, position: u32) -> Self {
        Self {
            key,
            position,
            level: None,
            started_utc: waggle_system::now_utc(),
            end: TrialEnd::Completed,
            load: None,
            warm_up_steady: None,
            measured: CountsRow::default(),
            measured_within: None,
            recovery_until: None,
            load_drop: None,
            totals: CountsRow::default(),
            generator: GeneratorInfo::default(),
            machine: None,
            limits: Vec::new(),
            network: None,
            throttling: Vec::new(),
            stages: Vec::new(),
            stopped: None,
            ledger: None,
            delivery: None,
            intermediate_probes: Vec::new(),
            steps: Vec::new(),
            sessions: None,
            clients: Vec::new(),
            connecting: None,
            remarks: Vec::new(),
            preparation: None,
            background: Vec::new(),
            cool_down: None,
            quiet_wait: None,
            faults: Vec::new(),
        }
    }

    pub(crate) fn set_start(
        &mut self,
        clock: Clock,
        workers: usize,
        cell: &Cell,
        possible_per_s: Option<f64>,
    ) {
        self.stages.clone_from(&cell.stages);
        if let Some(scenario) = cell.scenario() {
            let step = |name: &String| StepInfo {
                name: name.clone(),
                measured: StepCounts::default(),
                totals: StepCounts::default(),
            };
            self.steps = scenario.steps.iter().map(step).collect();
            self.sessions = Some(SessionsInfo::default());
        }
        self.load = Some(LoadFacts {
            clock,
            settings: GeneratorSettings::from_cell(cell, workers),
            possible_per_s,
            carried: Carried::from_cell(cell),
        });
    }

    /// Sets the measured phase and what followed it under load, as far as they were reached.
    pub(crate) fn set_measured(&mut self, progress: &Progress, cell: &Cell) {
        let measured = &progress.measured;
        self.measured = measured.counts();
        self.stopped = progress.stopped;
        if progress.was_enough {
            let remark = "the load was ended before its time: by a signal or a key";
            self.remarks.push(remark.to_owned());
        }
        // Until the engine has reported the totals.
        self.totals = progress.all.counts();
        for (step, counts) in self.steps.iter_mut().zip(measured.steps()) {
            step.measured = counts;
        }
        if let Some(sessions) = &mut self.sessions {
            sessions.measured = measured.sessions();
        }
        let seconds = |intervals: u64| as_f64(intervals) * cell.schedule.interval.as_secs_f64();
        self.measured_within = progress.window.map(|window| {
            let until = progress.measured_until;
            let until = until.map_or(seconds(window.to), |until| until.as_secs_f64());
            (seconds(window.from), until)
        });
        self.recovery_until = progress.recovery.map(|window| seconds(window.to));
        self.load_drop = progress
            .recovery
            .zip(load_phases::recovery_info(&cell.schedule))
            .zip(job::falls_with(cell))
            .map(|((_, recovery), with)| LoadDropInfo {
                at_s: seconds(with),
                recovery,
            });
        if let (Some((from, to)), Some(load_drop)) = (self.measured_within, self.load_drop) {
            self.handed_over_late(from - seconds(job::warms_up_for(cell)), to - load_drop.at_s);
        }
        if let Some(load) = &self.load {
            self.generator = GeneratorInfo {
                capacity_per_s: load.possible_per_s,
                ..measured.engine(&load.settings)
            };
        }
    }

    /// Connections that the load is to have, known of a trial that fails before it, too.
    pub(crate) fn set_connections(&mut self, connections: u32) {
        self.generator.connections_asked = connections.into();
    }

    /// Sets what the loads beside the measured one did, as far as they have come.
    pub(crate) fn set_background<R: LoadRun>(
        &mut self,
        background: &mut Background<R>,
        cell: &Cell,
    ) {
        self.background = background.infos(cell);
        self.remarks.extend(background.remarks());
    }

    /// If a load drops at a time that was set in advance, late intervals do not postpone the phases after them. Then `lost_s`
    /// seconds of the measured phase were counted in the warm-up, and `gained_s` seconds after the drop in the measured phase.
    fn handed_over_late(&mut self, lost_s: f64, gained_s: f64) {
        let late = "intervals arrived late";
        if lost_s > 0.0 {
            self.remarks.push(format!(
                "{late}: the first {lost_s} s of the measured phase are counted in the warm-up"
            ));
        }
        if gained_s > 0.0 {
            self.remarks.push(format!(
                "{late}: {gained_s} s after the load dropped are counted in the measured phase"
            ));
        }
    }

    /// The measured phase is over; the readings are from its begin and its end.
    pub(crate) fn cpus_while_measured(
        &mut self,
        clocks: Option<&CpuClocks>,
        readings: Option<(CpuReading, CpuReading)>,
    ) {
        self.machine = readings.and_then(|(before, now)| now.machine_since(before));
        if clocks.is_some_and(|clocks| !clocks.loops_run()) {
            self.remarks
                .push("idle polling had ended: CPUs may have halted".to_owned());
        }
    }

    /// How replicas were throttled between two readings, which are those of the measured phase.
    pub(crate) fn set_throttling(&mut self, before: &[LimitReading], now: &[LimitReading]) {
        self.throttling.clear();
        for reading in now {
            let Some(throttled) = reading.throttled else {
                continue;
            };
            let replica = &reading.info.replica;
            let mut earlier = before.iter();
            let earlier = earlier.find(|reading| reading.info.replica == *replica);
            let earlier = earlier.and_then(|reading| reading.throttled);
            let grown = throttled.growth_since(earlier.unwrap_or_default());
            let info = ThrottlingInfo {
                periods: grown.periods,
                throttled_periods: grown.throttled_periods,
                throttled_s: grown.time.as_secs_f64(),
            };
            self.throttling.push((replica.clone(), info));
        }
    }

    /// What the trial's network counted between two readings, which are those of the measured phase.
    pub(crate) fn set_network_counts(
        &mut self,
        before: io::Result<NetworkCounts>,
        after: io::Result<NetworkCounts>,
    ) {
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(problem), _) | (_, Err(problem)) => {
                let remark = format!("what the network counted cannot be read: {problem}");
                return self.remarks.push(remark);
            }
        };
        let Some(network) = &mut self.network else {
            return;
        };
        network.counts = Some(NetworkCounts {
            listen_overflows: after.listen_overflows - before.listen_overflows,
            listen_drops: after.listen_drops - before.listen_drops,
            syn_cookies: after.syn_cookies - before.syn_cookies,
            retransmissions: after.retransmissions - before.retransmissions,
            resets: after.resets - before.resets,
        });
    }

    /// Sets the limits of the replicas that were started, before they are stopped, and remarks on those that had no effect or
    /// cost processes.
    pub(crate) fn set_limits(&mut self, context: TrialContext<'_>, readings: Vec<LimitReading>) {
        let throttling = |replica: &str| {
            let mut all = self.throttling.iter();
            all.find(|(known, _)| known == replica)
                .map(|(_, info)| *info)
        };
        let limits = readings.into_iter().map(|reading| LimitInfo {
            throttling: throttling(&reading.info.replica),
            ..reading.info
        });
        self.limits = limits.collect();
        for limit in &self.limits {
            if let Some(memory) = limit.memory.filter(|memory| memory.oom_kills > 0) {
                self.remarks.push(format!(
                    "{}: processes that the kernel killed because they were out of memory, with the limit of {}: {}",
                    limit.replica,
                    format_size(memory.bytes),
                    memory.oom_kills
                ));
            }
        }
        let cpus = context.shares.system.len();
        let is_above = |limit: f64| cpus > 0 && limit > as_f64(cpus as u64);
        for (component, limits) in &context.cell.limits {
            if let Some(limit) = limits.cpus.filter(|limit| is_above(*limit)) {
                self.remarks.push(format!(
                    "the limit of {component}, {limit} CPUs, is above what the system has: {cpus}"
                ));
            }
        }
    }

    /// Sets what the whole load showed. `secrets` are removed from values of answers.
    pub(crate) fn set_end(&mut self, outcome: &Outcome, secrets: &Secrets) {
        let accepted = self.load.as_ref().map_or(0, |load| {
            load.carried
                .accepted_records(&outcome.totals, outcome.steps.iter())
        });
        self.totals = crate::load::counts::row(&outcome.totals, outcome.ran_for, 0, accepted);
        for (step, counts) in self.steps.iter_mut().zip(&outcome.steps) {
            step.totals = step_counts(counts);
        }
        if let Some(sessions) = &mut self.sessions {
            sessions.totals = session_counts(outcome.totals.sessions);
        }
        self.clients = outcome.clients.iter().map(client).collect();
        self.connecting = Some(ConnectingInfo {
            connects: outcome.totals.connects,
            handshakes: outcome.totals.handshakes,
            handshakes_resumed: outcome.totals.handshakes_resumed,
            resent: outcome.totals.resent,
        });
        let names: Vec<String> = self.steps.iter().map(|step| step.name.clone()).collect();
        self.remarks
            .extend(outcome_remarks(outcome, &names, secrets));
    }

    /// Adds what a probe showed; probes are added in their order.
    pub(crate) fn add_probe_result(
        &mut self,
        position: ProbePosition,
        info: ProbeInfo,
        remarks: Vec<String>,
    ) {
        match position {
            ProbePosition::Intermediate(_) => self.intermediate_probes.push(info),
            ProbePosition::Last => {
                self.ledger = Some(info.ledger);
                self.delivery = Some(info.delivery);
            }
        }
        self.remarks.extend(remarks);
    }

    pub(crate) fn set_failure(&mut self, phase: PhaseName, failure: Failure) {
        self.end = TrialEnd::Failed {
            phase,
            reason: failure.reason,
            log_tail: failure.log_tail,
        };
    }

    /// Whether anything was measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.measured.seconds > 0.0
    }

    /// Whether every record that had to arrive was found, if delivery was observed.
    pub(crate) fn is_complete(&self) -> bool {
        self.ledger
            .as_ref()
            .is_none_or(|ledger| ledger.missing == 0)
    }

    /// Removes the system's secrets from all texts.
    pub(crate) fn redact(&mut self, secrets: &Secrets) {
        let in_place = |text: &mut String| *text = secrets.redact(text);
        self.remarks.iter_mut().for_each(in_place);
        if let TrialEnd::Failed {
            reason, log_tail, ..
        } = &mut self.end
        {
            in_place(reason);
            log_tail.iter_mut().for_each(in_place);
        }
    }

    /// A phase that is counted in intervals begins and ends with them, not when the runner noticed it. A load that ended by
    /// itself may have ended before the first of them: no phase ends before it begins.
    fn at_intervals(&self, mut phases: Vec<PhaseInfo>) -> Vec<PhaseInfo> {
        let Some((from, to)) = self.measured_within else {
            return phases;
        };
        for phase in &mut phases {
            match phase.phase {
                PhaseName::WarmUp => phase.end_s = from.max(phase.start_s),
                PhaseName::Measure => {
                    (phase.start_s, phase.end_s) = (from, phase.end_s.clamp(from, to.max(from)))
                }
                PhaseName::Recovery => {
                    let until = self.recovery_until.unwrap_or(to);
                    (phase.start_s, phase.end_s) = (to, phase.end_s.clamp(to, until.max(to)));
                }
                PhaseName::Finish => {
                    let until = self.recovery_until.unwrap_or(to);
                    phase.start_s = until.min(phase.end_s);
                }
                _ => {}
            }
        }
        phases
    }

    pub(crate) fn to_info(&self, phases: &Phases) -> TrialInfo {
        let last_end = phases.last_end().unwrap_or_else(Instant::now);
        let seconds = |instant: Instant| match &self.load {
            Some(load) => load.clock.seconds(instant),
            // There was no load to count from: everything is before the end.
            None => -last_end.saturating_duration_since(instant).as_secs_f64(),
        };
        TrialInfo {
            format: FORMAT,
            key: self.key,
            position: self.position,
            started_utc: self.started_utc.clone(),
            end: self.end.clone(),
            phases: self.at_intervals(phases.phase_infos(seconds)),
            warm_up_steady: self.warm_up_steady,
            measured: self.measured.clone(),
            totals: self.totals.clone(),
            generator: Some(self.generator.clone()),
            ledger: self.ledger.clone(),
            delivery: self.delivery.clone(),
            remarks: self.remarks.clone(),
            level: self.level,
            steps: self.steps.clone(),
            sessions: self.sessions.clone(),
            clients: self.clients.clone(),
            connecting: self.connecting,
            intermediate_probes: self.intermediate_probes.clone(),
            faults: self.faults.clone(),
            load_drop: self.load_drop,
            machine: self.machine,
            stages: self.stages.clone(),
            stopped: self.stopped,
            limits: self.limits.clone(),
            network: self.network.clone(),
            preparation: self.preparation.clone(),
            background: self.background.clone(),
            cool_down: self.cool_down.clone(),
            quiet_wait: self.quiet_wait,
            imported: None,
        }
    }
}

/// A client of the engine, in the form of the results.
fn client(client: &ClientOutcome) -> ClientInfo {
    ClientInfo {
        sent: client.sent,
        completed: client.completed,
        succeeded: client.succeeded,
        seconds: client.lasted.as_secs_f64(),
        end: match client.end {
            ClientEnd::Finished => ClientEndInfo::Finished,
            ClientEnd::Failed(failure) => ClientEndInfo::Failed(failure_kind(failure)),
            ClientEnd::Stopped => ClientEndInfo::Stopped,
        },
    }
}
