//! Recovery time of each cell after its load dropped.

use waggle_stats::{Control, Recovery};

use crate::{
    layout::table::{Column, Field, Table},
    parts::{capacity::search::words::level, columns::place_of_cell},
    words::format::{self, Unit},
};

use waggle_analysis::{CellModel, CellRecovery, Model};

/// No interval was bad.
const AT_ONCE: &str = "at once";
/// The control was bad itself.
const UNKNOWN: &str = "unknown";

/// `None` if the study has no recovery phase.
pub(crate) fn recovery(model: &Model) -> Option<Table> {
    model.info.schedule.recovery?;
    let what = model.info.load_model.level_kind();
    let controls = || {
        let cells = model.cells.iter().filter_map(|cell| cell.recovery.as_ref());
        cells.filter(|recovery| recovery.control.is_some())
    };
    let mut columns = place_of_cell(model);
    columns.extend([
        Column::numbers(
            "load drops to",
            recovery_field(move |recovery| Field::plain(level(what, recovery.asked.level))),
        ),
        Column::numbers(
            "p99 limit",
            recovery_field(|recovery| {
                Field::plain(format!(
                    "≤ {}",
                    format::set_time_s(recovery.asked.p99_us / 1e6)
                ))
            }),
        ),
    ]);
    if controls().next().is_some() {
        columns.push(Column::numbers(
            "bad in control",
            recovery_field(control_field),
        ));
    }
    columns.extend([
        Column::numbers("recovered", recovery_field(recovered_field)),
        Column::numbers("recovery time", recovery_field(recovery_time_field)),
        Column::numbers(
            "per trial",
            recovery_field(|recovery| {
                let each: Vec<String> =
                    recovery.trials.iter().copied().map(recovery_text).collect();
                Field::plain(each.join(", "))
            }),
        ),
    ]);
    let until = match controls().next() {
        Some(_) => "until no more intervals are bad than in the control",
        None => "to the end of the last bad interval",
    };
    let unknown = match controls().any(|recovery| recovery.without_reference() > 0) {
        true => "; unknown if at least half of the control's intervals were bad",
        false => "",
    };
    let caption = format!(
        "Time from the load drop {until}, with a resolution of {} (one interval){unknown}",
        format::set_time_s(model.info.schedule.interval_s)
    );
    Some(Table::new("recovery", caption, columns, &model.cells))
}

/// A field of a cell with a recovery phase.
fn recovery_field(field: impl Fn(&CellRecovery) -> Field) -> impl Fn(&&CellModel) -> Field {
    move |cell| cell.recovery.as_ref().map_or_else(Field::empty, &field)
}

/// `2 of 60 (3.33 %)`, of all trials together.
fn control_field(recovery: &CellRecovery) -> Field {
    let Some(Control { bad, intervals }) = recovery.control else {
        return Field::empty();
    };
    let share = (intervals > 0).then(|| format::share(bad as f64 / intervals as f64));
    Field::plain(format!("{bad} of {intervals}"))
        .with_aside(share)
        .bad_if(recovery.without_reference() > 0)
}

fn recovered_field(recovery: &CellRecovery) -> Field {
    let known = recovery.trials.len() - recovery.without_reference();
    match known {
        0 => Field::empty(),
        _ => Field::plain(format!("{} of {known}", recovery.recovered))
            .bad_if(recovery.recovered < known),
    }
}

fn recovery_time_field(recovery: &CellRecovery) -> Field {
    match (&recovery.after, recovery.not_within_s()) {
        (None, Some(looked_s)) if recovery.not_recovered() == recovery.trials.len() => {
            Field::plain(longer_than(looked_s))
        }
        (None, Some(looked_s)) => Field::plain(format!("some {}", longer_than(looked_s))),
        (None, None) if recovery.without_reference() > 0 => Field::plain(UNKNOWN),
        (Some(after), _) if after.point <= 0.0 => Field::plain(AT_ONCE),
        (after, _) => Field::estimate(after.as_ref(), Unit::Time),
    }
}

fn recovery_text(trial: Recovery) -> String {
    match trial {
        Recovery::After(after_s) if after_s <= 0.0 => AT_ONCE.to_owned(),
        Recovery::After(after_s) => format::set_time_s(after_s),
        Recovery::NotWithin(looked_s) => longer_than(looked_s),
        Recovery::NoReference => UNKNOWN.to_owned(),
    }
}

fn longer_than(seconds: f64) -> String {
    format!("> {}", format::set_time_s(seconds))
}
