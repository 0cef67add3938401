//! The rows above a trial of a study: the study with its progress, and the trial.

use std::time::Duration;

use ratatui::style::{Color, Style};
use waggle_report::wording::labels;
use waggle_results::PhaseName;

use super::{
    area::Area,
    frame::Frame,
    head::bar,
    labels::{clock, time},
    palette::{BAD, BOLD, DIM, GOOD, RATE},
};
use crate::{
    live::{
        board::{CellBoard, PhaseNow, StudyBoard, TrialNow},
        view_model::ViewModel,
    },
    output::values::rate,
    trial::{aggregate::as_f64, sides::Side, so_far::ratio},
};

/// Rows of the study above the grid.
pub(super) const HEAD: u16 = 2;
/// Rows of the trial above its charts.
pub(super) fn rows(frame: &Frame<'_>) -> u16 {
    match frame.duet {
        Some(_) => 3,
        None => 2,
    }
}

/// Two rows: the study, and the progress bar of its trials.
pub(super) fn head(frame: &Frame<'_>, study: &StudyBoard, area: &mut Area<'_>) {
    let (state, colour) = state(frame, study);
    let state_width = u16::try_from(state.chars().count()).unwrap_or(0) + 1;
    let width = area.width();
    let mut first = area.top(1);
    first.put_right(0, &state, frame.palette.colour(colour).patch(BOLD));
    let mut first = first.take_left(width.saturating_sub(state_width));
    first.put(0, 0, &study.name, BOLD);
    let column = u16::try_from(study.name.chars().count() + 2).unwrap_or(u16::MAX);
    first.put(column, 0, &study.question, DIM);
    let text = format!(
        "{} of {} trials · {} · {} left",
        study.done,
        study.trials,
        clock(frame.elapsed.as_secs_f64()),
        clock(study.time_left(frame.elapsed).as_secs_f64())
    );
    let done = ratio(as_f64(study.done.into()), as_f64(study.trials.into()));
    bar(frame, &mut area.top(1), &text, done);
}

fn state(frame: &Frame<'_>, study: &StudyBoard) -> (String, Color) {
    let (text, colour) = match (frame.asked_to_end, &study.now) {
        (0, Some(_)) => ("running", GOOD),
        (0, None) if study.done == 0 => ("starting", Color::Cyan),
        (0, None) => ("between trials", Color::Cyan),
        _ => ("ending, stopping the system", BAD),
    };
    let paused = if frame.is_paused {
        "display paused · "
    } else {
        ""
    };
    (format!("{paused}{text}"), colour)
}

/// Two rows: the trial with its phase, and its load. Of a duet a third one: the figures of both trials.
pub(super) fn trial(frame: &Frame<'_>, study: &StudyBoard, area: &mut Area<'_>) {
    let Some(now) = &study.now else {
        let note = study.notes.last().map_or("", String::as_str);
        area.title("no trial running", "");
        area.put(0, 0, note, DIM);
        return;
    };
    let (phase, colour) = phase(frame, now);
    let phase_width = u16::try_from(phase.chars().count()).unwrap_or(0) + 2;
    let width = area.width();
    let mut first = area.top(1);
    let cell = match frame.side {
        Side::Partner => now.partner.unwrap_or(now.cell),
        Side::First => now.cell,
    };
    let cell = study.cells.get(cell);
    let number = cell.map_or(0, |cell| cell.number);
    let mut title = Area::new(first.rect, first.buffer);
    title.title(&format!("cell {number}"), &trial_label(study, cell, now));
    if !phase.is_empty() {
        let mut right = first.right(phase_width.min(width / 2));
        right.put(
            0,
            0,
            &format!(" {phase} "),
            frame.palette.colour(colour).patch(BOLD),
        );
    }
    if let Some(duet) = frame.duet {
        area.bottom(1)
            .put(0, 0, &duet_label(study, now, duet), BOLD);
    }
    let title = &frame.model.title;
    let (load, text) = (
        format!("{} · {}", title.request, title.settings),
        &now.phase_text,
    );
    let text_width = u16::try_from(text.chars().count()).unwrap_or(0);
    area.put_right(0, text, frame.palette.colour(RATE));
    let load_width = width.saturating_sub(text_width + u16::from(text_width > 0) * 2);
    area.take_left(load_width).put(0, 0, &load, Style::new());
}

/// `baseline 45.2k/s p50 820 µs p99 12.4 ms · changed 44.1k/s p50 …`.
fn duet_label(study: &StudyBoard, now: &TrialNow, duet: [&ViewModel; 2]) -> String {
    let cells = [Some(now.cell), now.partner];
    let cells = cells.map(|cell| study.cells.get(cell?));
    let sides = cells.into_iter().zip(duet);
    let labels = sides.map(|(cell, model)| side_label(cell, model));
    labels.collect::<Vec<_>>().join(" · ")
}

fn side_label(cell: Option<&CellBoard>, model: &ViewModel) -> String {
    // The version is the last factor.
    let version = cell.and_then(|cell| cell.levels.last());
    let version = version.map_or("", String::as_str);
    let [p50, _, p99, ..] = model.now.response_us.map(time);
    let rate = rate(model.now.rate_per_s);
    format!("{version} {rate} p50 {p50} p99 {p99}")
}

/// `connections=10 pipelining=50 · repetition 2 of 3`.
fn trial_label(study: &StudyBoard, cell: Option<&CellBoard>, now: &TrialNow) -> String {
    let levels = cell.map(|cell| {
        let named = study.factors.iter().zip(&cell.levels);
        named.map(|(factor, level)| format!("{factor}={level} "))
    });
    let levels: String = levels.into_iter().flatten().collect();
    match levels.trim_end() {
        "" => now.which.clone(),
        levels => format!("{levels} · {}", now.which),
    }
}

/// `measure 3.2 s of 10 s`.
fn phase(frame: &Frame<'_>, now: &TrialNow) -> (String, Color) {
    let Some(PhaseNow {
        phase,
        began,
        expected,
    }) = now.phase
    else {
        return (String::new(), Color::Cyan);
    };
    let seconds = |time: Duration| clock(time.as_secs_f64());
    let since = frame.elapsed.saturating_sub(began);
    let long = match expected {
        Some(expected) => format!("{} of {}", seconds(since.min(expected)), seconds(expected)),
        None => seconds(since),
    };
    let colour = match phase {
        PhaseName::Measure => GOOD,
        PhaseName::WarmUp => Color::Magenta,
        _ => Color::Cyan,
    };
    (format!("{} {long}", labels::phase(phase)), colour)
}
