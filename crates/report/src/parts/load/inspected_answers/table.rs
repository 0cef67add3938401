//! What was measured of answers while they streamed.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place,
    words::format::Unit,
};

use waggle_analysis::{AnswersModel, CellModel, Model};

type Row<'a> = (&'a CellModel, &'a AnswersModel);

/// A row for each cell; `None` if no answer was inspected.
pub(crate) fn inspected_answers(model: &Model) -> Option<Table> {
    let mut columns = place(model, |(cell, _): &Row<'_>| *cell);
    columns.extend([
        Column::numbers("first byte p50", |(_, answers): &Row<'_>| {
            Field::estimate(answers.first_byte_p50.as_ref(), Unit::Time)
        }),
        Column::numbers("body", |(_, answers): &Row<'_>| {
            Field::estimate(answers.body_bytes.as_ref(), Unit::Bytes)
        }),
        Column::numbers("decoded", |(_, answers): &Row<'_>| {
            Field::estimate(answers.decoded_bytes.as_ref(), Unit::Bytes)
        }),
        Column::numbers("items", |(_, answers): &Row<'_>| {
            Field::estimate(answers.items.as_ref(), Unit::Plain)
        }),
    ]);
    let cells = model.cells.iter();
    let rows = cells.filter_map(|cell| Some((cell, cell.answers.as_ref()?)));
    let caption = "Succeeded answers: time from sent to the first byte, and means per answer of the bytes of the body as received, of \
                   the bytes after decompression, and of the elements of the counted array";
    Table::new("answers", caption, columns, rows).unless_empty()
}
