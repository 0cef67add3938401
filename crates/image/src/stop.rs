//! A request to end before an image is complete.

use tokio::sync::watch;

use crate::error::ImageError;

/// Becomes true when all work should end.
#[derive(Debug, Clone)]
pub struct Stop(pub watch::Receiver<bool>);

impl Stop {
    /// # Errors
    /// The work should end.
    pub(crate) fn check(&self) -> Result<(), ImageError> {
        match *self.0.borrow() {
            true => Err(ImageError::Interrupted),
            false => Ok(()),
        }
    }
}
