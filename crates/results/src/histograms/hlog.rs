//! Interval logs: histograms by interval, in the text format that HdrHistogram's own tools read.
//!
//! Values are microseconds. `HistogramLogProcessor -i response_time.hlog -tag NAME -outputValueUnitRatio 1000` prints
//! them in milliseconds; the column `Interval_Max` is in milliseconds already.

use std::io::{self, Write};

use hdrhistogram::{Histogram, serialization::V2DeflateSerializer};

use crate::{TextError, histograms::encoded_histogram};

/// Most intervals in one log: eleven days of seconds.
pub const MAX_LINES: usize = 1_000_000;
const MICROSECONDS_PER_MILLISECOND: f64 = 1000.0;
/// 300 years: a larger value is no time of a run, and sums with it may not be finite.
const SECONDS_MAX: f64 = 1e10;
const VERSION: &str = "#[Histogram log format version 1.3]";
const UNIT: &str = "#[Values in microseconds, Interval_Max in milliseconds; HistogramLogProcessor: -tag as below, -outputValueUnitRatio 1000 for milliseconds]";
const LEGEND: &str =
    r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

/// A log as it was read. Histograms stay as their counters were written (a decoded one takes 190 kB).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistogramLog {
    /// Seconds since 1970 at which the load started; every start below counts from it. 0 in an empty log.
    pub started_unix_s: f64,
    /// Sorted by their starts.
    lines: Vec<Line>,
    /// Length of the longest.
    longest_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Line {
    start_s: f64,
    length_s: f64,
    histogram: encoded_histogram::Encoded,
}

/// One interval of a log, decoded.
#[derive(Debug, Clone)]
pub struct LoggedHistogram {
    /// Since the start of the load.
    pub start_s: f64,
    pub length_s: f64,
    /// Microseconds.
    pub histogram: Histogram<u64>,
}

impl HistogramLog {
    /// How many intervals it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether it has no interval.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Every interval in its order, decoded one at a time.
    pub fn iter(&self) -> impl Iterator<Item = LoggedHistogram> + '_ {
        self.lines.iter().map(|line| LoggedHistogram {
            start_s: line.start_s,
            length_s: line.length_s,
            histogram: line.histogram.decode(),
        })
    }

    /// The sum of all intervals whose middle is in `from_s..to_s`. The middle, because starts on disk are rounded.
    #[must_use]
    pub fn merge_range(&self, from_s: f64, to_s: f64) -> Histogram<u64> {
        let mut sum = empty_histogram();
        self.add_to(&mut sum, from_s, to_s);
        sum
    }

    /// Adds such intervals to a histogram that grows to the range it needs.
    pub fn add_to(&self, sum: &mut Histogram<u64>, from_s: f64, to_s: f64) {
        for line in self.lines_within(from_s, to_s) {
            line.histogram.add_to(sum);
        }
    }

    /// Each value of such intervals with its count, in microseconds; a value may come again.
    pub fn each_count(&self, from_s: f64, to_s: f64, mut visit: impl FnMut(u64, u64)) {
        for line in self.lines_within(from_s, to_s) {
            line.histogram.each_count(&mut visit);
        }
    }

    /// The lines whose middle lies in `from_s..to_s`. Starts increase, middles need not: no middle lies before its start, or further
    /// behind it than half of the longest line.
    fn lines_within(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &Line> {
        let half_s = self.longest_s / 2.0;
        let end = self.lines.partition_point(|line| line.start_s < to_s);
        let near = &self.lines[..end];
        let begin = near.partition_point(|line| line.start_s + half_s < from_s);
        let middle = |line: &Line| line.start_s + line.length_s / 2.0;
        near[begin..]
            .iter()
            .filter(move |line| (from_s..to_s).contains(&middle(line)))
    }
}

/// Microseconds, three significant digits, growing to the range it needs.
pub(crate) fn empty_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within what the format allows")
}

/// Writes a log outside a run folder. It may have several tags, in the order of their intervals.
pub struct HistogramLogWriter<W> {
    out: W,
    serializer: V2DeflateSerializer,
}

impl<W: Write> HistogramLogWriter<W> {
    /// Begins a log of a load that started this many seconds after 1970.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn new(mut out: W, started_unix_s: f64) -> io::Result<Self> {
        write_head(&mut out, started_unix_s)?;
        Ok(Self {
            out,
            serializer: V2DeflateSerializer::new(),
        })
    }

    /// One interval of one tag, in microseconds; its start and length in seconds since the start of the load.
    ///
    /// # Errors
    /// If writing fails.
    pub fn interval(
        &mut self,
        tag: &str,
        (start_s, length_s): (f64, f64),
        histogram: &Histogram<u64>,
    ) -> io::Result<()> {
        let head = LineHead {
            tag: &tag_of(tag),
            start_s,
            length_s,
        };
        write_line(&mut self.out, &mut self.serializer, head, histogram)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// If flushing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> std::fmt::Debug for HistogramLogWriter<W> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HistogramLogWriter")
            .finish_non_exhaustive()
    }
}

/// Writes the head of a log.
pub(crate) fn write_head(out: &mut impl Write, started_unix_s: f64) -> io::Result<()> {
    writeln!(out, "{VERSION}\n{UNIT}")?;
    writeln!(
        out,
        "#[StartTime: {started_unix_s:.3} (seconds since epoch)]"
    )?;
    writeln!(
        out,
        "#[BaseTime: {started_unix_s:.3} (seconds since epoch)]"
    )?;
    writeln!(out, "{LEGEND}")
}

/// The head of a line: tag, start and length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineHead<'a> {
    pub(crate) tag: &'a str,
    pub(crate) start_s: f64,
    pub(crate) length_s: f64,
}

/// Writes one interval.
pub(crate) fn write_line(
    out: &mut impl Write,
    serializer: &mut V2DeflateSerializer,
    head: LineHead<'_>,
    histogram: &Histogram<u64>,
) -> io::Result<()> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds below 2^40 are exact in f64"
    )]
    let max_ms = histogram.max() as f64 / MICROSECONDS_PER_MILLISECOND;
    let text = encoded_histogram::to_base64(serializer, histogram)?;
    writeln!(
        out,
        "Tag={},{:.6},{:.6},{max_ms:.3},{text}",
        head.tag, head.start_s, head.length_s
    )
}

/// A request's name as a tag: the format reserves commas and white space.
pub(crate) fn tag_of(request: &str) -> String {
    request
        .chars()
        .map(|c| {
            if c == ',' || c.is_whitespace() || c.is_control() {
                '_'
            } else {
                c
            }
        })
        .collect()
}

/// Reads a log, checking every histogram; the error names the line.
///
/// # Errors
/// If a line does not have the format, is cut short, is out of order, or would need too much memory.
pub fn read_histograms(text: &[u8]) -> Result<HistogramLog, TextError> {
    let text = crate::files::parse::utf8(text)?;
    let mut log = HistogramLog::default();
    let mut decoder = encoded_histogram::Decoder::new();
    for (number, line) in (1..).zip(crate::files::parse::whole_lines(text)?) {
        if let Some(head) = line.strip_prefix("#[StartTime: ") {
            let seconds = head.split(' ').next().unwrap_or_default();
            log.started_unix_s =
                seconds_of(seconds).map_err(|problem| TextError::at_line(number, problem))?;
        }
        if line.starts_with('#') || line.starts_with('"') {
            continue;
        }
        if log.lines.len() == MAX_LINES {
            return Err(TextError::at_line(
                number,
                format!("more than {MAX_LINES} intervals"),
            ));
        }
        let read =
            read_line(&mut decoder, line).map_err(|problem| TextError::at_line(number, problem))?;
        if log
            .lines
            .last()
            .is_some_and(|last| read.start_s <= last.start_s)
        {
            return Err(TextError::at_line(
                number,
                format!("interval at {} s is not after the one before", read.start_s),
            ));
        }
        log.longest_s = log.longest_s.max(read.length_s);
        log.lines.push(read);
    }
    Ok(log)
}

fn read_line(decoder: &mut encoded_histogram::Decoder, line: &str) -> Result<Line, String> {
    let mut parts = line.split(',');
    let mut next = |what: &str| parts.next().ok_or_else(|| format!("expected {what}"));
    if !next("a tag")?.starts_with("Tag=") {
        return Err("expected `Tag=…` first".into());
    }
    let start_s = seconds_of(next("the interval's start")?)?;
    let length_s = seconds_of(next("the interval's length")?)?;
    let _max_ms = seconds_of(next("the interval's maximum")?)?;
    let histogram = decoder
        .decode_base64(next("the histogram")?)
        .map_err(|damage| damage.to_string())?;
    match parts.next() {
        None => Ok(Line {
            start_s,
            length_s,
            histogram,
        }),
        Some(_) => Err("more than five fields".into()),
    }
}

fn seconds_of(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))
        .ok_or_else(|| {
            format!(
                "`{}` is not a number from 0 to {SECONDS_MAX}",
                text.chars().take(40).collect::<String>()
            )
        })
}
