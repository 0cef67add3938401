//! Recovery time of each cell after its load dropped.

use waggle_stats::Recovery;

use super::columns::place_of_cell;
use crate::{
    format::{self, Unit},
    table::{Column, Field, Table},
    wording::search::level,
};
use waggle_analysis::{CellModel, CellRecovery, Model};

/// No interval was bad.
const AT_ONCE: &str = "at once";

/// `None` if the study has no recovery phase.
pub(crate) fn recovery(model: &Model) -> Option<Table> {
    model.info.schedule.recovery?;
    let what = model.info.load_model.level_kind();
    let recovered = |of: &CellRecovery| {
        let all = of.trials.len();
        Field::plain(format!("{} of {all}", of.recovered)).bad_if(of.recovered < all)
    };
    let mut columns = place_of_cell(model);
    columns.extend([
        Column::numbers(
            "load drops to",
            recovery_field(move |of| Field::plain(level(what, of.asked.level))),
        ),
        Column::numbers(
            "p99 limit",
            recovery_field(|of| {
                Field::plain(format!("≤ {}", format::set_time_s(of.asked.p99_us / 1e6)))
            }),
        ),
        Column::numbers("recovered", recovery_field(recovered)),
        Column::numbers("recovery time", recovery_field(recovery_time_field)),
        Column::numbers(
            "per trial",
            recovery_field(|of| {
                let each: Vec<String> = of.trials.iter().copied().map(recovery_text).collect();
                Field::plain(each.join(", "))
            }),
        ),
    ]);
    let caption = format!(
        "Time from the load drop to the end of the last bad interval, with a resolution of {} (one interval)",
        format::set_time_s(model.info.schedule.interval_s)
    );
    Some(Table::new("recovery", caption, columns, &model.cells))
}

/// A field of a cell with a recovery phase.
fn recovery_field(field: impl Fn(&CellRecovery) -> Field) -> impl Fn(&&CellModel) -> Field {
    move |cell| cell.recovery.as_ref().map_or_else(Field::empty, &field)
}

fn recovery_time_field(recovery: &CellRecovery) -> Field {
    match (&recovery.after, recovery.not_within_s()) {
        (None, Some(looked_s)) if recovery.recovered == 0 => Field::plain(longer_than(looked_s)),
        (None, Some(looked_s)) => Field::plain(format!("some {}", longer_than(looked_s))),
        (Some(after), _) if after.point <= 0.0 => Field::plain(AT_ONCE),
        (after, _) => Field::estimate(after.as_ref(), Unit::Time),
    }
}

fn recovery_text(trial: Recovery) -> String {
    match trial {
        Recovery::After(after_s) if after_s <= 0.0 => AT_ONCE.to_owned(),
        Recovery::After(after_s) => format::set_time_s(after_s),
        Recovery::NotWithin(looked_s) => longer_than(looked_s),
    }
}

fn longer_than(seconds: f64) -> String {
    format!("> {}", format::set_time_s(seconds))
}
