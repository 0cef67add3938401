//! Reads of a topic's log, and the documentation of writes, which the connections do themselves.

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
};

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Uri, header};

use super::{
    parameters::Parameters,
    schemas::{FromOne, FromZero, JsonRecords, Names, Nanoseconds, PrecisionName, Topic},
    store_read::{Read, read},
};
use crate::{
    answers::problem::Problem,
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
        description = "Line protocol (`text/plain`, none, or a type that says nothing of the format), one JSON object or an array of them, or a JSON object a line",
    ),
    responses(
        (status = 204, description = "Every record is durable"),
        (status = 400, description = "Not a request, or not records: see `line` and `column`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The topic is internal to Kafka", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The request did not arrive in time", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Kafka refuses the topic: another one differs from it in `.` and `_` alone", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is larger than `--body-max-bytes`, or a record is larger than its topic in Kafka accepts", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "The Content-Encoding is not identity, or the Content-Type is that of another format, such as `text/csv` or `application/xml`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "This client has sent too much of bodies that are not complete", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 431, description = "The head is larger than `--head-max-bytes`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Too much is in flight, or the log cannot be written; nothing was stored, unless `detail` says that some records may be", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 507, description = "`--topics-max` topics exist", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
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
    Path(topic): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    check_topic(&topic)?;
    let request = PageRequest::parse(topic, &uri, &shared)?;
    let limit = request.limit;
    let (page, memory) = read(&shared, move |connection, _| request.page(connection)).await?;
    shared
        .gauges
        .records_read
        .fetch_add(page.found.records as u64, Ordering::Relaxed);
    let mut response = page.body.into_response();
    response.extensions_mut().insert(memory);
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
}

/// Number of records of a page, and the offset of the next one.
struct PageEnd {
    records: usize,
    next_offset: i64,
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
        Ok(Self {
            topic: store.topics.find_slot(&topic),
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

    fn commits(&self, offset: i64) -> TopicCommits {
        let known = self.commit_times.as_ref().zip(self.topic);
        known.map_or_else(TopicCommits::default, |(times, topic)| {
            times.topic_commits(topic, offset)
        })
    }

    fn page(&self, connection: &rusqlite::Connection) -> Result<Read<PageEnd>, ReadError> {
        let mut page = Page::default();
        let next_offset = scan(connection, &self.span, |block| {
            self.add_block(block, &mut page)
        })?;
        if page.is_corrupt {
            return Err(ReadError::Corrupt {
                topic: self.span.topic.clone(),
                offset: next_offset,
            });
        }
        Ok(Read {
            body: page.body,
            found: PageEnd {
                records: page.records,
                next_offset,
            },
        })
    }

    fn add_block(&self, block: Block<'_>, page: &mut Page) -> ControlFlow<i64> {
        let span = &self.span;
        // Not before the first block: what a block has was committed by now.
        let commits = page
            .commits
            .get_or_insert_with(|| self.commits(block.offset));
        for (offset, entry) in (block.offset..).zip(Entries::new(block.bytes)) {
            let is_full = page.records == self.limit || page.body.len() >= self.max_bytes;
            if is_full || page.looked_at == self.look_at_max {
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
            let body = &mut page.body;
            render::record(body, position, entry.time, &line, &self.selection);
            page.records += 1;
        }
        ControlFlow::Continue(())
    }
}

/// A page while it is read.
#[derive(Default)]
struct Page {
    body: Vec<u8>,
    records: usize,
    looked_at: usize,
    commits: Option<TopicCommits>,
    /// The record that comes next cannot be read.
    is_corrupt: bool,
}
