//! Limits what a peer may send that leads nowhere: frames without content, acknowledgements to be made, streams reset at once.

use super::error::{ConnectionError, ErrorCode, broken};

/// Counts such frames since the last one that led somewhere.
#[derive(Debug, Clone, Copy)]
pub struct FloodGuard {
    left: u32,
    most: u32,
}

impl FloodGuard {
    /// `most`: frames in a row.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self { left: most, most }
    }

    /// Notes a frame that leads nowhere.
    ///
    /// # Errors
    /// ENHANCE_YOUR_CALM if there were too many of them.
    #[inline]
    pub fn note(&mut self) -> Result<(), ConnectionError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(broken(
                ErrorCode::ENHANCE_YOUR_CALM,
                "too many frames that lead nowhere",
            )),
        }
    }

    /// Frames since the last that led somewhere.
    #[must_use]
    pub fn row(&self) -> u32 {
        self.most - self.left
    }

    /// The peer did something useful.
    #[inline]
    pub fn reset(&mut self) {
        self.left = self.most;
    }
}
