//! The reader against bytes.
