//! The probe for stores that show their records as an array in a JSON document, some elements at once.
//!
//! The place of an element is the number of elements before it. It is not final: numbers are taken before a commit, so an element
//! may become visible before others that were there, and they move. While load runs, each poll repeats the last elements of the
//! one before, and what was seen is known by its key. After the load the array is read in passes from its beginning. A page of a
//! pass begins with the last element of the page before; if that is another one now, elements have moved, and the pass begins
//! again. The last complete pass is the account.

use std::time::Duration;

use serde_json_path::{JsonPath, ParseError};
use tokio::time::Instant;
use waggle_system::http::client::{Connection, Request};

use super::{
    config::{ProbeConfig, ProbeError},
    document::body,
    lines::Markers,
    log::{Observation, ProbeLog, RecordTimes},
    offset::{markers, page},
    pace::Pace,
    seen_set::SeenSet,
};

/// Reads an array and logs the records that it shows.
#[derive(Debug)]
pub(crate) struct Items {
    get: String,
    limit: u32,
    path_text: String,
    path: JsonPath,
    run: Vec<u8>,
    markers: Markers,
    pub(crate) log: ProbeLog,
    pub(crate) pace: Pace,
    /// Elements that were read under load.
    read_to: u64,
    /// The current pass, after the load.
    pass: Option<Pass>,
    is_under_load: bool,
    /// Start of the last pass that read everything, in nanoseconds since 1970.
    passed_ns: Option<u64>,
    pub(crate) last_took: Duration,
    /// When the last new record came, after the load.
    pub(crate) last_new: Option<Instant>,
}

/// One reading of the whole array.
#[derive(Debug)]
struct Pass {
    began: Instant,
    began_ns: u64,
    seen: SeenSet,
    /// Elements that were read, and the last of them.
    read_to: u64,
    last: Option<String>,
}

impl Items {
    pub(crate) fn new(
        config: &ProbeConfig<'_>,
        get: &str,
        limit: u32,
        path: &str,
    ) -> Result<Self, ParseError> {
        Ok(Self {
            get: get.to_owned(),
            limit,
            path_text: path.to_owned(),
            path: JsonPath::parse(path)?,
            run: config.run.as_bytes().to_vec(),
            markers: markers(&config.probe.extract, None, None),
            log: ProbeLog::new(config),
            pace: Pace::new(),
            read_to: 0,
            pass: None,
            is_under_load: true,
            passed_ns: None,
            last_took: Duration::ZERO,
            last_new: None,
        })
    }

    /// Reads a page; true if the store has more than it shows.
    pub(crate) async fn poll(
        &mut self,
        connection: &mut impl Connection,
    ) -> Result<bool, ProbeError> {
        self.pace.set_measured(self.log.measured_phase());
        let start = Instant::now();
        let polled = match self.is_under_load {
            true => self.read_on(connection).await,
            false => self.read_pass(connection).await,
        };
        self.last_took = start.elapsed();
        self.log.seen.end_poll();
        if polled.is_err() {
            self.pace.note_failure();
        }
        polled
    }

    /// The first element of a poll under load: half a page is repeated.
    fn begin(&self) -> u64 {
        self.read_to.saturating_sub(u64::from(self.limit / 2))
    }

    async fn read_on(&mut self, connection: &mut impl Connection) -> Result<bool, ProbeError> {
        let (start, begin) = (Instant::now(), self.begin());
        let elements = self.page(connection, begin).await?;
        let since_ns = self.log.clock.unix_ns_at(self.pace.caught_up());
        let mut is_new = false;
        for element in &elements {
            is_new |= self.note(element, since_ns);
        }
        self.read_to = self.read_to.max(begin + count(&elements));
        let has_more = count(&elements) >= u64::from(self.limit);
        match has_more {
            true => self.pace.is_behind(start),
            false => self.pace.at_end(start, is_new),
        }
        Ok(has_more)
    }

    /// Reads a page of the current pass, or the first one of the next.
    async fn read_pass(&mut self, connection: &mut impl Connection) -> Result<bool, ProbeError> {
        let mut pass = self.pass.take().unwrap_or_else(|| Pass {
            began: Instant::now(),
            began_ns: self.log.clock.unix_ns(),
            seen: self.log.seen.empty_copy(),
            read_to: 0,
            last: None,
        });
        let begin = pass.read_to.saturating_sub(1);
        let elements = match self.page(connection, begin).await {
            Ok(elements) => elements,
            Err(problem) => {
                self.pass = Some(pass);
                return Err(problem);
            }
        };
        let repeated = usize::from(pass.last.is_some());
        if pass.last.is_some() && pass.last.as_ref() != elements.first() {
            // Elements have moved, so that this pass would show some of them twice or not at all.
            return Ok(true);
        }
        for (place, element) in (begin..).zip(&elements).skip(repeated) {
            let since_ns = self.since_ns(place);
            self.note(element, since_ns);
            match self.markers.stamp(element.as_bytes(), &self.run) {
                Some(stamp) => drop(pass.seen.note(stamp.key)),
                None if self.log.has_others() => {}
                None => drop(pass.seen.note_foreign()),
            }
        }
        if elements.len() > repeated {
            pass.read_to = begin + count(&elements);
            pass.last = elements.last().cloned();
            self.pass = Some(pass);
            return Ok(true);
        }
        // What the load saw out of order stays.
        pass.seen.out_of_order = self.log.seen.out_of_order;
        self.log.seen = pass.seen;
        self.passed_ns = Some(pass.began_ns);
        self.pace.at_end(pass.began, false);
        Ok(false)
    }

    /// Since when an element that is new at this place in a pass may have been there. Under load nobody looked far back.
    fn since_ns(&self, place: u64) -> u64 {
        match self.passed_ns {
            Some(passed_ns) => passed_ns,
            None if place >= self.begin() => self.log.clock.unix_ns_at(self.pace.caught_up()),
            None => 0,
        }
    }

    /// Notes an element; true if its record is new.
    fn note(&mut self, element: &str, since_ns: u64) -> bool {
        let Some(stamp) = self.markers.stamp(element.as_bytes(), &self.run) else {
            self.log.note_foreign_repeat();
            return false;
        };
        let received_ns = self.log.clock.unix_ns();
        let times = RecordTimes {
            received_ns,
            since_ns: since_ns.clamp(stamp.time_ns.min(received_ns), received_ns),
            arrived_ns: None,
        };
        let observation = self.log.record_again(stamp, times);
        let is_new = observation != Observation::Known;
        if is_new && !self.is_under_load {
            self.last_new = Some(Instant::now());
        }
        if observation == Observation::First && !self.is_under_load {
            let gap = Duration::from_nanos(received_ns - times.since_ns);
            self.pace.gap(gap);
        }
        is_new
    }

    /// The elements from a place on, each as one line of JSON.
    async fn page(
        &mut self,
        connection: &mut impl Connection,
        begin: u64,
    ) -> Result<Vec<String>, ProbeError> {
        self.pace.polls += 1;
        let path = page(&self.get, begin, self.limit);
        let body = body(connection, &Request::get(&path), &mut self.pace.bytes_read).await;
        self.log.update_window();
        let elements = elements(&body?, &self.path, &self.path_text)
            .map_err(|problem| ProbeError::Answer { path, problem })?;
        self.pace.rows_read += count(&elements);
        Ok(elements)
    }

    /// The load is over: from here on everything is read in passes.
    pub(crate) fn end_load(&mut self) {
        self.is_under_load = false;
    }

    /// The next poll begins a pass.
    pub(crate) fn restart_pass(&mut self) {
        self.pass = None;
    }

    /// Reads from the beginning again.
    pub(crate) fn forget(&mut self) {
        self.read_to = 0;
        self.pass = None;
        self.passed_ns = None;
        self.log.restart();
        self.pace.restart();
    }

    /// Path and query of a poll at the end of the array.
    pub(crate) fn last_page(&self) -> String {
        page(&self.get, self.begin(), self.limit)
    }

    pub(crate) fn remark(&self) -> Option<String> {
        let is_unread = !self.is_under_load && self.passed_ns.is_none();
        is_unread.then(|| {
            "the store was not read once completely after the load, so duplicates are not known"
                .to_owned()
        })
    }
}

/// The elements of the array in an answer.
fn elements(body: &[u8], path: &JsonPath, text: &str) -> Result<Vec<String>, String> {
    let document: serde_json::Value =
        serde_json::from_slice(body).map_err(|why| format!("the answer is not JSON: {why}"))?;
    let value = path.query(&document).first();
    let array = value
        .and_then(serde_json::Value::as_array)
        .ok_or_else(|| format!("the answer has no array at {text}"))?;
    Ok(array.iter().map(ToString::to_string).collect())
}

fn count(elements: &[String]) -> u64 {
    elements.len() as u64
}

#[cfg(test)]
mod tests;
