//! The tables for a terminal, at the end of a run.

use comfy_table::{CellAlignment, ContentArrangement, TableComponent, presets};

use super::table::{Align, Field, Head, Mark, Table};
use crate::words::format::NONE;

/// A table that is at most so many characters wide. What does not fit is left out step by step, and a line below says what:
/// columns with the same text in every row (the line has it, unless it is empty), [`SECONDARY`] columns, spaces, intervals,
/// [`TERTIARY`] columns, the last columns of numbers but for the first one; then texts are broken. `None`: as wide as it is.
pub(crate) fn laid_out(table: &Table, width: Option<usize>) -> String {
    let full = Grid::new(table);
    let Some(width) = width else {
        return full.text(None);
    };
    let constant = full.constant_columns();
    let steps: [&dyn Fn(Grid) -> Grid; 5] = [
        &|grid| grid.fold(&constant),
        &|grid| grid.leave_out(&SECONDARY),
        &|grid| grid.tighten(),
        &|grid| grid.leave_out_intervals(),
        &|grid| grid.leave_out(&TERTIARY),
    ];
    let mut grid = full;
    for step in steps {
        if grid.width() <= width {
            return grid.text(None);
        }
        grid = step(grid);
    }
    while grid.width() > width
        && let Some(last) = grid.last_number()
    {
        grid = grid.leave_out(&[&last]);
    }
    match grid.width() <= width {
        true => grid.text(None),
        false => grid.text(Some(width)),
    }
}

/// How many characters wide the whole table is.
pub(crate) fn width(table: &Table) -> usize {
    Grid::new(table).width()
}

/// The whole table with its texts broken where it is wider than this.
pub(crate) fn wrapped_text(table: &Table, width: Option<usize>) -> String {
    Grid::new(table).tighten().text(width)
}

/// Heads of columns that a narrow terminal can do without: the report has them.
const SECONDARY: [&str; 2] = ["max", "delivered"];
/// Those of a very narrow one.
const TERTIARY: [&str; 2] = ["p50", "p99"];

/// The texts of a table.
#[derive(Clone)]
struct Grid {
    columns: Vec<(Head, Vec<Cell>)>,
    /// Columns with one text, as `head text`.
    constants: Vec<String>,
    /// Heads of other columns that are not shown.
    left_out: Vec<String>,
    /// Spaces before and after each cell.
    padding: (u16, u16),
}

#[derive(Clone, PartialEq)]
struct Cell {
    text: String,
    /// The same without an interval.
    point: String,
}

impl Grid {
    fn new(table: &Table) -> Self {
        let cell = |field: &Field| Cell {
            text: field_text(field),
            point: point_text(field),
        };
        let column = |(index, head): (usize, &Head)| {
            let cells = table.rows.iter().map(|row| cell(&row[index]));
            (head.clone(), cells.collect())
        };
        Self {
            columns: table.heads.iter().enumerate().map(column).collect(),
            constants: Vec::new(),
            left_out: Vec::new(),
            padding: (1, 1),
        }
    }

    /// Places of the columns of numbers with one text, if there are several rows.
    fn constant_columns(&self) -> Vec<usize> {
        let is_constant = |(head, cells): &(Head, Vec<Cell>)| {
            head.align == Align::Right
                && cells.len() > 1
                && cells.iter().all(|cell| *cell == cells[0])
        };
        let columns = self.columns.iter().enumerate();
        let constant = columns.filter(|(_, column)| is_constant(column));
        constant.map(|(place, _)| place).collect()
    }

    /// Moves these columns, which have one text, out of the table.
    fn fold(mut self, constant: &[usize]) -> Self {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (place, (head, cells)) in self.columns.into_iter().enumerate() {
            if !constant.contains(&place) {
                columns.push((head, cells));
            } else if cells[0].text != NONE {
                self.constants
                    .push(format!("{} {}", head.text, cells[0].text));
            }
        }
        Self { columns, ..self }
    }

    /// Leaves out the columns with these heads.
    fn leave_out(mut self, heads: &[&str]) -> Self {
        let is_kept = |head: &Head| head.names_row || !heads.contains(&&*head.text);
        let left_out = self.columns.iter().filter(|(head, _)| !is_kept(head));
        let left_out = left_out.map(|(head, _)| head.text.to_string());
        self.left_out.extend(left_out);
        self.columns.retain(|(head, _)| is_kept(head));
        self
    }

    fn leave_out_intervals(mut self) -> Self {
        let cells = self.columns.iter_mut().flat_map(|(_, cells)| cells);
        let mut has_any = false;
        for cell in cells {
            has_any |= cell.text != cell.point;
            cell.text.clone_from(&cell.point);
        }
        if has_any {
            self.left_out.push("intervals".to_owned());
        }
        self
    }

    fn tighten(self) -> Self {
        Self {
            padding: (0, 1),
            ..self
        }
    }

    /// Head of the last column of measured numbers; `None`: there is only one.
    fn last_number(&self) -> Option<String> {
        let numbers = self.columns.iter().map(|(head, _)| head);
        let mut numbers = numbers.filter(|head| head.align == Align::Right && !head.names_row);
        numbers.next()?;
        numbers.next_back().map(|head| head.text.to_string())
    }

    /// Characters in its lines, as wide as a terminal shows them.
    fn width(&self) -> usize {
        let (before, after) = self.padding;
        let widths = self.table().column_max_content_widths();
        let columns = widths
            .iter()
            .map(|width| usize::from(width + before + after));
        // A blank lies between two columns.
        columns.sum::<usize>() + widths.len().saturating_sub(1)
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut out = self.table();
        if let Some(width) = width {
            out.set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        // Columns are filled with blanks, the last one as well.
        let mut text = out.trim_fmt();
        if !self.constants.is_empty() {
            text.push_str(&format!("\nin every row: {}", self.constants.join(" · ")));
        }
        if !self.left_out.is_empty() {
            text.push_str(&format!(
                "\nleft out at this width: {}",
                self.left_out.join(", ")
            ));
        }
        text
    }

    fn table(&self) -> comfy_table::Table {
        let mut out = comfy_table::Table::new();
        out.load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .remove_style(TableComponent::HorizontalLines)
            .remove_style(TableComponent::MiddleIntersections)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.columns.iter().map(|(head, _)| &head.text));
        let rows = self.columns.first().map_or(0, |(_, cells)| cells.len());
        for row in 0..rows {
            out.add_row(self.columns.iter().map(|(_, cells)| &cells[row].text));
        }
        for (column, (head, _)) in out.column_iter_mut().zip(&self.columns) {
            column
                .set_padding(self.padding)
                .set_cell_alignment(match head.align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                });
        }
        out
    }
}

/// With a word for why it is not reliable.
fn field_text(field: &Field) -> String {
    with_mark(field.short(), &field.mark)
}

/// The same without an interval.
fn point_text(field: &Field) -> String {
    with_mark(field.point(), &field.mark)
}

fn with_mark(text: String, mark: &Mark) -> String {
    let word = match mark {
        Mark::Thin(_) => "few",
        Mark::Windows(_) => "few windows",
        Mark::Lag(_) => "lag",
        Mark::Plain
        | Mark::Chance(_)
        | Mark::Even(_)
        | Mark::Alone(_)
        | Mark::Verdict
        | Mark::Bad => {
            return text;
        }
    };
    format!("{text} ({word})")
}

#[cfg(test)]
mod tests {
    use super::laid_out;
    use crate::layout::table::{Column, Field, Table};

    #[test]
    fn a_table_fits_the_terminal() {
        let columns = vec![
            Column::words("store", |row: &(&str, u64)| Field::plain(row.0)),
            Column::numbers("requests/s", |row: &(&str, u64)| Field::count(row.1)),
            Column::numbers("max", |row: &(&str, u64)| Field::count(2 * row.1)),
            Column::numbers("errors", |_: &(&str, u64)| Field::count(0)),
            Column::numbers("missing", |_: &(&str, u64)| Field::empty()),
        ];
        let rows = [("postgresql", 12_000), ("etcd", 13_000)];
        let table = Table::new("cells", "", columns, rows);
        for (width, expected) in [
            (None, "store        requests/s      max   errors   missing"),
            (
                Some(60),
                "store        requests/s      max   errors   missing",
            ),
            (Some(40), "store        requests/s      max"),
            (Some(30), "store        requests/s"),
        ] {
            let text = laid_out(&table, width);
            assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
            assert!(text.lines().any(|line| line.trim() == expected), "{text}");
            let is_folded = text.contains("\nin every row: errors 0");
            assert_eq!(is_folded, width.is_some_and(|width| width < 60), "{text}");
        }
        for width in 16..80 {
            let text = laid_out(&table, Some(width));
            let longest = text.lines().take(6).map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}\n{text}");
        }
        let text = laid_out(&table, Some(16));
        let is_note = |line: &str| line.starts_with("in every row") || line.starts_with("left out");
        assert!(
            text.lines()
                .all(|line| is_note(line) || line.chars().count() <= 16),
            "{text}"
        );
        assert!(text.ends_with("left out at this width: max"), "{text}");
    }
}
