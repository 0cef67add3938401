//! The rows above and below every page: the load with its progress, and the keys.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Style},
};
use waggle_report::wording::format::count;

use super::{
    look::{Look, Page},
    palette::{BAD, BOLD, DIM, GOOD, RATE},
    room::Room,
    words::clock,
};
use crate::{live::history::Span, trial::phase::Phase};

/// Three rows: the request, the settings, the progress bar.
pub(super) fn head(look: &Look<'_>, room: &mut Room<'_>) {
    let shown = look.shown;
    let (state, colour) = state(look);
    let state_width = u16::try_from(state.chars().count()).unwrap_or(0) + 1;
    let width = room.width();
    let mut first = room.top(1);
    first.put_right(0, &state, look.ink.colour(colour).patch(BOLD));
    first
        .take_left(width.saturating_sub(state_width))
        .put(0, 0, &shown.title.request, BOLD);
    room.top(1).put(0, 0, &shown.title.settings, DIM);
    let done = shown.progress_share(look.elapsed).unwrap_or(0.0);
    bar(look, &mut room.top(1), &progress(look), done);
}

fn state(look: &Look<'_>) -> (String, Color) {
    let (text, colour) = match (look.asked_to_end, look.shown.phase) {
        (0, None) => ("starting", Color::Cyan),
        (0, Some(Phase::WarmUp)) => ("warm-up, not counted", Color::Magenta),
        (0, Some(Phase::Measured)) => ("measuring", GOOD),
        (0, Some(Phase::Finish)) => ("last answers", Color::Cyan),
        (1, _) => ("ending, waiting for the last answers", BAD),
        _ => ("ending", BAD),
    };
    let paused = if look.is_paused {
        "display paused · "
    } else {
        ""
    };
    (format!("{paused}{text}"), colour)
}

/// `3.2 s of 10 s · 6.8 s left`.
fn progress(look: &Look<'_>) -> String {
    let elapsed = look.elapsed.as_secs_f64();
    let shown = look.shown;
    match (shown.title.length, shown.requests_at_most) {
        (_, Some(most)) => format!(
            "{} · {} of {} requests",
            clock(elapsed),
            count(shown.sent.min(most)),
            count(most)
        ),
        (Some(length), None) => {
            let length = length.as_secs_f64();
            let left = (length - elapsed).max(0.0);
            format!(
                "{} of {} · {} left",
                clock(elapsed),
                clock(length),
                clock(left)
            )
        }
        (None, None) => clock(elapsed),
    }
}

/// A progress bar with text at its right end.
pub(super) fn bar(look: &Look<'_>, room: &mut Room<'_>, text: &str, done: f64) {
    let text_width = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
    room.put_right(0, text, Style::new());
    let width = room.width().saturating_sub(text_width + 2);
    // In half characters.
    let halves = crate::live::spectrum::floor_index(f64::from(width) * 2.0 * done);
    for column in 0..width {
        let (letter, style) = match halves.saturating_sub(2 * usize::from(column)) {
            0 => ("╌", DIM),
            1 => ("╸", look.ink.colour(RATE)),
            _ => ("━", look.ink.colour(RATE)),
        };
        room.dot(column, 0, letter, style);
    }
}

/// The pages with their keys.
fn pages(look: &Look<'_>) -> Vec<(&'static str, &'static str, Page)> {
    let mut pages = vec![
        ("1", "overview", Page::Overview),
        ("2", "times", Page::Times),
        ("3", "details", Page::Details),
    ];
    if look.study.is_some() {
        pages.push(("4", "cells", Page::Cells));
    }
    pages
}

/// The last row.
pub(super) fn keys(look: &Look<'_>, room: &mut Room<'_>) {
    let mut column = 0;
    let mut say = |room: &mut Room<'_>, key: &str, text: &str, key_style: Style| {
        room.put(column, 0, key, key_style);
        column += u16::try_from(key.chars().count() + 1).unwrap_or(0);
        room.put(column, 0, text, DIM);
        column += u16::try_from(text.chars().count() + 2).unwrap_or(0);
    };
    let end = match look.asked_to_end {
        0 => "end",
        _ if look.study.is_some() => "ending",
        1 => "end now",
        _ => "quit",
    };
    say(room, "q", end, BOLD);
    let pause = if look.is_paused { "resume" } else { "pause" };
    say(room, "space", pause, BOLD);
    for (key, name, page) in pages(look) {
        let style = if look.page == page {
            look.ink.colour(RATE).patch(BOLD)
        } else {
            BOLD
        };
        say(room, key, name, style);
    }
    let span = match look.span {
        Span::Whole => "last minute",
        Span::Latest => "whole load",
    };
    say(room, "w", span, BOLD);
    say(room, "?", "help", BOLD);
}

/// Keys and their actions; a text without a key is a sentence.
fn help_lines(look: &Look<'_>) -> [(&'static str, &'static str); 7] {
    let (end, pages) = match look.study {
        None => (
            "end, with the result so far; again: end now",
            ("1 2 3, tab", "overview, response times, details"),
        ),
        Some(_) => (
            "end; finished trials are kept, the run can be resumed",
            ("1 2 3 4, tab", "overview, response times, details, cells"),
        ),
    };
    [
        ("q, Ctrl-C", end),
        ("space", "pause the display; the load continues"),
        pages,
        ("w", "the whole load, or its last minute"),
        ("?", "this help"),
        ("", ""),
        ("", "Metrics and verdict are those of a load that ends now."),
    ]
}

/// The help box in the middle of the screen.
pub(super) fn help(look: &Look<'_>, area: Rect, buffer: &mut Buffer) {
    let lines = help_lines(look);
    let height = u16::try_from(lines.len()).unwrap_or(0) + 2;
    let wanted = if look.study.is_some() { 78 } else { 62 };
    let (width, height) = (area.width.min(wanted), height.min(area.height));
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let mut room = Room::new(place, buffer);
    for row in 0..height {
        room.put(0, row, &" ".repeat(usize::from(width)), Style::reset());
        room.dot(0, row, "│", DIM);
        room.dot(width - 1, row, "│", DIM);
    }
    for (row, left, right) in [(0, "┌", "┐"), (height - 1, "└", "┘")] {
        room.put(0, row, &"─".repeat(usize::from(width)), DIM);
        room.dot(0, row, left, DIM);
        room.dot(width - 1, row, right, DIM);
    }
    room.put(2, 0, " keys ", BOLD);
    for ((key, text), row) in lines.iter().zip(1..) {
        room.put(2, row, key, BOLD);
        let column = match (key.is_empty(), look.study) {
            (true, _) => 2,
            (false, None) => 14,
            (false, Some(_)) => 16,
        };
        room.put(column, row, text, Style::new());
    }
}
