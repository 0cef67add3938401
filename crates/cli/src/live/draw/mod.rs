//! Renders the live view to a buffer. Pure: a frame in, characters out.

mod area;
mod charts;
mod figures;
mod frame;
mod grid;
mod head;
mod labels;
mod log_axis;
mod palette;
mod percentiles;
mod spectrum;
mod study;

use area::Area;
pub(in crate::live) use frame::{Frame, Page};
pub(in crate::live) use palette::Palette;
use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::board::StudyBoard;

/// Minimum size for charts.
const CHARTS_FROM: (u16, u16) = (64, 12);
/// Rows of the head.
const HEAD: u16 = 3;

/// Draws everything.
pub(in crate::live) fn draw(frame: &Frame<'_>, rect: Rect, buffer: &mut Buffer) {
    let mut area = Area::new(rect, buffer);
    head::keys(frame, &mut area.bottom(1));
    match frame.study {
        None => head::head(frame, &mut area.top(HEAD)),
        Some(study) => {
            study::head(frame, study, &mut area.top(study::HEAD));
            if frame.page == Page::Cells {
                cells(frame, study, &mut area);
            } else {
                grid::grid(frame, study, &mut area.top(grid::rows(study, rect.height)));
                study::trial(frame, study, &mut area.top(study::rows(frame)));
            }
        }
    }
    trial(frame, &mut area);
    if frame.with_help {
        head::help(frame, rect, buffer);
    }
}

/// All cells, and the latest messages.
fn cells(frame: &Frame<'_>, study: &StudyBoard, area: &mut Area<'_>) {
    let cells = u16::try_from(study.cells.len()).unwrap_or(u16::MAX);
    let height = area.height();
    let rows = cells
        .saturating_add(2)
        .min(height.saturating_sub(height / 4));
    grid::grid(frame, study, &mut area.top(rows));
    let height = area.height();
    let mut notes = area.top(height);
    notes.title("messages", "");
    let places = usize::from(notes.height());
    let first = study.notes.len().saturating_sub(places);
    for (note, row) in study.notes[first..].iter().zip(0..) {
        notes.put(0, row, note, Style::new());
    }
}

/// The trial, in the rest of the screen.
fn trial(frame: &Frame<'_>, area: &mut Area<'_>) {
    let (width, height) = CHARTS_FROM;
    if area.width() < width || area.height() < height {
        figures::draw_all(frame, area);
        return;
    }
    match frame.page {
        Page::Times => times(frame, area),
        Page::Details => figures::details(frame, area),
        Page::Overview | Page::Cells => overview(frame, area),
    }
}

fn overview(frame: &Frame<'_>, area: &mut Area<'_>) {
    let verdict = match area.height() {
        ..16 => 2,
        16..30 => 3,
        30.. => 6,
    };
    figures::verdict(frame, &mut area.bottom(verdict));
    let width = (area.width() / 3).clamp(34, 46);
    let mut column = area.right(width);
    figures::draw_side_column(frame, &mut column);
    area.right(1);
    let height = area.height();
    let rate = (height * 2 / 9).max(5);
    charts::rate(frame, &mut area.top(rate));
    if height >= 30 {
        percentiles::lines(frame, &mut area.top(height * 3 / 9));
        percentiles::heat(frame, &mut area.top(height * 2 / 9));
    } else if height >= 14 {
        percentiles::lines(frame, &mut area.top((height - rate) * 7 / 12));
    } else {
        percentiles::lines(frame, area);
        return;
    }
    spectrum::bars(frame, area);
}

fn times(frame: &Frame<'_>, area: &mut Area<'_>) {
    figures::times_in_a_row(frame, &mut area.top(2));
    let height = area.height();
    percentiles::lines(frame, &mut area.top(height * 4 / 10));
    percentiles::heat(frame, &mut area.top(height * 3 / 10));
    spectrum::bars(frame, area);
}
