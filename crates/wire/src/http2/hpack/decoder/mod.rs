//! Reads header blocks.

use super::{
    HpackError, huffman, integer,
    table::{DynamicTable, ENTRY_BYTES, STATIC},
};

/// The decoder of one direction of a connection.
#[derive(Debug, Clone)]
pub struct Decoder {
    table: DynamicTable,
    /// The limit that this side has announced.
    size_limit: usize,
    /// Blocks that changed the table.
    changes: u64,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// What a block had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// Of all fields, by the rule of RFC 9113, section 6.5.2.
    pub list_bytes: usize,
    pub fields: usize,
}

/// Where the name or the whole of a field is.
#[derive(Clone, Copy)]
enum Place {
    Static(usize),
    Dynamic(usize),
}

impl Decoder {
    /// `size_limit`: of the dynamic table, as this side announces it (4,096 without SETTINGS_HEADER_TABLE_SIZE).
    #[must_use]
    pub fn new(size_limit: usize) -> Self {
        Self {
            table: DynamicTable::new(size_limit),
            size_limit,
            changes: 0,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Grows with each block that changed the table: as long as it is the same, equal blocks mean the same.
    #[inline]
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Decodes a whole block and hands each field, name and value, to `take`, in order.
    ///
    /// All of the block is read, whatever its size, so that the table stays right; whether the list is too long is for `take`
    /// and the caller to say.
    ///
    /// # Errors
    /// If the block is invalid; then the connection has to end, because the tables of both sides may differ.
    pub fn decode(
        &mut self,
        block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]),
    ) -> Result<Decoded, HpackError> {
        let mut rest = block;
        let mut decoded = Decoded {
            list_bytes: 0,
            fields: 0,
        };
        let mut has_changed = false;
        while let Some(&first) = rest.first() {
            let (name, value) = match first {
                0x80.. => {
                    let index = integer::take(&mut rest, 7)?;
                    self.entry(self.place(index)?)?
                }
                0x20..0x40 => {
                    let size = integer::take(&mut rest, 5)?;
                    if size > self.size_limit || decoded.fields > 0 {
                        return Err(HpackError::TableSize);
                    }
                    self.table.resize(size);
                    has_changed = true;
                    continue;
                }
                _ => {
                    let is_indexed = first >= 0x40;
                    let bits = if is_indexed { 6 } else { 4 };
                    let index = integer::take(&mut rest, bits)?;
                    self.name.clear();
                    if index == 0 {
                        take_string(&mut rest, &mut self.name)?;
                    } else {
                        let place = self.place(index)?;
                        let (table, name) = (&self.table, &mut self.name);
                        name.extend_from_slice(entry_of(table, place)?.0);
                    }
                    self.value.clear();
                    take_string(&mut rest, &mut self.value)?;
                    if is_indexed {
                        self.table.insert(&self.name, &self.value);
                        has_changed = true;
                    }
                    (&self.name[..], &self.value[..])
                }
            };
            decoded.fields += 1;
            decoded.list_bytes += name.len() + value.len() + ENTRY_BYTES;
            take(name, value);
        }
        self.changes += u64::from(has_changed);
        Ok(decoded)
    }

    fn place(&self, index: usize) -> Result<Place, HpackError> {
        match index {
            0 => Err(HpackError::Index),
            1..=61 => Ok(Place::Static(index - 1)),
            _ if index - 62 < self.table.len() => Ok(Place::Dynamic(index - 62)),
            _ => Err(HpackError::Index),
        }
    }

    fn entry(&self, place: Place) -> Result<(&[u8], &[u8]), HpackError> {
        entry_of(&self.table, place)
    }
}

fn entry_of(table: &DynamicTable, place: Place) -> Result<(&[u8], &[u8]), HpackError> {
    match place {
        Place::Static(number) => {
            let (name, value) = STATIC[number];
            Ok((name.as_bytes(), value.as_bytes()))
        }
        Place::Dynamic(number) => table.get(number).ok_or(HpackError::Index),
    }
}

/// Appends the string at the front of `block` (RFC 7541, section 5.2).
fn take_string(block: &mut &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::take(block, 7)?;
    let (string, rest) = block
        .split_at_checked(length)
        .ok_or(HpackError::Truncated)?;
    *block = rest;
    if is_coded {
        huffman::decode(string, out)
    } else {
        out.extend_from_slice(string);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
