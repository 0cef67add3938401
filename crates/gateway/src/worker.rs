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
use crate::connection::Connection;
use crate::gateway::Shared;
use crate::metrics::WorkerMetrics;
use crate::problem::Problem;
use crate::store::{Fate, Staged, Ticket, TopicSlot};

/// What all connections of one worker use. Only its own thread touches it, so nothing here is locked.
pub(crate) struct Worker {
    pub(crate) number: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) router: axum::Router,
    pub(crate) staged: RefCell<Staged>,
    pub(crate) stock: RefCell<Stock>,
    /// Answer what is open, take nothing new.
    pub(crate) draining: Cell<bool>,
    topics: RefCell<TopicCache>,
    waiting: RefCell<Vec<(Ticket, Waker)>>,
    everyone: RefCell<HashMap<u64, Waker>>,
    next_connection: Cell<u64>,
}

/// Topics this worker has seen: the last one is nearly always the next one.
#[derive(Default)]
struct TopicCache {
    last: Option<(Box<str>, TopicSlot)>,
    known: HashMap<Box<str>, TopicSlot>,
}

impl Worker {
    /// The slot of a topic that has one.
    pub(crate) fn topic(&self, name: &str) -> Option<TopicSlot> {
        let mut cache = self.topics.borrow_mut();
        if let Some((last, slot)) = &cache.last
            && **last == *name
        {
            return Some(*slot);
        }
        let slot = if let Some(slot) = cache.known.get(name) {
            *slot
        } else {
            let slot = self.shared.store.topics.known(name)?;
            cache.known.insert(name.into(), slot);
            slot
        };
        cache.last = Some((name.into(), slot));
        Some(slot)
    }

    /// The slot of a topic whose name has been checked; it need not have had one.
    pub(crate) fn new_topic(&self, name: &str) -> Result<TopicSlot, Problem> {
        self.shared.store.topics.slot(name).map_err(|_| {
            Problem::new(
                507,
                "as many topics exist as this gateway holds (--topics-max)",
            )
        })
    }

    /// Wakes the task when the ticket's batch is settled. To be called while it is pending, on this thread.
    pub(crate) fn wake_when_settled(&self, ticket: &Ticket, waker: &Waker) {
        self.waiting
            .borrow_mut()
            .push((ticket.clone(), waker.clone()));
    }

    fn wake_settled(&self) {
        self.waiting.borrow_mut().retain(|(ticket, waker)| {
            let pending = ticket.fate() == Fate::Pending;
            if !pending {
                waker.wake_by_ref();
            }
            pending
        });
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
        staged: RefCell::default(),
        stock: RefCell::default(),
        draining: Cell::new(false),
        topics: RefCell::default(),
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
            () = settled.notified() => worker.wake_settled(),
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
            () = settled.notified() => worker.wake_settled(),
            _ = connections.join_next() => {}
            () = &mut deadline => break,
        }
    }
    if !connections.is_empty() {
        crate::log::warning(format_args!(
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
            crate::log::warning(format_args!("taking a connection over: {error}"));
        }
    }
}
