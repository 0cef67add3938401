//! Size limits of a line and its parts.

/// Longest line, from its first to its last byte, line breaks inside quotes included.
pub const LINE_MAX_BYTES: usize = 256 * 1024;
/// Most tags in a line.
pub const TAGS_MAX: usize = 256;
/// Most fields in a line.
pub const FIELDS_MAX: usize = 4096;
