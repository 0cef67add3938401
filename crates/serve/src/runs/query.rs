//! Which rows are shown, in which order: all of it is in the address.

use url::form_urlencoded;

use super::row::{Row, RunFacts, Standing};

/// Rows of a page.
pub(crate) const PAGE_ROWS: usize = 50;
/// Longest text that is searched for.
const TEXT_MAX_LETTERS: usize = 200;

/// What the list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Words that name, study, question, answer, host or versions have, all of them.
    pub(crate) text: String,
    pub(crate) study: String,
    pub(crate) host: String,
    /// The verdict of one of its cells.
    pub(crate) verdict: String,
    pub(crate) standing: String,
    pub(crate) sort: Sort,
    pub(crate) is_reversed: bool,
    /// Counted from 1.
    pub(crate) page: usize,
    /// The runs that are picked for a comparison.
    pub(crate) first: String,
    pub(crate) second: String,
}

/// By what rows are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The newest first.
    #[default]
    Started,
    Name,
    Study,
    Answer,
    Host,
    Version,
}

impl Sort {
    pub(crate) const ALL: [Self; 6] = [
        Self::Started,
        Self::Name,
        Self::Study,
        Self::Answer,
        Self::Host,
        Self::Version,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Name => "name",
            Self::Study => "study",
            Self::Answer => "answer",
            Self::Host => "host",
            Self::Version => "version",
        }
    }
}

/// What the query leaves.
pub(crate) struct Chosen<'a> {
    /// Those of the page.
    pub(crate) rows: Vec<&'a Row>,
    /// Those of all pages.
    pub(crate) count: usize,
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

impl Query {
    /// Keys that are not known are ignored, as are values that cannot be.
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Self {
            page: 1,
            ..Self::default()
        };
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            let value: String = value.chars().take(TEXT_MAX_LETTERS).collect();
            match &*key {
                "q" => query.text = value,
                "study" => query.study = value,
                "host" => query.host = value,
                "verdict" => query.verdict = value,
                "state" => query.standing = value,
                "first" => query.first = value,
                "second" => query.second = value,
                "sort" => {
                    let mut all = Sort::ALL.into_iter();
                    query.sort = all.find(|sort| sort.name() == value).unwrap_or_default();
                }
                "order" => query.is_reversed = value == "reversed",
                "page" => query.page = value.parse().unwrap_or(1).max(1),
                _ => {}
            }
        }
        query
    }

    /// The address of the list with this query.
    pub(crate) fn address(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let texts = [
            ("q", &self.text),
            ("study", &self.study),
            ("host", &self.host),
            ("verdict", &self.verdict),
            ("state", &self.standing),
            ("first", &self.first),
            ("second", &self.second),
        ];
        for (key, value) in texts {
            if !value.is_empty() {
                query.append_pair(key, value);
            }
        }
        if self.sort != Sort::default() {
            query.append_pair("sort", self.sort.name());
        }
        if self.is_reversed {
            query.append_pair("order", "reversed");
        }
        if self.page > 1 {
            query.append_pair("page", &self.page.to_string());
        }
        match query.finish() {
            empty if empty.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }

    /// The address with this order; of the same order, with the other direction.
    pub(crate) fn sorted_address(&self, sort: Sort) -> String {
        let query = Self {
            sort,
            is_reversed: self.sort == sort && !self.is_reversed,
            page: 1,
            ..self.clone()
        };
        query.address()
    }

    pub(crate) fn page_address(&self, page: usize) -> String {
        let query = Self {
            page,
            ..self.clone()
        };
        query.address()
    }

    pub(crate) fn choose<'a>(&self, rows: &'a [Row]) -> Chosen<'a> {
        let words: Vec<String> = (self.text.split_whitespace())
            .map(str::to_lowercase)
            .collect();
        let mut chosen: Vec<&Row> = rows.iter().filter(|row| self.keeps(row, &words)).collect();
        chosen.sort_by(|a, b| self.sort.compare(a, b));
        if self.is_reversed {
            chosen.reverse();
        }
        let count = chosen.len();
        let pages = count.div_ceil(PAGE_ROWS).max(1);
        let page = self.page.clamp(1, pages);
        let rows = chosen.into_iter().skip((page - 1) * PAGE_ROWS);
        Chosen {
            rows: rows.take(PAGE_ROWS).collect(),
            count,
            page,
            pages,
        }
    }

    fn keeps(&self, row: &Row, words: &[String]) -> bool {
        let run = row.run();
        let is_equal = |wanted: &str, value: fn(&RunFacts) -> &str| {
            wanted.is_empty() || run.is_some_and(|run| value(run) == wanted)
        };
        let has_verdict = |run: &RunFacts| {
            let mut verdicts = run.verdicts.iter();
            verdicts.any(|(verdict, _)| *verdict == self.verdict)
        };
        is_equal(&self.study, |run| &run.study)
            && is_equal(&self.host, |run| &run.host)
            && (self.verdict.is_empty() || run.is_some_and(has_verdict))
            && (self.standing.is_empty() || row.state().name() == self.standing)
            && has_words(row, words)
    }
}

fn has_words(row: &Row, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let text = match row.run() {
        None => row.name.to_lowercase(),
        Some(run) => {
            let answer = run.answer.as_deref().unwrap_or_default();
            let parts = [&row.name, &run.study, &run.question, &run.host, answer];
            format!("{} {}", parts.join(" "), run.versions.join(" ")).to_lowercase()
        }
    };
    words.iter().all(|word| text.contains(word))
}

impl Sort {
    /// Rows that are no runs come last; rows that are equal are in the order of their names.
    fn compare(self, a: &Row, b: &Row) -> std::cmp::Ordering {
        let key = |row: &Row| {
            row.run().map(|run| match self {
                Self::Started => run.started_utc.clone(),
                Self::Name => row.name.clone(),
                Self::Study => run.study.clone(),
                Self::Answer => run.answer.clone().unwrap_or_default(),
                Self::Host => run.host.clone(),
                Self::Version => run.versions.join(" "),
            })
        };
        let (key_a, key_b) = (key(a), key(b));
        let by_kind = key_a.is_none().cmp(&key_b.is_none());
        let by_key = match self {
            Self::Started => key_b.cmp(&key_a),
            _ => key_a.cmp(&key_b),
        };
        by_kind.then(by_key).then_with(|| a.name.cmp(&b.name))
    }
}

/// The values of a column that there are, sorted.
pub(crate) fn values(rows: &[Row], value: fn(&RunFacts) -> Vec<&str>) -> Vec<String> {
    let values = rows.iter().filter_map(Row::run).flat_map(value);
    let values = values.filter(|value| !value.is_empty());
    let values: std::collections::BTreeSet<&str> = values.collect();
    values.into_iter().map(str::to_owned).collect()
}

/// The run of the same study that started before this one.
pub(crate) fn run_before<'a>(rows: &'a [Row], run: &Row) -> Option<&'a Row> {
    let facts = run.run()?;
    let place = (&facts.started_utc, &run.name);
    let is_before = |row: &&Row| {
        let other = row.run().filter(|other| other.study == facts.study);
        other.is_some_and(|other| (&other.started_utc, &row.name) < place)
    };
    let before = rows.iter().filter(is_before);
    before.max_by_key(|row| row.run().map(|run| (&run.started_utc, &row.name)))
}

/// All values of [`Standing`], in addresses and on pages.
pub(crate) fn standings() -> Vec<String> {
    let names = Standing::ALL.map(Standing::name);
    names.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::row::Content;

    fn run(name: &str, study: &str, started: &str) -> Row {
        Row {
            name: name.to_owned(),
            content: Content::Run(Box::new(RunFacts {
                study: study.to_owned(),
                started_utc: started.to_owned(),
                answer: Some(format!("{study} is fast.")),
                verdicts: vec![("valid".to_owned(), 1)],
                ..RunFacts::default()
            })),
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            run("a", "shop", "2026-01-01"),
            run("b", "ingest", "2026-01-03"),
            run("c", "shop", "2026-01-02"),
            Row {
                name: "0".to_owned(),
                content: Content::Refused("no run".to_owned()),
            },
        ]
    }

    #[test]
    fn the_address_says_what_is_shown() {
        let check = |address: &str, expected: &[&str]| {
            let rows = rows();
            let chosen = Query::parse(address).choose(&rows);
            let names: Vec<&str> = chosen.rows.iter().map(|row| &*row.name).collect();
            assert_eq!(names, expected, "{address}");
        };
        check("", &["b", "c", "a", "0"]);
        check("order=reversed", &["0", "a", "c", "b"]);
        check("sort=name", &["a", "b", "c", "0"]);
        check("sort=study", &["b", "a", "c", "0"]);
        check("study=shop", &["c", "a"]);
        check("q=SHOP+fast", &["c", "a"]);
        check("verdict=valid&q=ingest", &["b"]);
        check("state=ended", &["b", "c", "a"]);
        check("state=not+readable", &["0"]);
        check("page=7", &["b", "c", "a", "0"]);
        check("nonsense=1&sort=nonsense&page=x", &["b", "c", "a", "0"]);
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in [
            "",
            "q=a%26b+c&study=%3Cx%3E&sort=host&order=reversed&page=3&first=a&second=b",
        ] {
            let query = Query::parse(text);
            let address = query.address();
            assert_eq!(
                Query::parse(address.trim_start_matches("/?").trim_start_matches('/')),
                query
            );
        }
        let query = Query::parse("sort=name&page=3");
        assert_eq!(
            query.sorted_address(Sort::Name),
            "/?sort=name&order=reversed"
        );
        assert_eq!(query.sorted_address(Sort::Started), "/");
    }

    #[test]
    fn the_run_before_is_of_the_same_study() {
        let rows = rows();
        let before = |name: &str| {
            let row = rows.iter().find(|row| row.name == name).unwrap();
            run_before(&rows, row).map(|row| row.name.clone())
        };
        assert_eq!(before("c").as_deref(), Some("a"));
        assert_eq!(before("a"), None);
        assert_eq!(before("b"), None);
        assert_eq!(before("0"), None);
    }
}
