//! The sink's life cycle: how its threads start, run and end.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::{net::TcpListener, sync::oneshot, task::JoinSet};
use waggle_service::{admin, log};

use crate::{
    calls,
    error::SinkError,
    health::Check,
    reads::{consumer, consumer::Group, lag},
    settings::SinkSettings,
    shared::Shared,
    writes::writer::Writer,
};

/// Time for the last commit and for leaving the group, after `--drain-timeout`.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for dead letters that are in flight at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of looks at the files of credentials and certificates for Kafka.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Shortest time between two warnings about them.
const WARN_EVERY: Duration = Duration::from_mins(1);

/// Moves records until `shutdown` is ready. Then writes what was read, within `--drain-timeout`, commits, and leaves the group.
/// `token` is the environment's.
///
/// # Errors
/// If a setting is wrong, if the address, a thread or a Kafka client is not available, if a thread panics, or if the group expels
/// a sink without `--group-instance-id`. Servers that are unavailable or refuse the sink are not an error: it waits.
pub async fn run(
    settings: SinkSettings,
    token: Option<String>,
    listening: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<(), SinkError> {
    let shared = Arc::new(Shared::new(settings, token)?);
    let address = shared.settings.admin_listen;
    let listen = |source| SinkError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let mut instance = shared.settings.group_instance_id.clone();
    let mut member = Some(Member::join(&shared, instance.as_deref())?);
    let mut writers = JoinSet::new();
    for _ in 0..shared.settings.writes_in_flight {
        writers.spawn(Writer::new(Arc::clone(&shared)).run());
    }
    let operators = tokio::spawn(admin::serve(listener, calls::router(&shared)));
    listening(address);
    let mut shutdown = std::pin::pin!(shutdown);
    let outcome = loop {
        let Some(at_hand) = &mut member else {
            member = Some(Member::join(&shared, instance.as_deref())?);
            continue;
        };
        let rejoin = tokio::select! {
            () = &mut shutdown => break Ok(()),
            () = access_change(&shared) => Rejoin::AccessChange,
            ended = &mut at_hand.reader_ends => match ended {
                Ok(Some(reason)) => Rejoin::Lost(reason),
                _ => break Err(SinkError::Ended("the reader")),
            },
            _ = writers.join_next() => break Err(SinkError::Ended("a writer")),
        };
        if let Err(error) = rejoin.prepare(&shared, at_hand, &mut instance) {
            break Err(error);
        }
        if let Some(left) = member.take() {
            tokio::select! {
                () = left.leave(shared.settings.drain_timeout + LEAVE_TIMEOUT) => {}
                () = &mut shutdown => break Ok(()),
            }
        }
        shared.backlog.revoke_all();
    };
    log::note(format_args!("draining"));
    shared
        .health
        .fail_silently(Check::Draining, "the sink is shutting down");
    let within = shared.settings.drain_timeout + LEAVE_TIMEOUT;
    let begun = Instant::now();
    if let Some(member) = &mut member {
        member.stop.store(true, Ordering::Relaxed);
        let ends = &mut member.reader_ends;
        if outcome.is_ok() && tokio::time::timeout(within, ends).await.is_err() {
            log::warn(format_args!(
                "the last commit did not end within {:?}",
                begun.elapsed()
            ));
        }
    }
    shared.backlog.end();
    writers.abort_all();
    shared.dead_letters.flush(FLUSH_TIMEOUT);
    operators.abort();
    if let Some(member) = member {
        member.leave(within.saturating_sub(begun.elapsed())).await;
    }
    outcome
}

/// Returns when credentials or certificates for Kafka have changed and can be used: librdkafka reads them only when a client is
/// made.
async fn access_change(shared: &Shared) {
    let mut warned: Option<Instant> = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match shared.access.renew() {
            Ok(false) => {}
            // A certificate may be there before its key: the sink stays as it is until both can be used.
            Ok(true) => match shared.dead_letters.reconnect() {
                Ok(()) => return,
                Err(error) => log::warn(format_args!("{error}; expected other files")),
            },
            Err(error) if warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY) => {
                warned = Some(Instant::now());
                log::warn(format_args!("{error}; what was read before stays in force"));
            }
            Err(_) => {}
        }
    }
}

/// Why the sink leaves the group and joins it again.
enum Rejoin {
    /// The group expelled the sink.
    Lost(String),
    /// There are other credentials or certificates.
    AccessChange,
}

impl Rejoin {
    /// Notes the reason. The sink joins again without its `instance` if another sink has it.
    fn prepare(
        self,
        shared: &Shared,
        member: &Member,
        instance: &mut Option<String>,
    ) -> Result<(), SinkError> {
        match self {
            Self::AccessChange => {
                log::note(format_args!(
                    "credentials or certificates for Kafka have changed: connecting again"
                ));
            }
            Self::Lost(lost) => {
                shared.health.fail_silently(Check::Group, &lost);
                if !member.is_named {
                    return Err(SinkError::Lost(lost));
                }
                // Another sink uses the same id, or a restarted broker remembers an earlier one. Without an id there is no conflict.
                log::warn(format_args!(
                    "{lost}; rejoining the group without --group-instance-id"
                ));
                *instance = None;
            }
        }
        Ok(())
    }
}

/// The sink's membership of the group: the consumer and the threads that use it.
struct Member {
    group: Arc<Group>,
    stop: Arc<AtomicBool>,
    lag: JoinHandle<()>,
    reader: JoinHandle<()>,
    /// Why the group expelled the sink, if it did; an error if the reader panicked.
    reader_ends: oneshot::Receiver<Option<String>>,
    /// Whether it has a `--group-instance-id`.
    is_named: bool,
}

impl Member {
    fn join(shared: &Arc<Shared>, instance: Option<&str>) -> Result<Self, SinkError> {
        shared
            .health
            .fail_silently(Check::Group, "the group has not been joined yet");
        let group = Arc::new(consumer::join(shared, instance)?);
        let stop = Arc::new(AtomicBool::new(false));
        let (lag, _lag_ends) = start("lag", shared, &group, &stop, lag::run)?;
        let (reader, reader_ends) = start("reader", shared, &group, &stop, consumer::run)?;
        Ok(Self {
            group,
            stop,
            lag,
            reader,
            reader_ends,
            is_named: instance.is_some(),
        })
    }

    /// Leaves the group, so that other sinks get the partitions at once. The timeout is for an unavailable broker.
    async fn leave(self, at_most: Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let leaving = tokio::task::spawn_blocking(move || self.end());
        if tokio::time::timeout(at_most, leaving).await.is_err() {
            log::warn(format_args!("leaving the group timed out"));
        }
    }

    /// Waits for the threads, and drops the consumer.
    fn end(self) {
        for thread in [self.lag, self.reader] {
            // A panic is on stderr already.
            let _ = thread.join();
        }
        drop(self.group);
    }
}

/// Starts a thread; the receiver gets its result when it ends.
fn start<T: Send + 'static>(
    name: &'static str,
    shared: &Arc<Shared>,
    group: &Arc<Group>,
    stop: &Arc<AtomicBool>,
    run: fn(&Shared, &Group, &AtomicBool) -> T,
) -> Result<(JoinHandle<()>, oneshot::Receiver<T>), SinkError> {
    let (shared, group, stop) = (Arc::clone(shared), Arc::clone(group), Arc::clone(stop));
    let (ended, ends) = oneshot::channel();
    // Both arcs are dropped before the end is reported, so that the group can be left. A panic drops the sender, which reports it too.
    let work = move || {
        let outcome = run(&shared, &group, &stop);
        drop((shared, group));
        let _ = ended.send(outcome);
    };
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work);
    Ok((thread.map_err(SinkError::Thread)?, ends))
}
