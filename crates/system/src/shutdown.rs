//! How the caller ends a run, or the load under way.

use tokio::sync::watch;

/// Whether the caller requests an end.
#[derive(Debug, Clone)]
pub struct Shutdown {
    at_once: watch::Receiver<bool>,
    /// An end of the load alone: the trial keeps what was measured.
    of_load: Option<watch::Receiver<bool>>,
}

impl Shutdown {
    pub fn new(at_once: watch::Receiver<bool>) -> Self {
        Self {
            at_once,
            of_load: None,
        }
    }

    /// The same, with a way to end the load under way.
    pub fn or_of_load(self, of_load: Option<watch::Receiver<bool>>) -> Self {
        Self { of_load, ..self }
    }

    /// Whether no further work may begin.
    pub fn is_asked(&self) -> bool {
        *self.at_once.borrow() || self.load_is_to_end()
    }

    /// Whether the load is to end with its result kept.
    pub fn load_is_to_end(&self) -> bool {
        self.of_load.as_ref().is_some_and(|asked| *asked.borrow())
    }

    /// Returns when a stop is requested; never returns if the sender is gone.
    pub async fn wait_for_stop(&mut self) {
        first_wish(Some(&mut self.at_once)).await;
    }

    /// Returns when an end of the load is requested; never returns if the sender is gone.
    pub async fn load_asked(&mut self) {
        first_wish(self.of_load.as_mut()).await;
    }
}

async fn first_wish(wishes: Option<&mut watch::Receiver<bool>>) {
    if let Some(wishes) = wishes
        && wishes.wait_for(|asked| *asked).await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
