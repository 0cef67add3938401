//! A load of given intervals as the runner writes it, read again.

use std::time::Duration;

use waggle_analysis::EndedLoad;
use waggle_load::Interval;
use waggle_results::{
    ConnectingInfo, FORMAT, Host, IntervalHistograms, LoadStart, PhaseInfo, PhaseName, Run,
    RunFolder, RunInfo, TrialInfo, TrialKey, TrialWriter,
};
use waggle_runner::counts::{Carried, interval_row};
use waggle_spec::{TimeSource, Times};

use crate::{
    commands::load::{
        follow::drive::ended_load,
        tests::{Planned, replay},
    },
    trial::phase::Phase,
};

const KEY: TrialKey = TrialKey {
    cell: 1,
    repetition: 1,
};
/// 2026-01-02T03:04:05Z
const STARTED: Duration = Duration::from_secs(1_767_323_045);

/// The phase of an interval.
pub(super) fn phase(planned: &Planned, interval: &Interval) -> Phase {
    let half = planned.study.cells[0].schedule.interval / 2;
    let end = planned.measure.map(|measure| planned.warm_up + measure);
    if interval.start < planned.warm_up {
        Phase::WarmUp
    } else if end.is_some_and(|end| interval.start + half >= end) {
        Phase::Finish
    } else {
        Phase::Measured
    }
}

/// The load of these intervals after its end; `change`: what its trial has in another way.
pub(super) fn written_load(
    planned: &Planned,
    intervals: &[Interval],
    was_ended: bool,
    change: impl FnOnce(&mut TrialInfo),
) -> EndedLoad {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(folder.path(), &run_info(planned), "", "").unwrap();
    let mut writer = run.begin(KEY).unwrap();
    write_intervals(&mut writer, intervals);
    let mut info = trial_info(planned, intervals);
    change(&mut info);
    writer.finish(&info).unwrap();
    let run = Run::read_with_trial(folder.path(), KEY).unwrap();
    ended_load(run, &planned.shape, was_ended).unwrap()
}

fn run_info(planned: &Planned) -> RunInfo {
    RunInfo {
        format: FORMAT,
        cells: waggle_runner::cell_infos(&planned.study),
        order: vec![KEY],
        load_model: planned.study.cells[0].load.kind(),
        host: Host {
            name: "desk".to_owned(),
            kernel: "6.1.0".to_owned(),
            cpu_model: "A CPU".to_owned(),
            cpus: 4,
            memory_bytes: 8 << 30,
            open_files_max: 1024,
            ..Host::default()
        },
        ..RunInfo::default()
    }
}

fn write_intervals(writer: &mut TrialWriter, intervals: &[Interval]) {
    let start = LoadStart {
        name: "request",
        steps: &[],
        intermediate_probes: &[],
        started_unix_ns: u64::try_from(STARTED.as_nanos()).unwrap(),
    };
    writer.load_started(&start).unwrap();
    let mut before = 0;
    for interval in intervals {
        let row = interval_row(interval, before, &Carried::ByEach(0));
        before = row.in_flight;
        let is_noted = |source| matches!(source, TimeSource::Requests | TimeSource::Connections);
        let histograms = IntervalHistograms {
            times: Times::from_fn(|kind| is_noted(kind.source()).then_some(&interval.times[kind])),
            steps: &[],
        };
        writer.interval(&row, histograms).unwrap();
    }
}

fn trial_info(planned: &Planned, intervals: &[Interval]) -> TrialInfo {
    let so_far = replay(planned, intervals);
    let whole = &so_far.whole.counts;
    let end_s = so_far.ran_for.as_secs_f64();
    let warm_s = end_s.min(planned.warm_up.as_secs_f64());
    let measured_s = warm_s + so_far.measured.counts().seconds;
    let spans = [
        (PhaseName::WarmUp, 0.0, warm_s),
        (PhaseName::Measure, warm_s, measured_s),
        (PhaseName::Finish, measured_s, end_s),
    ];
    let phases = spans.map(|(phase, start_s, end_s)| PhaseInfo {
        phase,
        start_s,
        end_s,
    });
    TrialInfo {
        phases: phases.to_vec(),
        measured: so_far.measured.counts(),
        totals: so_far.totals_row(),
        generator: Some(so_far.engine()),
        connecting: Some(ConnectingInfo {
            connects: whole.connects,
            narrow_connections: Some(whole.narrow_connections),
            ..ConnectingInfo::default()
        }),
        ..TrialInfo::new(KEY, 1, String::new())
    }
}
