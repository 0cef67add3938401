//! What the connections of one thread share, and how they are woken after a commit.

mod thread;

pub(crate) use thread::{Start, run};

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use tokio::sync::Notify;

use crate::answer::Stock;
use crate::backend::Staged;
use crate::form::Scratch;
use crate::metrics::WorkerMetrics;
use crate::shared::Shared;
use crate::turn::Turn;

/// Rounds of the event loop between an acknowledgement and the next batch: one in which answers are written, one in which
/// what they bring is read.
const ROUNDS_BEFORE_SENDING: usize = 2;

/// What all connections of one worker use. Only its own thread touches it, so nothing here is locked.
pub(crate) struct Worker {
    pub(crate) number: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) router: axum::Router,
    pub(crate) staged: RefCell<Staged>,
    pub(crate) stock: RefCell<Stock>,
    pub(crate) scratch: RefCell<Scratch>,
    /// Answer what is open, take nothing new.
    pub(crate) draining: Cell<bool>,
    /// The turn at hand.
    turn: RefCell<Rc<Turn>>,
    turn_is_open: Cell<bool>,
    turn_is_whole: Notify,
    /// Turns whose fate is not known yet.
    waiting: RefCell<Vec<Rc<Turn>>>,
    everyone: RefCell<HashMap<u64, Waker>>,
    next_connection: Cell<u64>,
}

impl Worker {
    /// The turn at hand, which is handed over as soon as every connection that can move now has moved.
    pub(crate) fn turn(&self) -> Rc<Turn> {
        if !self.turn_is_open.replace(true) {
            self.turn_is_whole.notify_one();
        }
        Rc::clone(&self.turn.borrow())
    }

    /// Hands what this turn staged to the log: one hand-over for all connections that had something to say.
    fn hand_over(&self) {
        if !self.turn_is_open.replace(false) {
            return;
        }
        let turn = self.turn.take();
        let handed = self
            .shared
            .backend
            .submit(&mut self.staged.borrow_mut(), self.number);
        turn.hand_over(handed);
        if turn.poll_settled() {
            self.waiting.borrow_mut().push(turn);
        }
    }

    /// Has those answered whose records are settled; then hands over what came meanwhile, and has sent what waited. Who is
    /// answered often comes again at once, and so goes with the others in one batch.
    async fn answer_settled(&self) {
        self.waiting.borrow_mut().retain(|turn| turn.poll_settled());
        for _ in 0..ROUNDS_BEFORE_SENDING {
            tokio::task::yield_now().await;
        }
        self.hand_over();
        self.shared.backend.send();
    }

    /// Enters a connection into the list of those to be woken when draining starts; returns its number there.
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
