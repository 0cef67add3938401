//! Texts as they are written into requests: pieces in, bytes out.

use super::{
    escape::{Place, put},
    record::Record,
};
use crate::{Feed, chance::Stream, uuid::uuid};

/// A template whose names have become numbers.
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
    /// The number of the user, from 1: of the connection, where the load knows no users.
    User,
    /// The round of the innermost loop, from 1.
    Round,
    /// A random UUID (version 4), another one at each place and time.
    Uuid,
    /// The key of the record that the request carries.
    RecordKey,
    /// When the request was sent, in nanoseconds since 1970.
    RecordTime,
}

/// What the pieces of a text stand for at a moment of a session.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) feeds: &'a [Feed],
    /// The row taken of each feed.
    pub(crate) rows: &'a [usize],
    pub(crate) variables: &'a [Vec<u8>],
    pub(crate) session: u64,
    pub(crate) user: u64,
    pub(crate) round: u32,
    /// Of the request that is written, or was last.
    pub(crate) record: Record,
    pub(crate) chance: &'a mut Chance,
}

/// The chance of one session: each value is drawn once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chance {
    pub(crate) stream: Stream,
    pub(crate) drawn: u64,
}

impl Text {
    /// Appends the text.
    pub(crate) fn write(&self, values: &mut Values<'_>, place: Place, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Variable(number) => put(&values.variables[*number], place, out),
                Piece::Column { feed, column } => {
                    let row = &values.feeds[*feed].rows[values.rows[*feed]];
                    put(row[*column].as_bytes(), place, out);
                }
                Piece::Session => decimal(values.session, out),
                Piece::User => decimal(values.user, out),
                Piece::Round => decimal(u64::from(values.round), out),
                Piece::Uuid => {
                    let [high, low] = [values.chance.bits(), values.chance.bits()];
                    out.extend_from_slice(&uuid(high, low));
                }
                Piece::RecordKey => decimal(values.record.key, out),
                Piece::RecordTime => decimal(values.record.time, out),
            }
        }
    }
}

impl Chance {
    /// The place of the next value in the stream.
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

/// Appends a number in decimal.
pub(crate) fn decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut left, mut at) = (number, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[Piece], place: Place, expected: &str) {
        let mut chance = Chance {
            stream: Stream::new(1, 1),
            drawn: 0,
        };
        let mut values = Values {
            feeds: &[],
            rows: &[],
            variables: &[b"a b\r\n/\xfc?x=1".to_vec(), Vec::new()],
            session: 18_446_744_073_709_551_615,
            user: 0,
            round: 10,
            record: Record { key: 7, time: 9 },
            chance: &mut chance,
        };
        let mut out = Vec::new();
        Text(pieces.to_vec()).write(&mut values, place, &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            expected,
            "{pieces:?} {place:?}"
        );
    }

    #[test]
    fn values_cannot_break_out_of_their_place() {
        let value = [Piece::Bytes(b"/".to_vec()), Piece::Variable(0)];
        check(&value, Place::Path, "/a%20b%0D%0A/%FC?x=1");
        check(&value, Place::Header, "/a b  /\u{fffd}?x=1");
        check(&value, Place::Free, "/a b\r\n/\u{fffd}?x=1");
        check(&[Piece::Variable(1)], Place::Free, "");
    }

    #[test]
    fn numbers_are_decimal() {
        let numbers = [Piece::Session, Piece::User, Piece::Round];
        check(&numbers, Place::Path, "18446744073709551615010");
        let stamps = [Piece::RecordKey, Piece::RecordTime];
        check(&stamps, Place::Header, "79");
    }
}
