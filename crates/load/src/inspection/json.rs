//! Counts the elements of one array in a JSON document that arrives in pieces.
//!
//! A machine over bytes with a bit for each open container. It checks the structure, so that a complete document differs from one
//! that was cut and from what is no JSON; it does not check escapes, UTF-8 and the digits of numbers.

use memchr::memchr2;

use crate::failure::InspectionFailure;

/// Most containers within each other; a document with more counts as no JSON.
const DEPTH_MAX: usize = 1_024;
/// A depth that no container has.
const NOWHERE: usize = usize::MAX;

/// The state of one document.
#[derive(Debug)]
pub(super) struct JsonScanner {
    state: State,
    /// Number of open containers.
    depth: usize,
    /// A bit for each of them: 1 if it is an object, 0 if it is an array.
    objects: [u64; DEPTH_MAX / 64],
    /// How many names of the path lead to the current place. It is on the path if this is its depth.
    on_path: usize,
    /// The depth within the counted array while it is open.
    counted: usize,
    items: u64,
    has_array: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A value must follow.
    Value,
    /// After `[`: a value or the end.
    FirstElement,
    /// After `{`: a key or the end.
    FirstKey,
    /// After a comma in an object: a key.
    Key,
    /// Within a key; as many bytes of it are those of the name on the path, or `None` if it is another name.
    InKey(Option<usize>),
    KeyEscape,
    /// After a key.
    Colon,
    /// Within a string that is a value.
    InString,
    StringEscape,
    InNumber,
    /// Within `true`, `false` or `null`, of which this is missing.
    InWord(&'static [u8]),
    /// After a value.
    After,
}

impl Default for JsonScanner {
    fn default() -> Self {
        Self {
            state: State::Value,
            depth: 0,
            objects: [0; DEPTH_MAX / 64],
            on_path: 0,
            counted: NOWHERE,
            items: 0,
            has_array: false,
        }
    }
}

impl JsonScanner {
    /// Takes the next bytes; counts the elements of the array to which the names of the `path` lead.
    ///
    /// # Errors
    /// [`InspectionFailure::NotJson`].
    pub(super) fn push(
        &mut self,
        path: &[Vec<u8>],
        mut bytes: &[u8],
    ) -> Result<(), InspectionFailure> {
        while let Some((&byte, rest)) = bytes.split_first() {
            bytes = match self.state {
                State::InString => self.string(bytes),
                State::InKey(matched) => self.key(path, matched, bytes),
                State::StringEscape => {
                    self.state = State::InString;
                    rest
                }
                State::KeyEscape => {
                    self.state = State::InKey(None);
                    rest
                }
                State::InNumber => match bytes.iter().position(|byte| !is_of_number(*byte)) {
                    None => &[],
                    Some(length) => {
                        self.state = State::After;
                        &bytes[length..]
                    }
                },
                State::InWord(missing) => {
                    self.word(missing, byte)?;
                    rest
                }
                _ if is_blank(byte) => {
                    let length = bytes.iter().position(|byte| !is_blank(*byte));
                    &bytes[length.unwrap_or(bytes.len())..]
                }
                _ => {
                    self.token(path, byte)?;
                    rest
                }
            };
        }
        Ok(())
    }

    /// The end of the document: the number of elements.
    ///
    /// # Errors
    /// It is no JSON, or cut, or it has no such array.
    pub(super) fn finish(&self) -> Result<u64, InspectionFailure> {
        match (self.state, self.depth) {
            (State::Value, 0) => Err(InspectionFailure::NotJson),
            (State::After | State::InNumber, 0) if self.has_array => Ok(self.items),
            (State::After | State::InNumber, 0) => Err(InspectionFailure::NoArray),
            _ => Err(InspectionFailure::Truncated),
        }
    }

    /// The rest of a string that is a value, up to its end or an escape.
    fn string<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(position) = memchr2(b'"', b'\\', bytes) else {
            return &[];
        };
        self.state = match bytes[position] {
            b'"' => State::After,
            _ => State::StringEscape,
        };
        &bytes[position + 1..]
    }

    /// The same of a key.
    fn key<'a>(&mut self, path: &[Vec<u8>], matched: Option<usize>, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr2(b'"', b'\\', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let name = path.get(self.depth - 1).map_or(&[][..], Vec::as_slice);
        let matched = matched.filter(|matched| name[*matched..].starts_with(part));
        let matched = matched.map(|matched| matched + part.len());
        let Some(position) = end else {
            self.state = State::InKey(matched);
            return &[];
        };
        self.state = match bytes[position] {
            b'"' => {
                if matched == Some(name.len()) {
                    self.on_path = self.depth;
                }
                State::Colon
            }
            _ => State::KeyEscape,
        };
        &bytes[position + 1..]
    }

    fn word(&mut self, missing: &'static [u8], byte: u8) -> Result<(), InspectionFailure> {
        match missing.split_first() {
            Some((expected, missing)) if *expected == byte => {
                self.state = match missing.is_empty() {
                    true => State::After,
                    false => State::InWord(missing),
                };
                Ok(())
            }
            _ => Err(InspectionFailure::NotJson),
        }
    }

    /// A byte outside strings, numbers and words.
    fn token(&mut self, path: &[Vec<u8>], byte: u8) -> Result<(), InspectionFailure> {
        match (self.state, byte) {
            (State::FirstElement, b']') | (State::FirstKey, b'}') => self.close(),
            (State::Value | State::FirstElement, _) => return self.begin_value(path, byte),
            (State::FirstKey | State::Key, b'"') => {
                let level = self.depth - 1;
                let is_on_path = self.on_path == level && level < path.len();
                self.state = State::InKey(is_on_path.then_some(0));
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::After, b',') if self.depth > 0 => {
                self.on_path = self.on_path.min(self.depth - 1);
                self.state = match self.is_in_object() {
                    true => State::Key,
                    false => State::Value,
                };
            }
            (State::After, b'}') if self.is_in_object() => self.close(),
            (State::After, b']') if self.depth > 0 && !self.is_in_object() => self.close(),
            _ => return Err(InspectionFailure::NotJson),
        }
        Ok(())
    }

    fn begin_value(&mut self, path: &[Vec<u8>], byte: u8) -> Result<(), InspectionFailure> {
        if self.depth == self.counted {
            self.items += 1;
        }
        self.state = match byte {
            b'"' => State::InString,
            b'{' | b'[' => return self.open(path, byte == b'{'),
            b'-' | b'0'..=b'9' => State::InNumber,
            b't' => State::InWord(b"rue"),
            b'f' => State::InWord(b"alse"),
            b'n' => State::InWord(b"ull"),
            _ => return Err(InspectionFailure::NotJson),
        };
        Ok(())
    }

    fn open(&mut self, path: &[Vec<u8>], is_object: bool) -> Result<(), InspectionFailure> {
        if self.depth == DEPTH_MAX {
            return Err(InspectionFailure::NotJson);
        }
        let is_at_end_of_path = self.on_path == self.depth && self.depth == path.len();
        let (word, bit) = (self.depth / 64, 1 << (self.depth % 64));
        self.depth += 1;
        if is_object {
            self.objects[word] |= bit;
            self.state = State::FirstKey;
            return Ok(());
        }
        self.objects[word] &= !bit;
        self.state = State::FirstElement;
        if is_at_end_of_path {
            self.counted = self.depth;
            self.has_array = true;
        }
        Ok(())
    }

    /// The end of a container.
    fn close(&mut self) {
        if self.depth == self.counted {
            self.counted = NOWHERE;
        }
        self.depth -= 1;
        self.on_path = self.on_path.min(self.depth);
        self.state = State::After;
    }

    fn is_in_object(&self) -> bool {
        self.depth
            .checked_sub(1)
            .is_some_and(|level| self.objects[level / 64] >> (level % 64) & 1 == 1)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}
