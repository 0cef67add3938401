//! Writes texts into requests: pieces in, bytes out.

use super::record_stamps::Record;
use crate::{
    random::stream::RandomStream,
    requests::uuid::uuid,
    scenario::{
        decimal::decimal,
        escape::{Escape, put},
        model::Feed,
        rows::{Rows, append_value},
    },
};

/// A template whose names are resolved to numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// A captured variable.
    Variable(usize),
    Column {
        feed: usize,
        column: usize,
    },
    /// The number of the session in the run, from 1.
    Session,
    /// The number of the user, from 1; of the connection if the load model has no users.
    User,
    /// The round of the innermost loop, from 1.
    Round,
    /// The offset of the innermost loop that has one.
    Offset,
    /// A random UUID (version 4), a new one on each use.
    Uuid,
    /// The key of the record that the request carries.
    RecordKey,
    /// When the request was sent, in nanoseconds since 1970.
    RecordTime,
}

/// The values of pieces at a point of a session.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) feeds: &'a [Feed],
    /// The row taken of each feed.
    pub(crate) rows: &'a [usize],
    pub(crate) variables: &'a [Vec<u8>],
    pub(crate) session: u64,
    pub(crate) user: u64,
    pub(crate) round: u32,
    pub(crate) offset: u64,
    /// Of the request that is being written, or the last one.
    pub(crate) record: Record,
    pub(crate) random: &'a mut SessionRandom,
}

/// The random values of one session: each is drawn once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionRandom {
    pub(crate) stream: RandomStream,
    pub(crate) drawn: u64,
}

impl Text {
    /// Appends the text.
    pub(crate) fn write(&self, values: &mut Values<'_>, escape: Escape, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Variable(number) => put(&values.variables[*number], escape, out),
                Piece::Column { feed, column } => {
                    let row = values.rows[*feed];
                    match (&values.feeds[*feed].rows, escape) {
                        (Rows::Listed(rows), _) => put(rows[row][*column].as_bytes(), escape, out),
                        (Rows::Kept(rows), _) => put(rows.value(row, *column), escape, out),
                        (Rows::Generated(rows), Escape::None) => {
                            append_value(rows, row, *column, out)
                        }
                        (rows @ Rows::Generated(_), _) => {
                            put(&rows.value(row, *column), escape, out);
                        }
                    }
                }
                Piece::Session => decimal(values.session, out),
                Piece::User => decimal(values.user, out),
                Piece::Round => decimal(u64::from(values.round), out),
                Piece::Offset => decimal(values.offset, out),
                Piece::Uuid => {
                    let [high, low] = [values.random.bits(), values.random.bits()];
                    out.extend_from_slice(&uuid(high, low));
                }
                Piece::RecordKey => decimal(values.record.key, out),
                Piece::RecordTime => decimal(values.record.time, out),
            }
        }
    }
}

impl SessionRandom {
    /// The index of the next value in the stream.
    pub(crate) fn next(&mut self) -> u64 {
        let next = self.drawn;
        self.drawn += 1;
        next
    }

    pub(crate) fn bits(&mut self) -> u64 {
        let next = self.next();
        self.stream.bits(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[Piece], escape: Escape, expected: &str) {
        let mut random = SessionRandom {
            stream: RandomStream::new(1, 1),
            drawn: 0,
        };
        let mut values = Values {
            feeds: &[],
            rows: &[],
            variables: &[b"a b\r\n/\xfc?x=1".to_vec(), Vec::new()],
            session: 18_446_744_073_709_551_615,
            user: 0,
            round: 10,
            offset: 500,
            record: Record { key: 7, time: 9 },
            random: &mut random,
        };
        let mut out = Vec::new();
        Text(pieces.to_vec()).write(&mut values, escape, &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            expected,
            "{pieces:?} {escape:?}"
        );
    }

    #[test]
    fn values_cannot_break_out_of_their_place() {
        let value = [Piece::Bytes(b"/".to_vec()), Piece::Variable(0)];
        check(&value, Escape::Path, "/a%20b%0D%0A/%FC?x=1");
        check(&value, Escape::Header, "/a b  /\u{fffd}?x=1");
        check(&value, Escape::None, "/a b\r\n/\u{fffd}?x=1");
        check(&[Piece::Variable(1)], Escape::None, "");
    }

    #[test]
    fn numbers_are_decimal() {
        let numbers = [Piece::Session, Piece::User, Piece::Round];
        check(&numbers, Escape::Path, "18446744073709551615010");
        check(&[Piece::Offset], Escape::Path, "500");
        let stamps = [Piece::RecordKey, Piece::RecordTime];
        check(&stamps, Escape::Header, "79");
    }
}
