//! Which build of waggle this program is, so that a runner and its agents can tell whether they are the same.
//!
//! The linker writes a build id into the program, a digest of what it has linked, which stays the same when the file is stripped. A
//! program without one is known by the digest of its file.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use object::{Object, read::ReadCache};
use ring::digest::{Context, SHA256};

use crate::host::hexadecimal;

/// The running program, also if its file has another name by now, or none.
const PROGRAM: &str = "/proc/self/exe";
/// Of a SHA-1 these are 20 bytes; a longer one is no build id.
const BUILD_ID_BYTES_MAX: usize = 64;
/// Digits of an identity that are shown.
const SHOWN_DIGITS: usize = 16;
const FILE: &str = "file:";

/// The identity of a program: the digits of its build id, or those of the SHA-256 of its file after `file:`. Empty: not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramId(String);

impl ProgramId {
    /// Of this program.
    pub(crate) fn read() -> Self {
        let id = File::open(PROGRAM).and_then(|mut file| program_id(&mut file));
        id.unwrap_or(Self(String::new()))
    }

    /// For the other end.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether both are known and the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        !self.0.is_empty() && self == other
    }
}

/// As another program says it.
impl From<String> for ProgramId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.strip_prefix(FILE);
        // It may be what somebody else has sent.
        let shown = digits.unwrap_or(&self.0).chars();
        let shown = shown.filter(char::is_ascii_hexdigit).take(SHOWN_DIGITS);
        let shown: String = shown.collect();
        match digits {
            _ if shown.is_empty() => f.write_str("a program that could not be read"),
            Some(_) => write!(f, "a program without a build id, file {shown}"),
            None => write!(f, "build id {shown}"),
        }
    }
}

fn program_id(file: &mut (impl Read + Seek)) -> io::Result<ProgramId> {
    if let Some(id) = build_id(&mut *file) {
        return Ok(ProgramId(hexadecimal(&id)));
    }
    file.seek(SeekFrom::Start(0))?;
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => context.update(&buffer[..length]),
        }
    }
    let digits = hexadecimal(context.finish().as_ref());
    Ok(ProgramId(format!("{FILE}{digits}")))
}

/// The build id in a program; `None`: it has none, or is no program.
fn build_id(file: impl Read + Seek) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    let program = object::File::parse(&cache).ok()?;
    let id = program.build_id().ok()??;
    (1..=BUILD_ID_BYTES_MAX)
        .contains(&id.len())
        .then(|| id.to_vec())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const NT_GNU_ABI_TAG: u32 = 1;
    const NT_GNU_BUILD_ID: u32 = 3;

    /// A note of the owner `GNU`.
    fn note(kind: u32, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap();
        let head = [4, length, kind].map(u32::to_le_bytes).concat();
        let mut note = [&head[..], b"GNU\0", content].concat();
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    /// A program for x86-64 that has notes in a segment and no sections, as `strip` with `--strip-section-headers` leaves it.
    fn program(notes: &[u8], more: &[u8]) -> Vec<u8> {
        const HEADER: u64 = 64;
        const SEGMENT: u64 = 56;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        let mut add = |bytes: &[u8]| file.extend_from_slice(bytes);
        // An executable, the machine, the version, no entry, program headers behind this one, no section headers.
        add(&[2_u16, 62].map(u16::to_le_bytes).concat());
        add(&1_u32.to_le_bytes());
        add(&[0, HEADER, 0].map(u64::to_le_bytes).concat());
        add(&0_u32.to_le_bytes());
        add(&[64_u16, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
        // PT_NOTE, readable; offset, addresses, sizes, alignment.
        add(&[4_u32, 4].map(u32::to_le_bytes).concat());
        let (offset, length) = (HEADER + SEGMENT, notes.len() as u64);
        add(&[offset, offset, offset, length, length, 4]
            .map(u64::to_le_bytes)
            .concat());
        add(notes);
        add(more);
        file
    }

    fn identity(text: &str) -> ProgramId {
        text.to_owned().into()
    }

    fn id(file: Vec<u8>) -> ProgramId {
        program_id(&mut Cursor::new(file)).unwrap()
    }

    #[test]
    fn a_build_id_is_the_identity_whatever_else_is_in_the_file() {
        let check = |notes: Vec<u8>, expected: &str| {
            let short = id(program(&notes, b""));
            assert_eq!(short, id(program(&notes, b"names and lines")));
            assert_eq!(short.text(), expected);
        };
        check(note(NT_GNU_BUILD_ID, &[0xab, 0xcd]), "abcd");
        let second = [
            note(NT_GNU_ABI_TAG, &[0; 16]),
            note(NT_GNU_BUILD_ID, &[7; 20]),
        ];
        check(second.concat(), &"07".repeat(20));
    }

    #[test]
    fn a_program_without_a_build_id_is_known_by_its_file() {
        let check = |file: Vec<u8>| {
            let identity = id(file.clone());
            assert!(identity.text().starts_with("file:"), "{identity:?}");
            assert_eq!(identity.text().len(), "file:".len() + 64);
            assert_eq!(identity, id(file.clone()));
            assert_ne!(identity, id([&file[..], b"1"].concat()));
        };
        check(program(&note(NT_GNU_ABI_TAG, &[0; 16]), b""));
        check(program(&[], b""));
        check(program(&note(NT_GNU_BUILD_ID, &[]), b""));
        check(program(&note(NT_GNU_BUILD_ID, &[1; 65]), b""));
        // Notes that are longer than they can be, a file that is cut, and what is no program.
        let long = [4_u32, u32::MAX, NT_GNU_BUILD_ID].map(u32::to_le_bytes);
        check(program(&long.concat(), b""));
        check(program(&note(NT_GNU_BUILD_ID, &[1; 20]), b"")[..130].to_vec());
        check(b"#!/bin/sh\n".to_vec());
        check(Vec::new());
    }

    #[test]
    fn identities_that_are_not_known_are_not_the_same() {
        let check = |first: &str, second: &str, expected: bool| {
            let (first, second) = (identity(first), identity(second));
            assert_eq!(first.is_same(&second), expected, "{first:?}, {second:?}");
        };
        check("abcd", "abcd", true);
        check("abcd", "abce", false);
        check("abcd", "file:abcd", false);
        check("", "", false);
        assert!(ProgramId::read().is_same(&ProgramId::read()));
    }

    #[test]
    fn a_text_shows_a_part_and_nothing_that_is_no_digit() {
        let check = |text: &str, expected: &str| {
            assert_eq!(identity(text).to_string(), expected);
        };
        check(&"12".repeat(20), "build id 1212121212121212");
        check("file:ab12", "a program without a build id, file ab12");
        check("\u{1b}[31m<12>", "build id 3112");
        check("", "a program that could not be read");
    }
}
