//! The section of all cells: a number over the factors as a map and as lines, the table of cells, failures by kind.

use super::{
    sections::{CLOSE, chart, open},
    table,
};
use crate::tables;
use waggle_analysis::Model;

/// Every cell.
pub(super) fn section(out: &mut String, model: &Model) {
    let lead = if model.find.is_some() {
        "Each cell at the highest level that holds."
    } else {
        ""
    };
    open(out, "factors", "Across the cells", lead);
    out.push_str("<div class=\"js-only\"><div class=\"tabs\" role=\"tablist\" aria-label=\"Number shown\" id=\"metric-tabs\"></div>\n");
    out.push_str("<div class=\"choose\" id=\"factor-choice\"></div></div>\n");
    out.push_str("<div class=\"pair\" role=\"tabpanel\" id=\"metric-panel\" tabindex=\"-1\">\n");
    chart(
        out,
        "heat",
        "Heat map over the factors; hatched squares may not be believed",
        "",
    );
    // Over a factor whose levels are numbers there is a chart for each outcome.
    if model.curves.is_none() {
        chart(
            out,
            "lines",
            "The same as lines, with 95 % intervals over trials",
            "",
        );
    }
    out.push_str("</div>\n");
    table::write(out, &tables::cells(model));
    if let Some(failures) = tables::failures(model) {
        table::write(out, &failures);
    }
    out.push_str(CLOSE);
}
