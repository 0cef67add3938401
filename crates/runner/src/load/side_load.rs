//! What a load did that is not the measured one, in the form of the results. Pure.

use hdrhistogram::Histogram;
use waggle_load::{Interval, add_times, empty_times};
use waggle_results::{FillInfo, LoadInfo, LoadStepInfo};
use waggle_spec::{LoadRole, TimeKind, Times};

use crate::{
    histogram::quantiles,
    load::counts::{Carried, GeneratorSettings, Measured, interval_row},
};

/// What is known of a load before it runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct SideLoad {
    pub(crate) role: LoadRole,
    pub(crate) name: String,
    pub(crate) settings: GeneratorSettings,
    /// Sessions that there are to be, if it fills the system.
    pub(crate) fill: Option<FillInfo>,
    /// Names of its steps, if it is a scenario.
    pub(crate) steps: Vec<String>,
}

/// The sums over its intervals.
pub(crate) struct SideLoadSums {
    pub(crate) load: SideLoad,
    /// Requests in flight at the end of the last interval.
    in_flight: u64,
    counted: Measured,
    /// Of the counted intervals, and of the answers after them.
    times: Times<Histogram<u64>>,
}

impl SideLoadSums {
    pub(crate) fn new(load: SideLoad) -> Self {
        Self {
            load,
            in_flight: 0,
            counted: Measured::default(),
            times: empty_times(),
        }
    }

    /// An interval that counts.
    pub(crate) fn add(&mut self, interval: &Interval) {
        let row = interval_row(interval, self.in_flight, &Carried::ByEach(0));
        self.counted.add(interval, &row.counts);
        self.add_answers(interval);
    }

    /// An interval of which the answers alone count.
    pub(crate) fn add_answers(&mut self, interval: &Interval) {
        add_times(&mut self.times, &interval.times);
        self.skip(interval);
    }

    /// An interval that does not count.
    pub(crate) fn skip(&mut self, interval: &Interval) {
        self.in_flight = interval.counts.in_flight;
    }

    /// Whether it sent all the time and nothing came back.
    pub(crate) fn is_unanswered(&self) -> bool {
        let counts = self.counted.counts();
        counts.seconds > 0.0 && counts.succeeded + counts.failed == 0
    }

    /// What it has done so far of what there is to fill; all 0 of other loads.
    pub(crate) fn fill_info(&self) -> FillInfo {
        let sessions = self.counted.sum().map(|sum| sum.counts.sessions);
        let sessions = sessions.unwrap_or_default();
        FillInfo {
            completed: sessions.completed,
            failed: sessions.failed,
            retries: sessions.retries,
            ..self.load.fill.unwrap_or_default()
        }
    }

    /// What it has done so far, without its times.
    pub(crate) fn counts(&self) -> LoadInfo {
        let mut counts = self.counted.steps().into_iter();
        let step = |name: &String| LoadStepInfo {
            name: name.clone(),
            counts: counts.next().unwrap_or_default(),
            response_time: None,
        };
        LoadInfo {
            role: self.load.role,
            name: self.load.name.clone(),
            counts: self.counted.counts(),
            generator: self.counted.engine(&self.load.settings),
            fill: self.load.fill.map(|_| self.fill_info()),
            steps: self.load.steps.iter().map(step).collect(),
            ..LoadInfo::default()
        }
    }

    /// All that it did.
    pub(crate) fn info(&self) -> LoadInfo {
        let mut info = LoadInfo {
            response_time: quantiles(&self.times[TimeKind::Response]),
            service_time: quantiles(&self.times[TimeKind::Service]),
            ..self.counts()
        };
        let steps = self.counted.sum().map_or(&[][..], |sum| &sum.steps);
        for (step, sum) in info.steps.iter_mut().zip(steps) {
            step.response_time = quantiles(&sum.times[TimeKind::Response]);
        }
        info
    }
}
