//! Reads of a topic's log, and the documentation of writes, which the connections do themselves.

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Uri, header};

use super::{
    parameters::Parameters,
    schemas::{FromOne, FromZero, JsonRecords, Names, Nanoseconds, PrecisionName, Topic},
    store_read::{AnswerMemory, Means, Read, read},
};
use crate::{
    answers::problem::Problem,
    clients::identity::caller::Caller,
    ingest::check_topic,
    log::store::{Block, CommitTimes, Entries, ReadError, Span, TopicCommits, TopicSlot, scan},
    queries::{
        render,
        render::{LogPosition, Selection},
    },
    shared::Shared,
};

/// Default number of records in an answer.
const LIMIT_DEFAULT: usize = 1000;
/// Size of the parts in which a large answer is sent if memory is scarce, but for their last records.
const PART_BYTES: usize = 256 * 1024;
/// Memory that is reserved for a part before it is read.
const PART_RESERVED_BYTES: usize = 2 * PART_BYTES;
/// Pause before the next part is tried again, if too many read.
const PART_PAUSE: Duration = Duration::from_millis(50);
const NEXT_OFFSET: &str = "waggle-next-offset";
const LIMIT: &str = "waggle-limit";

/// Write records to a topic
///
/// One record or many, all or nothing. The answer comes when they are synced to disk; with `--backend kafka`, when the broker has
/// acknowledged every one of them. A record without a time gets the server's time, a unique one.
#[utoipa::path(
    method(put, post),
    path = "/api/v1/topics/{topic}/records",
    tag = "records",
    params(
        ("topic" = inline(Topic), Path, description = "1 to 200 of the characters A-Z a-z 0-9 . _ -, but not . or ..", example = "plant"),
        ("precision" = inline(Option<PrecisionName>), Query, description = "Unit of the times in the body: `ns` (default), `us`, `ms` or `s`; `n` and `u` are short for the first two", example = "ns"),
    ),
    request_body(
        content(
            (String = "text/plain", example = "cpu,host=plant-01 user=12.5,threads=412i 1795288696982796153"),
            (inline(JsonRecords) = "application/json", example = json!({"measurement": "cpu", "tags": {"host": "plant-01"}, "fields": {"user": 12.5}, "time": 1_700_000_000_000_000_000_i64})),
            (String = "application/x-ndjson", example = "{\"measurement\":\"cpu\",\"fields\":{\"user\":12.5}}\n{\"measurement\":\"cpu\",\"fields\":{\"user\":12.7}}\n"),
        ),
        description = "Line protocol (`text/plain`, none, or a type that says nothing of the format), one JSON object or an array of them, or a JSON object a line; plain, or in gzip or zstd by Content-Encoding",
    ),
    responses(
        (status = 204, description = "Every record is durable"),
        (status = 400, description = "Not a request, or not records: see `line` and `column`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The topic is internal to Kafka or its programs: its name begins with `_`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "The topic does not exist in Kafka, and this gateway creates none", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The request did not arrive in time", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Kafka refuses the topic: another one differs from it in `.` and `_` alone", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is larger than `--body-max-bytes`, also decoded, or than `--body-max-ratio` allows, or a record is larger than its topic in Kafka accepts", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "The Content-Encoding is another one than gzip, zstd or identity, or the Content-Type is that of another format, such as `text/csv` or `application/xml`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "This client has sent too much of bodies that are not complete, or has named too many new topics", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 431, description = "The head is larger than `--head-max-bytes`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Too much is in flight, or the log cannot be written; nothing was stored, unless `detail` says that some records may be", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 507, description = "`--topics-max` topics exist, or the store has `--store-max-bytes`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
    )
)]
#[expect(
    dead_code,
    reason = "carries the documentation of a call that connections serve themselves"
)]
pub(super) fn write_records() {}

/// Read a topic's records
///
/// One JSON object a line, in the order of offsets. `Waggle-Next-Offset` is the `offset` of the next call; at the end of the log
/// it is the offset of the next record to come, so repeated calls follow the log. With `from` or `to` an answer before the end
/// may be empty, because a call scans at most `--query-max-records` records. A topic that does not exist yet is empty.
#[utoipa::path(
    get,
    path = "/api/v1/topics/{topic}/records",
    tag = "records",
    params(
        ("topic" = inline(Topic), Path, description = "1 to 200 of the characters A-Z a-z 0-9 . _ -, but not . or ..", example = "plant"),
        ("offset" = inline(Option<FromZero>), Query, description = "First offset (0)", example = 0),
        ("limit" = inline(Option<FromOne>), Query, description = "Most records (1000), at most `--answer-max-records`", example = 100),
        ("from" = inline(Option<Nanoseconds>), Query, description = "Earliest time, included; ns"),
        ("to" = inline(Option<Nanoseconds>), Query, description = "Latest time, not included; ns"),
        ("committed" = Option<bool>, Query, description = "Whether records show when they were committed, as `committed`; known of the latest ones since the gateway started"),
        ("select" = inline(Option<Names>), Query, description = "Only these tags and fields, separated by commas"),
    ),
    responses(
        (
            status = 200,
            description = "Records; fewer than `limit` if the answer reaches `--answer-max-bytes`",
            body = String,
            content_type = "application/x-ndjson",
            headers(
                ("Waggle-Next-Offset" = i64, description = "`offset` of the next call"),
                ("Waggle-Limit" = i64, description = "The limit that was applied")
            ),
            example = json!("{\"offset\":0,\"time\":1795288696982796153,\"measurement\":\"cpu\",\"tags\":{\"host\":\"plant-01\"},\"fields\":{\"user\":12.5}}\n")
        ),
        (status = 400, description = "A parameter is wrong", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many reads wait", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 500, description = "The store cannot be read", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Clients have not read too many answers", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn read_records(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(topic): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    check_topic(&topic)?;
    caller.check_read(&topic)?;
    let request = Arc::new(PageRequest::parse(topic, &uri, &shared)?);
    let limit = request.limit;
    let bytes = request.reserved_bytes();
    let work = {
        let request = Arc::clone(&request);
        move |mut means: Means<'_>| request.page(&mut means)
    };
    let (page, memory) = read(&shared, &caller, bytes, work).await?;
    shared
        .gauges
        .records_read
        .fetch_add(page.found.records as u64, Ordering::Relaxed);
    let rest = page.found.rest.map(|rest| RestOfPage {
        shared: Arc::clone(&shared),
        caller,
        request,
        rest,
    });
    let mut response = page.body.into_response();
    response.extensions_mut().insert(memory);
    if let Some(rest) = rest {
        response.extensions_mut().insert(rest);
    }
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson"),
    );
    headers.insert(NEXT_OFFSET, HeaderValue::from(page.found.next_offset));
    headers.insert(LIMIT, HeaderValue::from(limit));
    Ok(response)
}

/// A requested page of records.
struct PageRequest {
    span: Span,
    limit: usize,
    max_bytes: usize,
    look_at_max: usize,
    selection: Selection,
    /// The commits of the topic, if they are to be shown.
    commit_times: Option<Arc<CommitTimes>>,
    topic: Option<TopicSlot>,
    /// How often the topic was deleted before.
    deleted: u32,
}

/// Number of records of a page, and the offset of the next one.
struct PageEnd {
    records: usize,
    next_offset: i64,
    rest: Option<Rest>,
}

/// The part of a page that was measured and not kept.
#[derive(Clone, Copy)]
struct Rest {
    /// Offset of its first record.
    offset: i64,
    /// The offset after its last record.
    end: i64,
    /// Its size.
    bytes: usize,
}

/// The rest of a page, which is read again, part by part, as the client reads the answer: the log does not change.
#[derive(Clone)]
pub(crate) struct RestOfPage {
    shared: Arc<Shared>,
    caller: Caller,
    request: Arc<PageRequest>,
    rest: Rest,
}

impl RestOfPage {
    /// Its size in bytes.
    pub(crate) fn length(&self) -> usize {
        self.rest.bytes
    }

    /// The next part, and its memory; `None` if it cannot be read. Waits while too many read, for as long as a client may take to
    /// read an answer.
    pub(crate) async fn next_part(&mut self) -> Option<(Vec<u8>, Arc<AnswerMemory>)> {
        let since = Instant::now();
        loop {
            // A topic of the same name may have other records by now.
            (!self.request.is_deleted(&self.shared)).then_some(())?;
            let (request, rest) = (Arc::clone(&self.request), self.rest);
            let work = move |mut means: Means<'_>| request.part(&mut means, rest);
            let part = read(&self.shared, &self.caller, PART_RESERVED_BYTES, work).await;
            match part {
                Ok((part, memory)) => {
                    let before = std::mem::replace(&mut self.rest.offset, part.found);
                    self.rest.bytes = self.rest.bytes.checked_sub(part.body.len())?;
                    if !part.body.is_empty() {
                        return Some((part.body, memory));
                    }
                    // None of the records so far is in the span.
                    (part.found > before).then_some(())?;
                }
                Err(problem) if problem.retry_after().is_some() => {
                    if since.elapsed() > self.shared.settings.write_timeout {
                        return None;
                    }
                    tokio::time::sleep(PART_PAUSE).await;
                }
                Err(_) => return None,
            }
        }
    }
}

impl PageRequest {
    fn parse(topic: String, uri: &Uri, shared: &Shared) -> Result<Self, Problem> {
        let mut parameters = Parameters::parse(uri)?;
        let offset = parameters.integer("offset")?.unwrap_or(0);
        if offset < 0 {
            return Err(Problem::new(400, "offset must be at least 0"));
        }
        let limit = parameters.limit(LIMIT_DEFAULT, shared.settings.answer_max_records)?;
        let (from, until) = parameters.times()?;
        let selection = Selection(parameters.names("select")?);
        let shows_commits = parameters.boolean("committed")?;
        parameters.finish()?;
        let store = shared.backend.embedded_store();
        let slot = store.topics.find_slot(&topic);
        Ok(Self {
            topic: slot,
            deleted: slot.map_or(0, |slot| store.topics.deletion_count_of(slot)),
            commit_times: shows_commits.then(|| Arc::clone(&store.commit_times)),
            span: Span {
                topic,
                offset,
                from,
                until,
                measurements: u64::MAX,
            },
            limit,
            max_bytes: shared.settings.answer_max_bytes,
            look_at_max: shared.settings.query_max_records,
            selection,
        })
    }

    fn is_deleted(&self, shared: &Shared) -> bool {
        let topics = &shared.backend.embedded_store().topics;
        let deleted = self.topic.map(|slot| topics.deletion_count_of(slot));
        deleted.is_some_and(|deleted| deleted != self.deleted)
    }

    fn commits(&self, offset: i64) -> TopicCommits {
        let known = self.commit_times.as_ref().zip(self.topic);
        known.map_or_else(TopicCommits::default, |(times, topic)| {
            times.topic_commits(topic, offset)
        })
    }

    /// Memory for the part of the page that is kept in any case, besides its last record. Instants of commits are forgotten, so a page
    /// with them is kept whole.
    fn kept_bytes(&self) -> usize {
        match self.commit_times {
            None => PART_BYTES,
            Some(_) => usize::MAX,
        }
    }

    fn reserved_bytes(&self) -> usize {
        let max = self.max_bytes;
        match self.commit_times {
            None => max.min(PART_RESERVED_BYTES),
            Some(_) => max,
        }
    }

    fn page(&self, means: &mut Means<'_>) -> Result<Read<PageEnd>, ReadError> {
        let mut page = Page::new(self.kept_bytes(), self.max_bytes);
        let next_offset = self.scan(means, &self.span, &mut page)?;
        let rest = page.kept.until.map(|offset| Rest {
            offset,
            end: next_offset,
            bytes: page.bytes - page.body.len(),
        });
        Ok(Read {
            body: page.body,
            found: PageEnd {
                records: page.records,
                next_offset,
                rest,
            },
        })
    }

    /// The first part of the rest of a page, and the offset after it.
    fn part(&self, means: &mut Means<'_>, rest: Rest) -> Result<Read<i64>, ReadError> {
        let mut page = Page::new(PART_BYTES, PART_BYTES);
        page.ends_at = Some(rest.end);
        let span = Span {
            offset: rest.offset,
            ..self.span.clone()
        };
        let next_offset = self.scan(means, &span, &mut page)?;
        Ok(Read {
            body: page.body,
            found: page.kept.until.unwrap_or(next_offset),
        })
    }

    fn scan(&self, means: &mut Means<'_>, span: &Span, page: &mut Page) -> Result<i64, ReadError> {
        let next_offset = scan(means.connection, span, means.until, |block| {
            match page.looked_at > 0 && means.until.is_over() {
                true => ControlFlow::Break(block.offset),
                false => self.add_block(means.memory, block, page),
            }
        })?;
        if page.is_corrupt {
            return Err(ReadError::Corrupt {
                topic: self.span.topic.clone(),
                offset: next_offset,
            });
        }
        Ok(next_offset)
    }

    fn add_block(
        &self,
        memory: &mut AnswerMemory,
        block: Block<'_>,
        page: &mut Page,
    ) -> ControlFlow<i64> {
        let span = &self.span;
        // Not before the first block: what a block has was committed by now.
        let commits = page
            .commits
            .get_or_insert_with(|| self.commits(block.offset));
        for (offset, entry) in (block.offset..).zip(Entries::new(block.bytes)) {
            let is_full = page.records == self.limit || page.bytes >= self.max_bytes;
            let is_end = page
                .ends_at
                .is_some_and(|end| offset >= end || page.kept.until.is_some());
            if is_full || is_end || page.looked_at == self.look_at_max {
                return ControlFlow::Break(offset);
            }
            page.looked_at += 1;
            if entry.time < span.from || entry.time > span.until {
                continue;
            }
            let Ok(line) = render::line(&entry) else {
                page.is_corrupt = true;
                return ControlFlow::Break(offset);
            };
            let position = LogPosition {
                offset,
                committed: commits.unix_ns(offset),
            };
            let kept = page.body.len();
            if kept >= page.kept.max && page.kept.until.is_none() && !page.kept.grow(memory) {
                page.kept.until = Some(offset);
            }
            render::record(&mut page.body, position, entry.time, &line, &self.selection);
            page.bytes += page.body.len() - kept;
            if page.kept.until.is_some() {
                page.body.truncate(kept);
            }
            page.records += 1;
        }
        ControlFlow::Continue(())
    }
}

/// A page while it is read.
#[derive(Default)]
struct Page {
    body: Vec<u8>,
    /// Size of the body with what was measured and not kept.
    bytes: usize,
    kept: Kept,
    /// It ends before this offset, and with its kept part.
    ends_at: Option<i64>,
    records: usize,
    looked_at: usize,
    commits: Option<TopicCommits>,
    /// The record that comes next cannot be read.
    is_corrupt: bool,
}

impl Page {
    fn new(max: usize, grows_to: usize) -> Self {
        Self {
            kept: Kept {
                max,
                grows_to,
                until: None,
            },
            ..Self::default()
        }
    }
}

/// The part of a page that is kept. The rest is rendered once to be measured, and again to be sent.
#[derive(Default)]
struct Kept {
    /// Size of the body after which records are only measured.
    max: usize,
    /// The most that this may become while there is memory.
    grows_to: usize,
    /// Offset of the first record that was not kept.
    until: Option<i64>,
}

impl Kept {
    /// Keeps more, if there is plenty of memory.
    fn grow(&mut self, memory: &mut AnswerMemory) -> bool {
        let max = self.grows_to.min(self.max.saturating_mul(2));
        let grows = max > self.max && memory.grow_within_half(max + PART_BYTES);
        if grows {
            self.max = max;
        }
        grows
    }
}
