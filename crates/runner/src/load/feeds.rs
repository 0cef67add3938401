//! Values of the variables in requests that are made ahead: which rows of its feeds each request takes.

use waggle_load::{Rows, Stamp, Value};
use waggle_spec::FeedOrder;
use waggle_study::{Feed, Request, Texts};

use crate::load::{
    random::words,
    scenario::{Kept, rows},
};

/// Number of requests that are made if a feed's rows are drawn at random; then they repeat.
const DRAWN: usize = 10_000;

/// The rows of one cycle, after which the first request is sent again.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    feeds: &'a [Feed],
    /// Of each feed.
    rows: Vec<Rows>,
    /// For each feed with random order: the row that each request takes.
    drawn: Vec<Vec<usize>>,
    /// The mark of the run.
    run: &'a str,
    /// Requests in a cycle.
    pub(crate) length: usize,
}

impl<'a> Turn<'a> {
    /// A cycle in which each row is taken equally often; its length is a multiple of `length`.
    pub(crate) fn new(request: &'a Request, run: &'a str, seed: u64, length: usize) -> Self {
        let feeds = match &request.texts {
            Texts::Plain => &[][..],
            Texts::Templates(feeds) => feeds,
        };
        let cycles = feeds.iter().filter(|feed| !is_drawn(feed));
        let mut length = cycles.fold(length.max(1), |length, feed| {
            first_multiple_of_both(length, feed.rows.count())
        });
        if feeds.iter().any(is_drawn) {
            length = DRAWN.div_ceil(length).saturating_mul(length);
        }
        // The caller limits cycles that are too long.
        let length = length.min(TURN_MAX);
        let drawn = feeds.iter().zip(1..).map(|(feed, number)| {
            let count = if is_drawn(feed) { length } else { 0 };
            drawn_rows(feed.rows.count(), seed.wrapping_add(number), count)
        });
        Self {
            feeds,
            // Only a scenario has feeds of kept rows.
            rows: feeds
                .iter()
                .map(|feed| rows(&feed.rows, &Kept::new()))
                .collect(),
            drawn: drawn.collect(),
            run,
            length,
        }
    }

    /// The value of a variable in the request with this number.
    pub(crate) fn value(&self, request: usize, name: &str) -> Option<Value> {
        match name {
            "random.uuid" => return Some(Value::Stamp(Stamp::Uuid)),
            "record.key" => return Some(Value::Stamp(Stamp::Key { record: 0 })),
            "record.time" => return Some(Value::Stamp(Stamp::Time)),
            "record.run" => return Some(Value::Text(self.run.to_owned())),
            _ => {}
        }
        let (feed, column) = name.split_once('.')?;
        let number = self.feeds.iter().position(|known| known.name == feed)?;
        let columns = self.feeds[number].rows.columns();
        let column = columns.iter().position(|known| *known == column)?;
        let rows = &self.rows[number];
        let row = match self.drawn[number].get(request) {
            Some(row) => *row,
            None => request % rows.len(),
        };
        String::from_utf8(rows.value(row, column))
            .ok()
            .map(Value::Text)
    }

    /// A feed that has more rows than `requests`, if there is one.
    pub(crate) fn incomplete_feed(&self, requests: usize) -> Option<&'a Feed> {
        let mut feeds = self.feeds.iter();
        feeds.find(|feed| feed.order != FeedOrder::Random && feed.rows.count() > requests)
    }
}

fn is_drawn(feed: &Feed) -> bool {
    feed.order == FeedOrder::Random
}

/// This many rows of a list, drawn at random.
fn drawn_rows(rows: usize, seed: u64, count: usize) -> Vec<usize> {
    let rows = rows as u64;
    let row = |word: u64| {
        usize::try_from(word % rows).expect("a row's number is below the length of a list")
    };
    words(seed).map(row).take(count).collect()
}

/// Limit on the requests of a cycle.
const TURN_MAX: usize = 1_000_000;

pub(crate) fn first_multiple_of_both(number: usize, other: usize) -> usize {
    let (mut a, mut b) = (number, other);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (number / a.max(1)).saturating_mul(other)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use waggle_spec::{GeneratedRows, RowValue};
    use waggle_study::{Body, BodyExpect, Expect, FeedRows, FeedTable};

    use super::*;

    fn request(feeds: &[(&str, FeedOrder, usize)]) -> Request {
        let feed = |&(name, order, rows): &(&str, FeedOrder, usize)| Feed {
            name: name.to_owned(),
            order,
            from: None,
            rows: FeedRows::Table(Arc::new(FeedTable {
                columns: vec!["n".to_owned()],
                rows: (0..rows).map(|row| vec![row.to_string()]).collect(),
            })),
        };
        Request {
            name: "r".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            without_headers: Vec::new(),
            body: Body::None,
            texts: Texts::Templates(feeds.iter().map(feed).collect()),
            expect: Expect {
                status: Vec::new(),
                body: BodyExpect::Any,
            },
            inspect: None,
            timeout: Duration::from_secs(1),
            from_outside: Vec::new(),
        }
    }

    fn rows(turn: &Turn<'_>, feed: &str) -> Vec<String> {
        let value = |request| match turn.value(request, &format!("{feed}.n")) {
            Some(Value::Text(text)) => text,
            other => panic!("{other:?}"),
        };
        (0..turn.length).map(value).collect()
    }

    #[test]
    fn each_row_is_taken_equally_often() {
        let request = request(&[("a", FeedOrder::Cycle, 2), ("b", FeedOrder::Cycle, 3)]);
        let turn = Turn::new(&request, "run", 7, 1);
        assert_eq!(rows(&turn, "a"), ["0", "1", "0", "1", "0", "1"]);
        assert_eq!(rows(&turn, "b"), ["0", "1", "2", "0", "1", "2"]);
        assert_eq!(Turn::new(&request, "run", 7, 4).length, 12);
        assert!(turn.incomplete_feed(3).is_none());
        assert_eq!(turn.incomplete_feed(2).map(|feed| &*feed.name), Some("b"));
    }

    #[test]
    fn random_rows_follow_from_the_seed() {
        let request = request(&[("a", FeedOrder::Random, 10), ("b", FeedOrder::Cycle, 3)]);
        let turn = Turn::new(&request, "run", 7, 1);
        assert_eq!(turn.length, 10_002);
        let drawn = rows(&turn, "a");
        assert_eq!(drawn, rows(&Turn::new(&request, "run", 7, 1), "a"));
        assert_ne!(drawn, rows(&Turn::new(&request, "run", 8, 1), "a"));
        for row in 0..10 {
            let count = drawn
                .iter()
                .filter(|value| **value == row.to_string())
                .count();
            // 1,000 of each, ± 5 standard deviations.
            assert!((850..1150).contains(&count), "{row}: {count}");
        }
    }

    #[test]
    fn generated_rows_follow_from_their_number() {
        let mut request = request(&[("a", FeedOrder::Cycle, 1), ("b", FeedOrder::Cycle, 3)]);
        let Texts::Templates(feeds) = &mut request.texts else {
            panic!("{request:?}");
        };
        feeds[0].rows = FeedRows::Made(Arc::new(GeneratedRows {
            count: 2,
            seed: 7,
            columns: vec![(
                "n".to_owned(),
                RowValue::Numbered(vec!["id-".to_owned(), String::new()]),
            )],
        }));
        let turn = Turn::new(&request, "run", 7, 1);
        assert_eq!(
            rows(&turn, "a"),
            ["id-1", "id-2", "id-1", "id-2", "id-1", "id-2"]
        );
        assert_eq!(rows(&turn, "b"), ["0", "1", "2", "0", "1", "2"]);
    }

    #[test]
    fn a_turn_has_an_end() {
        let long = [
            ("a", FeedOrder::Cycle, 99_991),
            ("b", FeedOrder::Cycle, 99_989),
        ];
        let request = request(&long);
        assert_eq!(Turn::new(&request, "run", 7, 1).length, TURN_MAX);
    }
}
