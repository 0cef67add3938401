//! hey's results: the table of `hey -o csv`. It has no time of day, so the date of the file stands for that of the test.

use std::path::Path;

use anyhow::{Result, bail};

use super::{
    columns::{self, Mapping},
    request::{FileFacts, Request, Visit},
    text,
};

/// The first columns of every version, and those that the imported ones have.
const HEADER: &str = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read";
const COLUMNS: [&str; 3] = [
    "start=offset:s",
    "duration=response-time:s",
    "status=status-code",
];
/// hey keeps no more results.
const ROWS_MAX: u64 = 1_000_000;

/// `first`: the first line that is not empty; `base_us`: when the test began, in µs since 1970.
pub(crate) fn read(
    path: &Path,
    first: &str,
    base_us: u64,
    visit: &mut Visit<'_>,
) -> Result<FileFacts> {
    let name = path.display();
    if !first.starts_with(HEADER) {
        bail!(
            "{name}:1:1: expected the table of hey -o csv, found {}",
            text::show_text(first)
        );
    }
    let has = |column: &str| first.split(',').any(|known| known.trim() == column);
    if !has("status-code") || !has("offset") {
        bail!(
            "{name}:1:1: expected columns status-code and offset, which hey writes since its version 0.1.3"
        );
    }
    let mapping = Mapping::parse(&COLUMNS.map(str::to_owned), false)?;
    let mut rows = 0;
    let mut facts = columns::read(text::open(path)?, first, &mapping, &mut |request| {
        rows += 1;
        visit(&shift(request, base_us))
    })?;
    facts.has_start_time = false;
    facts.remarks.push(
        "hey writes no row of a request without an answer, so failures of connections are not counted".to_owned(),
    );
    if rows >= ROWS_MAX {
        facts.remarks.push(format!(
            "the file has as many rows as hey keeps ({ROWS_MAX}): later requests are not in it"
        ));
    }
    Ok(facts)
}

fn shift<'a>(request: &Request<'a>, offset_us: u64) -> Request<'a> {
    Request {
        start_us: request.start_us.saturating_add(offset_us),
        ..*request
    }
}
