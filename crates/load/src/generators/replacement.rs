//! Replaces what generators send: the check, and an order to each.

use std::sync::{
    Arc,
    mpsc::{SyncSender, TrySendError},
};

use super::{link::Outgoing, message};
use crate::{
    control::replacement::{ReplaceError, Shape},
    job::What,
};

/// Replaces what a run sends, from any thread.
#[derive(Debug, Clone)]
pub struct ReplaceInGenerators {
    shape: Arc<Shape>,
    orders: Vec<SyncSender<Outgoing>>,
}

impl ReplaceInGenerators {
    pub(super) fn new(shape: Shape, orders: Vec<SyncSender<Outgoing>>) -> Self {
        Self {
            shape: Arc::new(shape),
            orders,
        }
    }

    /// Sends this from now on, as [`crate::Replace::replace`].
    ///
    /// # Errors
    /// It has another shape, cannot be sent, or does not reach a generator.
    pub fn replace(&self, what: &What) -> Result<(), ReplaceError> {
        self.shape.check(what)?;
        let bytes = Arc::new(message::encode(what).map_err(ReplaceError::Encode)?);
        let total = self.orders.len();
        for (orders, number) in self.orders.iter().zip(1..) {
            // That a generator is gone is shown by its reports.
            if let Err(TrySendError::Full(_)) =
                orders.try_send(Outgoing::Replace(Arc::clone(&bytes)))
            {
                return Err(ReplaceError::NotTaken { number, of: total });
            }
        }
        Ok(())
    }
}
