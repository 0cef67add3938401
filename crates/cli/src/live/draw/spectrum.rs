//! How many answers took how long, over the whole measured time, as bars on a logarithmic axis.

use super::{
    DIM, Look, PERCENTILE_COLOURS,
    charts::{EIGHTHS, MARKS},
    log_axis::LogAxis,
    percentiles::nothing,
    room::Room,
    words::mark,
};
use crate::{
    live::{history::PERCENTILES, spectrum::whole},
    trial::so_far::ratio,
};
use waggle_analysis::text::count;

/// Columns between the marks of the axis, at least.
const APART: u16 = 7;

/// Each bar has the colour of the percentile up to which it lies.
pub(super) fn bars(look: &Look<'_>, room: &mut Room<'_>) {
    let spectrum = &look.shown.spectrum;
    let samples = look.shown.overall.succeeded;
    room.title("spectrum", &format!("{} answers", count(samples)));
    let Some((least, most)) = spectrum.range() else {
        nothing(room);
        return;
    };
    let axis = LogAxis::around(least, most);
    let mut marks = room.bottom(1);
    marks.left(MARKS);
    let columns = marks.width();
    for (place, log) in axis.marks(columns, APART) {
        let text = mark(10f64.powf(log));
        let width = u16::try_from(text.chars().count()).unwrap_or(0);
        let column = place
            .saturating_sub(width / 2)
            .min(columns.saturating_sub(width));
        marks.put(column, 0, &text, DIM);
    }
    room.left(MARKS);
    let step = (axis.to - axis.from) / f64::from(columns.max(1));
    let counts: Vec<f64> = (0..columns)
        .map(|column| {
            let from = axis.from + step * f64::from(column);
            spectrum.between(from, from + step)
        })
        .collect();
    let highest = counts.iter().copied().fold(0.0, f64::max);
    let up_to: Vec<f64> = PERCENTILES
        .iter()
        .map(|(_, at)| spectrum.quantile(*at).unwrap_or(1.0).log10())
        .collect();
    let height = room.height();
    for (found, column) in counts.into_iter().zip(0..) {
        if found <= 0.0 {
            continue;
        }
        // A single answer is seen.
        let eighths = whole((ratio(found, highest) * 8.0 * f64::from(height)).round()).max(1);
        let from = axis.from + step * f64::from(column);
        let zone = up_to.iter().position(|log| from <= *log);
        let style = look.ink.colour(PERCENTILE_COLOURS[zone.unwrap_or(3)]);
        for row in 0..height {
            let below = 8 * usize::from(height - 1 - row);
            let filled = eighths.saturating_sub(below).min(8);
            if filled > 0 {
                room.dot(column, row, EIGHTHS[filled], style);
            }
        }
    }
}
