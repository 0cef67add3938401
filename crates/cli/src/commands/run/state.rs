//! The state of a run, from its steps. Pure; `lines` and the live view show it.

use std::time::Duration;

use waggle_load::Interval;
use waggle_report::wording::{format, labels, operating_points, search};
use waggle_results::{PhaseName, TrialKey};
use waggle_spec::TimeKind;

use super::{
    lines::waiting_for_quiet,
    progress::{Outline, Progress},
};
use crate::{
    output::values::{duration, microseconds, rate},
    trial::{
        aggregate::{Aggregator, as_f64},
        sides::{Side, Sides},
    },
};

/// The state of a run. Pure: the caller passes instants.
#[derive(Debug)]
pub(super) struct State {
    pub(super) outline: Outline,
    pub(super) trials: u32,
    pub(super) done: u32,
    done_here: u32,
    expected: Duration,
    /// From the start to the end of the last trial that ended in this process.
    took: Duration,
    /// The load of a preparation that is running.
    filling: Option<Filling>,
    pub(super) running: Sides<Now>,
}

/// How far a load of a preparation is.
#[derive(Debug)]
struct Filling {
    load: String,
    /// When it was first heard of, and how many sessions it had done by then.
    began: (Duration, u64),
    left: Duration,
}

/// A running trial.
#[derive(Debug)]
pub(super) struct Now {
    /// Its number.
    pub(super) cell: u32,
    pub(super) repetition: u32,
    pub(super) position: u32,
    levels: String,
    /// Level of the search.
    pub(super) level: Option<String>,
    /// The share of the capacity, at an operating point.
    operating_share: Option<f64>,
    phase: Option<(PhaseName, Option<Duration>)>,
    pub(super) figures: String,
    second: Aggregator,
    /// The last event has changed the figures of the load.
    pub(super) has_new_figures: bool,
    pub(super) has_figures_of_load: bool,
}

impl Now {
    /// A trial that starts, outside a search.
    fn new(position: u32, key: TrialKey, levels: &str) -> Self {
        Self {
            cell: key.cell,
            repetition: key.repetition,
            position,
            levels: levels.to_owned(),
            level: None,
            operating_share: None,
            phase: None,
            figures: String::new(),
            second: Aggregator::new(Duration::from_secs(1)),
            has_new_figures: false,
            has_figures_of_load: false,
        }
    }
}

impl State {
    /// Before the first event.
    pub(super) fn new(outline: Outline) -> Self {
        Self {
            outline,
            trials: 0,
            done: 0,
            done_here: 0,
            expected: Duration::ZERO,
            took: Duration::ZERO,
            filling: None,
            running: Sides::default(),
        }
    }

    /// Applies a step; `elapsed` is the time since the start.
    pub(super) fn apply(&mut self, progress: &Progress, elapsed: Duration) {
        let (side, progress) = progress.split();
        match progress {
            Progress::RunStarted {
                trials,
                already_done,
                expected,
                ..
            } => {
                (self.trials, self.done, self.expected) = (*trials, *already_done, *expected);
            }
            Progress::TrialStarted(trial) => {
                let searched = self.outline.what.zip(trial.level);
                let now = Now {
                    level: searched.map(|(what, level)| search::level(what, level)),
                    operating_share: trial.operating_share,
                    ..Now::new(trial.position, trial.key, &trial.levels)
                };
                self.running.start(side, now);
            }
            Progress::Phase { phase, expected } => self.begin_phase(side, *phase, *expected),
            Progress::Interval { interval, .. } => self.add_interval(side, interval),
            Progress::FaultBegan { kind, name } => {
                self.figures(side, labels::fault(kind.name(), name));
            }
            Progress::UpAgain { name, after } => self.figures(side, up_again(name, *after)),
            Progress::Preparing {
                load,
                done,
                sessions,
                retries,
            } => {
                self.fill(load, (*done, *sessions), elapsed);
                self.figures(side, preparing(load, (*done, *sessions), *retries));
            }
            Progress::WaitingForQuiet {
                other_cores, cpus, ..
            } => self.figures(side, waiting_for_quiet(*other_cores, *cpus)),
            Progress::Draining { visible, accepted } => {
                self.figures(side, format!("{visible} of {accepted} records arrived"))
            }
            Progress::TrialEnded { .. } => {
                self.done += 1;
                self.done_here += 1;
                self.took = elapsed;
                self.running.end();
            }
            Progress::TrialsAdded(added) => {
                self.trials += u32::try_from(added.len()).unwrap_or(u32::MAX);
            }
            Progress::Found { not_needed, .. } => {
                self.trials = self.trials.saturating_sub(*not_needed);
            }
            Progress::Machine { .. }
            | Progress::Partner(_)
            | Progress::Searched { .. }
            | Progress::Calibrating(_)
            | Progress::WaitingForServer { .. }
            | Progress::Notice(_)
            | Progress::Warning(_) => {}
        }
    }

    fn add_interval(&mut self, side: Side, interval: &Interval) {
        let Some(now) = self.running.side_mut(side) else {
            return;
        };
        let second = now.second.add(interval);
        now.has_new_figures = second.is_some();
        if let Some(second) = second {
            now.figures = figures(&second);
            now.has_figures_of_load = true;
        }
    }

    /// Estimates how long a load of a preparation still takes, from its pace so far.
    fn fill(&mut self, load: &str, (done, sessions): (u64, u64), elapsed: Duration) {
        let began = match &self.filling {
            Some(filling) if filling.load == load => filling.began,
            _ => (elapsed, done),
        };
        let each = (elapsed - began.0).div_f64(as_f64((done - began.1).max(1)));
        self.filling = Some(Filling {
            load: load.to_owned(),
            began,
            left: each.mul_f64(as_f64(sessions.saturating_sub(done))),
        });
    }

    fn begin_phase(&mut self, side: Side, phase: PhaseName, expected: Option<Duration>) {
        self.filling = None;
        if let Some(now) = self.running.side_mut(side) {
            now.phase = Some((phase, expected));
            now.figures.clear();
        }
    }

    fn figures(&mut self, side: Side, figures: String) {
        if let Some(now) = self.running.side_mut(side) {
            now.figures = figures;
            now.has_figures_of_load = false;
        }
    }

    /// Time left, estimated from the trials so far; before the first has ended, from the plan.
    pub(super) fn time_left(&self, elapsed: Duration) -> Duration {
        let filling = self.filling.as_ref().map(|filling| filling.left);
        let rest = match self.done_here {
            0 => self.expected.saturating_sub(elapsed),
            done => {
                let mean = self.took / done;
                let under_way = elapsed.saturating_sub(self.took).min(mean);
                (mean * self.trials.saturating_sub(self.done)).saturating_sub(under_way)
            }
        };
        rest + filling.unwrap_or_default()
    }

    /// `cell 7, repetition 2 of 3 · connections=10 · measure · 45,200/s p50 …`; of two trials at the same time both rates.
    pub(super) fn line(&self) -> String {
        let Some(now) = self.running.main_trial() else {
            return String::new();
        };
        let (cell, partner) = (now.cell, self.running.partner());
        let (repetition, repeat) = (now.repetition, self.outline.repetitions());
        let mut parts = vec![match (&now.level, now.operating_share) {
            (_, Some(share)) => format!("cell {cell} at {}", operating_points::place(share)),
            (Some(_), None) => format!("cell {cell}, trial {repetition} of at most {repeat}"),
            (None, None) => format!("cell {cell}, repetition {repetition} of {repeat}"),
        }];
        parts.extend(now.level.clone());
        if !now.levels.is_empty() {
            let other = partner.and_then(|partner| partner.levels.split(' ').next_back());
            let other = other.map_or_else(String::new, |level| format!(" and {level}"));
            parts.push(format!("{}{other}", now.levels));
        }
        if let Some((phase, expected)) = &now.phase {
            let long =
                expected.map_or_else(String::new, |expected| format!(" {}", duration(expected)));
            parts.push(format!("{}{long}", labels::phase(*phase)));
        }
        if !now.figures.is_empty() {
            let other = partner.map(|partner| &partner.figures);
            let other = other.filter(|figures| !figures.is_empty());
            let other = other.map_or_else(String::new, |figures| format!(" and {figures}"));
            parts.push(format!("{}{other}", now.figures));
        }
        parts.join(" · ")
    }
}

/// `45.2k/s, 3.00/s failing  p50 820 µs p99 12.4 ms`.
fn figures(second: &Interval) -> String {
    let seconds = second.length.as_secs_f64();
    let per_s = |count: u64| as_f64(count) / seconds;
    let failed = match second.counts.failed {
        0 => String::new(),
        failed => format!(", {} failing", rate(per_s(failed))),
    };
    let percentile =
        |quantile| microseconds(second.times[TimeKind::Response].value_at_quantile(quantile));
    format!(
        "{}{failed}  p50 {} p99 {}",
        rate(per_s(second.counts.succeeded)),
        percentile(0.5),
        percentile(0.99)
    )
}

/// `fill: 1,200 of 10,000 sessions (12 %), 3 retries`.
fn preparing(load: &str, (done, sessions): (u64, u64), retries: u64) -> String {
    let percent = done.saturating_mul(100) / sessions.max(1);
    let (done, sessions) = (format::count(done), format::count(sessions));
    let retries = match retries {
        0 => String::new(),
        1 => ", 1 retry".to_owned(),
        retries => format!(", {} retries", format::count(retries)),
    };
    format!("{load}: {done} of {sessions} sessions ({percent} %){retries}")
}

fn up_again(name: &str, after: Duration) -> String {
    format!("{name} is ready again after {:.1} s", after.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use waggle_results::TrialKey;
    use waggle_spec::LevelKind;

    use super::*;
    use crate::{
        commands::run::progress::StartedTrial,
        live::Title,
        trial::{
            aggregate::histogram,
            generated::{CALM, interval as made_interval, shape},
        },
    };

    fn state_after(events: &[Progress]) -> State {
        let outline = Outline {
            repeat: 3,
            repeat_max: 3,
            what: Some(LevelKind::Rate),
        };
        let mut state = State::new(outline);
        for event in events {
            state.apply(event, Duration::ZERO);
        }
        state
    }

    fn started_events() -> Vec<Progress> {
        let key = TrialKey {
            cell: 7,
            repetition: 2,
        };
        vec![
            Progress::RunStarted {
                trials: 36,
                already_done: 18,
                expected: Duration::from_secs(100),
                ended: Vec::new(),
            },
            Progress::TrialStarted(Box::new(StartedTrial {
                position: 19,
                key,
                levels: "connections=10 pipelining=50".to_owned(),
                level: None,
                operating_share: None,
                title: Title::default(),
                shape: shape(),
            })),
        ]
    }

    #[test]
    fn the_line_names_cell_phase_and_rate() {
        let check = |event, expected: &str| {
            let mut events = started_events();
            events.push(Progress::Phase {
                phase: PhaseName::Measure,
                expected: Some(Duration::from_secs(3)),
            });
            events.push(event);
            assert_eq!(state_after(&events).line(), expected);
        };
        let load = |failed| {
            let mut interval = made_interval(0, CALM, &mut 0);
            interval.length = Duration::from_secs(1);
            (interval.counts.succeeded, interval.counts.failed) = (45_210, failed);
            interval.times[TimeKind::Response] = histogram();
            interval.times[TimeKind::Response]
                .record_n(820, 90)
                .unwrap();
            interval.times[TimeKind::Response]
                .record_n(12_400, 10)
                .unwrap();
            Progress::Interval {
                phase: PhaseName::Measure,
                interval: Arc::new(interval),
            }
        };
        let begin = "cell 7, repetition 2 of 3 · connections=10 pipelining=50 · measure 3 s";
        check(
            load(0),
            &format!("{begin} · 45.2k/s  p50 820 µs p99 12.4 ms"),
        );
        check(
            load(3),
            &format!("{begin} · 45.2k/s, 3.00/s failing  p50 820 µs p99 12.4 ms"),
        );
        check(
            Progress::Draining {
                visible: 10,
                accepted: 30,
            },
            &format!("{begin} · 10 of 30 records arrived"),
        );
    }

    #[test]
    fn time_left_has_the_rest_of_a_preparation() {
        let mut state = state_after(&started_events());
        let before = state.time_left(Duration::from_secs(10));
        let fill = |done| Progress::Preparing {
            load: "fill".to_owned(),
            done,
            sessions: 1_100,
            retries: 1,
        };
        state.apply(&fill(100), Duration::from_secs(10));
        state.apply(&fill(300), Duration::from_secs(12));
        let left = state.time_left(Duration::from_secs(12));
        assert_eq!(
            left,
            before - Duration::from_secs(2) + Duration::from_secs(8)
        );
        let expected = "fill: 300 of 1,100 sessions (27 %), 1 retry";
        assert_eq!(state.running.main_trial().unwrap().figures, expected);
    }

    #[test]
    fn time_left_comes_from_the_trials_so_far() {
        let mut state = state_after(&started_events());
        let check = |state: &State, elapsed, expected| {
            assert_eq!(
                state.time_left(Duration::from_secs(elapsed)),
                Duration::from_secs(expected)
            );
        };
        check(&state, 10, 90);
        for ended_at in [12, 20] {
            let key = TrialKey {
                cell: 1,
                repetition: 3,
            };
            let ended = Progress::TrialEnded {
                key,
                failure: None,
                goodput_per_s: 1.0,
                judged: None,
            };
            state.apply(&ended, Duration::from_secs(ended_at));
        }
        check(&state, 20, 160);
        // It decreases during a trial, down to the time of the remaining trials.
        check(&state, 25, 155);
        check(&state, 50, 150);
    }
}
