//! Following a place: what it has of a trial's records, again and again, while load runs and after.
//!
//! A place is read in one of three ways: text over HTTP that is read on from an offset (`offset`), text over HTTP that is asked
//! for by the records' times (`by_time`), and the messages of a topic of Kafka (`kafka`). What is found goes into the same notes.

mod by_time;
mod csv;
mod delays;
mod following;
mod frontier;
mod kafka;
mod lines;
mod notes;
mod offset;
mod pace;
mod seen;
#[cfg(test)]
mod tests;

use std::{net::SocketAddr, time::Duration};

use waggle_study::{ProbeKind, ProbeQuery};

use self::{by_time::ByTime, kafka::Kafka, offset::Offset, pace::Pace};
pub(crate) use self::{
    delays::{Window, histogram},
    following::{Following, ProbeError},
    frontier::Depth,
    notes::Notes,
    seen::Seen,
};
use crate::{
    driver::Failure,
    placeholder::{PlaceholderError, fill},
    secrets::Secrets,
    web::{Ask, Line, WebError},
};

/// A place that is followed.
#[derive(Debug)]
pub(crate) enum Follower<N> {
    Offset(Box<Offset>, N),
    ByTime(Box<ByTime>, N),
    Kafka(Kafka),
}

impl<N: Line> Follower<N> {
    /// `line` opens a line to an address; there is at least one of those.
    pub(crate) fn new(
        following: &Following<'_>,
        addresses: &[SocketAddr],
        line: impl FnOnce(SocketAddr) -> N,
    ) -> Result<Self, Failure> {
        let first = *addresses.first().ok_or_else(|| {
            Failure::new(format!(
                "probe \"{}\": component \"{}\" has no port \"{}\"",
                following.probe.name, following.probe.component, following.probe.port
            ))
        })?;
        if addresses.len() > 1 && !matches!(following.probe.kind, ProbeKind::Kafka { .. }) {
            return Err(Failure::new(format!(
                "probe \"{}\" asks one store, and component \"{}\" has {} replicas, each with its own: what is in the others would count as missing",
                following.probe.name,
                following.probe.component,
                addresses.len()
            )));
        }
        Ok(match &following.probe.kind {
            ProbeKind::Tail {
                get,
                offset_after,
                limit,
            } => {
                let offset = Offset::new(following, get, (offset_after, *limit));
                Self::Offset(Box::new(offset), line(first))
            }
            ProbeKind::Query { query, limit } => {
                let query = with_secrets(query, following.secrets).map_err(|why| {
                    Failure::new(format!("probe \"{}\": {why}", following.probe.name))
                })?;
                let by_time = ByTime::new(following, query, *limit);
                Self::ByTime(Box::new(by_time), line(first))
            }
            ProbeKind::Kafka { topic } => Self::Kafka(Kafka::start(following, addresses, topic)?),
        })
    }

    /// Looks once; true where the place has more than it showed at once.
    pub(crate) async fn look(&mut self, depth: Depth) -> Result<bool, ProbeError> {
        match self {
            Self::Offset(offset, line) => Ok(offset.look(line).await?),
            Self::ByTime(by_time, line) => by_time.look(line, depth).await,
            Self::Kafka(kafka) => kafka.look().await,
        }
    }

    /// What has been found so far.
    pub(crate) fn notes<T>(&self, of: impl FnOnce(&Notes) -> T) -> T {
        match self {
            Self::Offset(offset, _) => of(&offset.notes),
            Self::ByTime(by_time, _) => of(&by_time.notes),
            Self::Kafka(kafka) => kafka.notes(of),
        }
    }

    pub(crate) fn pace(&self) -> Pace {
        match self {
            Self::Offset(offset, _) => offset.pace,
            Self::ByTime(by_time, _) => by_time.pace,
            Self::Kafka(kafka) => kafka.pace(),
        }
    }

    /// A look was given up that had begun at `start`; true where it had brought something.
    pub(crate) fn given_up(&mut self, start: tokio::time::Instant, rows_before: u64) -> bool {
        let pace = match self {
            Self::Offset(offset, _) => &mut offset.pace,
            Self::ByTime(by_time, _) => {
                by_time.given_up();
                &mut by_time.pace
            }
            // Its looks wait for nobody.
            Self::Kafka(_) => return false,
        };
        let brought = pace.rows_read > rows_before;
        if brought {
            pace.is_behind(start);
        }
        brought
    }

    /// The longest pause before the next look that keeps what looking costs in bounds.
    pub(crate) fn rest(&self) -> Duration {
        match self {
            Self::ByTime(by_time, _) => by_time.rest(),
            _ => Duration::ZERO,
        }
    }

    /// What a delay is known to within at best, of looks with `poll` between them.
    pub(crate) fn between_looks(&self, poll: Duration) -> Duration {
        match self {
            Self::Kafka(_) => Duration::from_millis(1),
            _ => poll,
        }
    }

    /// The next look goes back as far as it is asked to, wherever the one before had come to.
    pub(crate) fn begin_anew(&mut self) {
        if let Self::ByTime(by_time, _) = self {
            by_time.given_up();
        }
    }

    /// The place was killed and may have lost what it had shown: it is read anew from its beginning, and what it showed counts
    /// only where it is shown again.
    pub(crate) fn forget(&mut self) {
        match self {
            Self::Offset(offset, _) => offset.forget(),
            Self::ByTime(by_time, _) => by_time.forget(),
            Self::Kafka(kafka) => kafka.forget(),
        }
    }

    /// Whether all that is missing is gone back to, look after look, where a look is asked to.
    pub(crate) fn shows_all_in_parts(&self) -> bool {
        matches!(self, Self::ByTime(..))
    }

    /// Asks once more for what was asked for before, to measure what that costs; `None` where nothing can be measured.
    pub(crate) async fn ask_again(&mut self, bytes: &mut u64) -> Option<Result<u16, WebError>> {
        let mut count = |chunk: &[u8]| *bytes += chunk.len() as u64;
        match self {
            Self::Offset(offset, line) => {
                let path = offset.first_page();
                Some(line.ask(&Ask::get(&path), &mut count).await)
            }
            Self::ByTime(by_time, line) => {
                let ask = by_time.largest_query();
                Some(line.ask(&ask.borrow(), &mut count).await)
            }
            Self::Kafka(_) => None,
        }
    }

    /// What is worth a line in the report.
    pub(crate) fn remark(&self) -> Option<String> {
        match self {
            Self::Offset(offset, _) if offset.without_offset > 0 => Some(format!(
                "{} lines of the store had no offset",
                offset.without_offset
            )),
            Self::Kafka(kafka) => kafka.remark(),
            _ => None,
        }
    }
}

/// A query whose secrets are filled; what changes from poll to poll stays as it is.
fn with_secrets(query: &ProbeQuery, secrets: &Secrets) -> Result<ProbeQuery, PlaceholderError> {
    let value = |name: &str| match name {
        "from" | "to" | "run" => Some(format!("${{{name}}}")),
        _ => secrets.placeholder(name),
    };
    let mut filled = query.clone();
    filled.path = fill(&query.path, value)?;
    filled.body = fill(&query.body, value)?;
    for (_, text) in &mut filled.headers {
        *text = fill(text, value)?;
    }
    Ok(filled)
}
