//! Removes secrets from a log while it is written, also those that are split over two reads.

use std::io::{self, Read};

/// A text that may not be in a log, and what is written in its place.
pub type HiddenText = (String, String);

/// Longest message with such texts.
pub const MESSAGE_MAX_BYTES: usize = 4 * 1024 * 1024;

/// The texts as the supervisor reads them: the length of the JSON as four bytes, the JSON.
pub fn to_message(hidden: &[HiddenText]) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(hidden)?;
    let length = u32::try_from(json.len()).map_err(io::Error::other)?;
    Ok([&length.to_le_bytes()[..], &json].concat())
}

/// Reads such a message.
pub(super) fn read_message(from: &mut impl Read) -> io::Result<Vec<HiddenText>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_MAX_BYTES {
        return Err(io::Error::other("a message is too long"));
    }
    let mut json = vec![0; length];
    from.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

/// What remains of a stream without the hidden texts.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    /// The longest first.
    hidden: Vec<HiddenText>,
    /// Bytes with which a hidden text begins.
    first_bytes: Vec<u8>,
    /// The end of what was read, which may be the start of a hidden text.
    held: Vec<u8>,
}

impl Redaction {
    /// From now on these texts are hidden.
    pub(super) fn hide(&mut self, mut hidden: Vec<HiddenText>) {
        hidden.retain(|(text, _)| !text.is_empty());
        hidden.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        self.first_bytes = hidden.iter().map(|(text, _)| text.as_bytes()[0]).collect();
        self.first_bytes.sort_unstable();
        self.first_bytes.dedup();
        self.hidden = hidden;
    }

    /// The next bytes of the stream; returns those that can be written. At the end nothing is held back.
    pub(super) fn pass(&mut self, bytes: &[u8], is_end: bool) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut clean = Vec::with_capacity(all.len());
        let mut position = 0;
        while let Some(byte) = all.get(position) {
            if !self.first_bytes.contains(byte) {
                clean.push(*byte);
                position += 1;
                continue;
            }
            match self.find(&all[position..], is_end) {
                Finding::Nothing => {
                    clean.push(*byte);
                    position += 1;
                }
                Finding::Hidden(text, mark) => {
                    clean.extend_from_slice(mark.as_bytes());
                    position += text.len();
                }
                Finding::Undecided => {
                    self.held = all.split_off(position);
                    break;
                }
            }
        }
        clean
    }

    /// The longest hidden text with which the bytes begin.
    fn find(&self, bytes: &[u8], is_end: bool) -> Finding<'_> {
        for (text, mark) in &self.hidden {
            if bytes.starts_with(text.as_bytes()) {
                return Finding::Hidden(text, mark);
            }
            if !is_end && text.len() > bytes.len() && text.as_bytes().starts_with(bytes) {
                return Finding::Undecided;
            }
        }
        Finding::Nothing
    }
}

enum Finding<'a> {
    Nothing,
    Hidden(&'a str, &'a str),
    /// The next bytes decide.
    Undecided,
}

#[cfg(test)]
mod tests {
    use super::{Redaction, read_message, to_message};

    fn redaction(hidden: &[(&str, &str)]) -> Redaction {
        let hidden = hidden.iter();
        let hidden = hidden.map(|(text, mark)| ((*text).to_owned(), (*mark).to_owned()));
        let mut redaction = Redaction::default();
        redaction.hide(hidden.collect());
        redaction
    }

    #[test]
    fn a_secret_is_hidden_wherever_a_read_ends() {
        let texts = [
            ("door", "[a]"),
            ("door-of-the-house", "[b]"),
            ("oddo", "[c]"),
        ];
        let stream = b"x door, door-of-the-house door-of odoor d\xff door-of-the-hous";
        let clean = b"x [a], [b] [a]-of o[a] d\xff [a]-of-the-hous";
        for first in 0..stream.len() {
            for second in first..stream.len() {
                let mut redaction = redaction(&texts);
                let mut written = redaction.pass(&stream[..first], false);
                written.extend(redaction.pass(&stream[first..second], false));
                written.extend(redaction.pass(&stream[second..], false));
                written.extend(redaction.pass(b"", true));
                assert_eq!(written, clean, "{first} {second}");
            }
        }
    }

    #[test]
    fn only_what_may_be_a_secret_is_held_back() {
        let mut redaction = redaction(&[("secret", "[s]")]);
        assert_eq!(redaction.pass(b"ready\n", false), b"ready\n");
        assert_eq!(redaction.pass(b"key=sec", false), b"key=");
        assert_eq!(redaction.pass(b"ond\n", false), b"second\n");
        redaction.hide(vec![("other".to_owned(), "[o]".to_owned())]);
        assert_eq!(redaction.pass(b"secret other", false), b"secret [o]");
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let hidden = vec![("a\"\n\u{e9}".to_owned(), "[x]".to_owned())];
        let message = to_message(&hidden).unwrap();
        assert_eq!(read_message(&mut message.as_slice()).unwrap(), hidden);
        assert!(read_message(&mut &message[..message.len() - 1]).is_err());
        assert!(read_message(&mut &u32::MAX.to_le_bytes()[..]).is_err());
    }
}
