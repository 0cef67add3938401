//! The intervals of one load as its checks want them: series over its measured phase, an interval at a time.
//!
//! A load that goes on and one that is read from disk are both put together here, so that both are judged by the same series.
// long: every series of a course, and the tests that show each from the same intervals.

use hdrhistogram::Histogram;
use waggle_results::IntervalRow;
use waggle_stats::{RunningTotals, Served, SteadyBins};

use crate::recording::histogram::{self, as_f64};

/// Bins of a second, as the method asks, if so many of them fit into the measured phase; else one an interval.
const SECOND_BINS_FROM: f64 = 8.0;
/// An interval that is shorter than this share of what was asked for is the end of a load, which says nothing about its level.
const WHOLE_FROM: f64 = 0.999;

/// What the intervals of a load said so far.
#[derive(Debug)]
pub struct Course {
    /// `None`: another tool sent the load, and nothing is known of its connections.
    connections_asked: Option<u64>,
    interval_s: f64,
    /// At the end of the warm-up.
    in_flight_start: u64,
    opening: Opening,
    connections_open: ConnectionsOpen,
    in_flight: InFlight,
    answers: Totals,
    served: Vec<Served>,
    measured_s: f64,
    /// When the first bin began, in seconds of the measured phase.
    bins_from_s: f64,
    by_interval: Bins,
    by_second: Bins,
    length: Length,
}

/// Whether it is known how long the measured phase is, so that only those bins are made that it is tested by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    Seconds(f64),
    Unknown,
}

/// The start, in which connections are opened.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// So many were open at the end of the interval before; `None`: there was none.
    Since(Option<u64>),
    Over,
}

impl Course {
    /// Before the first interval of a load over so many connections, with intervals of so many seconds; one that was taken late
    /// may be longer.
    #[must_use]
    pub fn new(connections_asked: Option<u64>, interval_s: f64, length: Length) -> Self {
        Self {
            connections_asked,
            interval_s,
            in_flight_start: 0,
            opening: Opening::Since(None),
            connections_open: ConnectionsOpen::default(),
            in_flight: InFlight::default(),
            answers: Totals::default(),
            served: Vec::new(),
            measured_s: 0.0,
            bins_from_s: 0.0,
            by_interval: Bins::new(0.0),
            by_second: Bins::new(1.0),
            length,
        }
    }

    /// An interval before the measured phase.
    pub fn add_warm_up(&mut self, row: &IntervalRow) {
        self.in_flight_start = row.in_flight;
        self.is_opening(row.connections_open);
    }

    /// An interval of the measured phase. `add_times` adds its response times to a histogram; it is called for each bin that
    /// the interval belongs to.
    pub fn add(&mut self, row: &IntervalRow, add_times: impl Fn(&mut Histogram<u64>)) {
        let counts = &row.counts;
        self.served.push(self.to_served(row));
        self.connections_open.add(row);
        self.in_flight.add(row);
        self.answers.add(
            row.start_s + counts.seconds,
            counts.due,
            counts.succeeded + counts.failed,
        );
        self.measured_s += counts.seconds;
        if self.is_opening(row.connections_open) {
            // A start and no level.
            self.bins_from_s += counts.seconds;
        } else if counts.seconds >= self.interval_s * WHOLE_FROM {
            if !self.has_second_bins() {
                self.by_interval.add(row, &add_times);
            }
            if self.length == Length::Unknown || self.has_second_bins() {
                self.by_second.add(row, &add_times);
            }
        }
    }

    /// Whether connections were being opened in an interval at whose end so many are: until all are, or as many as there
    /// will be.
    fn is_opening(&mut self, open: u64) -> bool {
        let Opening::Since(before) = self.opening else {
            return false;
        };
        let asked = self.connections_asked.unwrap_or(0);
        let is_over = before.is_some_and(|before| before >= asked || open <= before);
        self.opening = if is_over {
            Opening::Over
        } else {
            Opening::Since(Some(open))
        };
        !is_over
    }

    /// An interval, as the search for silences takes it.
    fn to_served(&self, row: &IntervalRow) -> Served {
        let before = row
            .in_flight
            .checked_add_signed(row.counts.in_flight_change.saturating_neg());
        let is_cut_off = self.connections_asked.is_some() && row.connections_open == 0;
        Served {
            seconds: row.counts.seconds,
            succeeded: row.counts.succeeded,
            waited: is_cut_off || (row.in_flight > 0 && before.is_some_and(|before| before > 0)),
        }
    }

    fn has_second_bins(&self) -> bool {
        let seconds = match self.length {
            Length::Seconds(seconds) => seconds,
            Length::Unknown => self.measured_s,
        };
        seconds >= SECOND_BINS_FROM
    }

    fn active_bins(&self) -> &Bins {
        if self.has_second_bins() {
            &self.by_second
        } else {
            &self.by_interval
        }
    }

    /// Notes the cores that the system used in each bin: `cores` of its start and its end, in seconds since the start of the
    /// load; not a number if that is not known.
    pub(crate) fn note_cpu(&mut self, cores: impl Fn(f64, f64) -> f64) {
        let bins = if self.has_second_bins() {
            &mut self.by_second
        } else {
            &mut self.by_interval
        };
        bins.cpu = bins
            .spans
            .iter()
            .map(|(from, to)| cores(*from, *to))
            .collect();
    }

    /// The series that are tested for steadiness.
    pub(crate) fn bins(&self) -> SteadyBins<'_> {
        let bins = self.active_bins();
        SteadyBins {
            throughput: &bins.throughput,
            p50: &bins.p50,
            p99: &bins.p99,
            cpu: &bins.cpu,
            min_time_change: 0.0,
        }
    }

    /// How long a bin is, in seconds; 0 if there is none.
    pub(crate) fn bin_s(&self) -> f64 {
        self.active_bins()
            .spans
            .first()
            .map_or(0.0, |(from, to)| to - from)
    }

    /// When the first bin began, in seconds of the measured phase.
    pub(crate) fn bins_from_s(&self) -> f64 {
        self.bins_from_s
    }

    /// Requests in flight when the measured phase began.
    pub(crate) fn in_flight_start(&self) -> f64 {
        as_f64(self.in_flight_start)
    }

    pub(crate) fn answers(&self) -> RunningTotals<'_> {
        self.answers.totals()
    }

    pub(crate) fn served_intervals(&self) -> &[Served] {
        &self.served
    }

    /// Mean in flight while all connections had requests to send; `None`: they never had for a whole interval.
    pub(crate) fn in_flight_sending(&self) -> Option<f64> {
        self.in_flight.mean_while_sending()
    }

    /// Of the intervals in which the load was on its way; `None`: there was none, as of a load that ends within an interval.
    pub(crate) fn connections_open(&self) -> Option<OpenRange> {
        self.connections_open.while_sending()
    }
}

/// How many connections were open at the ends of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenRange {
    pub(crate) min: u64,
    pub(crate) median: u64,
}

/// Open connections at the end of each interval, in two parts: from the last request of a load on, servers may close them, and it
/// opens none again. A load whose attempts to connect fail has more to send, and so has one that never sent anything: there, few
/// open connections are missing ones.
#[derive(Debug, Default)]
struct ConnectionsOpen {
    /// Before the interval in which the last request was sent, or up to the last one in which an attempt to connect failed.
    sending: Vec<u64>,
    /// After those.
    ending: Vec<u64>,
    sent: u64,
    at_end: u64,
}

impl ConnectionsOpen {
    fn add(&mut self, row: &IntervalRow) {
        if row.counts.sent > 0 {
            self.sending.append(&mut self.ending);
        }
        self.ending.push(row.connections_open);
        let mut failures = row.counts.other_failures.iter();
        if failures.any(|failure| failure.kind.is_connect_attempt()) {
            self.sending.append(&mut self.ending);
        }
        self.sent += row.counts.sent;
        self.at_end = row.in_flight;
    }

    /// As of requests in flight, all of a load counts that has some at its end, or that could never send.
    fn while_sending(&self) -> Option<OpenRange> {
        let mut open = self.sending.clone();
        if self.at_end > 0 || self.sent == 0 {
            open.extend(&self.ending);
        }
        open.sort_unstable();
        Some(OpenRange {
            min: *open.first()?,
            median: *open.get(open.len() / 2)?,
        })
    }
}

/// Requests in flight, in two parts: a load that ends after a number of requests has fewer and fewer from its last one on.
#[derive(Debug, Default)]
struct InFlight {
    /// Before the interval in which the last request was sent.
    sending: TimeInFlight,
    /// From that interval on.
    ending: TimeInFlight,
    at_end: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct TimeInFlight {
    seconds: f64,
    /// The sum over all requests.
    in_flight_s: f64,
}

impl TimeInFlight {
    fn add(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.in_flight_s += other.in_flight_s;
    }
}

impl InFlight {
    fn add(&mut self, row: &IntervalRow) {
        let seconds = row.counts.seconds;
        if row.counts.sent > 0 {
            self.sending.add(std::mem::take(&mut self.ending));
        }
        self.ending.add(TimeInFlight {
            seconds,
            in_flight_s: row.in_flight_mean * seconds,
        });
        self.at_end = row.in_flight;
    }

    /// A load that ends by time has requests in flight at its end, and then all of it counts.
    fn mean_while_sending(&self) -> Option<f64> {
        let mut time = self.sending;
        if self.at_end > 0 {
            time.add(self.ending);
        }
        (time.seconds > 0.0).then(|| time.in_flight_s / time.seconds)
    }
}

/// Two running totals at the same instants.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    at_s: Vec<f64>,
    asked: Vec<f64>,
    done: Vec<f64>,
    asked_in_all: u64,
    done_in_all: u64,
}

impl Totals {
    pub(crate) fn totals(&self) -> RunningTotals<'_> {
        RunningTotals {
            at_s: &self.at_s,
            asked: &self.asked,
            done: &self.done,
        }
    }

    /// What the totals are at an instant.
    pub(crate) fn push(&mut self, at_s: f64, asked: f64, done: f64) {
        self.at_s.push(at_s);
        self.asked.push(asked);
        self.done.push(done);
    }

    /// What came up to an instant since the one before.
    fn add(&mut self, at_s: f64, asked: u64, done: u64) {
        self.asked_in_all += asked;
        self.done_in_all += done;
        self.push(at_s, as_f64(self.asked_in_all), as_f64(self.done_in_all));
    }
}

/// Intervals put together until a bin is as long as asked; a column a series.
#[derive(Debug)]
struct Bins {
    at_least_s: f64,
    under_way: Option<UnderWay>,
    times: Histogram<u64>,
    /// Start and end of each bin, in seconds since the start of the load.
    spans: Vec<(f64, f64)>,
    throughput: Vec<f64>,
    /// Not a number without a sample.
    p50: Vec<f64>,
    p99: Vec<f64>,
    cpu: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    start_s: f64,
    seconds: f64,
    succeeded: u64,
}

impl Bins {
    fn new(at_least_s: f64) -> Self {
        Self {
            at_least_s,
            under_way: None,
            times: histogram::empty(),
            spans: Vec::new(),
            throughput: Vec::new(),
            p50: Vec::new(),
            p99: Vec::new(),
            cpu: Vec::new(),
        }
    }

    fn add(&mut self, row: &IntervalRow, add_times: impl Fn(&mut Histogram<u64>)) {
        let mut bin = self.under_way.take().unwrap_or(UnderWay {
            start_s: row.start_s,
            seconds: 0.0,
            succeeded: 0,
        });
        bin.seconds += row.counts.seconds;
        bin.succeeded += row.counts.succeeded;
        add_times(&mut self.times);
        // If the length is no multiple of an interval, the nearest one counts.
        if bin.seconds + row.counts.seconds / 2.0 < self.at_least_s {
            self.under_way = Some(bin);
            return;
        }
        self.spans
            .push((bin.start_s, row.start_s + row.counts.seconds));
        self.throughput.push(as_f64(bin.succeeded) / bin.seconds);
        let time = |quantile| histogram::quantile(&self.times, quantile).unwrap_or(f64::NAN);
        let (p50, p99) = (time(0.5), time(0.99));
        self.p50.push(p50);
        self.p99.push(p99);
        self.cpu.push(f64::NAN);
        self.times.reset();
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::{CountsRow, FailureCount, FailureKind};

    use super::*;

    /// Intervals of 250 ms, at the end of each of which so many connections are open; one success each, of 100 µs.
    fn course(asked: u64, length: Length, warm_up: &[u64], measured: &[u64]) -> Course {
        let mut course = Course::new(Some(asked), 0.25, length);
        for (index, open) in (0..).zip(warm_up.iter().chain(measured)) {
            let row = interval(index, *open, 0.25);
            match usize::try_from(index).unwrap() < warm_up.len() {
                true => course.add_warm_up(&row),
                false => course.add(&row, |sum| sum.record(100).unwrap()),
            }
        }
        course
    }

    fn interval(index: u32, connections_open: u64, seconds: f64) -> IntervalRow {
        IntervalRow {
            start_s: f64::from(index) * 0.25,
            counts: CountsRow {
                seconds,
                due: 2,
                succeeded: 1,
                ..CountsRow::default()
            },
            connections_open,
            ..IntervalRow::default()
        }
    }

    #[test]
    fn intervals_in_which_connections_open_are_no_bins() {
        // Open at the end of each interval, of 8 asked for; the bins, and when the first begins.
        let check = |warm_up: &[u64], measured: &[u64], bins: usize, from_s: f64| {
            let course = course(8, Length::Unknown, warm_up, measured);
            assert_eq!(course.bins().throughput.len(), bins, "{measured:?}");
            assert!((course.bins_from_s() - from_s).abs() < 1e-9, "{measured:?}");
            assert_eq!(course.served_intervals().len(), measured.len());
        };
        check(&[], &[8, 8, 8, 8], 3, 0.25);
        check(&[], &[2, 4, 8, 8], 1, 0.75);
        // The server takes no more than that.
        check(&[], &[2, 4, 4, 4], 2, 0.5);
        check(&[], &[0, 0, 0, 0], 3, 0.25);
        // Opened once, some are lost later.
        check(&[], &[8, 8, 5, 8], 3, 0.25);
        // They were opened in the warm-up.
        check(&[8, 8], &[8, 8, 8], 3, 0.0);
        check(&[2], &[4, 8, 8], 1, 0.5);
    }

    #[test]
    fn the_last_answers_of_a_load_are_not_of_its_requests_in_flight() {
        // Of each interval: requests sent, their mean in flight, those in flight at its end.
        let check = |intervals: &[(u64, f64, u64)], expected: Option<f64>| {
            let mut course = Course::new(Some(50), 0.25, Length::Unknown);
            for (index, (sent, in_flight_mean, in_flight)) in (0..).zip(intervals) {
                let mut row = interval(index, 50, 0.25);
                row.counts.sent = *sent;
                (row.in_flight_mean, row.in_flight) = (*in_flight_mean, *in_flight);
                course.add(&row, |_| ());
            }
            assert_eq!(course.in_flight_sending(), expected, "{intervals:?}");
        };
        check(&[], None);
        // Over within an interval.
        check(&[(100, 28.0, 0)], None);
        check(&[(90, 50.0, 50), (10, 28.0, 20), (0, 10.0, 0)], Some(50.0));
        // A generator that is slow to send.
        check(&[(90, 40.0, 30), (90, 30.0, 30), (10, 9.0, 0)], Some(35.0));
        // It ends by time, though nothing was sent at its end.
        check(&[(90, 50.0, 50), (0, 20.0, 10)], Some(35.0));
    }

    #[test]
    fn connections_that_close_after_the_last_request_are_not_missing() {
        // Of each interval: requests sent, connections open and requests in flight at its end; fewest and median.
        let check = |intervals: &[(u64, u64, u64)], expected: Option<(u64, u64)>| {
            let mut course = Course::new(Some(2), 0.25, Length::Unknown);
            for (index, (sent, open, in_flight)) in (0..).zip(intervals) {
                let mut row = interval(index, *open, 0.25);
                (row.counts.sent, row.in_flight) = (*sent, *in_flight);
                course.add(&row, |_| ());
            }
            let connections = course.connections_open();
            let connections = connections.map(|open| (open.min, open.median));
            assert_eq!(connections, expected, "{intervals:?}");
        };
        check(&[], None);
        // Over within an interval, by a server that closes; its connections were open for none of its ends.
        check(&[(20, 0, 0)], None);
        check(&[(20, 0, 0), (0, 0, 0)], None);
        check(&[(20, 2, 0), (20, 2, 0), (3, 0, 0)], Some((2, 2)));
        // A server that refuses half of them.
        check(&[(20, 1, 1), (20, 1, 1), (20, 1, 1)], Some((1, 1)));
        check(&[(20, 1, 0), (20, 1, 0), (3, 0, 0)], Some((1, 1)));
        // None ever opened.
        check(&[(0, 0, 0), (0, 0, 0)], Some((0, 0)));
    }

    #[test]
    fn connections_that_cannot_be_opened_are_missing() {
        // Of each interval: requests sent, connections open at its end, attempts to connect that were refused.
        let check = |intervals: &[(u64, u64, u64)], expected: Option<(u64, u64)>| {
            let mut course = Course::new(Some(2), 0.25, Length::Unknown);
            for (index, (sent, open, count)) in (0..).zip(intervals) {
                let mut row = interval(index, *open, 0.25);
                row.counts.sent = *sent;
                if *count > 0 {
                    let (kind, count) = (FailureKind::Refused, *count);
                    row.counts.other_failures = vec![FailureCount { kind, count }];
                }
                course.add(&row, |_| ());
            }
            let connections = course.connections_open();
            let connections = connections.map(|open| (open.min, open.median));
            assert_eq!(connections, expected, "{intervals:?}");
        };
        // The server ends, and is away until the load ends by time.
        check(
            &[(20, 2, 0), (5, 0, 2), (0, 0, 1), (0, 0, 0), (0, 0, 1)],
            Some((0, 0)),
        );
        check(&[(20, 1, 3), (0, 1, 0)], Some((1, 1)));
        check(&[(20, 1, 0), (0, 1, 0)], None);
    }

    #[test]
    fn the_end_of_a_load_within_an_interval_is_no_bin() {
        let mut course = course(8, Length::Unknown, &[8], &[8, 8, 8]);
        course.add(&interval(4, 8, 0.1), |_| ());
        assert_eq!(course.bins().throughput, [4.0; 3]);
        let answers = course.answers();
        assert_eq!((answers.asked[3], answers.done[3]), (8.0, 4.0));
    }

    #[test]
    fn from_eight_seconds_on_bins_are_of_a_second() {
        for length in [Length::Unknown, Length::Seconds(8.0)] {
            let course = course(8, length, &[8], &[8; 32]);
            let bins = course.bins();
            assert_eq!(
                (bins.throughput, bins.p99),
                (&[4.0; 8][..], &[100.0; 8][..])
            );
            assert!((course.bin_s() - 1.0).abs() < 1e-9);
        }
        for length in [Length::Unknown, Length::Seconds(7.75)] {
            let course = course(8, length, &[8], &[8; 31]);
            assert_eq!(course.bins().throughput.len(), 31);
            assert!((course.bin_s() - 0.25).abs() < 1e-9);
        }
    }
}
