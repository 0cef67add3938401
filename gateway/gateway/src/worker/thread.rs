//! A worker's thread: accepts connections, wakes them after a commit, and drains.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc, watch},
    task::{JoinSet, LocalSet},
};
use waggle_service::log;

use super::Worker;
use crate::{
    clients::admission::Admission,
    connection::{Connection, serve_encrypted},
    metrics::WorkerMetrics,
    shared::Shared,
};

/// A connection for a worker.
pub(crate) struct Dealt {
    pub(crate) stream: std::net::TcpStream,
    pub(crate) admission: Admission,
}

/// Arguments of a worker's thread.
pub(crate) struct Start {
    pub(crate) number: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) router: axum::Router,
    /// Notified when a batch with records of this worker is settled.
    pub(crate) settled: Arc<Notify>,
    pub(crate) connections: mpsc::Receiver<Dealt>,
    pub(crate) draining: watch::Receiver<bool>,
}

/// Serves until it drains and all connections have ended, or `--drain-timeout` is over.
pub(crate) async fn run(start: Start) {
    let worker = Rc::new(Worker {
        number: start.number,
        metrics: start.metrics,
        router: start.router,
        staged: RefCell::new(start.shared.backend.new_staging()),
        canned: RefCell::default(),
        scratch: RefCell::default(),
        draining: Cell::new(false),
        drain_begins: start.draining.clone(),
        cycle: RefCell::default(),
        turn_is_open: Cell::new(false),
        turn_is_whole: Notify::new(),
        waiting: RefCell::default(),
        everyone: RefCell::default(),
        next_connection: Cell::new(0),
        shared: start.shared,
    });
    worker.begin_second(SystemTime::now());
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
    mut incoming: mpsc::Receiver<Dealt>,
    mut draining: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            () = worker.turn_is_whole.notified() => worker.hand_over(),
            () = settled.notified() => worker.answer_settled().await,
            Some(dealt) = incoming.recv() => accept(&worker, dealt, &mut connections),
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = second.tick() => worker.begin_second(SystemTime::now()),
            _ = draining.wait_for(|begun| *begun) => break,
        }
    }
    incoming.close();
    while let Some(dealt) = incoming.recv().await {
        accept(&worker, dealt, &mut connections);
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
        log::warn(format_args!(
            "{} connections were closed at the end of --drain-timeout",
            connections.len()
        ));
    }
}

fn accept(worker: &Rc<Worker>, dealt: Dealt, connections: &mut JoinSet<()>) {
    match TcpStream::from_std(dealt.stream) {
        Ok(stream) => {
            let (worker, admission) = (Rc::clone(worker), dealt.admission);
            match worker.shared.tls.clone() {
                Some(tls) => {
                    connections.spawn_local(serve_encrypted(worker, tls, stream, admission))
                }
                None => {
                    let connection = Connection::new(worker, stream, admission, None);
                    connections.spawn_local(connection.run())
                }
            };
        }
        Err(error) => log::warn(format_args!("taking a connection over: {error}")),
    }
}
