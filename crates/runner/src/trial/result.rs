//! What a trial notes of its measured load, its machine and its limits → `trial.json`. Other parts note what is theirs.

use std::{io, mem};

use waggle_load::{ClientEnd, ClientOutcome, Outcome};
use waggle_results::{
    ClientEndInfo, ClientInfo, ConnectingInfo, GeneratorInfo, LimitInfo, LoadDropInfo,
    NetworkCounts, SessionsInfo, StepCounts, StepInfo, ThrottlingInfo, TrialEnd, TrialInfo,
};
use waggle_study::Cell;
use waggle_system::{
    components::driver::LimitReading,
    failure_kind::failure_kind,
    host::{
        cpu_time::{CpuClocks, CpuReading},
        namespace::network_info,
    },
    secrets::words::Secrets,
};
use waggle_units::format_size;

use crate::{
    load::{
        counts,
        counts::{Carried, GeneratorSettings, outcome_remarks, session_counts, step_counts},
        job,
    },
    number::as_f64,
    trial::{TrialContext, load_phases, load_phases::Progress, phases::CountedSpans},
};

/// The result of a trial that begins now.
pub(crate) fn begun_trial(context: TrialContext<'_>) -> TrialInfo {
    let is_up = "the system was up already, since an earlier trial";
    TrialInfo {
        // Connections that the load is to have are known of a trial that fails before it, too.
        generator: Some(GeneratorInfo {
            connections_asked: context.cell.load.connections().into(),
            ..GeneratorInfo::default()
        }),
        remarks: context
            .is_up
            .then(|| is_up.to_owned())
            .into_iter()
            .collect(),
        level: context.level,
        network: context.cell.network.as_ref().map(network_info),
        quiet_wait: context.quiet_wait,
        ..TrialInfo::new(context.key, context.position, waggle_system::now_utc())
    }
}

/// The load has started.
pub(crate) fn note_start(info: &mut TrialInfo, cell: &Cell) {
    info.stages.clone_from(&cell.stages);
    if let Some(scenario) = cell.scenario() {
        let step = |name: &String| StepInfo {
            name: name.clone(),
            measured: StepCounts::default(),
            totals: StepCounts::default(),
        };
        info.steps = scenario.steps.iter().map(step).collect();
        info.sessions = Some(SessionsInfo::default());
    }
}

/// Notes the measured phase and what followed it under load, as far as they were reached; returns when they were.
pub(crate) fn note_measured(
    info: &mut TrialInfo,
    progress: &Progress,
    workers: usize,
    context: TrialContext<'_>,
) -> CountedSpans {
    let (measured, cell) = (&progress.measured, context.cell);
    info.measured = measured.counts();
    info.stopped = progress.stopped;
    if progress.was_enough {
        let remark = "the load was ended before its time: by a signal or a key";
        info.remarks.push(remark.to_owned());
    }
    // Until the engine has reported the totals.
    info.totals = progress.all.counts();
    for (step, counts) in info.steps.iter_mut().zip(measured.steps()) {
        step.measured = counts;
    }
    if let Some(sessions) = &mut info.sessions {
        sessions.measured = measured.sessions();
    }
    let seconds = |intervals: u64| as_f64(intervals) * cell.schedule.interval.as_secs_f64();
    let within = progress.window.map(|window| {
        let until = progress.measured_until;
        let until = until.map_or(seconds(window.to), |until| until.as_secs_f64());
        (seconds(window.from), until)
    });
    info.load_drop = progress
        .recovery
        .zip(load_phases::recovery_info(&cell.schedule))
        .zip(job::falls_with(cell))
        .map(|((_, recovery), with)| LoadDropInfo {
            at_s: seconds(with),
            recovery,
        });
    if let (Some((from, to)), Some(load_drop)) = (within, info.load_drop) {
        let (lost_s, gained_s) = (from - seconds(job::warms_up_for(cell)), to - load_drop.at_s);
        note_late_intervals(info, lost_s, gained_s);
    }
    info.generator = Some(GeneratorInfo {
        capacity_per_s: context.possible_per_s,
        ..measured.engine(&GeneratorSettings::from_cell(cell, workers))
    });
    CountedSpans {
        measured: within,
        recovery_until: progress.recovery.map(|window| seconds(window.to)),
    }
}

/// If a load drops at a time that was set in advance, late intervals do not postpone the phases after them. Then `lost_s`
/// seconds of the measured phase were counted in the warm-up, and `gained_s` seconds after the drop in the measured phase.
fn note_late_intervals(info: &mut TrialInfo, lost_s: f64, gained_s: f64) {
    let late = "intervals arrived late";
    if lost_s > 0.0 {
        info.remarks.push(format!(
            "{late}: the first {lost_s} s of the measured phase are counted in the warm-up"
        ));
    }
    if gained_s > 0.0 {
        info.remarks.push(format!(
            "{late}: {gained_s} s after the load dropped are counted in the measured phase"
        ));
    }
}

/// The measured phase is over; the readings are from its begin and its end.
pub(crate) fn note_cpus(
    info: &mut TrialInfo,
    clocks: Option<&CpuClocks>,
    readings: Option<(CpuReading, CpuReading)>,
) {
    info.machine = readings.and_then(|(before, now)| now.machine_since(before));
    if clocks.is_some_and(|clocks| !clocks.loops_run()) {
        info.remarks
            .push("idle polling had ended: CPUs may have halted".to_owned());
    }
}

/// How replicas were throttled between two readings, which are those of the measured phase.
pub(crate) fn note_throttling(
    info: &mut TrialInfo,
    before: &[LimitReading],
    now: Vec<LimitReading>,
) {
    let limit = |reading: LimitReading| LimitInfo {
        throttling: throttling(before, &reading),
        ..reading.info
    };
    info.limits = now.into_iter().map(limit).collect();
}

fn throttling(before: &[LimitReading], now: &LimitReading) -> Option<ThrottlingInfo> {
    let mut earlier = before.iter();
    let earlier = earlier.find(|reading| reading.info.replica == now.info.replica);
    let earlier = earlier.and_then(|reading| reading.throttled);
    let grown = now.throttled?.growth_since(earlier.unwrap_or_default());
    Some(ThrottlingInfo {
        periods: grown.periods,
        throttled_periods: grown.throttled_periods,
        throttled_s: grown.time.as_secs_f64(),
    })
}

/// What the trial's network counted between two readings, which are those of the measured phase.
pub(crate) fn note_network_counts(
    info: &mut TrialInfo,
    before: io::Result<NetworkCounts>,
    after: io::Result<NetworkCounts>,
) {
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(problem), _) | (_, Err(problem)) => {
            let remark = format!("what the network counted cannot be read: {problem}");
            return info.remarks.push(remark);
        }
    };
    let Some(network) = &mut info.network else {
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

/// Notes the limits of the replicas that were started, before they are stopped, and remarks on those that had no effect or
/// cost processes.
pub(crate) fn note_limits(
    info: &mut TrialInfo,
    context: TrialContext<'_>,
    readings: Vec<LimitReading>,
) {
    let measured = mem::take(&mut info.limits);
    let throttling = |replica: &str| {
        let mut all = measured.iter();
        all.find(|known| known.replica == replica)?.throttling
    };
    let limits = readings.into_iter().map(|reading| LimitInfo {
        throttling: throttling(&reading.info.replica),
        ..reading.info
    });
    info.limits = limits.collect();
    for limit in &info.limits {
        if let Some(memory) = limit.memory.filter(|memory| memory.oom_kills > 0) {
            info.remarks.push(format!(
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
            info.remarks.push(format!(
                "the limit of {component}, {limit} CPUs, is above what the system has: {cpus}"
            ));
        }
    }
}

/// Notes what the whole load showed. The secrets are removed from values of answers.
pub(crate) fn note_end(info: &mut TrialInfo, outcome: &Outcome, context: TrialContext<'_>) {
    let carried = Carried::from_cell(context.cell);
    let accepted = carried.accepted_records(&outcome.totals, outcome.steps.iter());
    info.totals = counts::row(&outcome.totals, outcome.ran_for, 0, accepted);
    for (step, counts) in info.steps.iter_mut().zip(&outcome.steps) {
        step.totals = step_counts(counts);
    }
    if let Some(sessions) = &mut info.sessions {
        sessions.totals = session_counts(outcome.totals.sessions);
    }
    info.clients = outcome.clients.iter().map(client).collect();
    info.connecting = Some(ConnectingInfo {
        connects: outcome.totals.connects,
        handshakes: outcome.totals.handshakes,
        handshakes_resumed: outcome.totals.handshakes_resumed,
        resent: outcome.totals.resent,
        protocol: Some(context.cell.protocol),
        http2_connections: Some(outcome.totals.http2_connections),
        narrow_connections: Some(outcome.totals.narrow_connections),
    });
    let names: Vec<String> = info.steps.iter().map(|step| step.name.clone()).collect();
    info.remarks
        .extend(outcome_remarks(outcome, &names, context.secrets));
}

/// Whether anything was measured.
pub(crate) fn has_measured(info: &TrialInfo) -> bool {
    info.measured.seconds > 0.0
}

/// Whether every record that had to arrive was found, if delivery was observed.
pub(crate) fn is_complete(info: &TrialInfo) -> bool {
    info.ledger
        .as_ref()
        .is_none_or(|ledger| ledger.missing == 0)
}

/// Removes the system's secrets from all texts.
pub(crate) fn redact(info: &mut TrialInfo, secrets: &Secrets) {
    let in_place = |text: &mut String| *text = secrets.redact(text);
    info.remarks.iter_mut().for_each(in_place);
    if let TrialEnd::Failed {
        reason, log_tail, ..
    } = &mut info.end
    {
        in_place(reason);
        log_tail.iter_mut().for_each(in_place);
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
