//! One thread that serves connections: what its connections share, and how they are woken after a commit.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, SystemTime};

use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinSet, LocalSet};

use crate::answer::Stock;
use crate::backend::Staged;
use crate::calls::last::Scratch;
use crate::connection::Connection;
use crate::gateway::Shared;
use crate::metrics::WorkerMetrics;
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
        if turn.look() {
            self.waiting.borrow_mut().push(turn);
        }
    }

    /// Has those answered whose records are settled; then hands over what came meanwhile, and has sent what waited. Who is
    /// answered often comes again at once, and so goes with the others in one batch.
    async fn answer_settled(&self) {
        self.waiting.borrow_mut().retain(|turn| turn.look());
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

/// What a worker's thread is started with.
pub(crate) struct Start {
    pub(crate) number: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) router: axum::Router,
    /// Told when a batch with records of this worker is settled.
    pub(crate) settled: Arc<Notify>,
    pub(crate) connections: mpsc::Receiver<std::net::TcpStream>,
    pub(crate) draining: watch::Receiver<bool>,
}

/// Serves until draining and all connections have ended, or the time for draining is over.
pub(crate) async fn run(start: Start) {
    let worker = Rc::new(Worker {
        number: start.number,
        metrics: start.metrics,
        router: start.router,
        staged: RefCell::new(start.shared.backend.staged()),
        stock: RefCell::default(),
        scratch: RefCell::default(),
        draining: Cell::new(false),
        turn: RefCell::default(),
        turn_is_open: Cell::new(false),
        turn_is_whole: Notify::new(),
        waiting: RefCell::default(),
        everyone: RefCell::default(),
        next_connection: Cell::new(0),
        shared: start.shared,
    });
    worker.stock.borrow_mut().renew(SystemTime::now());
    LocalSet::new()
        .run_until(serve(
            worker,
            start.settled,
            start.connections,
            start.draining,
        ))
        .await;
}

async fn serve(
    worker: Rc<Worker>,
    settled: Arc<Notify>,
    mut incoming: mpsc::Receiver<std::net::TcpStream>,
    mut draining: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            () = worker.turn_is_whole.notified() => worker.hand_over(),
            () = settled.notified() => worker.answer_settled().await,
            Some(stream) = incoming.recv() => accept(&worker, stream, &mut connections),
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = second.tick() => worker.stock.borrow_mut().renew(SystemTime::now()),
            _ = draining.wait_for(|begun| *begun) => break,
        }
    }
    incoming.close();
    while let Some(stream) = incoming.recv().await {
        accept(&worker, stream, &mut connections);
    }
    worker.drain();
    let deadline = tokio::time::sleep(worker.shared.settings.drain_timeout);
    tokio::pin!(deadline);
    while !connections.is_empty() {
        tokio::select! {
            () = worker.turn_is_whole.notified() => worker.hand_over(),
            () = settled.notified() => worker.answer_settled().await,
            _ = connections.join_next() => {}
            () = &mut deadline => break,
        }
    }
    if !connections.is_empty() {
        waggle_service::log::warning(format_args!(
            "{} connections were cut off after draining",
            connections.len()
        ));
    }
}

fn accept(worker: &Rc<Worker>, stream: std::net::TcpStream, connections: &mut JoinSet<()>) {
    match TcpStream::from_std(stream) {
        Ok(stream) => {
            connections.spawn_local(Connection::new(Rc::clone(worker), stream).run());
        }
        Err(error) => {
            worker.shared.connection_ended();
            waggle_service::log::warning(format_args!("taking a connection over: {error}"));
        }
    }
}
