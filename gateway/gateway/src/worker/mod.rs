//! State that the connections of one thread share, and how they are woken after a commit.

mod thread;

pub(crate) use thread::{Dealt, Start, run};

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    task::Waker,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::sync::{Notify, watch};

use crate::{
    answers::{answer::Canned, form::Scratch},
    log::{backend::Staged, cycle::Cycle},
    metrics::WorkerMetrics,
    shared::Shared,
};

/// Rounds of the event loop between an acknowledgement and the next batch: one writes the answers, one reads the requests that
/// follow them.
const ROUNDS_BEFORE_SENDING: usize = 2;

/// State that all connections of one worker share. Only its own thread uses it, so there are no locks.
pub(crate) struct Worker {
    pub(crate) number: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) router: axum::Router,
    pub(crate) staged: RefCell<Staged>,
    pub(crate) canned: RefCell<Canned>,
    pub(crate) scratch: RefCell<Scratch>,
    /// Answer open requests, read no new ones.
    pub(crate) draining: Cell<bool>,
    /// The same, for what waits for it.
    pub(crate) drain_begins: watch::Receiver<bool>,
    /// The current cycle.
    cycle: RefCell<Rc<Cycle>>,
    turn_is_open: Cell<bool>,
    turn_is_whole: Notify,
    /// Cycles that are not settled yet.
    waiting: RefCell<Vec<Rc<Cycle>>>,
    everyone: RefCell<HashMap<u64, Waker>>,
    next_connection: Cell<u64>,
}

impl Worker {
    /// Renews what all requests of a second share.
    fn begin_second(&self, now: SystemTime) {
        self.canned.borrow_mut().renew(now);
        if let Some(ahead) = self.shared.settings.time_ahead_max {
            self.shared.clock.allow_ahead(now, ahead);
        }
        let second = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        self.shared.gate.second.store(second, Ordering::Relaxed);
    }

    /// The current cycle. It is handed over as soon as every ready connection has run.
    pub(crate) fn cycle(&self) -> Rc<Cycle> {
        if !self.turn_is_open.replace(true) {
            self.turn_is_whole.notify_one();
        }
        Rc::clone(&self.cycle.borrow())
    }

    /// Hands the records of this cycle to the log: one hand-over for all connections.
    fn hand_over(&self) {
        if !self.turn_is_open.replace(false) {
            return;
        }
        let cycle = self.cycle.take();
        let handed = self
            .shared
            .backend
            .submit(&mut self.staged.borrow_mut(), self.number);
        cycle.hand_over(handed);
        if cycle.poll_settled() {
            self.waiting.borrow_mut().push(cycle);
        }
    }

    /// Answers the settled requests; then hands over what arrived meanwhile, and sends what waited. Clients often send the next
    /// request right after an answer; this way those requests share one batch.
    async fn answer_settled(&self) {
        self.waiting
            .borrow_mut()
            .retain(|cycle| cycle.poll_settled());
        for _ in 0..ROUNDS_BEFORE_SENDING {
            tokio::task::yield_now().await;
        }
        self.hand_over();
        self.shared.backend.send();
    }

    /// Registers a connection to be woken when draining starts; returns its number.
    pub(crate) fn enter(&self, waker: Waker) -> u64 {
        let number = self.next_connection.get();
        self.next_connection.set(number + 1);
        self.everyone.borrow_mut().insert(number, waker);
        number
    }

    pub(crate) fn leave(&self, number: u64) {
        self.everyone.borrow_mut().remove(&number);
    }

    fn drain(&self) {
        self.draining.set(true);
        for waker in self.everyone.borrow().values() {
            waker.wake_by_ref();
        }
    }
}
