//! Probes: they poll a store for the records of a trial, while load runs and after.
//!
//! There are five kinds: text over HTTP that is read on from an offset (`offset`), an array in JSON documents over HTTP
//! (`items`), text over HTTP that is queried by the time of records (`by_time`), the messages of a Kafka topic (`kafka`), and an
//! answer over HTTP that goes on (`watch`). All of them write to the same log of records.

mod by_time;
mod config;
mod csv;
mod delays;
mod document;
mod due_instants;
mod instants;
mod items;
mod kafka;
mod lines;
mod log;
mod offset;
mod pace;
mod sampling;
mod seen_set;
mod stretches;
#[cfg(test)]
mod tests;
mod time_cursor;
mod watch;

use std::time::Duration;

use waggle_study::{Probe, ProbeKind, ProbeQuery};
use waggle_system::{
    components::driver::Failure,
    http::{
        client::{Connection, Request},
        peer,
        peer::Peer,
    },
    placeholder::{PlaceholderError, fill, fill_content},
    secrets::words::Secrets,
};

pub use self::sampling::SampleLimits;
use self::{
    by_time::ByTime,
    items::Items,
    kafka::Kafka,
    offset::{Offset, Tail},
    pace::Pace,
    watch::Watch,
};
pub(crate) use self::{
    config::{ProbeConfig, ProbeError},
    delays::Window,
    due_instants::DueInstants,
    log::ProbeLog,
    seen_set::SeenSet,
    time_cursor::Depth,
    watch::WatchStream,
};

/// The reader of one probe.
#[derive(Debug)]
pub(crate) enum ProbeReader<N> {
    Offset(Box<Offset>, N),
    Items(Box<Items>, N),
    ByTime(Box<ByTime>, N),
    Kafka(Kafka),
    Watch(Box<Watch>),
}

impl<N: Connection> ProbeReader<N> {
    /// `connection` opens a connection to a port; `peers` has at least one.
    pub(crate) fn new(
        config: &ProbeConfig<'_>,
        peers: &[Peer],
        connection: impl FnOnce(&Peer) -> N,
    ) -> Result<Self, Failure> {
        let first = first_peer(config.probe, peers)?;
        Ok(match &config.probe.kind {
            ProbeKind::Tail {
                get,
                offset_after,
                arrival_after,
                limit,
            } => {
                let tail = Tail {
                    get,
                    offset_after,
                    arrival_after: arrival_after.as_deref(),
                    limit: *limit,
                };
                let offset = Offset::new(config, tail);
                Self::Offset(Box::new(offset), connection(first))
            }
            ProbeKind::Items { get, items, limit } => {
                let items = Items::new(config, get, *limit, items).map_err(|why| {
                    Failure::new(format!("probe \"{}\": {why}", config.probe.name))
                })?;
                Self::Items(Box::new(items), connection(first))
            }
            ProbeKind::Query { query, limit } => {
                let query = with_secrets(query, config.secrets).map_err(|why| {
                    Failure::new(format!("probe \"{}\": {why}", config.probe.name))
                })?;
                let by_time = ByTime::new(config, query, *limit);
                Self::ByTime(Box::new(by_time), connection(first))
            }
            ProbeKind::Kafka { topic } => {
                Self::Kafka(Kafka::start(config, &peer::addresses(peers), topic)?)
            }
            ProbeKind::Watch(watch) => {
                let stream = WatchStream::new(config.probe, watch, first, config.secrets)?;
                Self::watch(config, watch, stream)?
            }
        })
    }

    /// The reader of a stream that may have been requested already.
    pub(crate) fn watch(
        config: &ProbeConfig<'_>,
        watch: &waggle_study::Watch,
        stream: WatchStream,
    ) -> Result<Self, Failure> {
        let watch = Watch::new(config, watch, stream)
            .map_err(|why| Failure::new(format!("probe \"{}\": {why}", config.probe.name)))?;
        Ok(Self::Watch(Box::new(watch)))
    }

    /// Polls once; true if the store has more than the answer shows.
    pub(crate) async fn poll(&mut self, depth: Depth) -> Result<bool, ProbeError> {
        match self {
            Self::Offset(offset, connection) => Ok(offset.poll(connection).await?),
            Self::Items(items, connection) => items.poll(connection).await,
            Self::ByTime(by_time, connection) => by_time.poll(connection, depth).await,
            Self::Kafka(kafka) => kafka.poll().await,
            Self::Watch(watch) => watch.poll().await,
        }
    }

    /// The records seen so far.
    pub(crate) fn log<T>(&self, reader: impl FnOnce(&ProbeLog) -> T) -> T {
        match self {
            Self::Offset(offset, _) => reader(&offset.log),
            Self::Items(items, _) => reader(&items.log),
            Self::ByTime(by_time, _) => reader(&by_time.log),
            Self::Kafka(kafka) => kafka.log(reader),
            Self::Watch(watch) => reader(&watch.log),
        }
    }

    /// How many different records the store has, as far as it is known.
    pub(crate) fn visible(&self) -> u64 {
        match self {
            Self::Offset(offset, _) => offset.visible(),
            Self::Items(..) | Self::ByTime(..) | Self::Watch(_) => {
                self.log(|log| log.seen.distinct)
            }
            Self::Kafka(kafka) => kafka.visible(),
        }
    }

    /// Whether the last poll looked at the end of the store.
    pub(crate) fn has_looked(&self) -> bool {
        match self {
            Self::Offset(offset, _) => offset.has_looked,
            Self::Items(..) | Self::ByTime(..) | Self::Watch(_) => true,
            Self::Kafka(kafka) => kafka.has_looked,
        }
    }

    /// The load is over: what was skipped is read.
    pub(crate) fn end_load(&mut self) {
        match self {
            Self::Offset(offset, _) => offset.end_load(),
            Self::Items(items, _) => items.end_load(),
            Self::ByTime(..) | Self::Watch(_) => {}
            Self::Kafka(kafka) => kafka.end_load(),
        }
    }

    /// Whether only a sample of the records has delays.
    pub(crate) fn is_sample(&self) -> bool {
        match self {
            Self::Offset(offset, _) => offset.is_sample(),
            Self::Items(..) | Self::ByTime(..) | Self::Watch(_) => false,
            Self::Kafka(kafka) => kafka.is_sample(),
        }
    }

    /// When the last record came; `None`: when it was counted.
    pub(crate) fn last_row(&self) -> Option<tokio::time::Instant> {
        match self {
            Self::Offset(offset, _) => offset.last_row(),
            Self::Items(items, _) => items.last_new,
            Self::ByTime(..) => None,
            Self::Kafka(kafka) => kafka.last_row(),
            Self::Watch(watch) => watch.last_new,
        }
    }

    pub(crate) fn pace(&self) -> Pace {
        match self {
            Self::Offset(offset, _) => offset.pace,
            Self::Items(items, _) => items.pace,
            Self::ByTime(by_time, _) => by_time.pace,
            Self::Kafka(kafka) => kafka.pace(),
            Self::Watch(watch) => watch.pace,
        }
    }

    /// Aborts the poll that began at `start`; true if it had read rows.
    pub(crate) fn abandon(&mut self, start: tokio::time::Instant, rows_before: u64) -> bool {
        let pace = match self {
            Self::Offset(offset, _) => &mut offset.pace,
            Self::Items(items, _) => &mut items.pace,
            Self::ByTime(by_time, _) => {
                by_time.abandon();
                &mut by_time.pace
            }
            Self::Watch(watch) => &mut watch.pace,
            // Its polls do not wait for the store.
            Self::Kafka(_) => return false,
        };
        let brought = pace.rows_read > rows_before;
        if brought {
            pace.is_behind(start);
        }
        brought
    }

    /// The pause before the next poll that limits the cost of polling.
    pub(crate) fn min_pause(&self) -> Duration {
        match self {
            Self::Items(items, _) => items.last_took,
            Self::ByTime(by_time, _) => by_time.min_pause(),
            _ => Duration::ZERO,
        }
    }

    /// The best resolution of a delay, if `poll` is the interval between two polls.
    pub(crate) fn poll_interval(&self, poll: Duration) -> Duration {
        match self {
            Self::Kafka(_) => Duration::from_millis(1),
            // It is read as it comes.
            Self::Watch(_) => Duration::ZERO,
            // The length of its windows is in the pace.
            Self::Offset(offset, _) if offset.is_sample() => Duration::ZERO,
            _ => poll,
        }
    }

    /// The next poll goes back as far as its depth says, however far the previous one got.
    pub(crate) fn restart(&mut self) {
        match self {
            Self::Items(items, _) => items.restart_pass(),
            Self::ByTime(by_time, _) => by_time.abandon(),
            Self::Watch(watch) => watch.restart(),
            Self::Offset(..) | Self::Kafka(_) => {}
        }
    }

    /// The store was killed and may have lost records that it had shown. It is read again from the beginning, and a record counts
    /// only if it is shown again.
    pub(crate) fn forget(&mut self) {
        match self {
            Self::Offset(offset, _) => offset.forget(),
            Self::Items(items, _) => items.forget(),
            Self::ByTime(by_time, _) => by_time.forget(),
            Self::Kafka(kafka) => kafka.forget(),
            Self::Watch(watch) => watch.forget(),
        }
    }

    /// Whether a full search for missing records takes several polls.
    pub(crate) fn shows_all_in_parts(&self) -> bool {
        matches!(self, Self::Items(..) | Self::ByTime(..))
    }

    /// Reads again, to measure the cost, and adds the bytes; `None` if it cannot be measured.
    pub(crate) async fn ask_again(&mut self, bytes: &mut u64) -> Option<()> {
        let mut count = |chunk: &[u8]| *bytes += chunk.len() as u64;
        match self {
            Self::Offset(offset, connection) => {
                let path = offset.first_page();
                connection
                    .send(&Request::get(&path), &mut count)
                    .await
                    .ok()?;
            }
            Self::Items(items, connection) => {
                let path = items.last_page();
                connection
                    .send(&Request::get(&path), &mut count)
                    .await
                    .ok()?;
            }
            Self::ByTime(by_time, connection) => {
                let request = by_time.largest_query();
                connection.send(&request.borrow(), &mut count).await.ok()?;
            }
            Self::Kafka(kafka) => *bytes += kafka.read_again().await?,
            // What it has shown it does not show again.
            Self::Watch(_) => return None,
        }
        Some(())
    }

    /// A remark for the report.
    pub(crate) fn remark(&self) -> Option<String> {
        match self {
            Self::Offset(offset, _) if offset.without_offset > 0 => Some(format!(
                "lines of the store without an offset: {}",
                offset.without_offset
            )),
            Self::Items(items, _) => items.remark(),
            Self::Kafka(kafka) => kafka.remark(),
            Self::Watch(watch) => watch.remark(),
            _ => None,
        }
    }
}

/// Requests the stream of a watch, so that nothing is sent before the server shows changes; `None` for other kinds. The first of
/// `peers` is asked.
pub(crate) async fn open_stream(
    probe: &Probe,
    peers: &[Peer],
    secrets: &Secrets,
) -> Result<Option<WatchStream>, Failure> {
    let ProbeKind::Watch(watch) = &probe.kind else {
        return Ok(None);
    };
    let peer = first_peer(probe, peers)?;
    let mut stream = WatchStream::new(probe, watch, peer, secrets)?;
    let opened = stream.open().await;
    opened.map_err(|why| Failure::new(format!("probe \"{}\" cannot begin: {why}", probe.name)))?;
    Ok(Some(stream))
}

/// The port that a probe reads.
fn first_peer<'p>(probe: &Probe, peers: &'p [Peer]) -> Result<&'p Peer, Failure> {
    let Probe {
        name,
        component,
        port,
        ..
    } = probe;
    let first = peers.first().ok_or_else(|| {
        Failure::new(format!(
            "probe \"{name}\": component \"{component}\" has no port \"{port}\""
        ))
    })?;
    if peers.len() > 1 && !matches!(probe.kind, ProbeKind::Kafka { .. }) {
        return Err(Failure::new(format!(
            "probe \"{name}\" reads one store, and component \"{component}\" has {} replicas, each with its own store: records in the others would count as missing",
            peers.len()
        )));
    }
    Ok(first)
}

/// A query with its secrets filled; the placeholders that change with every poll stay, the token among them.
fn with_secrets(query: &ProbeQuery, secrets: &Secrets) -> Result<ProbeQuery, PlaceholderError> {
    let value = |name: &str| match name {
        "from" | "to" | "run" => Some(format!("${{{name}}}")),
        _ => secrets.placeholder_but_token(name),
    };
    let (headers, body) = fill_content(&query.headers, &query.body, |text| fill(text, value))?;
    Ok(ProbeQuery {
        method: query.method.clone(),
        path: fill(&query.path, value)?,
        headers,
        body,
    })
}
