//! The best and the worst trial of each cell: failures and successes by rows and columns of levels, then each trial by name.

use waggle_analysis::{
    BestAndWorst, BestAndWorstModel, CellModel, Model, RankedTrial, SuccessCount, TableGrid,
};
use waggle_spec::Successes;

use crate::{
    layout::table::{Column, Field, Head, Table},
    parts::columns::{are_numbers, place},
    words::{cell, format},
};

/// The trial is not the one that the other table shows.
const OTHER_TRIAL: &str = "*";
/// At or below 95 %.
const FEW: &str = "↓";
/// What the last row of a table has.
const LARGEST: &str = "largest";

/// What a table says of one cell.
struct Shown {
    field: Field,
    /// What the last row has the largest of, in the order in which the field shows them.
    counts: Vec<f64>,
}

/// The least and the most failures in the trials of each cell; `None` if the study does not ask for them.
pub(crate) fn least_and_most_failures(model: &Model) -> Option<Table> {
    let ranking = model.best_and_worst.as_ref()?;
    let metric = ranking.info.failures.as_ref()?.join(".");
    let caption = format!(
        "{metric}: the least / the most in a trial of each cell{}; blank: none in any trial; marked: some in every trial{}",
        column_caption(&ranking.grid),
        star_caption(ranking, "the best or the worst")
    );
    let largest = |counts: &[f64]| Field::plain(range_text((counts[0], counts[1]), ["", ""]));
    let shown = |extremes: &BestAndWorst| failures_shown(extremes);
    Some(
        grid_table("least-and-most-failures", caption, ranking, shown, largest)
            .with_title("Failures: least and most"),
    )
}

/// The successes of the best and of the worst trial of each cell; `None` if the study does not ask for them.
pub(crate) fn best_and_worst_successes(model: &Model) -> Option<Table> {
    let ranking = model.best_and_worst.as_ref()?;
    let Successes { metric, of: all } = ranking.info.successes.as_ref()?;
    let paths: Vec<String> = all.iter().map(|path| path.join(".")).collect();
    let all = match &paths[..] {
        [entry] => entry.clone(),
        several => format!("({})", several.join(" + ")),
    };
    let caption = format!(
        "{} / {} in the best trial of each cell, and smaller in the worst{}; blank: nothing failed in any trial; marked {FEW}: at or \
         below 95 %{}",
        metric.join("."),
        all,
        column_caption(&ranking.grid),
        star_caption(ranking, "the one with the least or the most failures")
    );
    let largest = |counts: &[f64]| {
        let pair = |succeeded: f64, all: f64| success_text(SuccessCount { succeeded, all }, "");
        let field = Field::plain(pair(counts[0], counts[1]));
        field.with_aside(pair(counts[2], counts[3]))
    };
    let shown = |entry: &BestAndWorst| successes_shown(entry);
    Some(
        grid_table("best-and-worst-successes", caption, ranking, shown, largest)
            .with_title("Successes of the best and of the worst trial"),
    )
}

/// What the heads of the columns are.
fn column_caption(grid: &TableGrid) -> String {
    match grid.column_factors.is_empty() {
        true => String::new(),
        false => format!(", by {}", grid.column_factors.join(" · ")),
    }
}

/// What a star means, if some cell has one.
fn star_caption(ranking: &BestAndWorstModel, what: &str) -> String {
    let mut cells = ranking.cells.iter();
    match cells.any(|cell| stars(cell) != ["", ""]) {
        true => format!("; {OTHER_TRIAL}: another trial than {what}"),
        false => String::new(),
    }
}

/// The marks of the best and of the worst trial by failures, if the order has other trials at its ends.
fn stars(extremes: &BestAndWorst) -> [&'static str; 2] {
    let differs = [
        extremes.has_fewer_failures_elsewhere(),
        extremes.has_more_failures_elsewhere(),
    ];
    differs.map(|differs| if differs { OTHER_TRIAL } else { "" })
}

/// A row for each combination of levels of the row factors, and a last one with the largest of each column.
fn grid_table(
    id: &'static str,
    caption: String,
    ranking: &BestAndWorstModel,
    shown: impl Fn(&BestAndWorst) -> Shown,
    largest: impl Fn(&[f64]) -> Field,
) -> Table {
    let grid = &ranking.grid;
    let field = |place: &Option<usize>| {
        place.map_or_else(
            || Shown {
                field: Field::empty(),
                counts: Vec::new(),
            },
            |place| shown(&ranking.cells[place]),
        )
    };
    let rows: Vec<Vec<Shown>> = grid
        .cells
        .iter()
        .map(|row| row.iter().map(field).collect())
        .collect();
    let most = (0..grid.columns.len()).map(|column| largest_counts(&rows, column));
    let last = most.map(|counts| match counts.is_empty() {
        true => Field::empty(),
        false => largest(&counts),
    });
    let mut last: Vec<Field> = head_of_last_row(grid).chain(last).collect();
    // Without a factor of rows there is one row, which is the largest itself.
    if grid.row_factors.is_empty() {
        last.clear();
    }
    let body = rows.into_iter().zip(&grid.rows).map(|(fields, levels)| {
        let levels = levels.iter().map(Field::plain);
        let fields = fields.into_iter().map(|entry| entry.field);
        levels.chain(fields).collect()
    });
    Table {
        id: Some(id),
        title: None,
        caption,
        heads: heads(grid),
        has_summary: !last.is_empty(),
        rows: body.chain((!last.is_empty()).then_some(last)).collect(),
    }
}

/// Empty if no cell of the column has counts.
fn largest_counts(rows: &[Vec<Shown>], column: usize) -> Vec<f64> {
    let counts = rows.iter().map(|row| row[column].counts.as_slice());
    let counts = counts.filter(|counts| !counts.is_empty());
    counts.fold(Vec::new(), largest_of_each)
}

fn largest_of_each(known: Vec<f64>, counts: &[f64]) -> Vec<f64> {
    match known.is_empty() {
        true => counts.to_vec(),
        false => known.iter().zip(counts).map(|(a, b)| a.max(*b)).collect(),
    }
}

fn head_of_last_row(grid: &TableGrid) -> impl Iterator<Item = Field> {
    let names = grid.row_factors.iter().enumerate();
    names.map(|(place, _)| Field::plain(if place == 0 { LARGEST } else { "" }))
}

/// The row factors, then each combination of levels of the column factors.
fn heads(grid: &TableGrid) -> Vec<Head> {
    let rows = grid.row_factors.iter().enumerate().map(|(place, factor)| {
        match are_numbers(grid.rows.iter().map(|levels| &levels[place])) {
            true => Head::number(factor),
            false => Head::words(factor),
        }
    });
    let names = |levels: &Vec<String>| match levels.is_empty() {
        true => "all".to_owned(),
        false => levels.join(" · "),
    };
    let columns = grid
        .columns
        .iter()
        .map(|levels| Head::number(names(levels)));
    rows.chain(columns).collect()
}

fn failures_shown(extremes: &BestAndWorst) -> Shown {
    let Some(range) = extremes.failures else {
        return Shown {
            field: Field::empty(),
            counts: Vec::new(),
        };
    };
    let field = match range.most > 0.0 {
        false => Field::plain(""),
        true => {
            let text = range_text((range.least, range.most), stars(extremes));
            Field::plain(text).bad_if(range.least > 0.0)
        }
    };
    Shown {
        field,
        counts: vec![range.least, range.most],
    }
}

fn range_text((least, most): (f64, f64), stars: [&str; 2]) -> String {
    let (least, most) = (format::amount(least), format::amount(most));
    format!("{least}{} / {most}{}", stars[0], stars[1])
}

fn successes_shown(extremes: &BestAndWorst) -> Shown {
    let successes = |trial: &Option<RankedTrial>| trial.as_ref().and_then(|trial| trial.successes);
    let (Some(best), Some(worst)) = (successes(&extremes.best), successes(&extremes.worst)) else {
        return Shown {
            field: Field::empty(),
            counts: Vec::new(),
        };
    };
    let field = match extremes.has_unsuccessful {
        false => Field::plain(""),
        true => {
            let stars = stars(extremes);
            let field = Field::plain(success_text(best, stars[0])).bad_if(best.is_few());
            field.with_aside(success_text(worst, stars[1]))
        }
    };
    Shown {
        field,
        counts: vec![best.succeeded, best.all, worst.succeeded, worst.all],
    }
}

fn success_text(count: SuccessCount, star: &str) -> String {
    let (succeeded, all) = (format::amount(count.succeeded), format::amount(count.all));
    let few = if count.is_few() { FEW } else { "" };
    format!("{succeeded}/{all}{few}{star}")
}

/// The trial at one end of the order.
type PickEnd = fn(&BestAndWorst) -> Option<&RankedTrial>;

/// The two trials of each cell, with all that orders them; `None` if the study does not ask for them.
pub(crate) fn best_and_worst_trials(model: &Model) -> Option<Table> {
    let ranking = model.best_and_worst.as_ref()?;
    type Row<'a> = (&'a CellModel, &'a BestAndWorst);
    let mut columns = place(model, |(cell, _): &Row<'_>| *cell);
    columns.push(Column::words("verdict", |(cell, _): &Row<'_>| {
        Field::verdict(cell::verdict(cell))
    }));
    let ends: [(&str, PickEnd); 2] = [("best", best), ("worst", worst)];
    for (name, pick) in ends {
        columns.push(Column::numbers(
            format!("{name}: repetition"),
            move |(_, extremes): &Row<'_>| {
                let trial = pick(extremes);
                let ties = trial.and_then(ties_text);
                Field::optional(trial.map(|trial| trial.repetition.to_string())).with_aside(ties)
            },
        ));
        columns.extend(ranking.order.iter().enumerate().map(|(place, metric)| {
            Column::numbers(
                format!("{name}: {}", metric.name),
                move |(_, extremes): &Row<'_>| {
                    let value = pick(extremes).and_then(|trial| trial.values[place]);
                    Field::optional(value.map(|value| format::in_unit(value, metric.row.unit)))
                },
            )
        }));
    }
    columns.push(Column::numbers(
        "trials compared",
        |(_, extremes): &Row<'_>| Field::plain(format!("{} of {}", extremes.ordered, extremes.ran)),
    ));
    let caption = "The best and the worst trial of each cell, with the metrics that order them";
    let rows = model.cells.iter().zip(&ranking.cells);
    let table = Table::new("best-and-worst", caption, columns, rows);
    Some(table.with_title("Best and worst trials"))
}

fn best(extremes: &BestAndWorst) -> Option<&RankedTrial> {
    extremes.best.as_ref()
}

fn worst(extremes: &BestAndWorst) -> Option<&RankedTrial> {
    extremes.worst.as_ref()
}

/// Repetitions that are equal to it.
fn ties_text(trial: &RankedTrial) -> Option<String> {
    let ties: Vec<String> = trial.ties.iter().map(u32::to_string).collect();
    (!ties.is_empty()).then(|| format!("equal: {}", ties.join(", ")))
}
