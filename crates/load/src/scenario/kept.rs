//! Values that sessions keep of what they captured, for a later load. All values are in one list of bytes, because there may be
//! millions.

use serde::{Deserialize, Serialize};

/// Kept values: a row for each session that completed, with a value for each of [`crate::Preparation::keeps`], in the order of the
/// sessions' numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRows {
    columns: usize,
    bytes: Vec<u8>,
    /// The end of each value in `bytes`, row by row.
    ends: Vec<usize>,
}

/// What one worker keeps, in the order in which its sessions end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    rows: KeptRows,
    /// The session of each row.
    sessions: Vec<u64>,
}

impl KeptRows {
    /// An empty list of rows with this number of values each.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len().checked_div(self.columns).unwrap_or(0)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row and a column, both counted from 0 and within their numbers.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> &[u8] {
        let index = row * self.columns + column;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Appends a row; `values` has one for each column.
    pub fn push<'a>(&mut self, values: impl IntoIterator<Item = &'a [u8]>) {
        for value in values {
            self.bytes.extend_from_slice(value);
            self.ends.push(self.bytes.len());
        }
    }

    /// All values, as [`KeptRows::from_bytes`] reads them: the number of columns, then the length and the bytes of each value.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + 8 * (self.ends.len() + 1));
        bytes.extend_from_slice(&(self.columns as u64).to_le_bytes());
        for row in 0..self.len() {
            for column in 0..self.columns {
                let value = self.value(row, column);
                bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
                bytes.extend_from_slice(value);
            }
        }
        bytes
    }

    /// `None`: these are not the bytes of a list.
    #[must_use]
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let number = |bytes: &mut &[u8]| {
            let (number, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            usize::try_from(u64::from_le_bytes(*number)).ok()
        };
        let mut rows = Self::new(number(&mut bytes)?);
        while !bytes.is_empty() {
            let length = number(&mut bytes)?;
            let (value, rest) = bytes.split_at_checked(length)?;
            rows.push([value]);
            bytes = rest;
        }
        let is_whole = match rows.columns {
            0 => rows.ends.is_empty(),
            columns => rows.ends.len().is_multiple_of(columns),
        };
        is_whole.then_some(rows)
    }

    /// Appends all rows of another list.
    pub fn extend(&mut self, other: &Self) {
        for row in 0..other.len() {
            self.push((0..self.columns).map(|column| other.value(row, column)));
        }
    }
}

impl Kept {
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            rows: KeptRows::new(columns),
            sessions: Vec::new(),
        }
    }

    pub(crate) fn push<'a>(&mut self, session: u64, values: impl IntoIterator<Item = &'a [u8]>) {
        self.sessions.push(session);
        self.rows.push(values);
    }
}

/// The rows of all workers, in the order of the sessions' numbers.
pub(crate) fn merge_kept(columns: usize, workers: &[Kept]) -> KeptRows {
    let of_worker = |(worker, kept): (usize, &Kept)| {
        let sessions = kept.sessions.iter().enumerate();
        let rows = sessions.map(move |(row, session)| (*session, worker, row));
        rows.collect::<Vec<_>>()
    };
    let mut order: Vec<(u64, usize, usize)> =
        workers.iter().enumerate().flat_map(of_worker).collect();
    order.sort_unstable();
    let mut rows = KeptRows::new(columns);
    for (_, worker, row) in order {
        rows.push((0..columns).map(|column| workers[worker].rows.value(row, column)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_workers_are_in_the_order_of_their_sessions() {
        let mut workers = [Kept::new(2), Kept::new(2)];
        workers[0].push(3, [&b"c"[..], b"3"]);
        workers[0].push(1, [&b""[..], b"1"]);
        workers[1].push(2, [&b"bbb"[..], b""]);
        let rows = merge_kept(2, &workers);
        assert_eq!(rows.len(), 3);
        let shown: Vec<(&[u8], &[u8])> = (0..3)
            .map(|row| (rows.value(row, 0), rows.value(row, 1)))
            .collect();
        assert_eq!(shown, [(&b""[..], &b"1"[..]), (b"bbb", b""), (b"c", b"3")]);
        let mut both = rows.clone();
        both.extend(&rows);
        assert_eq!(both.len(), 6);
        assert_eq!(both.value(5, 1), b"3");
        assert!(KeptRows::new(0).is_empty());
        let bytes = both.to_bytes();
        assert_eq!(KeptRows::from_bytes(&bytes), Some(both));
        for cut in [0, 7, 9, bytes.len() - 1] {
            assert_eq!(KeptRows::from_bytes(&bytes[..cut]), None, "{cut}");
        }
    }
}
