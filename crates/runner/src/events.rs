//! Telling the caller what happens, without ever waiting long for it.

use std::time::Duration;

use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use crate::Event;

/// A receiver that is slower than this misses even what it should not.
const WAIT_AT_MOST: Duration = Duration::from_secs(1);

/// Sends events.
#[derive(Debug, Clone)]
pub(crate) struct Events(pub(crate) mpsc::Sender<Event>);

impl Events {
    /// Waits a moment for a slow receiver.
    pub(crate) async fn tell(&self, event: Event) {
        timeout(WAIT_AT_MOST, self.0.send(event)).await.ok();
    }

    /// A slow receiver misses it.
    pub(crate) fn show(&self, event: Event) {
        self.0.try_send(event).ok();
    }
}

/// Whether the caller wants an end.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown(pub(crate) watch::Receiver<bool>);

impl Shutdown {
    pub(crate) fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is asked for; never, where nobody is left who could ask.
    pub(crate) async fn asked(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
