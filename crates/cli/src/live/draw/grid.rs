//! The table of cells: levels, a mark per trial, verdict, goodput with its interval so far.

use ratatui::style::Style;
use waggle_report::wording::{
    format::{Unit, short},
    search::level,
};
use waggle_stats::{Evidence, Verdict};

use super::{
    area::Area,
    frame::Frame,
    palette::{BAD, BOLD, DIM, GOOD, RATE},
};
use crate::{
    live::{
        board::{CellBoard, Mark, StudyBoard},
        spectrum::floor_index,
    },
    trial::so_far::ratio,
};

/// Rows of the table above the cells: title and column names.
const HEADS: u16 = 2;
/// Maximum number of marks; more trials are shown as a count.
const MARKS_MAX: u32 = 10;
/// Columns between two columns of the table.
const GAP: usize = 2;
/// Maximum length of a level or a factor name.
const LEVEL_MAX: usize = 20;
/// Minimum and maximum width of the bars.
const BAR: (usize, usize) = (12, 60);

/// Rows of the table on a screen of this height; most rows are for the charts.
pub(super) fn rows(study: &StudyBoard, height: u16) -> u16 {
    let wanted = u16::try_from(study.cells.len()).unwrap_or(u16::MAX);
    let most = if height < 32 { 4 } else { height / 4 };
    HEADS + wanted.min(most)
}

/// Whether a trial of the cell is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Now,
    NotNow,
}

/// One column of the table.
struct Column {
    name: String,
    width: usize,
    cells: Vec<(String, Style)>,
}

impl Column {
    fn new(name: &str, cells: Vec<(String, Style)>) -> Self {
        let widths = cells.iter().map(|(text, _)| text.chars().count());
        Self {
            name: name.to_owned(),
            width: widths.max().unwrap_or(0).max(name.chars().count()),
            cells,
        }
    }
}

/// The table. If there are more cells than rows, it shows those around the running one, in two columns if they fit.
pub(super) fn grid(frame: &Frame<'_>, study: &StudyBoard, area: &mut Area<'_>) {
    area.title("cells", &summary(study));
    let columns = columns(frame, study);
    let width = 2 + columns
        .iter()
        .map(|column| column.width + GAP)
        .sum::<usize>();
    let rows = usize::from(area.height().saturating_sub(1));
    let is_double = study.cells.len() > rows && 2 * width <= usize::from(area.width());
    let parts = if is_double { 2 } else { 1 };
    let first = first_shown(study, rows * parts);
    for part in 0..parts {
        let from = first + part * rows;
        let columns_wide = u16::try_from(width).unwrap_or(u16::MAX);
        let mut half = if is_double {
            area.take_left(columns_wide)
        } else {
            Area::new(area.rect, area.buffer)
        };
        let cells = from..(from + rows).min(study.cells.len());
        table(frame, study, &columns, cells.clone(), &mut half);
        if !is_double {
            bars(frame, study, cells, width, &mut half);
        }
    }
}

/// `7 valid, 1 overloaded, 4 left`.
fn summary(study: &StudyBoard) -> String {
    if study.searched.is_some() {
        let finished_cells = study.cells.iter().filter(|cell| cell.found.is_some());
        return format!(
            "{} of {} searched",
            finished_cells.count(),
            study.cells.len()
        );
    }
    let is_over =
        |cell: &&CellBoard| cell.found.is_some() || cell.marks.len() >= cell.planned as usize;
    let mut verdicts: Vec<Verdict> = study
        .cells
        .iter()
        .filter(is_over)
        .filter_map(|cell| cell.so_far.verdict)
        .collect();
    verdicts.sort_unstable();
    let mut parts: Vec<String> = verdicts
        .chunk_by(|verdict, next| verdict == next)
        .map(|same| format!("{} {}", same.len(), same[0].name()))
        .collect();
    let left = study.cells.len() - study.cells.iter().filter(is_over).count();
    if left > 0 {
        parts.push(format!("{left} left"));
    }
    parts.join(", ")
}

/// The first cell to show, so that the running one is in the middle.
fn first_shown(study: &StudyBoard, places: usize) -> usize {
    let now = study.now.as_ref().map_or(0, |now| now.cell);
    let last_first = study.cells.len().saturating_sub(places);
    now.saturating_sub(places / 2).min(last_first)
}

fn columns(frame: &Frame<'_>, study: &StudyBoard) -> Vec<Column> {
    let plain = |text: String| (text, Style::new());
    let of_cells = |cell: &dyn Fn(&CellBoard) -> (String, Style)| {
        study.cells.iter().map(cell).collect::<Vec<_>>()
    };
    let mut columns = vec![Column::new(
        "cell",
        of_cells(&|cell| plain(format!("{:>4}", cell.number))),
    )];
    for (index, factor) in study.factors.iter().enumerate() {
        let of_cell = |cell: &CellBoard| {
            let level = cell.levels.get(index).map_or("", String::as_str);
            plain(cut(level))
        };
        columns.push(Column::new(&cut(factor), of_cells(&of_cell)));
    }
    let many = study.cells.iter().map(|cell| cell.planned).max();
    let marks = many.unwrap_or(0).clamp(6, MARKS_MAX) as usize;
    let mut trials = Column::new("trials", Vec::new());
    trials.width = marks;
    columns.push(trials);
    if let Some(what) = study.searched {
        let answer = |cell: &CellBoard| match (&cell.found, cell.met) {
            (Some(answer), _) => (answer.clone(), BOLD),
            (None, Some(met)) => plain(format!("{} so far", level(what, met))),
            (None, None) => ("–".to_owned(), DIM),
        };
        columns.push(Column::new("highest holding", of_cells(&answer)));
        return columns;
    }
    columns.push(Column::new(
        "verdict so far",
        of_cells(&|cell| match cell.so_far.verdict {
            Some(verdict) => (verdict.name().to_owned(), verdict_style(frame, verdict)),
            None => ("–".to_owned(), DIM),
        }),
    ));
    columns.push(Column::new(
        "goodput per second",
        of_cells(&|cell| {
            let goodput = cell.so_far.goodput.as_ref();
            (short(goodput, Unit::Plain), BOLD)
        }),
    ));
    columns
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LEVEL_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LEVEL_MAX - 1).collect();
    format!("{kept}…")
}

fn table(
    frame: &Frame<'_>,
    study: &StudyBoard,
    columns: &[Column],
    cells: std::ops::Range<usize>,
    area: &mut Area<'_>,
) {
    let left_of = |column: usize| {
        let before = columns[..column].iter().map(|column| column.width + GAP);
        u16::try_from(2 + before.sum::<usize>()).unwrap_or(u16::MAX)
    };
    for (index, column) in columns.iter().enumerate() {
        area.put(left_of(index), 0, &column.name, DIM);
    }
    for (cell, row) in cells.zip(1..) {
        let run = match &study.now {
            Some(now) if now.cell == cell || now.partner == Some(cell) => Run::Now,
            _ => Run::NotNow,
        };
        if run == Run::Now {
            area.put(0, row, "▸", frame.palette.colour(RATE).patch(BOLD));
        }
        for (index, column) in columns.iter().enumerate() {
            match column.cells.get(cell) {
                Some((text, style)) => area.put(left_of(index), row, text, *style),
                None => {
                    let mut column = left_of(index);
                    for (mark, style) in marks(frame, &study.cells[cell], run) {
                        area.put(column, row, &mark, style);
                        column = column.saturating_add(1);
                    }
                }
            }
        }
    }
}

/// A mark for each finished trial, one for the running trial, and a dot for each planned one. A search, which may end at any
/// trial, shows the last marks.
fn marks(frame: &Frame<'_>, cell: &CellBoard, run: Run) -> Vec<(String, Style)> {
    let is_tried = |mark: &Mark| matches!(mark, Mark::Tried(_));
    if cell.marks.iter().any(is_tried) {
        let most = MARKS_MAX as usize - 1;
        let first = cell.marks.len().saturating_sub(most);
        let last = cell.marks[first..].iter().map(|mark| mark_of(frame, *mark));
        let now = (run == Run::Now).then(|| ("◌", frame.palette.colour(RATE)));
        let all = last.chain(now);
        return all
            .map(|(letter, style)| (letter.to_owned(), style))
            .collect();
    }
    if cell.planned > MARKS_MAX {
        let text = format!("{}/{}", cell.marks.len(), cell.planned);
        return vec![(text, Style::new())];
    }
    let mark = |index: usize| match cell.marks.get(index) {
        Some(mark) => mark_of(frame, *mark),
        None if run == Run::Now && index == cell.marks.len() => ("◌", frame.palette.colour(RATE)),
        None => ("·", DIM),
    };
    (0..cell.planned as usize)
        .map(mark)
        .map(|(letter, style)| (letter.to_owned(), style))
        .collect()
}

fn mark_of(frame: &Frame<'_>, mark: Mark) -> (&'static str, Style) {
    match mark {
        Mark::Judged(Verdict::Valid) => ("●", frame.palette.colour(GOOD)),
        Mark::Judged(verdict) => ("○", verdict_style(frame, verdict)),
        Mark::Tried(Evidence::Met) => ("●", frame.palette.colour(GOOD)),
        Mark::Tried(Evidence::NotMet) => ("○", frame.palette.colour(BAD)),
        Mark::Tried(
            Evidence::Unsteady
            | Evidence::PoolLimited
            | Evidence::InstrumentLimited
            | Evidence::Nothing,
        ) => ("?", DIM),
    }
}

fn verdict_style(frame: &Frame<'_>, verdict: Verdict) -> Style {
    frame.palette.colour(match verdict {
        Verdict::Valid => GOOD,
        _ => BAD,
    })
}

/// Bars of the goodput: the point estimate, and the part of the interval above it.
fn bars(
    frame: &Frame<'_>,
    study: &StudyBoard,
    cells: std::ops::Range<usize>,
    from: usize,
    area: &mut Area<'_>,
) {
    let width = usize::from(area.width()).saturating_sub(from).min(BAR.1);
    if width < BAR.0 {
        return;
    }
    let ends = |cell: &CellBoard| {
        let goodput = cell.so_far.goodput?;
        let high = goodput.interval.map_or(goodput.point, |(_, high)| high);
        Some((goodput.point, high))
    };
    let most = study.cells.iter().filter_map(ends);
    let most = most.map(|(_, high)| high).fold(0.0, f64::max);
    let columns = |value: f64| floor_index((ratio(value, most) * width as f64).round());
    for (cell, row) in cells.zip(1..) {
        let Some((point, high)) = ends(&study.cells[cell]) else {
            continue;
        };
        let point = columns(point).max(1);
        let style = frame.palette.colour(RATE);
        for offset in 0..columns(high).max(point) {
            let letter = if offset < point { "█" } else { "░" };
            let column = u16::try_from(from + offset).unwrap_or(u16::MAX);
            area.dot(column, row, letter, style);
        }
    }
}
