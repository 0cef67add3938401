//! The requests of a file by interval and step, in bounded memory. Pure.

use std::collections::HashMap;

use hdrhistogram::Histogram;
use waggle_results::{CountsRow, StepCounts, add_failures, note_failure};

use super::{request::Request, timeline::Timeline};

/// The most entries of all histograms: about 128 MiB. Longer intervals need fewer.
const ENTRIES_MAX: usize = 4 << 20;
/// Times are kept with so many leading bits, as histograms of three digits keep them.
const LEADING_BITS: u32 = 11;

/// A histogram with an entry for each value that it has.
#[derive(Debug, Clone, Default)]
struct Sparse(HashMap<u64, u64>);

impl Sparse {
    /// True if the value is a new one.
    fn add(&mut self, us: u64) -> bool {
        let dropped = (u64::BITS - us.leading_zeros()).saturating_sub(LEADING_BITS);
        let count = self.0.entry(us >> dropped << dropped).or_default();
        *count += 1;
        *count == 1
    }

    fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (us, count) in &self.0 {
            histogram
                .record_n(*us, *count)
                .expect("the histogram grows to the range it needs");
        }
    }
}

/// One step in one interval.
#[derive(Debug, Clone, Default)]
struct StepBucket {
    counts: StepCounts,
    times: Sparse,
    failed_times: Sparse,
}

/// One interval.
#[derive(Debug, Clone, Default)]
struct Bucket {
    steps: Vec<StepBucket>,
    bytes_sent: u64,
    bytes_received: u64,
    /// Sum of the parts of times in flight that requests which begin or end here have of it, in µs.
    flight_us: i128,
    /// Requests that are in flight from here on, less those that no longer are.
    flights: i64,
}

/// The requests of a trial.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) timeline: Timeline,
    labels: HashMap<String, usize>,
    buckets: Vec<Bucket>,
    entries: usize,
}

/// One interval, as it is written.
pub(crate) struct TalliedInterval {
    pub(crate) start_s: f64,
    pub(crate) counts: CountsRow,
    pub(crate) in_flight: u64,
    pub(crate) in_flight_mean: f64,
    /// One for each step; a single one if there are none.
    pub(crate) steps: Vec<TalliedStep>,
}

/// One step of an interval.
pub(crate) struct TalliedStep {
    pub(crate) counts: StepCounts,
    pub(crate) times: Histogram<u64>,
    pub(crate) failed_times: Histogram<u64>,
}

/// The intervals would take too much memory; longer ones take less.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooFine;

impl Tally {
    /// `steps`: the labels, each a step; none: all requests are alike.
    pub(crate) fn new(timeline: Timeline, steps: &[String]) -> Self {
        let bucket = Bucket {
            steps: vec![StepBucket::default(); steps.len().max(1)],
            ..Bucket::default()
        };
        let len = usize::try_from(timeline.len()).unwrap_or(usize::MAX);
        Self {
            timeline,
            labels: steps.iter().cloned().zip(0..).collect(),
            buckets: vec![bucket; len],
            entries: 0,
        }
    }

    /// Adds a request: to the interval in which it was sent, and to that of its answer.
    pub(crate) fn add(&mut self, request: &Request<'_>) -> Result<(), TooFine> {
        let line = self.timeline;
        let step = self.labels.get(request.label).copied().unwrap_or(0);
        let (sent, end_us) = (line.index(request.start_us), request.end_us());
        let answered = line.index(end_us).max(sent);
        let first = &mut self.buckets[sent];
        first.bytes_sent += request.bytes_sent;
        first.steps[step].counts.sent += 1;
        let start_us = request.start_us.clamp(line.start_us, line.end_us);
        first.flight_us += i128::from(line.span(sent).1) - i128::from(start_us);
        let last = &mut self.buckets[answered];
        last.flight_us -= i128::from(line.span(answered).1)
            - i128::from(end_us.clamp(line.start_us, line.end_us));
        last.bytes_received += request.bytes_received;
        let bucket = &mut last.steps[step];
        let is_new = match request.failure {
            None => {
                bucket.counts.succeeded += 1;
                bucket.times.add(request.duration_us)
            }
            Some(kind) => {
                bucket.counts.failed += 1;
                note_failure(&mut bucket.counts.failures, kind, 1);
                bucket.failed_times.add(request.duration_us)
            }
        };
        // From the interval after the one of sending to the one of the answer it is in flight all the time, or until its end.
        self.buckets[sent].flights += 1;
        self.buckets[answered].flights -= 1;
        self.entries += usize::from(is_new);
        match self.entries > ENTRIES_MAX {
            true => Err(TooFine),
            false => Ok(()),
        }
    }

    /// The intervals, in their order.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = TalliedInterval> + '_ {
        let mut in_flight = 0i64;
        self.buckets.iter().enumerate().map(move |(index, bucket)| {
            let before = in_flight;
            in_flight += bucket.flights;
            self.interval(index, bucket, before)
        })
    }

    /// `before`: requests that were in flight when it began.
    fn interval(&self, index: usize, bucket: &Bucket, before: i64) -> TalliedInterval {
        let (start_us, end_us) = self.timeline.span(index);
        let length_us = end_us - start_us;
        // Those that were in flight when it began are so all the time, but for what answers here have subtracted.
        let flight_us = bucket.flight_us + i128::from(before) * i128::from(length_us);
        let seconds = self.timeline.seconds(end_us) - self.timeline.seconds(start_us);
        TalliedInterval {
            start_s: self.timeline.seconds(start_us),
            counts: counts(bucket, seconds),
            in_flight: u64::try_from(before + bucket.flights).unwrap_or(0),
            in_flight_mean: mean(flight_us, length_us),
            steps: bucket.steps.iter().map(tally_step).collect(),
        }
    }
}

fn tally_step(bucket: &StepBucket) -> TalliedStep {
    let histogram = |sparse: &Sparse| {
        let mut histogram = Histogram::new(3).expect("three significant digits are allowed");
        sparse.add_to(&mut histogram);
        histogram
    };
    TalliedStep {
        counts: bucket.counts.clone(),
        times: histogram(&bucket.times),
        failed_times: histogram(&bucket.failed_times),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times in flight of one interval stay far below 2^53"
)]
fn mean(flight_us: i128, length_us: u64) -> f64 {
    match length_us {
        0 => 0.0,
        length_us => flight_us.max(0) as f64 / length_us as f64,
    }
}

fn counts(bucket: &Bucket, seconds: f64) -> CountsRow {
    let mut row = CountsRow {
        seconds,
        bytes_sent: bucket.bytes_sent,
        bytes_received: bucket.bytes_received,
        in_flight_change: bucket.flights,
        ..CountsRow::default()
    };
    for step in &bucket.steps {
        row.sent += step.counts.sent;
        row.succeeded += step.counts.succeeded;
        row.failed += step.counts.failed;
        add_failures(&mut row.failures, &step.counts.failures);
    }
    // A request is due when it is sent.
    row.due = row.sent;
    row
}

#[cfg(test)]
mod tests {
    use waggle_results::FailureKind;

    use super::*;

    fn request(start_ms: u64, duration_ms: u64, failure: Option<FailureKind>) -> Request<'static> {
        Request {
            start_us: start_ms * 1_000,
            duration_us: duration_ms * 1_000,
            failure,
            label: "",
            bytes_sent: 0,
            bytes_received: 10,
        }
    }

    #[test]
    fn requests_are_in_the_interval_of_their_answer_and_in_flight_before() {
        let timeline = Timeline::new((0, 1_000_000), 0);
        let mut tally = Tally::new(timeline, &[]);
        for entry in [
            request(0, 100, None),
            request(200, 550, None),
            request(300, 700, Some(FailureKind::Other)),
        ] {
            tally.add(&entry).unwrap();
        }
        let all: Vec<TalliedInterval> = tally.intervals().collect();
        let check = |field: &dyn Fn(&TalliedInterval) -> u64, expected: [u64; 4]| {
            assert_eq!(all.iter().map(field).collect::<Vec<_>>(), expected);
        };
        check(&|entry| entry.counts.sent, [2, 1, 0, 0]);
        check(&|entry| entry.counts.succeeded, [1, 0, 0, 1]);
        check(&|entry| entry.counts.failed, [0, 0, 0, 1]);
        check(&|entry| entry.counts.bytes_received, [10, 0, 0, 20]);
        check(&|entry| entry.in_flight, [1, 2, 2, 0]);
        check(&|entry| entry.steps[0].times.len(), [1, 0, 0, 1]);
        let means: Vec<f64> = all.iter().map(|entry| entry.in_flight_mean).collect();
        assert_eq!(means, [0.6, 1.8, 2.0, 1.0]);
        for entry in &all {
            let answered = i64::try_from(entry.counts.succeeded + entry.counts.failed).unwrap();
            let sent = i64::try_from(entry.counts.sent).unwrap();
            assert_eq!(sent, answered + entry.counts.in_flight_change);
        }
    }

    #[test]
    fn times_are_kept_as_histograms_keep_them() {
        let mut sparse = Sparse::default();
        let mut direct = Histogram::<u64>::new(3).unwrap();
        for us in (0..40)
            .map(|power| 1u64 << power)
            .chain([0, 2_047, 2_049, 123_456_789])
        {
            sparse.add(us);
            direct.record(us).unwrap();
        }
        let mut read = Histogram::<u64>::new(3).unwrap();
        sparse.add_to(&mut read);
        assert_eq!(read, direct);
    }
}
