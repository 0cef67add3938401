//! The mistakes of a file of records as a text: those that one change mends are shown three times, and then counted.

use std::{collections::HashMap, path::Path};

use waggle_record::{Mistake, TABLE_MISTAKES_MAX};

/// Mistakes of one kind that are shown.
const SHOWN: usize = 3;
/// Kinds of mistakes that are shown.
const KINDS: usize = 10;

/// The mistakes in the order of the file, with the option that mends them.
pub(super) fn mistakes_text(file: &Path, mistakes: &[Mistake]) -> String {
    let mut kinds: Vec<Vec<&Mistake>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for mistake in mistakes {
        let place = *places.entry(kind(mistake)).or_insert(kinds.len());
        match kinds.get_mut(place) {
            Some(of_kind) => of_kind.push(mistake),
            None => kinds.push(vec![mistake]),
        }
    }
    let mut lines = Vec::new();
    for of_kind in kinds.iter().take(KINDS) {
        for mistake in of_kind.iter().take(SHOWN) {
            lines.push(format!(
                "{}:{}:{}: {}",
                file.display(),
                mistake.line,
                mistake.column,
                mistake.problem
            ));
        }
        let more = of_kind.len().saturating_sub(SHOWN);
        let remedy = of_kind[0].remedy.as_deref();
        match (more, remedy) {
            (0, None) => {}
            (0, Some(remedy)) => lines.push(format!("  {remedy}")),
            (_, None) => lines.push(format!("  {more} more like these")),
            (_, Some(remedy)) => lines.push(format!("  {more} more like these: {remedy}")),
        }
    }
    let others: usize = kinds.iter().skip(KINDS).map(Vec::len).sum();
    if others > 0 {
        lines.push(format!("{others} mistakes of other kinds"));
    }
    if mistakes.len() == TABLE_MISTAKES_MAX {
        lines.push(format!(
            "the file was read until there were {TABLE_MISTAKES_MAX} mistakes"
        ));
    }
    lines.join("\n")
}

/// What mistakes of one kind have in common: the option that mends them, or what was expected, without what was found.
fn kind(mistake: &Mistake) -> &str {
    if let Some(remedy) = &mistake.remedy {
        return remedy;
    }
    let problem = &mistake.problem;
    let end = [", found ", ": \""]
        .iter()
        .filter_map(|mark| problem.find(mark));
    &problem[..end.min().unwrap_or(problem.len())]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use waggle_record::{Columns, Precision, TimeColumn, csv};

    use super::mistakes_text;

    #[test]
    fn a_mistake_that_repeats_is_counted() {
        let mut columns = Columns::of_measurement("m");
        columns.time = Some(TimeColumn::of_column("t"));
        let rows: String = (1..=5)
            .map(|day| format!("{day}.3.2020 10:14:33;1\n"))
            .collect();
        let text = format!("t;v\n{rows}1970-01-01T00:00:00Z\n");
        let mistakes = csv::read(text.as_bytes(), &columns, Precision::default()).unwrap_err();
        let expected = "\
a.csv:2:1: expected a time like 2026-11-21T08:00:00Z, found \"1.3.2020 10:14:33\"
a.csv:3:1: expected a time like 2026-11-21T08:00:00Z, found \"2.3.2020 10:14:33\"
a.csv:4:1: expected a time like 2026-11-21T08:00:00Z, found \"3.3.2020 10:14:33\"
  2 more like these: time.format: \"%d.%m.%Y %H:%M:%S%.f\" reads such times
a.csv:7:1: expected 2 cells as in the header, found 1
  delimiter names what separates cells, if it is another character";
        assert_eq!(mistakes_text(Path::new("a.csv"), &mistakes), expected);
    }
}
