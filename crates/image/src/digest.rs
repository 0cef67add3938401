//! SHA-256 of bytes that pass by, as images have it: 64 hexadecimal digits.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use ring::digest::{Context, SHA256, digest};

/// The digits of a digest.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}

/// The digest of a text that is all there.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    digits(digest(&SHA256, bytes).as_ref())
}

/// Counts and digests what is written through it.
pub(crate) struct Digesting<W> {
    to: W,
    context: Context,
    size: u64,
}

/// What passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) sha256: String,
    pub(crate) size: u64,
}

impl<W: Write> Digesting<W> {
    pub(crate) fn new(to: W) -> Self {
        Self {
            to,
            context: Context::new(&SHA256),
            size: 0,
        }
    }

    /// What passed, and where it went.
    pub(crate) fn finish(self) -> (Passed, W) {
        let passed = Passed {
            sha256: digits(self.context.finish().as_ref()),
            size: self.size,
        };
        (passed, self.to)
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.context.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
