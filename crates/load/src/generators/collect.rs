//! Runs a job on several generators: a common start, one merge, one end.

use std::{
    mem::take,
    sync::{Arc, atomic::Ordering, mpsc::SyncSender},
    time::{Duration, Instant},
};

use waggle_spec::TimeKind;

use super::{
    link::{Connected, GeneratorsError, Link, Outgoing},
    message::{self, Order, Report},
    replacement::ReplaceInGenerators,
};
use crate::{
    control::{replacement::Shape, validate},
    engine::{kept_columns, step_names},
    job::{Job, partition::Due, share::shares},
    machine::clock::{Clock, whole_nanoseconds},
    recording::{
        merge::Merger,
        outcome::{GeneratorInterval, Interval, Outcome},
        recorder::Slice,
    },
    scenario::kept::{Kept, merge_kept},
};

/// How long a generator may take from its job to its workers being ready.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a generator may send nothing while it runs; it says that it is alive once a second.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// The start is this far in the future, and further for each generator, so that all have the order by then.
const START_AFTER: Duration = Duration::from_millis(50);
const START_AFTER_EACH: Duration = Duration::from_millis(5);
const START_AFTER_ROUND_TRIPS: u32 = 4;

/// A running load of several generators. Dropping it lets all of them end.
#[derive(Debug)]
pub struct Generators {
    generators: Vec<Connected>,
    merger: Merger,
    /// Length of an interval in nanoseconds.
    interval: u64,
    clock: Clock,
    step_names: Vec<String>,
    kept_columns: usize,
    stop: StopGenerators,
    replace: ReplaceInGenerators,
}

/// Stops a run from another thread.
#[derive(Debug, Clone)]
pub struct StopGenerators(Vec<SyncSender<Outgoing>>);

impl StopGenerators {
    /// No new requests from now on.
    pub fn stop(&self) {
        for orders in &self.0 {
            // A generator that takes no orders is found by its silence.
            orders.try_send(Outgoing::Order(Order::Stop)).ok();
        }
    }
}

impl Generators {
    /// Starts a job on as many generators as there are links, and returns at their common start.
    ///
    /// # Errors
    /// The job is impossible, or a generator cannot run its share; the text names it.
    pub fn start(job: &Job, links: Vec<Link>) -> Result<Self, GeneratorsError> {
        validate::check(job)?;
        let shares = shares(job, links.len());
        let total = links.len();
        if shares.len() != total {
            return Err(GeneratorsError::Shares {
                shares: shares.len(),
                links: total,
            });
        }
        let bytes = Arc::new(message::encode(job).map_err(GeneratorsError::Encode)?);
        let mut generators = Vec::with_capacity(total);
        for (index, link) in links.into_iter().enumerate() {
            let generator = Connected::new(link, index + 1, total)?;
            generator.send_job(shares[index], &bytes);
            generators.push(generator);
        }
        let digest = message::digest(job).map_err(GeneratorsError::Encode)?;
        let deadline = Instant::now() + SET_UP_TIMEOUT;
        for generator in &mut generators {
            wait_until_ready(generator, digest, deadline)?;
        }
        let each = START_AFTER_EACH * u32::try_from(total).unwrap_or(u32::MAX);
        let round_trips = generators.iter().map(|generator| generator.round_trip);
        let farthest = round_trips.max().unwrap_or_default();
        // An order that is lost on its way is sent again after a few times that long.
        let clock = Clock::start_after(START_AFTER + each + farthest * START_AFTER_ROUND_TRIPS);
        for generator in &generators {
            let start = Order::Start(clock.with_offset(generator.clock_offset_ns));
            generator.orders.try_send(Outgoing::Order(start)).ok();
        }
        clock.wait_for_start();
        let orders = generators.iter().map(|generator| generator.orders.clone());
        let orders: Vec<_> = orders.collect();
        let replace = ReplaceInGenerators::new(Shape::new(job), orders.clone());
        let stop = StopGenerators(orders);
        let interval = whole_nanoseconds(job.interval);
        Ok(Self {
            // Each generator has made both histograms complete, whatever makes a request due.
            merger: Merger::new(total, interval, Due::BySchedule),
            generators,
            interval,
            clock,
            step_names: step_names(job),
            kept_columns: kept_columns(job),
            stop,
            replace,
        })
    }

    /// The next interval of all generators together, in order; `None` if none was complete within `wait`, or if the run has ended
    /// and all were handed out. If intervals were not taken for a while, or a generator fell behind, several are merged into one.
    ///
    /// # Errors
    /// A generator has ended early, has failed or is silent.
    pub fn next_interval(&mut self, wait: Duration) -> Result<Option<Interval>, GeneratorsError> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(interval) = self.merge_next() {
                return Ok(Some(interval));
            }
            let Some(lacking) = self.merger.lacking() else {
                return Ok(None);
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.take_next(lacking, left)? {
                self.find_ended()?;
                return Ok(None);
            }
        }
    }

    /// Names of the scenario's steps, in the order of [`Interval::steps`]; empty without a scenario.
    #[must_use]
    pub fn step_names(&self) -> &[String] {
        &self.step_names
    }

    /// Nanoseconds since 1970 at the start of the run (interval 0).
    #[must_use]
    pub fn started_unix_ns(&self) -> u64 {
        self.clock.unix(0)
    }

    /// The reading of this machine's monotonic clock at the start of the run.
    #[must_use]
    pub fn started_monotonic(&self) -> Duration {
        self.clock.monotonic_start()
    }

    /// Whether all generators are done and every interval was handed out.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let mut generators = self.generators.iter();
        generators.all(|generator| generator.outcome.is_some()) && self.merger.is_done()
    }

    /// Sends no new requests from now on; waits for pending answers for up to [`crate::Limits::finish`].
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// A handle that stops the run from another thread.
    #[must_use]
    pub fn stop_handle(&self) -> StopGenerators {
        self.stop.clone()
    }

    /// A handle that replaces what is sent, from another thread.
    #[must_use]
    pub fn replace_handle(&self) -> ReplaceInGenerators {
        self.replace.clone()
    }

    /// Waits for the end of the run. Intervals that were not taken are dropped; the totals include them.
    ///
    /// # Errors
    /// As [`Self::next_interval`].
    pub fn join(mut self) -> Result<Outcome, GeneratorsError> {
        for index in 0..self.generators.len() {
            while self.generators[index].outcome.is_none() {
                self.take_next(index, SILENCE_TIMEOUT)?;
                while self.merge_next().is_some() {}
            }
        }
        let kept = self.generators.iter_mut();
        let kept: Vec<Kept> = kept
            .flat_map(|generator| take(&mut generator.kept))
            .collect();
        let outcomes = self.generators.iter_mut();
        let mut outcomes = outcomes.filter_map(|generator| generator.outcome.take());
        let mut whole = outcomes.next().expect("a load has a generator");
        let mut first_sent_by_each = vec![whole.first_sent];
        for outcome in outcomes {
            first_sent_by_each.push(outcome.first_sent);
            whole.join(outcome);
        }
        Ok(Outcome {
            first_sent_by_each,
            started_unix_ns: self.clock.unix(0),
            kept: merge_kept(self.kept_columns, &kept),
            ..whole
        })
    }

    /// Takes the next report of a generator; false if none came within `wait`.
    fn take_next(&mut self, index: usize, wait: Duration) -> Result<bool, GeneratorsError> {
        let generator = &mut self.generators[index];
        let Some(report) = generator.next(wait)? else {
            if generator.heard.elapsed() >= SILENCE_TIMEOUT {
                return Err(GeneratorsError::Silent {
                    generator: generator.generator.clone(),
                    after: SILENCE_TIMEOUT,
                });
            }
            return Ok(false);
        };
        if let Report::Interval(interval) = report {
            let slice = slice(*interval, index, self.interval);
            self.merger.take(slice);
            return Ok(true);
        }
        generator.take(report)?;
        if let Some(outcome) = &generator.outcome {
            self.merger.end_worker(index);
            // What ends the run for one worker ends it for all.
            if outcome.request_outcomes_full || outcome.unconnected_for.is_some() {
                self.stop.stop();
            }
        }
        Ok(true)
    }

    /// An error of a generator that is not the one that was waited for.
    fn find_ended(&mut self) -> Result<(), GeneratorsError> {
        for index in 0..self.generators.len() {
            let is_over = self.generators[index].is_over.load(Ordering::Relaxed);
            while is_over
                && self.generators[index].outcome.is_none()
                && self.take_next(index, Duration::ZERO)?
            {}
        }
        Ok(())
    }

    fn merge_next(&mut self) -> Option<Interval> {
        let (mut interval, used) = self.merger.next()?;
        interval.generators = vec![GeneratorInterval::new(); self.generators.len()];
        for slice in &used {
            interval.generators[slice.worker].follow(&GeneratorInterval {
                sent: slice.counts.sent,
                engine_cpu_busiest: slice.counts.engine_cpu_busiest,
                engine_cpu_wanted_busiest: slice.counts.engine_cpu_wanted_busiest,
                engine_run_queue_wait: slice.counts.engine_run_queue_wait,
                engine_time_slices: slice.counts.engine_time_slices,
                lag: slice.times[TimeKind::Lag].clone(),
            });
        }
        Some(interval)
    }
}

/// Waits for a generator's workers, and compares its job with the one that was sent.
fn wait_until_ready(
    generator: &mut Connected,
    digest: u64,
    deadline: Instant,
) -> Result<(), GeneratorsError> {
    let left = deadline.saturating_duration_since(Instant::now());
    match generator.next(left)? {
        Some(Report::Ready { digest: its }) if its == digest => Ok(()),
        Some(Report::Ready { .. }) => Err(GeneratorsError::OtherJob(generator.generator.clone())),
        Some(report) => generator
            .take(report)
            .and_then(|()| Err(generator.failure("it was not ready before its end".to_owned()))),
        None => Err(GeneratorsError::Silent {
            generator: generator.generator.clone(),
            after: SET_UP_TIMEOUT,
        }),
    }
}

/// An interval of a generator as the merge takes it: a generator is to the whole what a worker is to a generator.
fn slice(interval: Interval, source: usize, length: u64) -> Box<Slice> {
    let end = whole_nanoseconds(interval.start + interval.length);
    Box::new(Slice {
        worker: source,
        first: interval.index,
        last: end.div_ceil(length).saturating_sub(1).max(interval.index),
        end,
        is_final: false,
        counts: interval.counts,
        times: interval.times,
        steps: interval.steps,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        failure::Failure,
        recording::outcome::{Counts, InspectedCounts, StepInterval},
    };

    const MS: u64 = 1_000_000;

    /// What a worker hands over: the intervals that each slice spans, and the length of the last one.
    #[derive(Debug, Clone)]
    struct Handed {
        spans: Vec<u64>,
        last_ms: u64,
    }

    fn any_slices() -> impl Strategy<Value = Handed> {
        let spans = prop::collection::vec(prop_oneof![5 => Just(1_u64), 1 => 2_u64..4], 1..6);
        (spans, 1_u64..=10).prop_map(|(spans, last_ms)| Handed { spans, last_ms })
    }

    /// The slices of a worker, with values that differ from slice to slice.
    #[expect(clippy::vec_box, reason = "the merge takes them in boxes")]
    fn slices(worker: u64, handed: &Handed, source: usize) -> Vec<Box<Slice>> {
        let (mut first, last) = (0, handed.spans.len() - 1);
        let slices = handed.spans.iter().enumerate().map(|(number, span)| {
            let mut slice = Slice::new(source, 1);
            slice.first = first;
            slice.last = first + span - 1;
            slice.is_final = number == last;
            first += span;
            slice.end = match slice.is_final {
                true => (slice.last * 10 + handed.last_ms) * MS,
                false => first * 10 * MS,
            };
            let value = worker * 1_000 + number as u64;
            let cpu = Duration::from_micros(value);
            slice.counts.sent = value;
            slice.counts.in_flight = worker + 1;
            slice.counts.failures.add(Failure::Status(500), worker);
            slice.counts.engine_cpu = cpu;
            slice.counts.engine_cpu_busiest = cpu;
            slice.counts.engine_cpu_wanted_busiest = cpu * 2;
            for (times, (_, histogram)) in (1..).zip(slice.times.iter_mut()) {
                histogram.record_n(value * times * 37, times).unwrap();
            }
            slice.counts.inspected = InspectedCounts {
                answers: value,
                body_bytes: value * 3,
                decoded_bytes: value * 5,
                items: (worker > 0).then_some(value),
            };
            slice.steps[0].counts.sent = value;
            let times = &mut slice.steps[0].times;
            times[TimeKind::Response].record(value * 90_000).unwrap();
            slice
        });
        slices.collect()
    }

    fn drain(merger: &mut Merger) -> Vec<Interval> {
        std::iter::from_fn(|| merger.next().map(|(interval, _)| interval)).collect()
    }

    /// What adds up in an interval. The busiest worker is that of each interval, so that of a long one depends on how many it spans.
    fn sums(interval: &Interval) -> impl PartialEq + std::fmt::Debug + use<> {
        let step: &StepInterval = &interval.steps[0];
        let counts = Counts {
            engine_cpu_busiest: Duration::ZERO,
            engine_cpu_wanted_busiest: Duration::ZERO,
            ..interval.counts.clone()
        };
        (
            (interval.index, interval.start, interval.length),
            counts,
            interval.times.clone(),
            (step.counts.clone(), step.times.clone()),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn intervals_of_generators_merge_as_those_of_their_workers(
            workers in prop::collection::vec(any_slices(), 2..7), generators in 1_usize..4,
        ) {
            let mut direct = Merger::new(workers.len(), 10 * MS, Due::BySchedule);
            for (worker, handed) in workers.iter().enumerate() {
                for slice in slices(worker as u64, handed, worker) {
                    direct.take(slice);
                }
            }
            let size = workers.len().div_ceil(generators);
            let groups = workers.chunks(size);
            let mut merged = Merger::new(groups.len(), 10 * MS, Due::BySchedule);
            for (generator, group) in groups.enumerate() {
                let mut merger = Merger::new(group.len(), 10 * MS, Due::BySchedule);
                for (number, handed) in group.iter().enumerate() {
                    let worker = generator * size + number;
                    for slice in slices(worker as u64, handed, number) {
                        merger.take(slice);
                    }
                }
                for interval in drain(&mut merger) {
                    // As it arrives.
                    let bytes = message::encode(&interval).unwrap();
                    let interval = message::decode(&bytes).unwrap();
                    merged.take(slice(interval, generator, 10 * MS));
                }
                merged.end_worker(generator);
            }
            let (direct, merged_all) = (drain(&mut direct), drain(&mut merged));
            let all_sums = |all: &[Interval]| all.iter().map(sums).collect::<Vec<_>>();
            prop_assert_eq!(all_sums(&direct), all_sums(&merged_all));
            prop_assert!(merged.is_done());
        }
    }

    /// A stream that says nothing until the test ends.
    fn silent() -> (impl Read + Send + 'static, io::PipeWriter) {
        io::pipe().unwrap()
    }

    #[test]
    fn a_generator_that_says_nothing_is_not_waited_for() {
        let (reports, _open) = silent();
        let link = Link {
            orders: Box::new(io::sink()),
            reports: Box::new(reports),
            agent: None,
            clock_offset_ns: 0,
            round_trip: Duration::ZERO,
            ending: Box::new(|| None),
        };
        let mut connected = Connected::new(link, 2, 3).unwrap();
        let error = wait_until_ready(&mut connected, 0, Instant::now()).unwrap_err();
        let text = "generator 2 of 3 has sent nothing for 60 s";
        assert_eq!(error.to_string(), text);
        connected.heard = Instant::now().checked_sub(SILENCE_TIMEOUT).unwrap();
        let mut running = Generators {
            stop: StopGenerators(vec![connected.orders.clone()]),
            replace: ReplaceInGenerators::new(Shape::of_no_request(), Vec::new()),
            generators: vec![connected],
            merger: Merger::new(1, MS, Due::BySchedule),
            interval: MS,
            clock: Clock::start(),
            step_names: Vec::new(),
            kept_columns: 0,
        };
        let error = running.next_interval(Duration::ZERO).unwrap_err();
        let text = "generator 1 of 1 has sent nothing for 10 s";
        assert_eq!(error.to_string().replace("2 of 3", "1 of 1"), text);
    }
}
