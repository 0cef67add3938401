//! Queries of records by measurement, time and tags, as they are or aggregated per window.

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, header};
use waggle_record::line_protocol::{Line, measurement_text, name_text};

use super::{
    parameters::Parameters,
    schemas::{AggregateName, FromOne, Names, Nanoseconds, NonEmpty, Topic, WindowLength},
    store_read::{AnswerMemory, Means, Read, read},
};
use crate::{
    answers::problem::Problem,
    clients::identity::caller::Caller,
    clients::turns::Turn,
    ingest::check_topic,
    log::store::{Block, Entries, Entry, ReadError, Span, Until, measurement_bit, scan},
    queries::{
        aggregate::{self, Aggregate, Windows},
        database::{Author, Database, Failure, Gathered, Language, Limits, Permit, Question},
        render,
        render::Selection,
    },
    shared::Shared,
};

/// Default number of rows in an answer.
const LIMIT_DEFAULT: usize = 1000;

/// Query a topic
///
/// Without `aggregate` and `window`, rows are records in the order of the log. With one of them, there is one row per window, in the
/// order of time, over all matching records. `mean`, `sum`, `min` and `max` ignore values that are not numbers, and are null if a
/// sum exceeds the range of a 64-bit float. Windows start at multiples of `window` since 1970; without `window` there is one row.
/// `truncated` means that a limit (`limit`, `--answer-max-bytes`, `--query-max-records`, `--read-timeout`) was reached: rows are missing, and
/// aggregates cover only the records before the limit.
///
/// With `--backend kafka` InfluxDB answers (`--influxdb-url`), from what the sink has written: rows are in the order of time; at
/// a limit the earliest rows are given; of records with the same time and series there is one; of equal times any may be `first`
/// or `last`.
#[utoipa::path(
    get,
    path = "/api/v1/query",
    tag = "query",
    params(
        ("topic" = inline(Topic), Query, description = "The topic", example = "plant"),
        ("measurement" = inline(NonEmpty), Query, description = "The measurement", example = "cpu"),
        ("from" = inline(Option<Nanoseconds>), Query, description = "Earliest time, included; ns"),
        ("to" = inline(Option<Nanoseconds>), Query, description = "Latest time, not included; ns"),
        ("tag.NAME" = Option<String>, Query, description = "Only records whose tag NAME has this value; may be given for several tags", example = "plant-01"),
        ("fields" = inline(Option<Names>), Query, description = "Only these fields, separated by commas"),
        ("aggregate" = inline(Option<AggregateName>), Query, description = "`mean`, `min`, `max`, `sum`, `count`, `first` or `last`; with `window` alone it is `mean`"),
        ("window" = inline(Option<WindowLength>), Query, description = "Length of a window with its unit (`ns`, `us`, `ms`, `s`, `m`, `h`), as `10s`", example = "10s"),
        ("limit" = inline(Option<FromOne>), Query, description = "Most rows (1000), at most `--answer-max-records`"),
    ),
    responses(
        (status = 200, description = "Rows", body = Object, content_type = "application/json", example = json!({
            "topic": "plant", "measurement": "cpu", "truncated": false,
            "rows": [{"time": 1_700_000_000_000_000_000_i64, "tags": {"host": "plant-01"}, "fields": {"user": 12.5}}],
        })),
        (status = 400, description = "A parameter is wrong", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many reads wait", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 500, description = "The store cannot be read", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 502, description = "InfluxDB is unreachable or fails", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Clients have not read too many answers, or InfluxDB is overloaded", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 504, description = "InfluxDB has not answered in time", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn query(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, Problem> {
    let range_query = RangeQuery::parse(&uri, &shared)?;
    caller.check_read(&range_query.span.topic)?;
    let database = shared.database.as_ref();
    if database.is_some_and(Database::is_shared_by_topics) {
        caller.check_read_all()?;
    }
    let (answer, memory) = match &shared.database {
        Some(database) => range_query.ask(&shared, &caller, database).await?,
        None => {
            let bytes = range_query.max_bytes;
            read(&shared, &caller, bytes, move |means| {
                range_query.answer(means)
            })
            .await?
        }
    };
    shared
        .gauges
        .records_looked_at
        .fetch_add(answer.found.looked_at as u64, Ordering::Relaxed);
    let mut response = answer.body.into_response();
    response.extensions_mut().insert(memory);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

/// Query InfluxDB in Flux or InfluxQL
///
/// Passes the query and the answer on: Flux (`application/vnd.flux`) is answered as annotated CSV; InfluxQL
/// (`application/vnd.influxql`) as JSON with times in nanoseconds, with the bucket of `--influxdb-bucket` as the database. Only
/// with `--query-pass-through`: every client that reaches the gateway then has all permissions of the token.
#[utoipa::path(
    post,
    path = "/api/v1/query",
    tag = "query",
    request_body(
        content(
            (String = "application/vnd.flux", example = "from(bucket: \"readings\") |> range(start: -1h) |> filter(fn: (r) => r._measurement == \"cpu\")"),
            (String = "application/vnd.influxql", example = "SELECT mean(\"user\") FROM cpu WHERE time > now() - 1h GROUP BY time(1m)"),
        ),
        description = "The query, at most 64 KiB",
    ),
    responses(
        (status = 200, description = "InfluxDB's answer", content((String = "text/csv"), (Object = "application/json"))),
        (status = 400, description = "InfluxDB rejects the query; `detail` has its message", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The query is too large", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "The language is not one of the two", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The answer is larger than `--answer-max-bytes`", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many queries wait", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 502, description = "InfluxDB is unreachable or fails", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Too much is in flight, or InfluxDB is overloaded", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 504, description = "InfluxDB has not answered in time", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn pass_query(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    text: Bytes,
) -> Result<Response, Problem> {
    caller.check_read_all()?;
    let database = shared.database.as_ref();
    let database = database.expect("--query-pass-through requires --influxdb-url");
    let content_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let language = language(content_type.unwrap_or_default())?;
    let bytes_max = shared.settings.answer_max_bytes;
    let _turn = client_turn(&caller, database).await?;
    let permit = permit(&caller, database, Author::Client).await?;
    let mut memory = AnswerMemory::reserve(&shared, &caller, bytes_max)?;
    let passed = database
        .pass(permit, language, text, bytes_max)
        .await
        .map_err(|failure| failure.problem(Author::Client))?;
    memory.settle(passed.body.len());
    let mut response = passed.body.into_response();
    response.extensions_mut().insert(Arc::new(memory));
    if let Some(media_type) = passed.media_type {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, media_type);
    }
    Ok(response)
}

/// Waits until the client may query the database.
async fn client_turn(caller: &Caller, database: &Database) -> Result<Turn, Problem> {
    let turn = caller.client.reads.take(database.within).await;
    turn.map_err(|_| caller.note_refusal(Failure::Busy.problem(Author::Client)))
}

/// Waits until the database may be asked once more.
async fn permit(caller: &Caller, database: &Database, author: Author) -> Result<Permit, Problem> {
    let permit = database.acquire().await;
    permit.map_err(|failure| match failure {
        Failure::Busy => caller.note_refusal(failure.problem(author)),
        failure => failure.problem(author),
    })
}

fn language(content_type: &[u8]) -> Result<Language, Problem> {
    let end = memchr::memchr(b';', content_type).unwrap_or(content_type.len());
    let media_type = content_type[..end].trim_ascii();
    if media_type.eq_ignore_ascii_case(b"application/vnd.flux") {
        Ok(Language::Flux)
    } else if media_type.eq_ignore_ascii_case(b"application/vnd.influxql") {
        Ok(Language::InfluxQl)
    } else {
        Err(Problem::new(
            415,
            "expected the Content-Type application/vnd.flux or application/vnd.influxql",
        ))
    }
}

/// A query of one measurement in a range of time.
struct RangeQuery {
    span: Span,
    measurement: String,
    tags: Vec<(String, String)>,
    selection: Selection,
    aggregate: Option<(Aggregate, Option<Duration>)>,
    limit: usize,
    max_bytes: usize,
    look_at_max: usize,
}

/// Number of scanned records.
struct ScanCount {
    looked_at: usize,
}

/// Receives matching records.
enum Rows {
    /// Rows as JSON, each followed by a comma.
    AsTheyAre {
        rows: Vec<u8>,
        count: usize,
    },
    PerWindow(Windows),
}

impl Rows {
    fn into_json(self) -> Vec<u8> {
        match self {
            Self::AsTheyAre { rows, .. } => rows,
            Self::PerWindow(windows) => windows.into_rows(),
        }
    }
}

impl RangeQuery {
    fn parse(uri: &Uri, shared: &Shared) -> Result<Self, Problem> {
        let settings = &shared.settings;
        let mut parameters = Parameters::parse(uri)?;
        let topic = parameters.take_required("topic")?;
        check_topic(&topic)?;
        let measurement = parameters.take_required("measurement")?;
        let (from, until) = parameters.times()?;
        let tags = parameters.take_prefixed("tag.");
        let selection = Selection(parameters.names("fields")?);
        let limit = parameters.limit(LIMIT_DEFAULT, settings.answer_max_records)?;
        let aggregate = parameters
            .text("aggregate")?
            .map(|name| Aggregate::from_name(&name))
            .transpose()?;
        let window = parameters.duration("window")?;
        let aggregate = aggregate.or(window.map(|_| Aggregate::Mean));
        parameters.finish()?;
        let measurements = measurement_bit(&measurement);
        Ok(Self {
            span: Span {
                topic,
                offset: 0,
                from,
                until,
                measurements,
            },
            measurement,
            tags,
            selection,
            aggregate: aggregate.map(|aggregate| (aggregate, window)),
            limit,
            max_bytes: settings.answer_max_bytes,
            look_at_max: settings.query_max_records,
        })
    }

    /// Sends the query to the database.
    async fn ask(
        self,
        shared: &Arc<Shared>,
        caller: &Caller,
        database: &Database,
    ) -> Result<(Read<ScanCount>, Arc<AnswerMemory>), Problem> {
        let _turn = client_turn(caller, database).await?;
        let permit = permit(caller, database, Author::Gateway).await?;
        let mut memory = AnswerMemory::reserve(shared, caller, self.max_bytes)?;
        let question = Question {
            bucket: database.bucket(&self.span.topic),
            measurement: self.measurement.clone(),
            tags: self.tags.clone(),
            fields: self.selection.0.clone(),
            from: self.span.from,
            until: self.span.until,
            aggregate: self.aggregate,
            limit: self.limit,
        };
        let limits = Limits {
            bytes: self.max_bytes,
            values: self.look_at_max,
        };
        let gathered = database
            .rows(permit, question, limits)
            .await
            .map_err(|failure| failure.problem(Author::Gateway))?;
        let Gathered {
            rows,
            truncated,
            values,
        } = gathered;
        let body = self.body(rows, truncated);
        memory.settle(body.len());
        let scan = ScanCount { looked_at: values };
        Ok((Read { body, found: scan }, Arc::new(memory)))
    }

    fn answer(&self, means: Means<'_>) -> Result<Read<ScanCount>, ReadError> {
        let rows = match self.aggregate {
            None => Rows::AsTheyAre {
                rows: Vec::new(),
                count: 0,
            },
            Some((aggregate, window)) => {
                let limits = aggregate::Limits::new(self.limit, self.max_bytes);
                Rows::PerWindow(Windows::new(aggregate, window, limits))
            }
        };
        let mut progress = Progress {
            rows,
            looked_at: 0,
            stop: None,
        };
        let Means {
            connection,
            memory,
            until,
        } = means;
        let mut bounds = Bounds { memory, until };
        let stopped_at = scan(connection, &self.span, until, |block| {
            self.visit_within(&mut bounds, block, &mut progress)
        })?;
        let Progress {
            rows,
            looked_at,
            stop,
        } = progress;
        if stop == Some(Stop::NoMemory) {
            return Err(ReadError::NoMemory);
        }
        if stop == Some(Stop::Corrupt) {
            return Err(ReadError::Corrupt {
                topic: self.span.topic.clone(),
                offset: stopped_at,
            });
        }
        Ok(Read {
            body: self.body(rows.into_json(), stop.is_some()),
            found: ScanCount { looked_at },
        })
    }

    /// Adds a block's records, if there is time and memory.
    fn visit_within(
        &self,
        bounds: &mut Bounds<'_>,
        block: Block<'_>,
        progress: &mut Progress,
    ) -> ControlFlow<i64> {
        if progress.looked_at > 0 && bounds.until.is_over() {
            progress.stop = Some(Stop::Limit);
            return ControlFlow::Break(block.offset);
        }
        let ended = self.visit(block, progress);
        // Rows are written while windows are still there.
        if let Rows::PerWindow(windows) = &progress.rows
            && !bounds.memory.grow(self.max_bytes + windows.memory())
        {
            progress.stop = Some(Stop::NoMemory);
            return ControlFlow::Break(block.offset);
        }
        ended
    }

    /// Adds a block's records, as long as nothing stops the query.
    fn visit(&self, block: Block<'_>, progress: &mut Progress) -> ControlFlow<i64> {
        for entry in Entries::new(block.bytes) {
            if let Err(stop) = self.visit_entry(&entry, progress) {
                progress.stop = Some(stop);
                return ControlFlow::Break(block.offset);
            }
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn visit_entry(&self, entry: &Entry<'_>, progress: &mut Progress) -> Result<(), Stop> {
        if progress.looked_at == self.look_at_max {
            return Err(Stop::Limit);
        }
        progress.looked_at += 1;
        if entry.time < self.span.from || entry.time > self.span.until {
            return Ok(());
        }
        let line = render::line(entry).map_err(|_| Stop::Corrupt)?;
        if self.matches(&line) && !self.add(entry.time, &line, &mut progress.rows) {
            return Err(Stop::Limit);
        }
        Ok(())
    }

    fn matches(&self, line: &Line<'_>) -> bool {
        let has = |(name, value): &(String, String)| {
            line.tags()
                .any(|tag| name_text(tag.key) == **name && name_text(tag.value) == **value)
        };
        measurement_text(line.measurement()) == *self.measurement && self.tags.iter().all(has)
    }

    /// False if there is no room for it.
    fn add(&self, time: i64, line: &Line<'_>, rows: &mut Rows) -> bool {
        match rows {
            Rows::AsTheyAre { rows, count } => {
                if *count == self.limit || rows.len() >= self.max_bytes {
                    return false;
                }
                let before = rows.len();
                rows.extend_from_slice(b"{\"time\":");
                render::integer(rows, time);
                rows.extend_from_slice(b",\"tags\":");
                render::tags(rows, line, &Selection::default());
                rows.extend_from_slice(b",\"fields\":");
                if render::fields(rows, line, &self.selection) == 0 {
                    rows.truncate(before);
                    return true;
                }
                rows.extend_from_slice(b"},");
                *count += 1;
                true
            }
            Rows::PerWindow(windows) => windows.add(time, line, &self.selection),
        }
    }

    /// The answer, written around its rows: they may be large.
    fn body(&self, rows: Vec<u8>, truncated: bool) -> Vec<u8> {
        let mut head = Vec::new();
        self.write_head(&mut head, truncated);
        let mut body = rows;
        if body.last() == Some(&b',') {
            body.pop();
        }
        body.extend_from_slice(b"]}\n");
        body.splice(0..0, head);
        body
    }

    fn write_head(&self, body: &mut Vec<u8>, truncated: bool) {
        body.extend_from_slice(b"{\"topic\":");
        render::text(body, &self.span.topic);
        body.extend_from_slice(b",\"measurement\":");
        render::text(body, &self.measurement);
        if let Some((aggregate, window)) = self.aggregate {
            body.extend_from_slice(b",\"aggregate\":");
            render::text(body, aggregate.name());
            if let Some(window) = window {
                body.extend_from_slice(b",\"window_ns\":");
                body.extend_from_slice(window.as_nanos().to_string().as_bytes());
            }
        }
        body.extend_from_slice(if truncated {
            b",\"truncated\":true"
        } else {
            b",\"truncated\":false"
        });
        body.extend_from_slice(b",\"rows\":[");
    }
}

/// What bounds a query while it runs.
struct Bounds<'a> {
    memory: &'a mut AnswerMemory,
    until: &'a Until,
}

/// What a query has gathered so far.
struct Progress {
    rows: Rows,
    looked_at: usize,
    stop: Option<Stop>,
}

/// Why a query ended before the end of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Limit,
    NoMemory,
    Corrupt,
}
