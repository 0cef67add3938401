//! The live view as a buffer of cells. Pure: what is shown, the time and the wishes at the keyboard in, letters out.
//!
//! Only the sixteen colours that every terminal has a theme for, never black, white, yellow or blue as such: those are
//! unreadable on one background or the other.

mod charts;
mod figures;
mod head;
mod log_axis;
mod percentiles;
mod room;
mod spectrum;
mod words;

use std::time::Duration;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
};

use super::{history::Span, shown::Shown};
use room::Room;

/// Below this there is no place for charts beside figures.
const CHARTS_FROM: (u16, u16) = (64, 20);
/// Rows of what stands above the page.
const HEAD: u16 = 3;

/// Colours where they are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::live) enum Ink {
    Coloured,
    /// `NO_COLOR`: bold and dim only.
    Plain,
}

impl Ink {
    fn colour(self, colour: Color) -> Style {
        match self {
            Self::Coloured => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const GOOD: Color = Color::Green;
const BAD: Color = Color::Red;
const RATE: Color = Color::Cyan;
/// Of p50, p90, p99 and the maximum, and of what lies up to them.
const PERCENTILE_COLOURS: [Color; 4] = [Color::Green, Color::Cyan, Color::Magenta, Color::Red];

/// One of the views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::live) enum Page {
    #[default]
    Overview,
    Times,
    Details,
}

impl Page {
    pub(in crate::live) fn next(self) -> Self {
        match self {
            Self::Overview => Self::Times,
            Self::Times => Self::Details,
            Self::Details => Self::Overview,
        }
    }
}

/// How the load is looked at.
#[derive(Debug, Clone, Copy)]
pub(in crate::live) struct Look<'a> {
    pub(in crate::live) shown: &'a Shown,
    /// Since the start of the load.
    pub(in crate::live) elapsed: Duration,
    pub(in crate::live) page: Page,
    pub(in crate::live) span: Span,
    pub(in crate::live) ink: Ink,
    pub(in crate::live) is_paused: bool,
    /// How often the end was asked for.
    pub(in crate::live) asked_to_end: u32,
    pub(in crate::live) with_help: bool,
}

/// Draws everything.
pub(in crate::live) fn draw(look: &Look<'_>, area: Rect, buffer: &mut Buffer) {
    let mut room = Room::new(area, buffer);
    head::head(look, &mut room.top(HEAD));
    head::keys(look, &mut room.bottom(1));
    let (width, height) = CHARTS_FROM;
    if area.width < width || area.height < height {
        figures::all(look, &mut room);
    } else {
        match look.page {
            Page::Overview => overview(look, &mut room),
            Page::Times => times(look, &mut room),
            Page::Details => figures::details(look, &mut room),
        }
    }
    if look.with_help {
        head::help(area, buffer);
    }
}

fn overview(look: &Look<'_>, room: &mut Room<'_>) {
    let tall = room.height() >= 30;
    figures::verdict(look, &mut room.bottom(if tall { 6 } else { 3 }));
    let beside = (room.width() / 3).clamp(34, 46);
    let mut beside = room.right(beside);
    figures::beside(look, &mut beside);
    room.right(1);
    let height = room.height();
    let rate = (height * 2 / 9).max(5);
    charts::rate(look, &mut room.top(rate));
    if height >= 30 {
        percentiles::lines(look, &mut room.top(height * 3 / 9));
        percentiles::heat(look, &mut room.top(height * 2 / 9));
    } else {
        percentiles::lines(look, &mut room.top((height - rate) * 7 / 12));
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
