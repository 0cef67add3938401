//! Renders the live view to a buffer. Pure: a frame in, characters out.

mod charts;
mod figures;
mod grid;
mod head;
mod log_axis;
mod look;
mod palette;
mod percentiles;
mod room;
mod spectrum;
mod study;
mod words;

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::board::StudyBoard;
pub(in crate::live) use look::{Look, Page};
pub(in crate::live) use palette::Ink;
use room::Room;

/// Minimum size for charts.
const CHARTS_FROM: (u16, u16) = (64, 12);
/// Rows of the head.
const HEAD: u16 = 3;

/// Draws everything.
pub(in crate::live) fn draw(look: &Look<'_>, area: Rect, buffer: &mut Buffer) {
    let mut room = Room::new(area, buffer);
    head::keys(look, &mut room.bottom(1));
    match look.study {
        None => head::head(look, &mut room.top(HEAD)),
        Some(study) => {
            study::head(look, study, &mut room.top(study::HEAD));
            if look.page == Page::Cells {
                cells(look, study, &mut room);
            } else {
                grid::grid(look, study, &mut room.top(grid::rows(study, area.height)));
                study::trial(look, study, &mut room.top(study::TRIAL));
            }
        }
    }
    trial(look, &mut room);
    if look.with_help {
        head::help(look, area, buffer);
    }
}

/// All cells, and the latest messages.
fn cells(look: &Look<'_>, study: &StudyBoard, room: &mut Room<'_>) {
    let cells = u16::try_from(study.cells.len()).unwrap_or(u16::MAX);
    let height = room.height();
    let rows = cells
        .saturating_add(2)
        .min(height.saturating_sub(height / 4));
    grid::grid(look, study, &mut room.top(rows));
    let height = room.height();
    let mut notes = room.top(height);
    notes.title("messages", "");
    let places = usize::from(notes.height());
    let first = study.notes.len().saturating_sub(places);
    for (note, row) in study.notes[first..].iter().zip(0..) {
        notes.put(0, row, note, Style::new());
    }
}

/// The trial, in the rest of the screen.
fn trial(look: &Look<'_>, room: &mut Room<'_>) {
    let (width, height) = CHARTS_FROM;
    if room.width() < width || room.height() < height {
        figures::draw_all(look, room);
        return;
    }
    match look.page {
        Page::Times => times(look, room),
        Page::Details => figures::details(look, room),
        Page::Overview | Page::Cells => overview(look, room),
    }
}

fn overview(look: &Look<'_>, room: &mut Room<'_>) {
    let verdict = match room.height() {
        ..16 => 2,
        16..30 => 3,
        30.. => 6,
    };
    figures::verdict(look, &mut room.bottom(verdict));
    let beside = (room.width() / 3).clamp(34, 46);
    let mut beside = room.right(beside);
    figures::draw_beside_charts(look, &mut beside);
    room.right(1);
    let height = room.height();
    let rate = (height * 2 / 9).max(5);
    charts::rate(look, &mut room.top(rate));
    if height >= 30 {
        percentiles::lines(look, &mut room.top(height * 3 / 9));
        percentiles::heat(look, &mut room.top(height * 2 / 9));
    } else if height >= 14 {
        percentiles::lines(look, &mut room.top((height - rate) * 7 / 12));
    } else {
        percentiles::lines(look, room);
        return;
    }
    spectrum::bars(look, room);
}

fn times(look: &Look<'_>, room: &mut Room<'_>) {
    figures::times_in_a_row(look, &mut room.top(2));
    let height = room.height();
    percentiles::lines(look, &mut room.top(height * 4 / 10));
    percentiles::heat(look, &mut room.top(height * 3 / 10));
    spectrum::bars(look, room);
}
