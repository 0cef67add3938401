//! The latest reading of a series, from memory. The connection itself answers the plain form of the call at once; the router
//! answers every other form and every error.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Uri, header};
use waggle_record::line_protocol;

use super::{
    parameters::Parameters,
    schemas::{FromOne, FromZero, Topic},
    store_read::AnswerMemory,
};
use crate::{
    answers::{
        form::{Form, Scratch},
        problem::Problem,
    },
    clients::identity::caller::Caller,
    http1::{self, Persistence},
    ingest::check_topic,
    log::latest::{Cursor, Reading, Rendering},
    queries::render,
    shared::Shared,
    worker::Worker,
};

/// Default and largest number of readings in an answer.
const LIMIT_DEFAULT: usize = 1000;
const LIMIT_MAX: usize = 10_000;
const NEXT: &str = "waggle-next";
/// Runs of slots that one answer scans: a topic with few series among many others needs several answers.
const RUNS_MAX: usize = 1024;

/// Topic and series of `/api/v1/topics/{topic}/latest?series=…`, the series still percent-encoded.
fn plain_form(target: &str) -> Option<(&str, &str)> {
    let rest = target.strip_prefix("/api/v1/topics/")?;
    let end = memchr::memchr(b'/', rest.as_bytes())?;
    let series = rest[end..].strip_prefix("/latest?series=")?;
    let is_all = memchr::memchr2(b'&', b'#', series.as_bytes()).is_none();
    is_all.then_some((&rest[..end], series))
}

/// Whether it is a call that [`find`] may answer.
pub(crate) fn is_plain_form(request: &http1::Request<'_, '_>) -> bool {
    let head = &request.head;
    head.method == "GET"
        && head.persistence == Persistence::Implied
        && request.body.is_empty()
        && plain_form(head.target).is_some()
}

/// Writes the reading to the worker's scratch if there is one, and returns its form; else the call is left to the router.
pub(crate) fn find(worker: &Worker, caller: &Caller, head: &http1::Head<'_, '_>) -> Option<Form> {
    let (topic, raw) = plain_form(head.target)?;
    // The router refuses it.
    if !caller.may_read(topic) {
        return None;
    }
    let backend = &worker.shared.backend;
    let latest = backend.latest_readings();
    if latest.is_filling() {
        return None;
    }
    let topic = worker.staged.borrow_mut().topic_number(backend, topic)?;
    let mut scratch = worker.scratch.borrow_mut();
    let Scratch { series, line, body } = &mut *scratch;
    let series = if memchr::memchr2(b'%', b'+', raw.as_bytes()).is_none() {
        raw.as_bytes()
    } else if decode(raw.as_bytes(), series) {
        series
    } else {
        return None;
    };
    let accepts = head.headers.iter().filter_map(|field| {
        let is_accept = field.name.len() == 6 && field.name.eq_ignore_ascii_case("accept");
        is_accept.then_some(field.value)
    });
    let form = Form::from_accept(accepts);
    body.clear();
    let is_found = match form {
        Form::Lines => latest.read(topic, series, |reading| reading.write_line(body)),
        Form::Json => {
            let rendering = Rendering { line, render: json };
            latest.read_rendered(topic, series, body, rendering)
        }
    };
    is_found.map(|()| form)
}

fn json(time: i64, line: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let line = line_protocol::lines(line).next()?.ok()?;
    render::reading(out, time, &line);
    Some(())
}

/// Decodes a form-encoded value of a query (a plus is a space); false if it is invalid.
fn decode(raw: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let mut rest = raw;
    while let Some((byte, more)) = rest.split_first() {
        rest = more;
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digit = |index: usize| char::from(*more.get(index)?).to_digit(16);
                let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                    return false;
                };
                out.push(u8::try_from(high * 16 + low).expect("two digits"));
                rest = &more[2..];
            }
            byte => out.push(*byte),
        }
    }
    true
}

/// Read the latest reading of a series
///
/// The latest durable reading by time; of equal times the one that came last. It is answered from memory, and includes everything
/// that this gateway has answered with 204. The series is measurement and tags as they were written. With `Accept: text/plain`
/// the answer is line protocol.
///
/// Without `series` the answer has the latest reading of every series of the topic, one a line, in no particular order. Repeat
/// the call with `after` from `Waggle-Next` as long as an answer has that header. An answer before the last one may be empty.
///
/// The gateway keeps readings of at most `--latest-max-series` series in `--latest-max-bytes`. Above that it evicts series that
/// have been without a record for longest. With `--backend kafka` it has what it wrote itself since it started.
#[utoipa::path(
    get,
    path = "/api/v1/topics/{topic}/latest",
    tag = "records",
    params(
        ("topic" = inline(Topic), Path, description = "1 to 200 of the characters A-Z a-z 0-9 . _ -, but not . or ..", example = "plant"),
        ("series" = Option<String>, Query, description = "Measurement and tags as they were written, percent-encoded", example = "cpu,host=plant-01"),
        ("limit" = inline(Option<FromOne>), Query, description = "Most readings (1000), at most 10,000; a series has one", example = 100),
        ("after" = inline(Option<FromZero>), Query, description = "`Waggle-Next` of the previous answer; has no effect with `series`"),
    ),
    responses(
        (
            status = 200,
            description = "The reading; without `series` one a line (`application/x-ndjson`, or `text/plain`)",
            content(
                (Object = "application/json", example = json!({"time": 1_795_288_696_982_796_153_i64, "measurement": "cpu", "tags": {"host": "plant-01"}, "fields": {"user": 12.5}})),
                (String = "application/x-ndjson", example = json!("{\"time\":1795288696982796153,\"measurement\":\"cpu\",\"tags\":{\"host\":\"plant-01\"},\"fields\":{\"user\":12.5}}\n")),
                (String = "text/plain", example = "cpu,host=plant-01 user=12.5 1795288696982796153\n"),
            ),
            headers(("Waggle-Next" = i64, description = "`after` of the next call, if there is more; without `series`")),
        ),
        (status = 400, description = "A parameter is wrong", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No reading of this series is kept", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "This client has not read too many answers", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 503, description = "After a start: the readings are still being restored from the store; or clients have not read too many answers", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn read_latest(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(topic): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_topic(&topic)?;
    caller.check_read(&topic)?;
    let query = LatestQuery::parse(&uri)?;
    let accepts = headers.get_all(header::ACCEPT);
    let form = Form::from_accept(accepts.iter().map(HeaderValue::as_bytes));
    if shared.backend.latest_readings().is_filling() {
        return Err(Problem::new(
            503,
            "the latest readings are still being restored from the store; try again",
        ));
    }
    let number = shared.backend.topic_number(&topic);
    match query {
        LatestQuery::One(series) => answer_series(&shared, number, &series, form),
        LatestQuery::All { limit, after } => {
            let page = PageRequest {
                topic: number,
                limit,
                after,
                form,
            };
            answer_page(&shared, &caller, page).await
        }
    }
}

/// The requested readings: of one series, or a page of all.
enum LatestQuery {
    One(String),
    All { limit: usize, after: Cursor },
}

impl LatestQuery {
    fn parse(uri: &Uri) -> Result<Self, Problem> {
        let mut parameters = Parameters::parse(uri)?;
        let series = parameters.text("series")?;
        let limit = parameters.limit(LIMIT_DEFAULT, LIMIT_MAX)?;
        let after = match parameters.integer("after")? {
            None => Cursor::START,
            Some(after) => Cursor(
                u64::try_from(after)
                    .map_err(|_| Problem::new(400, "after must be a value of Waggle-Next"))?,
            ),
        };
        parameters.finish()?;
        Ok(series.map_or(Self::All { limit, after }, Self::One))
    }
}

fn answer_series(
    shared: &Shared,
    topic: Option<u32>,
    series: &str,
    form: Form,
) -> Result<Response, Problem> {
    let mut body = Vec::new();
    let latest = shared.backend.latest_readings();
    let mut write_to_body = |reading: Reading<'_>| write(reading, form, &mut body);
    let outcome = topic.and_then(|topic| latest.read(topic, series.as_bytes(), &mut write_to_body));
    if outcome.is_none() {
        return Err(Problem::new(
            404,
            format!(
                "no reading of series {series} is kept; a series is measurement and tags as they were written"
            ),
        ));
    }
    let media_type = match form {
        Form::Lines => form.media_type(),
        Form::Json => "application/json",
    };
    Ok(([(header::CONTENT_TYPE, media_type)], body).into_response())
}

/// One line in the format.
fn write(reading: Reading<'_>, form: Form, out: &mut Vec<u8>) {
    match form {
        Form::Lines => reading.write_line(out),
        Form::Json => {
            let mut line = Vec::new();
            let time = reading.copy(&mut line);
            // It was checked before it was kept.
            let _ = json(time, &line, out);
        }
    }
}

/// A requested page of the readings of a topic.
struct PageRequest {
    topic: Option<u32>,
    limit: usize,
    after: Cursor,
    form: Form,
}

async fn answer_page(
    shared: &Arc<Shared>,
    caller: &Caller,
    asked: PageRequest,
) -> Result<Response, Problem> {
    let PageRequest {
        topic,
        limit,
        after,
        form,
    } = asked;
    let bytes_max = shared.settings.answer_max_bytes;
    let mut memory = AnswerMemory::reserve(shared, caller, bytes_max)?;
    let mut page = Page {
        body: Vec::new(),
        count: 0,
        is_full: false,
        limit,
        bytes_max,
        form,
    };
    let mut cursor = topic.map(|_| after);
    for _ in 0..RUNS_MAX {
        let (Some(topic), Some(from)) = (topic, cursor) else {
            break;
        };
        let latest = shared.backend.latest_readings();
        cursor = latest.page(topic, from, |reading| page.add(reading));
        if page.is_full {
            break;
        }
        // Let other connections of this worker run.
        tokio::task::yield_now().await;
    }
    memory.settle(page.body.len());
    let mut response = ([(header::CONTENT_TYPE, form.media_type())], page.body).into_response();
    if let Some(Cursor(next)) = cursor {
        response.headers_mut().insert(NEXT, HeaderValue::from(next));
    }
    response.extensions_mut().insert(Arc::new(memory));
    Ok(response)
}

/// The readings of a page, up to its limits.
struct Page {
    body: Vec<u8>,
    count: usize,
    /// There was another reading.
    is_full: bool,
    limit: usize,
    bytes_max: usize,
    form: Form,
}

impl Page {
    /// Adds a reading; false if there is no room for it.
    fn add(&mut self, reading: Reading<'_>) -> bool {
        self.is_full = self.count == self.limit || self.body.len() >= self.bytes_max;
        if !self.is_full {
            write(reading, self.form, &mut self.body);
            self.count += 1;
        }
        !self.is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_decoded_as_a_form_is() {
        let decoded = |raw: &str| {
            let mut out = Vec::new();
            decode(raw.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
        };
        assert_eq!(decoded("cpu%2Chost%3da+b"), Some("cpu,host=a b".into()));
        assert_eq!(decoded("%C3%BC"), Some("ü".into()));
        for wrong in ["%", "%1", "%zz", "a%2"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_the_plain_form_is_answered_at_once() {
        let prefix = "/api/v1/topics";
        let check = |target: &str, expected| {
            assert_eq!(
                plain_form(&format!("{prefix}{target}")),
                expected,
                "{target}"
            );
        };
        check("/t/latest?series=m,a=b", Some(("t", "m,a=b")));
        check("/t/latest?series=m&limit=1", None);
        check("/t/latest", None);
        check("/t/latest?limit=1", None);
        check("/t/records?series=m", None);
        check("/t/x/latest?series=m", None);
    }
}
