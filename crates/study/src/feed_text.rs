//! The rows of a feed from the text of a file: CSV as in RFC 4180 with a header, or one JSON object a line. Values are texts and
//! are not interpreted.

use waggle_template::variable::is_name;

use crate::{
    FeedTable,
    mistake::{Finding, MAX_MISTAKES, Position},
    nearest::list,
    tree::quote,
};

/// Most rows of a feed.
pub(crate) const MAX_ROWS: usize = 1_000_000;

/// Reads the rows; the file's ending decides the format.
pub(crate) fn read(name: &str, text: &str) -> Result<FeedTable, Vec<Finding>> {
    let ending = name
        .rsplit_once('.')
        .map_or("", |(_, ending)| ending)
        .to_lowercase();
    // Spreadsheets write a byte order mark first.
    let text = text.trim_start_matches('\u{feff}');
    let (table, findings) = match ending.as_str() {
        "csv" => csv(text),
        "ndjson" | "jsonl" => ndjson(text),
        _ => {
            let what = format!("the ending of {name:?} does not say its format");
            let expected = ".csv, .ndjson or .jsonl";
            return Err(vec![
                Finding::new(Position::START, what).with_expected(expected),
            ]);
        }
    };
    let mut findings: Vec<Finding> = findings.into_iter().take(MAX_MISTAKES).collect();
    if findings.is_empty() {
        findings.extend(check(&table));
    }
    if findings.is_empty() {
        Ok(table)
    } else {
        Err(findings)
    }
}

fn check(table: &FeedTable) -> Option<Finding> {
    if table.rows.is_empty() {
        return Some(
            Finding::new(Position::START, "the table has no rows").with_expected("at least one"),
        );
    }
    if table.rows.len() > MAX_ROWS {
        let what = format!("the table has {} rows", table.rows.len());
        return Some(
            Finding::new(Position::START, what).with_expected(format!("at most {MAX_ROWS}")),
        );
    }
    let wrong = table.columns.iter().find(|column| !is_column(column))?;
    let what = format!("{} is no name of a column", quote(wrong));
    let is_other_delimiter = table.columns.len() == 1 && wrong.contains([';', '\t', '|']);
    let expected = match is_other_delimiter {
        true => "columns separated by commas, and names of letters, digits, - and _",
        false => "letters, digits, - and _",
    };
    Some(Finding::new(Position::START, what).with_expected(expected))
}

/// Whether `{{feed.column}}` can name a column.
pub(crate) fn is_column(column: &str) -> bool {
    !column.contains('.') && is_name(column)
}

/// A value with the position at which it begins.
struct Field {
    text: String,
    position: Position,
}

fn csv(text: &str) -> (FeedTable, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut rows = CsvRows::new(text);
    let header = rows.next_row(&mut findings).unwrap_or_default();
    let mut table = FeedTable {
        columns: header.iter().map(|field| field.text.clone()).collect(),
        rows: Vec::new(),
    };
    for (index, field) in header.iter().enumerate() {
        if header[..index]
            .iter()
            .any(|before| before.text == field.text)
        {
            let what = format!("the column {} is there twice", quote(&field.text));
            findings.push(Finding::new(field.position, what).with_expected("each column once"));
        }
    }
    while let Some(row) = rows.next_row(&mut findings) {
        if findings.len() >= MAX_MISTAKES || table.rows.len() > MAX_ROWS {
            break;
        }
        // An empty line is no row, but one of a single empty column is.
        if row.len() == 1 && row[0].text.is_empty() && header.len() != 1 {
            continue;
        }
        if row.len() != header.len() {
            let what = format!("this row has {} fields", row.len());
            let expected = format!("{} as in the header", header.len());
            findings.push(Finding::new(row[0].position, what).with_expected(expected));
            continue;
        }
        table
            .rows
            .push(row.into_iter().map(|field| field.text).collect());
    }
    (table, findings)
}

struct CsvRows<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    position: Position,
}

impl<'a> CsvRows<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            position: Position::START,
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.position.line += 1;
            self.position.column = 1;
        } else {
            self.position.column += 1;
        }
        Some(next)
    }

    /// The next row, at least one field long; `None` at the end of the text.
    fn next_row(&mut self, findings: &mut Vec<Finding>) -> Option<Vec<Field>> {
        self.rest.peek()?;
        let mut row = Vec::new();
        loop {
            let position = self.position;
            let text = if self.rest.peek() == Some(&'"') {
                self.read_quoted(position, findings)
            } else {
                self.read_unquoted()
            };
            row.push(Field { text, position });
            match self.next_char() {
                Some(',') => {}
                Some('\r') if self.rest.peek() == Some(&'\n') => {
                    self.next_char();
                    return Some(row);
                }
                Some('\n' | '\r') | None => return Some(row),
                Some(_) => {
                    let what = "text behind the closing quote of a field";
                    findings.push(
                        Finding::new(position, what)
                            .with_expected("a comma or the end of the line"),
                    );
                    while self.rest.peek().is_some_and(|next| *next != '\n') {
                        self.next_char();
                    }
                    self.next_char();
                    return Some(row);
                }
            }
        }
    }

    fn read_unquoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(next) = self.rest.peek().copied() {
            if matches!(next, ',' | '\n' | '\r') {
                break;
            }
            text.push(next);
            self.next_char();
        }
        text
    }

    /// A field in quotes; two quotes are one.
    fn read_quoted(&mut self, position: Position, findings: &mut Vec<Finding>) -> String {
        let mut text = String::new();
        self.next_char();
        while let Some(next) = self.next_char() {
            if next != '"' {
                text.push(next);
            } else if self.rest.peek() == Some(&'"') {
                self.next_char();
                text.push('"');
            } else {
                return text;
            }
        }
        findings
            .push(Finding::new(position, "a quote is not closed").with_expected("a closing \""));
        text
    }
}

fn ndjson(text: &str) -> (FeedTable, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut table = FeedTable {
        columns: Vec::new(),
        rows: Vec::new(),
    };
    for (number, line) in (1..).zip(text.lines()) {
        if findings.len() >= MAX_MISTAKES || table.rows.len() > MAX_ROWS {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let position = |column: usize| Position {
            line: number,
            column: u32::try_from(column.max(1)).unwrap_or(u32::MAX),
            ..Position::START
        };
        let object: serde_json::Map<String, serde_json::Value> = match serde_json::from_str(line) {
            Ok(object) => object,
            Err(error) => {
                let what = "this line is no JSON object";
                findings.push(
                    Finding::new(position(error.column()), what).with_expected("one object a line"),
                );
                continue;
            }
        };
        if table.columns.is_empty() {
            table.columns = object.keys().cloned().collect();
        }
        match json_row(&table.columns, &object) {
            Ok(row) => table.rows.push(row),
            Err((what, expected)) => {
                findings.push(Finding::new(position(1), what).with_expected(expected))
            }
        }
    }
    (table, findings)
}

/// The values of a line in the order of the columns, or the mistake and what was expected.
fn json_row(
    columns: &[String],
    object: &serde_json::Map<String, serde_json::Value>,
) -> Result<Vec<String>, (String, String)> {
    let same = object.len() == columns.len() && columns.iter().all(|key| object.contains_key(key));
    if !same {
        let keys = list(object.keys().map(String::as_str));
        let expected = list(columns.iter().map(String::as_str));
        return Err((
            format!("this row has the keys {keys}"),
            format!("those of the first row: {expected}"),
        ));
    }
    let text = |key: &String| match &object[key] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Ok(columns.iter().map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, text: &str, expected: Result<&[&[&str]], &str>) {
        let shown = |finding: &Finding| {
            format!(
                "{}:{}: {}",
                finding.position.line, finding.position.column, finding.what
            )
        };
        let read = read(name, text)
            .map(|table| {
                let mut all = vec![table.columns];
                all.extend(table.rows);
                all
            })
            .map_err(|findings| findings.iter().map(shown).collect::<Vec<_>>().join("; "));
        let expected = expected
            .map(|rows| {
                rows.iter()
                    .map(|row| row.iter().map(ToString::to_string).collect())
                    .collect()
            })
            .map_err(str::to_owned);
        assert_eq!(read, expected, "{text:?}");
    }

    #[test]
    fn csv_rows() {
        check(
            "a.csv",
            "\u{feff}name,mail\r\nann,a@x\r\n\"b,\"\"o\nb\",\n\n",
            Ok(&[&["name", "mail"], &["ann", "a@x"], &["b,\"o\nb", ""]]),
        );
        check("a.CSV", "n\n1", Ok(&[&["n"], &["1"]]));
        check("a.csv", "", Err("1:1: the table has no rows"));
        check("a.csv", "n,m\n", Err("1:1: the table has no rows"));
        check(
            "a.csv",
            "n,n\n1,2\n1\n\"x\"y,2\n\"z",
            Err(
                "1:3: the column \"n\" is there twice; 3:1: this row has 1 fields; \
                 4:1: text behind the closing quote of a field; 4:1: this row has 1 fields; \
                 5:1: a quote is not closed; 5:1: this row has 1 fields",
            ),
        );
        check(
            "a.csv",
            "a b\n1\n",
            Err("1:1: \"a b\" is no name of a column"),
        );
        check(
            "users.txt",
            "",
            Err("1:1: the ending of \"users.txt\" does not say its format"),
        );
    }

    #[test]
    fn ndjson_rows() {
        check(
            "a.ndjson",
            "{\"a\":\"x\",\"b\":1.50}\n\n{\"b\":null,\"a\":[1]}\n",
            Ok(&[&["a", "b"], &["x", "1.5"], &["[1]", "null"]]),
        );
        check(
            "a.jsonl",
            "{\"a\":1}\n{\"b\":1}\n[1]\n",
            Err("2:1: this row has the keys b; 3:1: this line is no JSON object"),
        );
    }
}
