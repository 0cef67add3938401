//! Requests to end the program, by signal or by key: counted, and passed on to the running task.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// The action of a request to end.
type End = Box<dyn Fn() + Send>;

/// Counts the requests to end, and passes each on to the running task.
#[derive(Clone)]
pub(crate) struct Interrupts {
    count: Arc<AtomicU32>,
    running: Arc<Mutex<Option<End>>>,
    at_the_third: Arc<dyn Fn() + Send + Sync>,
    is_listening: Arc<AtomicBool>,
}

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupts")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

impl Interrupts {
    /// `at_the_third`: an additional action of the third request.
    pub(crate) fn new(at_the_third: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            count: Arc::default(),
            running: Arc::default(),
            at_the_third: Arc::new(at_the_third),
            is_listening: Arc::default(),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Calls `end` on each request from now on; immediately if one has come already.
    pub(crate) fn follow(&self, end: impl Fn() + Send + 'static) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.count() > 0 {
            end();
        }
        *running = Some(Box::new(end));
    }

    /// Counts a request to end and passes it on.
    pub(crate) fn wait_for_interrupt(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = &*running {
            end();
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= 2 {
            (self.at_the_third)();
        }
    }

    /// Listens to SIGINT, SIGTERM and SIGHUP, if it does not yet.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub(crate) fn listen(&self) -> Result<()> {
        if self.is_listening.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
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
    fn early_request_ends_a_task_that_starts_later() {
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
