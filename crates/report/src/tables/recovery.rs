//! How soon each cell had recovered after its load fell.

use waggle_results::LevelKind;
use waggle_stats::Recovery;

use super::{Field, FieldKind, Table, by_cell, heads};
use crate::text::{self, NONE, Unit};
use crate::wording::search::level;
use waggle_analysis::{CellRecovery, Model};

/// No interval was bad.
const AT_ONCE: &str = "at once";

/// `None` where the load falls in no cell.
pub(crate) fn recovery(model: &Model) -> Option<Table> {
    model.info.schedule.recovery?;
    let what = model.info.load_model.level_kind();
    let columns = [
        "load falls to",
        "good p99",
        "recovered",
        "after",
        "each trial",
    ];
    Some(Table {
        id: Some("recovery"),
        title: None,
        caption: format!(
            "Time from the fall of the load to the end of the last bad interval, known to within an interval of {}",
            text::set_time_s(model.info.schedule.interval_s)
        ),
        heads: heads(model, &columns),
        rows: by_cell(model, |cell| match &cell.recovery {
            Some(recovery) => fields(recovery, what),
            None => vec![Field::plain(NONE); columns.len()],
        }),
    })
}

fn fields(recovery: &CellRecovery, what: LevelKind) -> Vec<Field> {
    let asked = &recovery.asked;
    let all = recovery.trials.len();
    let kind = if recovery.recovered < all {
        FieldKind::Bad
    } else {
        FieldKind::Plain
    };
    let after = match (&recovery.after, recovery.not_within_s()) {
        (None, Some(looked_s)) if recovery.recovered == 0 => Field::plain(longer_than(looked_s)),
        (None, Some(looked_s)) => Field::plain(format!("some {}", longer_than(looked_s))),
        (Some(after), _) if after.point <= 0.0 => Field::plain(AT_ONCE),
        (after, _) => Field::estimate(after.as_ref(), Unit::Time),
    };
    let each: Vec<String> = recovery.trials.iter().copied().map(shown).collect();
    vec![
        Field::plain(level(what, asked.level)),
        Field::plain(format!("≤ {}", text::set_time_s(asked.p99_us / 1e6))),
        Field {
            kind,
            ..Field::plain(format!("{} of {all}", recovery.recovered))
        },
        after,
        Field::plain(each.join(", ")),
    ]
}

fn shown(trial: Recovery) -> String {
    match trial {
        Recovery::After(after_s) if after_s <= 0.0 => AT_ONCE.to_owned(),
        Recovery::After(after_s) => text::set_time_s(after_s),
        Recovery::NotWithin(looked_s) => longer_than(looked_s),
    }
}

fn longer_than(seconds: f64) -> String {
    format!("> {}", text::set_time_s(seconds))
}
