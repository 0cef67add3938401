//! The sink's life: how its threads start, run and end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use waggle_service::{log, operators};

use crate::calls;
use crate::consumer::{self, Group};
use crate::error::SinkError;
use crate::health::Check;
use crate::lag;
use crate::lane::Lane;
use crate::settings::SinkSettings;
use crate::shared::Shared;

/// After what was read had its time to be written: for the last commit and for leaving the group.
const LEAVE_WITHIN: Duration = Duration::from_secs(15);
/// For dead letters still under way at the end.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// Moves records until `shutdown` is ready; then writes what was read, within the time set for it, commits, and leaves the group.
/// `token` is that of the environment.
///
/// # Errors
/// When a setting is wrong, or the address, a thread or a client of Kafka cannot be had. When a part panics. When the group will
/// have nothing to do with us any more, though we have no name there that another could have taken. Servers that are away or refuse us are no error: they are waited for.
pub async fn run(
    settings: SinkSettings,
    token: Option<String>,
    listening: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<(), SinkError> {
    let shared = Arc::new(Shared::new(settings, token)?);
    let address = shared.settings.listen;
    let listen = |source| SinkError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let mut member = Some(Member::join(&shared, shared.settings.instance.as_deref())?);
    let mut lanes = JoinSet::new();
    for _ in 0..shared.settings.writes_in_flight {
        lanes.spawn(Lane::new(Arc::clone(&shared)).run());
    }
    let operators = tokio::spawn(operators::serve(listener, calls::router(&shared)));
    listening(address);
    let mut shutdown = std::pin::pin!(shutdown);
    let outcome = loop {
        let Some(at_hand) = &mut member else {
            member = Some(Member::join(&shared, None)?);
            continue;
        };
        let lost = tokio::select! {
            () = &mut shutdown => break Ok(()),
            ended = &mut at_hand.reader_ends => match ended {
                Ok(Some(reason)) => reason,
                _ => break Err(SinkError::Ended("the reader")),
            },
            _ = lanes.join_next() => break Err(SinkError::Ended("a lane of writes")),
        };
        shared.health.fail_silently(Check::Group, &lost);
        if !at_hand.is_named {
            break Err(SinkError::Lost(lost));
        }
        // Either another sink goes by the same name, or a broker that came back knows an earlier one by it. Without a name there is
        // nothing to quarrel about.
        log::warn(format_args!(
            "{lost}; joining the group again, without the name of --instance"
        ));
        if let Some(fenced) = member.take() {
            tokio::select! {
                () = fenced.leave(shared.settings.drain_timeout + LEAVE_WITHIN) => {}
                () = &mut shutdown => break Ok(()),
            }
        }
        shared.backlog.revoke_all();
    };
    log::note(format_args!("draining"));
    shared
        .health
        .fail_silently(Check::Draining, "the sink is shutting down");
    let within = shared.settings.drain_timeout + LEAVE_WITHIN;
    let begun = Instant::now();
    if let Some(member) = &mut member {
        member.stop.store(true, Ordering::Relaxed);
        let ends = &mut member.reader_ends;
        if outcome.is_ok() && tokio::time::timeout(within, ends).await.is_err() {
            log::warn(format_args!(
                "Kafka did not let us go within {:?}",
                begun.elapsed()
            ));
        }
    }
    shared.backlog.end();
    lanes.abort_all();
    shared.dead_letters.flush(FLUSH_WITHIN);
    operators.abort();
    if let Some(member) = member {
        member.leave(within.saturating_sub(begun.elapsed())).await;
    }
    outcome
}

/// Our membership of the group: the consumer and the threads that use it.
struct Member {
    group: Arc<Group>,
    stop: Arc<AtomicBool>,
    lag: JoinHandle<()>,
    reader: JoinHandle<()>,
    /// Why the group has expelled us, if that is why it ended; an error if it panicked.
    reader_ends: oneshot::Receiver<Option<String>>,
    /// The group knows us by a name.
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

    /// Leaves the group, so that others get our partitions at once; not longer than that, as a broker that is away is waited for.
    async fn leave(self, at_most: Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let leaving = tokio::task::spawn_blocking(move || {
            for thread in [self.lag, self.reader] {
                // A panic has shown on stderr.
                let _ = thread.join();
            }
            drop(self.group);
        });
        if tokio::time::timeout(at_most, leaving).await.is_err() {
            log::warn(format_args!("the group was not left in time"));
        }
    }
}

/// Starts a thread, and tells when it has ended, and with what.
fn start<T: Send + 'static>(
    name: &'static str,
    shared: &Arc<Shared>,
    group: &Arc<Group>,
    stop: &Arc<AtomicBool>,
    run: fn(&Shared, &Group, &AtomicBool) -> T,
) -> Result<(JoinHandle<()>, oneshot::Receiver<T>), SinkError> {
    let (shared, group, stop) = (Arc::clone(shared), Arc::clone(group), Arc::clone(stop));
    let (ended, ends) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let outcome = run(&shared, &group, &stop);
            // Dropped before the end is reported, so that the group can be left. A panic drops the sender, which reports it too.
            drop((shared, group));
            let _ = ended.send(outcome);
        });
    Ok((thread.map_err(SinkError::Thread)?, ends))
}
