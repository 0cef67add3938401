//! Rows of a feed: a list, or values that follow from the number of the row. Generated rows need no memory, however many they are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use waggle_spec::{GeneratedRows, RowValue};

use super::{decimal::decimal, kept::KeptRows};
use crate::random::stream::RandomStream;

/// The row of a feed that a session has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedRow {
    pub feed: String,
    /// Counted from 1.
    pub row: u64,
}

/// The rows of a feed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Rows {
    /// Each as long as the feed's columns; never empty.
    Listed(Vec<Vec<String>>),
    Generated(GeneratedRows),
    /// What an earlier load kept of its answers.
    Kept(Arc<KeptRows>),
}

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Letters of one random word.
const LETTERS_OF_WORD: usize = 12;

impl Rows {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Listed(rows) => rows.len(),
            Self::Generated(rows) => rows.count,
            Self::Kept(rows) => rows.len(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row, counted from 0, and a column.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Vec<u8> {
        match self {
            Self::Listed(rows) => rows[row][column].clone().into_bytes(),
            Self::Generated(rows) => {
                let mut value = Vec::new();
                append_value(rows, row, column, &mut value);
                value
            }
            Self::Kept(rows) => rows.value(row, column).to_vec(),
        }
    }
}

impl FromIterator<Vec<String>> for Rows {
    fn from_iter<I: IntoIterator<Item = Vec<String>>>(rows: I) -> Self {
        Self::Listed(rows.into_iter().collect())
    }
}

/// Appends the value in a row, counted from 0, and a column.
pub(crate) fn append_value(rows: &GeneratedRows, row: usize, column: usize, out: &mut Vec<u8>) {
    let stream = || RandomStream::new(rows.seed, column as u64).inner(row as u64);
    match &rows.columns[column].1 {
        RowValue::Numbered(texts) => {
            for (index, text) in texts.iter().enumerate() {
                if index > 0 {
                    decimal(row as u64 + 1, out);
                }
                out.extend_from_slice(text.as_bytes());
            }
        }
        RowValue::Integer { min, max } => {
            let values = max.abs_diff(*min).saturating_add(1);
            let above = i128::from(draw_below(stream().bits(0), values));
            let value = i128::from(*min) + above;
            if value < 0 {
                out.push(b'-');
            }
            let size = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
            decimal(size, out);
        }
        RowValue::Text { min, max } => {
            let stream = stream();
            let more = draw_below(stream.bits(0), (max - min) as u64 + 1);
            let mut left = min + usize::try_from(more).unwrap_or(0);
            for word in 1.. {
                let letters = left.min(LETTERS_OF_WORD);
                let bits = stream.bits(word);
                out.extend(
                    (0..letters).map(|position| LETTERS[(bits >> (5 * position)) as usize & 31]),
                );
                left -= letters;
                if left == 0 {
                    break;
                }
            }
        }
        RowValue::Choice(values) => {
            let all = values.iter().map(|(_, weight)| u64::from(*weight)).sum();
            let mut position = draw_below(stream().bits(0), all);
            for (value, weight) in values {
                match position.checked_sub(u64::from(*weight)) {
                    Some(rest) => position = rest,
                    None => {
                        out.extend_from_slice(value.as_bytes());
                        break;
                    }
                }
            }
        }
    }
}

/// A random word as a number below `values`, uniformly distributed but for 1 ÷ 2⁶⁴ × `values`.
fn draw_below(bits: u64, values: u64) -> u64 {
    let product = u128::from(bits) * u128::from(values);
    u64::try_from(product >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: Vec<RowValue>) -> Rows {
        Rows::Generated(GeneratedRows {
            count: 10_000_000,
            seed: 7,
            columns: values
                .into_iter()
                .map(|value| ("c".to_owned(), value))
                .collect(),
        })
    }

    fn text(rows: &Rows, row: usize, column: usize) -> String {
        String::from_utf8(rows.value(row, column)).unwrap()
    }

    #[test]
    fn numbered_values_have_the_number_of_their_row() {
        let parts = |parts: &[&str]| {
            RowValue::Numbered(parts.iter().map(|part| (*part).to_owned()).collect())
        };
        let rows = rows(vec![parts(&["a-", "-", ""]), parts(&["same"])]);
        assert_eq!(text(&rows, 0, 0), "a-1-1");
        assert_eq!(text(&rows, 9_999_999, 0), "a-10000000-10000000");
        assert_eq!(text(&rows, 5, 1), "same");
        assert_eq!(rows.len(), 10_000_000);
    }

    #[test]
    fn integers_lie_between_their_ends_and_are_evenly_spread() {
        let ends = |min, max| rows(vec![RowValue::Integer { min, max }]);
        let die = ends(-2, 3);
        let mut counts = [0_u32; 6];
        for row in 0..6_000 {
            let value: i64 = text(&die, row, 0).parse().unwrap();
            counts[usize::try_from(value + 2).unwrap()] += 1;
        }
        // Six standard deviations of a binomial count.
        assert!(
            counts.iter().all(|count| (827..=1_173).contains(count)),
            "{counts:?}"
        );
        let all = ends(i64::MIN, i64::MAX);
        let values = (0..100).map(|row| text(&all, row, 0).parse::<i64>().unwrap());
        assert!(values.clone().any(|value| value < 0) && values.into_iter().any(|value| value > 0));
        assert_eq!(text(&ends(5, 5), 9, 0), "5");
    }

    #[test]
    fn texts_have_their_length_and_the_same_seed_makes_the_same() {
        let rows = rows(vec![
            RowValue::Text { min: 10, max: 40 },
            RowValue::Text { min: 300, max: 300 },
        ]);
        let lengths: Vec<usize> = (0..2_000).map(|row| text(&rows, row, 0).len()).collect();
        assert_eq!(
            (lengths.iter().min(), lengths.iter().max()),
            (Some(&10), Some(&40))
        );
        let long: Vec<String> = (0..1_000).map(|row| text(&rows, row, 1)).collect();
        assert!(long.iter().all(|text| text.len() == 300));
        let distinct: std::collections::BTreeSet<&String> = long.iter().collect();
        assert_eq!(distinct.len(), 1_000);
        assert_eq!(text(&rows.clone(), 3, 1), long[3]);
        assert!(long[0].bytes().all(|byte| LETTERS.contains(&byte)));
        let empty = self::rows(vec![RowValue::Text { min: 0, max: 0 }]);
        assert_eq!(text(&empty, 1, 0), "");
    }

    #[test]
    fn choices_come_by_weight() {
        let values = [("a", 8), ("b", 2), ("never", 0)];
        let values = values.map(|(value, weight)| (value.to_owned(), weight));
        let rows = rows(vec![RowValue::Choice(values.to_vec())]);
        let sample: Vec<String> = (0..10_000).map(|row| text(&rows, row, 0)).collect();
        let count = |value: &str| sample.iter().filter(|row| *row == value).count();
        assert!((7_760..=8_240).contains(&count("a")), "{}", count("a"));
        assert_eq!(count("a") + count("b"), 10_000);
    }
}
