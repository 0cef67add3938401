//! Cells that were left out before the first trial.

use super::words;
use crate::layout::table::{Column, Field, Table};
use waggle_analysis::{LeftOutGroup, Model, left_out_of_run};

/// A row for each reason.
pub(crate) fn left_out(model: &Model) -> Option<Table> {
    let columns = vec![
        Column::words("cells", |group: &LeftOutGroup| {
            Field::plain(words::cells(group))
        }),
        Column::words("reason", |group: &LeftOutGroup| {
            Field::plain(words::reason(&group.reason))
        }),
    ];
    let caption = "Cells left out, because their system could not be had";
    Table::new("left-out", caption, columns, left_out_of_run(&model.info)).unless_empty()
}
