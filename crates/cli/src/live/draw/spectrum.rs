//! The distribution of response times over the measured phase, as bars on a logarithmic axis.

use ratatui::widgets::{Sparkline, SparklineBar, Widget};
use waggle_report::wording::format::count;

use super::{
    area::Area,
    charts::MARKS,
    frame::Frame,
    labels::mark,
    log_axis::LogAxis,
    palette::{DIM, PERCENTILE_COLOURS},
    percentiles::draw_no_data,
};
use crate::{
    live::{history::PERCENTILES, spectrum::floor_index},
    trial::{aggregate::as_f64, so_far::ratio},
};

/// Minimum distance of two ticks in columns.
const APART: u16 = 7;

/// Each bar has the colour of its percentile range.
pub(super) fn bars(frame: &Frame<'_>, area: &mut Area<'_>) {
    let spectrum = &frame.model.spectrum;
    let samples = frame.model.overall.succeeded;
    area.title(
        "response time distribution",
        &format!("{} answers", count(samples)),
    );
    let Some((least, most)) = spectrum.range() else {
        draw_no_data(area);
        return;
    };
    let axis = LogAxis::from_range(least, most);
    let mut marks = area.bottom(1);
    marks.take_left(MARKS);
    let columns = marks.width();
    for (position, log) in axis.marks(columns, APART) {
        let text = mark(10f64.powf(log));
        let width = u16::try_from(text.chars().count()).unwrap_or(0);
        let column = position
            .saturating_sub(width / 2)
            .min(columns.saturating_sub(width));
        marks.put(column, 0, &text, DIM);
    }
    area.take_left(MARKS);
    let step = (axis.to - axis.from) / f64::from(columns.max(1));
    let counts: Vec<f64> = (0..columns)
        .map(|column| {
            let from = axis.from + step * f64::from(column);
            spectrum.count_between(from, from + step)
        })
        .collect();
    let highest = counts.iter().copied().fold(0.0, f64::max);
    let up_to: Vec<f64> = PERCENTILES
        .iter()
        .map(|(_, quantile)| spectrum.quantile(*quantile).unwrap_or(1.0).log10())
        .collect();
    let all = 8 * u64::from(area.height());
    let mut bars = Vec::new();
    for (answers, column) in counts.into_iter().zip(0u16..) {
        // A single answer is visible.
        let least = u64::from(answers > 0.0);
        let eighths = floor_index((ratio(answers, highest) * as_f64(all)).round()) as u64;
        let from = axis.from + step * f64::from(column);
        let zone = up_to.iter().position(|log| from <= *log);
        let style = frame.palette.colour(PERCENTILE_COLOURS[zone.unwrap_or(3)]);
        bars.push(SparklineBar::from(eighths.max(least)).style(Some(style)));
    }
    Sparkline::default()
        .data(bars)
        .max(all)
        .render(area.rect, area.buffer);
}
