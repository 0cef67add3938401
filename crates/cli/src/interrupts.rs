//! Wishes to end, by signal or by key: counted, and passed on to what runs.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// What a wish to end does.
type End = Box<dyn Fn() + Send>;

/// Counts the wishes to end, and passes each on to what runs.
#[derive(Clone)]
pub(crate) struct Interrupts {
    count: Arc<AtomicU32>,
    running: Arc<Mutex<Option<End>>>,
    at_the_third: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupts")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

impl Interrupts {
    /// `at_the_third`: what the third wish does, beside what each one does.
    pub(crate) fn new(at_the_third: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            count: Arc::default(),
            running: Arc::default(),
            at_the_third: Arc::new(at_the_third),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// From now on `end` is what each wish does; at once if one has come already.
    pub(crate) fn follow(&self, end: impl Fn() + Send + 'static) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.count() > 0 {
            end();
        }
        *running = Some(Box::new(end));
    }

    /// One more wish to end.
    pub(crate) fn wait_for_interrupt(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = &*running {
            end();
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= 2 {
            (self.at_the_third)();
        }
    }

    /// Listens to the signals by which people and machines ask a program to end.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub(crate) fn listen(&self) -> Result<()> {
        let heard = self.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let mut streams = {
            let _inside = runtime.enter();
            kinds
                .map(signal)
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .context("cannot listen to signals")?
        };
        let wait = async move {
            loop {
                let [interrupt, terminate, hangup] = streams.as_mut_slice() else {
                    return;
                };
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                heard.wait_for_interrupt();
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(wait))
            .context("cannot start the thread that listens to signals")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_that_came_early_ends_what_starts_later() {
        let interrupts = Interrupts::new(|| ());
        interrupts.wait_for_interrupt();
        let ended = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&ended);
        interrupts.follow(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ended.load(Ordering::Relaxed), 1);
        interrupts.wait_for_interrupt();
        assert_eq!(ended.load(Ordering::Relaxed), 2);
        assert_eq!(interrupts.count(), 2);
    }
}
