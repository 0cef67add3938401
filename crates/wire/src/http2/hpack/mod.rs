//! HPACK (RFC 7541): header blocks, their Huffman code and their tables.

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;

pub use decoder::{Decoded, Decoder};
pub use encoder::{Encoder, Indexing, put_plain_indexed, put_static};

/// Why a block cannot be decoded. It ends the connection (RFC 9113, section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    #[error("a header block ends in the middle")]
    Truncated,
    #[error("a header block has an integer above 2^28")]
    Integer,
    #[error("a header block refers to an entry that no table has")]
    Index,
    #[error("a header block has a string that is not in its Huffman code")]
    Huffman,
    #[error("a header block resizes the table above its limit, or behind a field")]
    TableSize,
}
