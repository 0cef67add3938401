//! Writes header blocks.

use super::{
    huffman, integer,
    table::{DynamicTable, ENTRY_BYTES, STATIC},
};

/// The most entries of the dynamic table that are searched for a field.
const SEARCHED_MAX: usize = 64;

/// Whether a field goes into the dynamic table of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexing {
    /// Later blocks can refer to it.
    Added,
    /// It has a value of its own in each block.
    Without,
}

/// The encoder of one direction of a connection.
#[derive(Debug, Clone)]
pub struct Encoder {
    table: DynamicTable,
    /// A new limit that the peer has to be told: the least since the last block, and the last one.
    resized: Option<(usize, usize)>,
    /// Grows with each change of the table.
    changes: u64,
}

/// Size of the table that the peer allows before its settings say otherwise, and the largest that is used.
const SIZE_MAX: usize = 4_096;

impl Default for Encoder {
    fn default() -> Self {
        Self {
            table: DynamicTable::new(SIZE_MAX),
            resized: None,
            changes: 0,
        }
    }
}

impl Encoder {
    /// The peer has announced its limit on the table; the next block says that it is kept (RFC 7541, section 4.2).
    pub fn limit_table(&mut self, size: usize) {
        let size = size.min(SIZE_MAX);
        if size == self.table.size_max() && self.resized.is_none() {
            return;
        }
        self.table.resize(size);
        self.changes += 1;
        let least = self.resized.map_or(size, |(least, _)| least.min(size));
        self.resized = Some((least, size));
    }

    /// Begins a block: appends the sizes of the table that changed since the last one.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((least, last)) = self.resized.take() {
            if least < last {
                integer::put(out, 0x20, 5, least);
            }
            integer::put(out, 0x20, 5, last);
        }
    }

    /// Whether nothing has to be said before the first field of the next block.
    #[inline]
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.resized.is_none()
    }

    /// Grows with each change of the table: as long as it is the same, equal fields have the same code.
    #[inline]
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a block of `other` can be sent as one of this encoder: it has the same entries, and nothing to say before the next block.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.table, &other.table);
        self.resized.is_none()
            && mine.len() == theirs.len()
            && (0..mine.len()).all(|number| mine.get(number) == theirs.get(number))
    }

    /// Appends a field; its name is in lower case.
    pub fn put(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8], indexing: Indexing) {
        let index = match position(name, value, &self.table) {
            Position::Whole(index) => return integer::put(out, 0x80, 7, index),
            Position::Name(index) => index,
            Position::Nowhere => 0,
        };
        let fits = name.len() + value.len() + ENTRY_BYTES <= self.table.size_max();
        let is_added = indexing == Indexing::Added && fits;
        match is_added {
            true => integer::put(out, 0x40, 6, index),
            false => integer::put(out, 0x00, 4, index),
        }
        if index == 0 {
            put_string(out, name);
        }
        put_string(out, value);
        if is_added {
            self.table.insert(name, value);
            self.changes += 1;
        }
    }

    /// Appends a field whose value is not coded, and is not in any table: where its value begins in `out`, so that it can be overwritten
    /// by one of the same length.
    pub fn put_plain(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) -> usize {
        let index = match position(name, b"", &self.table) {
            Position::Whole(index) | Position::Name(index) => index,
            Position::Nowhere => 0,
        };
        integer::put(out, 0x00, 4, index);
        if index == 0 {
            put_string(out, name);
        }
        put_plain_string(out, value)
    }
}

/// Appends a field as [`Encoder::put_plain`] does, without a search: `index` is that of an entry of the static table with its name (RFC 7541,
/// appendix A).
#[inline]
pub fn put_plain_indexed(out: &mut Vec<u8>, index: usize, value: &[u8]) {
    integer::put(out, 0x00, 4, index);
    put_plain_string(out, value);
}

/// Appends a string that is not coded; returns where it begins.
#[inline]
fn put_plain_string(out: &mut Vec<u8>, value: &[u8]) -> usize {
    integer::put(out, 0x00, 7, value.len());
    let start = out.len();
    out.extend_from_slice(value);
    start
}

/// Appends a field without any table of the connection: for answers that are made once for all connections.
pub fn put_static(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let index = match static_position(name, value) {
        Position::Whole(index) => return integer::put(out, 0x80, 7, index),
        Position::Name(index) => index,
        Position::Nowhere => 0,
    };
    integer::put(out, 0x00, 4, index);
    if index == 0 {
        put_string(out, name);
    }
    put_string(out, value);
}

/// Where a field is in the tables.
enum Position {
    Whole(usize),
    Name(usize),
    Nowhere,
}

fn position(name: &[u8], value: &[u8], table: &DynamicTable) -> Position {
    let fixed = static_position(name, value);
    if matches!(fixed, Position::Whole(_)) {
        return fixed;
    }
    let mut named = None;
    for number in 0..table.len().min(SEARCHED_MAX) {
        if let Some((other, its_value)) = table.get(number)
            && other == name
        {
            if its_value == value {
                return Position::Whole(62 + number);
            }
            named.get_or_insert(62 + number);
        }
    }
    match (fixed, named) {
        (Position::Nowhere, Some(index)) => Position::Name(index),
        (fixed, _) => fixed,
    }
}

fn static_position(name: &[u8], value: &[u8]) -> Position {
    let mut named = Position::Nowhere;
    // Entries of one name lie together.
    for (number, (other, its_value)) in STATIC.iter().enumerate() {
        if other.len() == name.len() && other.as_bytes() == name {
            if !value.is_empty() && its_value.as_bytes() == value {
                return Position::Whole(number + 1);
            }
            if matches!(named, Position::Nowhere) {
                named = Position::Name(number + 1);
            }
        }
    }
    named
}

/// Appends a string in the shorter of its two forms.
fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        integer::put(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer::put(out, 0x00, 7, text.len());
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::hpack::Decoder;

    fn fields(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decoder
            .decode(block, |name, value| all.push((text(name), text(value))))
            .unwrap();
        all
    }

    #[test]
    fn blocks_are_decoded_to_what_was_encoded() {
        let written = [
            (":method", "GET", Indexing::Added),
            (":path", "/readings/7", Indexing::Without),
            ("x-own", "\u{1}\u{ff}~~~~", Indexing::Added),
            ("empty", "", Indexing::Added),
            ("accept-charset", "", Indexing::Added),
            ("user-agent", "waggle", Indexing::Added),
        ];
        let mut encoder = Encoder::default();
        let mut decoder = Decoder::new(4_096);
        let mut lengths = Vec::new();
        for table in [4_096, 4_096, 64, 0, 4_096] {
            encoder.limit_table(table);
            for _ in 0..2 {
                let mut block = Vec::new();
                encoder.begin(&mut block);
                for (name, value, indexing) in written {
                    encoder.put(&mut block, name.as_bytes(), value.as_bytes(), indexing);
                }
                let start = encoder.put_plain(&mut block, b"x-key", b"0000");
                block[start..start + 4].copy_from_slice(b"1234");
                let mut expected: Vec<_> = written
                    .iter()
                    .map(|(name, value, _)| ((*name).to_owned(), (*value).to_owned()))
                    .collect();
                expected.push(("x-key".to_owned(), "1234".to_owned()));
                assert_eq!(fields(&mut decoder, &block), expected);
                lengths.push(block.len());
            }
        }
        // The second block refers to what the first one has added.
        assert!(lengths[1] < lengths[0] / 2 + 10, "{lengths:?}");
        assert_eq!(lengths[1], lengths[2], "{lengths:?}");
    }

    #[test]
    fn the_least_limit_between_two_blocks_is_announced() {
        let mut encoder = Encoder::default();
        encoder.limit_table(0);
        encoder.limit_table(100);
        let mut block = Vec::new();
        encoder.begin(&mut block);
        assert_eq!(block, [0x20, 0x3f, 100 - 31]);
        block.clear();
        encoder.begin(&mut block);
        assert_eq!(block, []);
        // A larger one than is used is not announced.
        encoder.limit_table(1 << 20);
        encoder.begin(&mut block);
        assert_eq!(block, [0x3f, 0xe1, 0x1f]);
        block.clear();
        encoder.limit_table(1 << 21);
        encoder.begin(&mut block);
        assert_eq!(block, []);
    }
}
