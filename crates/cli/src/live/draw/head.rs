//! The rows above and below every page: the load with its progress, and the keys.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Style},
};
use waggle_report::wording::format::count;

use super::{
    area::Area,
    frame::{Frame, Page},
    labels::clock,
    palette::{BAD, BOLD, DIM, GOOD, RATE},
};
use crate::{live::history::TimeRange, trial::phase::Phase};

/// Three rows: the request, the settings, the progress bar.
pub(super) fn head(frame: &Frame<'_>, area: &mut Area<'_>) {
    let model = frame.model;
    let (state, colour) = state(frame);
    let state_width = u16::try_from(state.chars().count()).unwrap_or(0) + 1;
    let width = area.width();
    let mut first = area.top(1);
    first.put_right(0, &state, frame.palette.colour(colour).patch(BOLD));
    first
        .take_left(width.saturating_sub(state_width))
        .put(0, 0, &model.title.request, BOLD);
    area.top(1).put(0, 0, &model.title.settings, DIM);
    let done = model.progress_share(frame.elapsed).unwrap_or(0.0);
    bar(frame, &mut area.top(1), &progress(frame), done);
}

fn state(frame: &Frame<'_>) -> (String, Color) {
    let (text, colour) = match (frame.asked_to_end, frame.model.phase) {
        (0, None) => ("starting", Color::Cyan),
        (0, Some(Phase::WarmUp)) => ("warm-up, not counted", Color::Magenta),
        (0, Some(Phase::Measured)) => ("measuring", GOOD),
        (0, Some(Phase::Finish)) => ("last answers", Color::Cyan),
        (1, _) => ("ending, waiting for the last answers", BAD),
        _ => ("ending", BAD),
    };
    let paused = if frame.is_paused {
        "display paused · "
    } else {
        ""
    };
    (format!("{paused}{text}"), colour)
}

/// `3.2 s of 10 s · 6.8 s left`.
fn progress(frame: &Frame<'_>) -> String {
    let elapsed = frame.elapsed.as_secs_f64();
    let model = frame.model;
    match (model.title.length, model.requests_at_most) {
        (_, Some(most)) => format!(
            "{} · {} of {} requests",
            clock(elapsed),
            count(model.sent.min(most)),
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
pub(super) fn bar(frame: &Frame<'_>, area: &mut Area<'_>, text: &str, done: f64) {
    let text_width = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
    area.put_right(0, text, Style::new());
    let width = area.width().saturating_sub(text_width + 2);
    // In half characters.
    let halves = crate::live::spectrum::floor_index(f64::from(width) * 2.0 * done);
    for column in 0..width {
        let (letter, style) = match halves.saturating_sub(2 * usize::from(column)) {
            0 => ("╌", DIM),
            1 => ("╸", frame.palette.colour(RATE)),
            _ => ("━", frame.palette.colour(RATE)),
        };
        area.dot(column, 0, letter, style);
    }
}

/// The pages with their keys.
fn pages(frame: &Frame<'_>) -> Vec<(&'static str, &'static str, Page)> {
    let mut pages = vec![
        ("1", "overview", Page::Overview),
        ("2", "times", Page::Times),
        ("3", "details", Page::Details),
    ];
    if frame.study.is_some() {
        pages.push(("4", "cells", Page::Cells));
    }
    pages
}

/// The last row.
pub(super) fn keys(frame: &Frame<'_>, area: &mut Area<'_>) {
    let mut keys = named_keys(frame);
    let width = |keys: &[Key], gap| {
        let widths = keys.iter().map(|key| key.key.len() + 1 + key.text.len());
        widths.sum::<usize>() + gap * keys.len().saturating_sub(1)
    };
    let fits = |keys: &[Key], gap| width(keys, gap) <= usize::from(area.width());
    if !fits(&keys, KEY_GAP) {
        keys.iter_mut().for_each(|key| key.text = key.short);
    }
    let gap = if fits(&keys, KEY_GAP) { KEY_GAP } else { 1 };
    let mut column = 0;
    for Key {
        key, text, style, ..
    } in keys
    {
        area.put(column, 0, key, style);
        column += u16::try_from(key.len() + 1).unwrap_or(0);
        area.put(column, 0, text, DIM);
        column += u16::try_from(text.len() + gap).unwrap_or(0);
    }
}

/// Blanks between two keys where there is room.
const KEY_GAP: usize = 2;

/// A key with what it does, and a shorter text for a narrow terminal.
struct Key {
    key: &'static str,
    text: &'static str,
    short: &'static str,
    style: Style,
}

/// The keys that work now.
fn named_keys(frame: &Frame<'_>) -> Vec<Key> {
    let bold = |key, text| Key {
        key,
        text,
        short: text,
        style: BOLD,
    };
    let end = match frame.asked_to_end {
        _ if frame.may_leave => "leave",
        0 => "end",
        _ if frame.study.is_some() => "ending",
        1 => "end now",
        _ => "quit",
    };
    let pause = if frame.is_paused { "resume" } else { "pause" };
    let mut keys = vec![bold("q", end)];
    if frame.may_leave && frame.asked_to_end == 0 {
        keys.push(bold("Ctrl-C", "stop the run"));
    }
    keys.push(bold("space", pause));
    for (key, name, page) in pages(frame) {
        let style = if frame.page == page {
            frame.palette.colour(RATE).patch(BOLD)
        } else {
            BOLD
        };
        keys.push(Key {
            style,
            ..bold(key, name)
        });
    }
    let range = match frame.range {
        TimeRange::Whole => "last minute",
        TimeRange::Latest => "whole load",
    };
    keys.push(Key {
        short: "range",
        ..bold("w", range)
    });
    if frame.duet.is_some() {
        keys.push(bold("v", "version"));
    }
    keys.push(bold("?", "help"));
    keys
}

/// Keys and their actions; a text without a key is a sentence.
fn help_lines(frame: &Frame<'_>) -> Vec<(&'static str, &'static str)> {
    let (end, pages) = match frame.study {
        None => (
            "end, with the result so far; again: end now",
            ("1 2 3, tab", "overview, response times, details"),
        ),
        Some(_) => (
            "end; finished trials are kept, the run can be resumed",
            ("1 2 3 4, tab", "overview, response times, details, cells"),
        ),
    };
    let ends = match frame.may_leave {
        true => vec![
            ("q", "leave the view; the run goes on"),
            (
                "Ctrl-C",
                "stop the run; finished trials are kept, it can be resumed",
            ),
        ],
        false => vec![("q, Ctrl-C", end)],
    };
    let others = [
        ("space", "pause the display; the load continues"),
        pages,
        ("w", "the whole load, or its last minute"),
        ("?", "this help"),
        ("", ""),
        ("", "Metrics and verdict are those of a load that ends now."),
    ];
    ends.into_iter().chain(others).collect()
}

/// The help box in the middle of the screen.
pub(super) fn help(frame: &Frame<'_>, rect: Rect, buffer: &mut Buffer) {
    let lines = help_lines(frame);
    let height = u16::try_from(lines.len()).unwrap_or(0) + 2;
    let wanted = if frame.study.is_some() { 78 } else { 62 };
    let (width, height) = (rect.width.min(wanted), height.min(rect.height));
    let rect = Rect {
        x: rect.x + (rect.width - width) / 2,
        y: rect.y + (rect.height - height) / 2,
        width,
        height,
    };
    let mut area = Area::new(rect, buffer);
    for row in 0..height {
        area.put(0, row, &" ".repeat(usize::from(width)), Style::reset());
        area.dot(0, row, "│", DIM);
        area.dot(width - 1, row, "│", DIM);
    }
    for (row, left, right) in [(0, "┌", "┐"), (height - 1, "└", "┘")] {
        area.put(0, row, &"─".repeat(usize::from(width)), DIM);
        area.dot(0, row, left, DIM);
        area.dot(width - 1, row, right, DIM);
    }
    area.put(2, 0, " keys ", BOLD);
    for ((key, text), row) in lines.iter().zip(1..) {
        area.put(2, row, key, BOLD);
        let column = match (key.is_empty(), frame.study) {
            (true, _) => 2,
            (false, None) => 14,
            (false, Some(_)) => 16,
        };
        area.put(column, row, text, Style::new());
    }
}
