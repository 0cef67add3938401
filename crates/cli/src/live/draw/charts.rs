//! The time axis, and the chart of the goodput.

use waggle_report::wording::format::plain;

use super::{
    area::Area,
    frame::Frame,
    palette::{BAD, DIM, RATE},
};
use crate::{
    live::{
        history::{LATEST_S, Slice, TimeRange},
        spectrum::floor_index,
    },
    trial::{aggregate::as_f64, phase::Phase, so_far::ratio},
};

/// Columns for the labels of the left axis, axis included.
pub(super) const MARKS: u16 = 7;
/// Ends of the time axis in seconds if the end of the load is not known: the next of these.
const ENDS_S: [f64; 12] = [
    10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 14_400.0, 43_200.0, 172_800.0,
];
/// Bars in eighths of a character, from below.
pub(super) const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The time axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeAxis {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

impl TimeAxis {
    pub(super) fn new(frame: &Frame<'_>) -> Self {
        let seen = frame.model.seen_until.as_secs_f64();
        match frame.range {
            TimeRange::Latest => {
                let from_s = (seen - LATEST_S).max(0.0);
                Self {
                    from_s,
                    to_s: from_s + LATEST_S,
                }
            }
            TimeRange::Whole => {
                let wanted = match frame.model.title.length {
                    // The request count may be reached long before the time limit.
                    Some(length) if frame.model.requests_at_most.is_none() => {
                        seen.max(length.as_secs_f64())
                    }
                    _ => ENDS_S.into_iter().find(|end| *end >= seen).unwrap_or(seen),
                };
                Self {
                    from_s: 0.0,
                    to_s: wanted,
                }
            }
        }
    }

    /// Start and end of one of `columns` columns.
    pub(super) fn column(&self, column: u16, columns: u16) -> (f64, f64) {
        let width = (self.to_s - self.from_s) / f64::from(columns.max(1));
        let from = self.from_s + width * f64::from(column);
        (from, from + width)
    }

    /// The row of tick labels below a chart.
    pub(super) fn marks(&self, area: &mut Area<'_>) {
        let mut area = area.bottom(1);
        area.take_left(MARKS);
        let text = |seconds: f64| {
            crate::output::values::duration(std::time::Duration::from_secs_f64(seconds.max(0.0)))
        };
        area.put(0, 0, &text(self.from_s), DIM);
        let middle = text(f64::midpoint(self.from_s, self.to_s));
        let half = area.width() / 2;
        area.put(
            half.saturating_sub(u16::try_from(middle.chars().count() / 2).unwrap_or(0)),
            0,
            &middle,
            DIM,
        );
        area.put_right(0, &text(self.to_s), DIM);
    }
}

/// The slices in a time range, each with its overlap in seconds.
pub(super) fn slices_within<'a>(
    slices: &'a [&'a Slice],
    (from, to): (f64, f64),
) -> impl Iterator<Item = (&'a Slice, f64)> {
    let first = slices.partition_point(|slice| slice.end_s() <= from);
    slices[first..]
        .iter()
        .take_while(move |slice| slice.start_s < to)
        .map(move |slice| (*slice, slice.end_s().min(to) - slice.start_s.max(from)))
}

/// The values of one column.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    succeeded_per_s: f64,
    failed_per_s: f64,
    is_warm_up: bool,
}

fn columns(frame: &Frame<'_>, axis: TimeAxis, count: u16) -> Vec<Option<Column>> {
    let slices: Vec<&Slice> = frame.model.history.slices(frame.range).collect();
    let column = |index: u16| Column::of_range(&slices, axis.column(index, count));
    (0..count).map(column).collect()
}

impl Column {
    /// `None`: no slice is in the range.
    fn of_range(slices: &[&Slice], range: (f64, f64)) -> Option<Self> {
        let (mut seconds, mut succeeded, mut failed, mut is_warm_up) = (0.0, 0.0, 0.0, false);
        for (slice, overlap) in slices_within(slices, range) {
            let part = ratio(overlap, slice.seconds);
            seconds += overlap;
            succeeded += part * as_f64(slice.succeeded);
            failed += part * as_f64(slice.failed);
            is_warm_up |= slice.phase == Phase::WarmUp;
        }
        (seconds > 0.0).then(|| Self {
            succeeded_per_s: ratio(succeeded, seconds),
            failed_per_s: ratio(failed, seconds),
            is_warm_up,
        })
    }
}

/// Requests per second: succeeded, and failed on top.
pub(super) fn rate(frame: &Frame<'_>, area: &mut Area<'_>) {
    let model = frame.model;
    let now = model.history.latest_slice().map_or(0.0, Slice::rate_per_s);
    let mut text = format!("{}/s now", plain(now));
    if model.overall.seconds > 0.0 {
        text += &format!(", {}/s overall", plain(model.overall.rate_per_s));
    }
    area.title("goodput", &text);
    let axis = TimeAxis::new(frame);
    let columns = columns(frame, axis, area.width().saturating_sub(MARKS));
    let highest = columns
        .iter()
        .flatten()
        .map(|column| column.succeeded_per_s + column.failed_per_s)
        .fold(0.0, f64::max);
    let top = round_up(highest);
    left_axis(area, top);
    area.take_left(MARKS);
    let height = area.height();
    let eighths = |per_s: f64| floor_index((ratio(per_s, top) * 8.0 * f64::from(height)).round());
    for (values, column) in columns.into_iter().zip(0..) {
        let Some(values) = values else {
            continue;
        };
        let mut good = eighths(values.succeeded_per_s);
        let all = eighths(values.succeeded_per_s + values.failed_per_s);
        // Failures are always visible.
        if values.failed_per_s > 0.0 {
            good = good.min(all.saturating_sub(1));
        }
        for row in 0..height {
            let below = 8 * usize::from(height - 1 - row);
            let filled = all.saturating_sub(below).min(8);
            if filled == 0 {
                continue;
            }
            let of_good = good.saturating_sub(below).min(8);
            let style = match (of_good, values.is_warm_up) {
                (good, true) if good == filled => DIM,
                (good, false) if good == filled => frame.palette.colour(RATE),
                _ => frame.palette.colour(BAD),
            };
            area.dot(column, row, EIGHTHS[filled], style);
        }
    }
}

/// The labels of an axis from 0 to `top`.
fn left_axis(area: &mut Area<'_>, top: f64) {
    let rows = area.height();
    let mut marks = Area::new(area.rect, area.buffer);
    let mut marks = marks.take_left(MARKS - 1);
    marks.put_right(0, &plain(top), DIM);
    if rows >= 5 {
        // The upper edge of this row, or of an odd number of rows its middle.
        marks.put_right(rows / 2, &plain(top / 2.0), DIM);
    }
    marks.put_right(rows.saturating_sub(1), "0", DIM);
    for row in 0..rows {
        area.dot(MARKS - 1, row, "│", DIM);
    }
}

/// The next round number.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    steps
        .into_iter()
        .map(|step| step * power)
        .find(|top| *top >= value)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_with_round_numbers() {
        let check = |value: f64, expected: f64| {
            assert!((round_up(value) / expected - 1.0).abs() < 1e-9, "{value}");
        };
        check(0.0, 1.0);
        check(44_900.0, 50_000.0);
        check(10.0, 10.0);
        check(0.33, 0.4);
        check(9_100.0, 10_000.0);
    }
}
