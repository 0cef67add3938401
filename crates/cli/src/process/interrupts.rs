//! Requests to end the program, by signal or by key: counted, and passed on to the running task.

use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

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
        let [terminate, hangup] = ends();
        self.listen_to(&[SignalKind::interrupt(), terminate, hangup])
    }

    /// Listens to SIGINT alone.
    ///
    /// # Errors
    /// As [`Self::listen`].
    pub(crate) fn listen_to_interrupt(&self) -> Result<()> {
        self.listen_to(&[SignalKind::interrupt()])
    }

    /// Listens to SIGTERM and SIGHUP.
    ///
    /// # Errors
    /// As [`Self::listen`].
    pub(crate) fn listen_to_ends(&self) -> Result<()> {
        self.listen_to(&ends())
    }

    fn listen_to(&self, kinds: &[SignalKind]) -> Result<()> {
        if self.is_listening.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let heard = self.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let mut streams = {
            let _inside = runtime.enter();
            kinds
                .iter()
                .map(|kind| signal(*kind))
                .collect::<Result<Vec<_>, _>>()
                .context("cannot listen to signals")?
        };
        let wait = async move {
            loop {
                poll_fn(|context| poll_any(&mut streams, context)).await;
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

fn ends() -> [SignalKind; 2] {
    [SignalKind::terminate(), SignalKind::hangup()]
}

/// Ready when one of the signals has come.
fn poll_any(streams: &mut [Signal], context: &mut Context<'_>) -> Poll<()> {
    let mut streams = streams.iter_mut();
    match streams.any(|stream| stream.poll_recv(context).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
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
