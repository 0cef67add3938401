//! The section of a search: the answers, a chart of the levels tried, and all of them as a table.

use super::{
    sections::{CLOSE, chart, open},
    table,
};
use crate::tables;
use waggle_analysis::Model;

/// What was searched for, cell by cell; nothing where nothing is.
pub(super) fn section(out: &mut String, model: &Model) {
    let (Some(answers), Some(tried)) = (tables::answers(model), tables::tried(model)) else {
        return;
    };
    open(
        out,
        "searches",
        "The search",
        "Each mark is a trial at one level: a disc where every condition held, a cross where one did not, \
         a grey diamond where the trial is no evidence. The band lies between the highest level that holds and the lowest that does not.",
    );
    table::write(out, &answers);
    out.push_str("<div class=\"choose js-only\" id=\"search-choice\"></div>\n");
    chart(
        out,
        "search",
        "Levels tried, against the number of a condition",
        "wide",
    );
    table::write(out, &tried);
    out.push_str(CLOSE);
}
