//! The header block that was decoded last. A peer mostly repeats it, and equal bytes in an equal table mean the same: they are compared
//! before anything is decoded.

use super::hpack::Decoder;

/// Empty if no block can be repeated.
#[derive(Debug, Default)]
pub(super) struct LastBlock {
    bytes: Vec<u8>,
    /// The state of the decoder's table in which it had its meaning.
    changes: u64,
}

impl LastBlock {
    /// Whether a block is the last one again, and means the same.
    #[inline]
    pub(super) fn is_repeated(&self, block: &[u8], decoder: &Decoder) -> bool {
        self.changes == decoder.changes() && !block.is_empty() && self.bytes == block
    }

    /// Keeps a block that was decoded, when the table had had `changes`. One that has changed the table means something else the next time.
    pub(super) fn keep(&mut self, block: &[u8], changes: u64, decoder: &Decoder) {
        self.forget();
        if decoder.changes() == changes {
            self.bytes.extend_from_slice(block);
            self.changes = changes;
        }
    }

    pub(super) fn forget(&mut self) {
        self.bytes.clear();
    }
}
