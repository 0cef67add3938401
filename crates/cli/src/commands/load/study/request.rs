//! Flags of the request → the request of a study.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use waggle_convert::{Target, basic, input};
use waggle_load::Prepared;
use waggle_runner::RecordFiles;
use waggle_spec::RecordsFormat;
use waggle_study::{
    Body, BodyExpect, Expect, RecordDecimal, RecordMeasurement, RecordTime, RecordsBody, Request,
    Table, Texts,
};

use super::{run_folders::RunFolders, text::REQUEST_NAME};
use crate::arguments::load::{self, Load};

const TIMEOUT: Duration = Duration::from_secs(10);

/// The request of the study.
pub(crate) fn request(flags: &Load, target: &Target, folders: &RunFolders) -> Result<Request> {
    let given = &flags.request;
    let records = records(&flags.records, folders)?;
    let verb = match (&records, has_body(given)) {
        (Some(_), _) => "PUT",
        (None, true) => "POST",
        (None, false) => "GET",
    };
    let method = given.method.clone().unwrap_or_else(|| verb.to_owned());
    let is_given = |wanted: &str| {
        let mut names = given.headers.iter().map(|header| &header.name);
        names.any(|name| name.eq_ignore_ascii_case(wanted))
    };
    let with_value = given.headers.iter().filter_map(|header| {
        let value = header.value.clone()?;
        Some((header.name.clone(), value))
    });
    let mut headers: Vec<(String, String)> = with_value.collect();
    let mut add = |name: &str, value: String| {
        if !is_given(name) {
            headers.push((name.to_owned(), value));
        }
    };
    if let Some(user) = given.user.as_ref().or(target.user.as_ref()) {
        add("Authorization", basic(user));
    }
    if let Some(content_type) = &given.content_type {
        add("Content-Type", content_type.clone());
    } else if is_form(given) {
        add(
            "Content-Type",
            "application/x-www-form-urlencoded".to_owned(),
        );
    }
    if given.disable_keepalive {
        if flags.model.pipelining.is_some_and(|requests| requests > 1) {
            bail!(
                "--disable-keepalive cannot be used with --pipelining: the connection closes after one answer"
            );
        }
        add("Connection", "close".to_owned());
    }
    Ok(Request {
        name: REQUEST_NAME.to_owned(),
        method,
        path: target.path.clone(),
        headers,
        without_headers: left_out_headers(given),
        body: match records {
            Some(records) => Body::Records(Box::new(records)),
            None => body(given, folders)?,
        },
        texts: Texts::Plain,
        expect: Expect {
            status: Vec::new(),
            body: BodyExpect::Any,
        },
        inspect: None,
        timeout: given.timeout.unwrap_or(TIMEOUT),
        from_outside: Vec::new(),
    })
}

/// Headers given as `NAME:`, which are removed.
fn left_out_headers(given: &load::Request) -> Vec<String> {
    let left_out = given.headers.iter();
    let left_out = left_out.filter(|header| header.value.is_none());
    left_out.map(|header| header.name.clone()).collect()
}

/// Whether the body is sent as curl does.
fn is_form(given: &load::Request) -> bool {
    given.data.is_some() || given.data_binary.is_some() || given.data_raw.is_some()
}

fn has_body(given: &load::Request) -> bool {
    given.body.is_some() || given.body_file.is_some() || is_form(given)
}

fn records(given: &load::Records, folders: &RunFolders) -> Result<Option<RecordsBody>> {
    let Some(from) = given.records.clone() else {
        return Ok(None);
    };
    let format = match given.records_format {
        Some(format) => format.into(),
        None => RecordsFormat::of_file_name(&from).with_context(|| {
            format!(
                "the ending of {from:?} does not say its format: expected {}, or --records-format",
                RecordsFormat::ENDINGS
            )
        })?,
    };
    if format == RecordsFormat::Csv && given.records_measurement.is_none() {
        bail!("CSV requires --records-measurement");
    }
    let send_as = given
        .records_send_as
        .map_or(RecordsFormat::LineProtocol, RecordsFormat::from);
    if send_as == RecordsFormat::Csv {
        bail!("records cannot be sent as csv; --records-send-as is line-protocol, ndjson or json");
    }
    Ok(Some(RecordsBody {
        file: match is_stream(&from) {
            true => folders.make_records(&from)?.display().to_string(),
            false => from,
        },
        format,
        send_as,
        per_request: given.records_per_request.unwrap_or(1),
        table: table(given),
    }))
}

fn table(given: &load::Records) -> Table {
    let measurement = given.records_measurement.clone();
    let time = RecordTime {
        columns: given.records_time.clone(),
        format: given.records_time_format.clone(),
        zone: given.records_time_zone.clone(),
    };
    Table {
        measurement: measurement.map(RecordMeasurement::Name),
        time: (!time.columns.is_empty()).then_some(time),
        tags: given.records_tags.clone(),
        fields: (!given.records_fields.is_empty()).then(|| given.records_fields.clone()),
        leave_out: given.records_leave_out.clone(),
        missing: given.records_missing.clone(),
        skip_empty: given.records_skip_empty,
        delimiter: given.records_delimiter,
        decimal: given.records_decimal_comma.then_some(RecordDecimal::Comma),
        skip_lines: given.records_skip_lines.unwrap_or_default(),
        encoding: given.records_encoding.clone(),
        ..Table::default()
    }
}

/// Length of the request body in bytes, and number of its records.
pub(crate) fn sizes(request: &Request, target: &Target) -> Result<(u64, u32)> {
    Ok(match &request.body {
        Body::None => (0, 0),
        Body::Text(text) => (text.len() as u64, 0),
        Body::Random(bytes) => (*bytes, 0),
        Body::File(file) => {
            let metadata = std::fs::metadata(file);
            (
                metadata
                    .with_context(|| format!("cannot read {}", the_body(file)))?
                    .len(),
                0,
            )
        }
        Body::Records(_) => {
            let requests =
                RecordFiles::read_request(request)?.prepare(request, "size", &target.authority)?;
            let first = requests.first();
            (
                first.map_or(0, body_bytes),
                first.map_or(0, |first| first.records),
            )
        }
    })
}

fn body_bytes(request: &Prepared) -> u64 {
    let head = request
        .bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n");
    head.map_or(0, |head| (request.bytes.len() - head - 4) as u64)
}

/// The body. One that is not short text is written to a file, unless a file has exactly these bytes.
fn body(given: &load::Request, folders: &RunFolders) -> Result<Body> {
    let (bytes, file) = match read_body(given)? {
        None => return Ok(Body::None),
        Some((bytes, file)) => (bytes, file.filter(|file| !is_stream(file))),
    };
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if text.len() <= waggle_convert::BODY_MAX_BYTES => return Ok(Body::Text(text)),
        Ok(text) => text.into_bytes(),
        Err(no_text) => no_text.into_bytes(),
    };
    Ok(Body::File(match file {
        Some(file) => file,
        None => folders.make_body(&bytes)?.display().to_string(),
    }))
}

/// Whether a file can be read only once, like a pipe.
fn is_stream(file: &str) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The bytes, and the file that has exactly these.
fn read_body(given: &load::Request) -> Result<Option<(Vec<u8>, Option<String>)>> {
    if let Some(file) = &given.body_file {
        let name = file.display().to_string();
        return Ok(Some((file_bytes(&name)?, Some(name))));
    }
    if let Some(raw) = &given.data_raw {
        return Ok(Some((raw.clone().into_bytes(), None)));
    }
    let text = [&given.body, &given.data, &given.data_binary]
        .into_iter()
        .flatten()
        .next();
    let Some(text) = text else {
        return Ok(None);
    };
    let (mut bytes, mut file) = match text.strip_prefix('@') {
        Some("-") => (
            input::standard_input(&the_body("the standard input"))?,
            None,
        ),
        Some(file) => (file_bytes(file)?, Some(file.to_owned())),
        None => return Ok(Some((text.clone().into_bytes(), None))),
    };
    if given.data.is_some() {
        // As in curl.
        bytes.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        file = None;
    }
    Ok(Some((bytes, file)))
}

fn file_bytes(name: &str) -> Result<Vec<u8>> {
    input::file(Path::new(name), &the_body(name))
}

fn the_body(name: &str) -> String {
    format!("the body in {name}")
}
