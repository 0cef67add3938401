//! The tags of an XML file of any length, one after the other, with their attributes and places. Text between them is skipped.
//!
//! Enough of XML 1.0 for files that a program wrote: elements, attributes, references to characters, comments, CDATA sections and
//! processing instructions. A document type is refused, so that nothing is expanded. No crate, because a mistake needs line and
//! column, and the memory a limit.

use std::io::BufRead;

use anyhow::{Context, Error, Result, anyhow};

use super::text::{LENGTH_MAX, Position, show_text};

/// Maximum number of attributes of a tag.
const ATTRIBUTES_MAX: usize = 256;
/// Most elements within each other.
const DEPTH_MAX: usize = 64;

/// The tags of a file.
pub(crate) struct Tags<R> {
    /// As the user named it.
    name: String,
    reader: R,
    /// Where the next byte is.
    place: Position,
    /// Names of the elements that are open.
    open: Vec<String>,
    /// The element whose start tag was its end tag, too.
    is_empty: bool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Start(Start),
    End,
}

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// Of its `<`.
    pub(crate) place: Position,
}

impl Start {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let attribute = attributes.find(|(key, _)| key == name);
        attribute.map(|(_, value)| value.as_str())
    }
}

impl<R: BufRead> Tags<R> {
    pub(crate) fn new(name: String, reader: R) -> Self {
        Self {
            name,
            reader,
            place: Position::START,
            open: Vec::new(),
            is_empty: false,
        }
    }

    /// Elements that are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn mistake(&self, place: Position, problem: &str) -> Error {
        anyhow!("{}:{place}: {problem}", self.name)
    }

    /// The next start or end of an element; `None` at the end of the file.
    pub(crate) fn next_tag(&mut self) -> Result<Option<Tag>> {
        if std::mem::take(&mut self.is_empty) {
            self.open.pop();
            return Ok(Some(Tag::End));
        }
        loop {
            if !self.skip_until(b"<")? {
                return Ok(None);
            }
            let place = Position {
                column: self.place.column.saturating_sub(1),
                ..self.place
            };
            let text = self.tag_text(place)?;
            if text.starts_with('!') || text.starts_with('?') {
                self.skip_markup(&text, place)?;
            } else if let Some(name) = text.strip_prefix('/') {
                return self.end(name.trim_end(), place).map(Some);
            } else {
                return self.start(&text, place).map(Some);
            }
        }
    }

    fn end(&mut self, name: &str, place: Position) -> Result<Tag> {
        match self.open.pop() {
            Some(open) if open == name => Ok(Tag::End),
            Some(open) => {
                let problem = format!(
                    "expected </{open}>, found {}",
                    show_text(&format!("</{name}>"))
                );
                Err(self.mistake(place, &problem))
            }
            None => Err(self.mistake(place, &format!("no element is open that </{name}> ends"))),
        }
    }

    fn start(&mut self, text: &str, place: Position) -> Result<Tag> {
        let (text, is_empty) = match text.strip_suffix('/') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let name_end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (name, rest) = text.split_at(name_end);
        if name.is_empty() || name.contains(['"', '\'', '=', '<']) {
            return Err(self.mistake(
                place,
                &format!("expected the name of an element, found {}", show_text(text)),
            ));
        }
        if self.open.len() == DEPTH_MAX {
            return Err(self.mistake(
                place,
                &format!("elements are nested deeper than {DEPTH_MAX} levels"),
            ));
        }
        let attributes = attributes(rest).map_err(|problem| self.mistake(place, &problem))?;
        self.open.push(name.to_owned());
        self.is_empty = is_empty;
        Ok(Tag::Start(Start {
            name: name.to_owned(),
            attributes,
            place,
        }))
    }

    /// What is between `<` and `>`, which may be in a quoted value, too. Of comments and the like only the first bytes.
    fn tag_text(&mut self, place: Position) -> Result<String> {
        let mut bytes = Vec::new();
        let mut quote = None;
        while let Some(byte) = self.next_byte()? {
            match (byte, quote) {
                (b'>', None) => return self.utf8(bytes, place),
                (b'"' | b'\'', None) => quote = Some(byte),
                (byte, Some(open)) if byte == open => quote = None,
                _ => {}
            }
            bytes.push(byte);
            let is_markup =
                matches!(&bytes[..], [b'!', b'-', b'-'] | [b'?']) || bytes == b"![CDATA[";
            if is_markup {
                return self.utf8(bytes, place);
            }
            if bytes.len() > LENGTH_MAX {
                return Err(
                    self.mistake(place, &format!("the tag is longer than {LENGTH_MAX} bytes"))
                );
            }
        }
        Err(self.mistake(place, "the tag that opens here has no end"))
    }

    fn utf8(&self, bytes: Vec<u8>, place: Position) -> Result<String> {
        String::from_utf8(bytes).map_err(|_| self.mistake(place, "the tag is not UTF-8 text"))
    }

    fn skip_markup(&mut self, text: &str, place: Position) -> Result<()> {
        let end: &[u8] = match text {
            "!--" => b"-->",
            "![CDATA[" => b"]]>",
            "?" => b"?>",
            _ => {
                let markup = show_text(&format!("<{text}>"));
                return Err(self.mistake(place, &format!("expected an element, found {markup}")));
            }
        };
        match self.skip_until(end)? {
            true => Ok(()),
            false => Err(self.mistake(place, &format!("<{text} has no end"))),
        }
    }

    /// Reads up to and with these bytes, of which there are one to three; false if the file ends before.
    fn skip_until(&mut self, end: &[u8]) -> Result<bool> {
        // The last bytes, as many as the end has: at most three.
        let bits = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte))
        };
        let (wanted, mask) = (bits(end), u32::MAX >> (32 - 8 * end.len()));
        let mut last = 0;
        while let Some(byte) = self.next_byte()? {
            last = (last << 8 | u32::from(byte)) & mask;
            if last == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_byte(&mut self) -> Result<Option<u8>> {
        let buffer = self.reader.fill_buf();
        let buffer = buffer.with_context(|| format!("cannot read {}", self.name))?;
        let Some(&byte) = buffer.first() else {
            return Ok(None);
        };
        self.reader.consume(1);
        match byte {
            b'\n' => {
                self.place = Position {
                    line: self.place.line + 1,
                    column: 1,
                };
            }
            // The rest of a character.
            0x80..=0xBF => {}
            _ => self.place.column += 1,
        }
        Ok(Some(byte))
    }
}

/// `name="value"` and so on; the error is what was expected.
fn attributes(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut rest = text.trim_start();
    let mut all: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let wrong = || {
            format!(
                "expected an attribute such as name=\"value\", found {}",
                show_text(rest)
            )
        };
        let (name, after) = rest.split_once('=').ok_or_else(wrong)?;
        let (name, after) = (name.trim_end(), after.trim_start());
        let quote = after
            .chars()
            .next()
            .filter(|&quote| matches!(quote, '"' | '\''));
        let quote = quote.ok_or_else(wrong)?;
        let (value, after) = after[1..].split_once(quote).ok_or_else(wrong)?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(wrong());
        }
        if all.len() == ATTRIBUTES_MAX {
            return Err(format!("a tag has more than {ATTRIBUTES_MAX} attributes"));
        }
        if all.iter().any(|(known, _)| known == name) {
            return Err(format!("attribute {name} is there twice"));
        }
        all.push((name.to_owned(), unescape(value)?));
        rest = after.trim_start();
    }
    Ok(all)
}

/// The value of an attribute: references are their characters, and line ends and tabs spaces (XML 1.0, section 3.3.3).
fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(position) = rest.find(['&', '\n', '\r', '\t']) {
        text.push_str(&rest[..position]);
        if !rest[position..].starts_with('&') {
            text.push(' ');
            rest = &rest[position + 1..];
            continue;
        }
        let wrong = || {
            format!(
                "expected a reference such as &amp; or &#10;, found {}",
                show_text(&rest[position..])
            )
        };
        let (reference, after) = rest[position + 1..].split_once(';').ok_or_else(wrong)?;
        text.push(referenced_char(reference).ok_or_else(wrong)?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

fn referenced_char(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Result<Vec<String>> {
        let mut tags = Tags::new("f.xml".to_owned(), text.as_bytes());
        let mut all = Vec::new();
        while let Some(tag) = tags.next_tag()? {
            all.push(match tag {
                Tag::End => "/".to_owned(),
                Tag::Start(start) => {
                    let attributes = start.attributes.iter();
                    let attributes: String = attributes
                        .map(|(key, value)| format!(" {key}={value:?}"))
                        .collect();
                    format!("{}{attributes} at {}", start.name, start.place)
                }
            });
        }
        Ok(all)
    }

    #[test]
    fn tags_have_attributes_and_places() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(tags(text).unwrap(), expected, "{text}");
        };
        check("", &[]);
        check(
            "<?xml version=\"1.0\"?>\n<a>\n é<b x='1' y = \"a>b\"/></a>",
            &["a at 2:1", "b x=\"1\" y=\"a>b\" at 3:3", "/", "/"],
        );
        check(
            "<a><!-- <b> -- > \"--><![CDATA[ <c> ]] ]]>&lt;<d\n\tx=\"&lt;&amp;&#233;&#x20AC;\n\"\n/></a >",
            &["a at 1:1", "d x=\"<&é€ \" at 1:46", "/", "/"],
        );
    }

    #[test]
    fn mistakes_have_line_and_column() {
        let check = |text: &str, expected: &str| {
            assert_eq!(tags(text).unwrap_err().to_string(), expected, "{text}");
        };
        check("<a>\n<b></a>", "f.xml:2:4: expected </b>, found \"</a>\"");
        let many: String = (0..300).map(|index| format!(" a{index}=''")).collect();
        check(
            &format!("<a{many}/>"),
            "f.xml:1:1: a tag has more than 256 attributes",
        );
        check("</a>", "f.xml:1:1: no element is open that </a> ends");
        check("<a", "f.xml:1:1: the tag that opens here has no end");
        check("<a><!-- ", "f.xml:1:4: <!-- has no end");
        check(
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a/>",
            "f.xml:1:1: expected an element, found \"<!DOCTYPE a [<!ENTITY x \\\"y\\\">\"",
        );
        check(
            "<a x=1/>",
            "f.xml:1:1: expected an attribute such as name=\"value\", found \"x=1\"",
        );
        check(
            "<a x=\"1\" x=\"2\"/>",
            "f.xml:1:1: attribute x is there twice",
        );
        check(
            "<a x=\"&x;\"/>",
            "f.xml:1:1: expected a reference such as &amp; or &#10;, found \"&x;\"",
        );
        check(
            "< a/>",
            "f.xml:1:1: expected the name of an element, found \" a\"",
        );
        let deep = "<a>".repeat(65);
        check(
            &deep,
            "f.xml:1:193: elements are nested deeper than 64 levels",
        );
    }
}
