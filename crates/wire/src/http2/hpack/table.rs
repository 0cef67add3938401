//! The static and the dynamic table of HPACK (RFC 7541, section 2.3).

use std::collections::VecDeque;

/// What an entry counts above its two texts (section 4.1).
pub(super) const ENTRY_BYTES: usize = 32;

/// The static table (appendix A); its first entry has the index 1.
#[rustfmt::skip]
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The dynamic table: entries in the order of their insertion, the oldest ones evicted.
///
/// The texts of all entries lie in one buffer, so that an insertion allocates nothing once it has its size.
#[derive(Debug, Clone, Default)]
pub(super) struct DynamicTable {
    entries: VecDeque<Entry>,
    texts: Vec<u8>,
    /// Where the texts of the oldest entry begin.
    oldest: usize,
    /// By the rule of section 4.1.
    size: usize,
    size_max: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    name_length: usize,
    value_length: usize,
}

impl Entry {
    fn size(self) -> usize {
        self.name_length + self.value_length + ENTRY_BYTES
    }
}

impl DynamicTable {
    pub(super) fn new(size_max: usize) -> Self {
        Self {
            size_max,
            ..Self::default()
        }
    }

    pub(super) fn size_max(&self) -> usize {
        self.size_max
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Sets the limit; entries above it are evicted.
    pub(super) fn resize(&mut self, size_max: usize) {
        self.size_max = size_max;
        self.evict(size_max);
    }

    /// The entry number `number`, the newest one first, from 0.
    pub(super) fn get(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let place = self.entries.len().checked_sub(number + 1)?;
        let entry = self.entries[place];
        let texts = &self.texts[entry.start..];
        let (name, rest) = texts.split_at(entry.name_length);
        Some((name, &rest[..entry.value_length]))
    }

    /// Inserts an entry; one above the limit empties the table (section 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_BYTES;
        let Some(room) = self.size_max.checked_sub(size) else {
            return self.evict(0);
        };
        self.evict(room);
        self.make_room(name.len() + value.len());
        let start = self.texts.len();
        self.texts.extend_from_slice(name);
        self.texts.extend_from_slice(value);
        self.entries.push_back(Entry {
            start,
            name_length: name.len(),
            value_length: value.len(),
        });
        self.size += size;
    }

    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_front()
        {
            self.size -= entry.size();
            self.oldest = entry.start + entry.name_length + entry.value_length;
        }
        if self.entries.is_empty() {
            self.texts.clear();
            self.oldest = 0;
        }
    }

    /// Moves the texts to the front of the buffer if it would exceed twice the limit of the table.
    fn make_room(&mut self, more: usize) {
        if self.texts.len() + more <= 2 * self.size_max || self.oldest == 0 {
            return;
        }
        self.texts.drain(..self.oldest);
        for entry in &mut self.entries {
            entry.start -= self.oldest;
        }
        self.oldest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(table: &DynamicTable) -> Vec<String> {
        (0..table.len())
            .map(|number| {
                let (name, value) = table.get(number).unwrap();
                format!(
                    "{}={}",
                    String::from_utf8_lossy(name),
                    String::from_utf8_lossy(value)
                )
            })
            .collect()
    }

    #[test]
    fn old_entries_are_evicted() {
        let mut table = DynamicTable::new(3 * 36);
        for number in 0..100 {
            table.insert(b"a", format!("{number:03}").as_bytes());
        }
        assert_eq!(entries(&table), ["a=099", "a=098", "a=097"]);
        assert!(table.texts.len() <= 2 * 3 * 36);
        table.insert(b"a", b"xyz");
        assert_eq!(entries(&table), ["a=xyz", "a=099", "a=098"]);
        table.resize(72);
        assert_eq!(entries(&table), ["a=xyz", "a=099"]);
        table.insert(b"a", &[b'x'; 40]);
        assert_eq!(entries(&table), [] as [&str; 0]);
        table.resize(0);
        table.insert(b"", b"");
        assert_eq!(table.len(), 0);
    }
}
