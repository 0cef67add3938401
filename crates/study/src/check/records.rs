//! Records of a request: their file, and the roles and layout of a table.

use waggle_spec::{LoadModel, RecordsFormat};

use super::Checker;
use crate::{
    RecordDecimal, RecordMeasurement, RecordTime, RecordsBody, Table, mistake::Finding,
    parts::load::MAX_IN_FLIGHT, raw,
};

/// Most records in flight at once.
const MAX_RECORDS_IN_FLIGHT: u64 = 10 * MAX_IN_FLIGHT;
const PATH: [&str; 3] = ["load", "request", "records"];
/// Units of times since 1970.
const UNITS: [&str; 4] = ["s", "ms", "us", "ns"];

fn path(key: &'static str) -> [&'static str; 4] {
    let [load, request, records] = PATH;
    [load, request, records, key]
}

pub(super) fn records(
    checker: &mut Checker<'_>,
    raw: raw::Records,
    model: Option<&LoadModel>,
) -> Option<RecordsBody> {
    let format = format(checker, &raw);
    let per_request = checker.value_or_default(raw.per_request, &path("per_request"), 1)?;
    refuse_too_many(checker, per_request, model);
    let send_as =
        checker.value_or_default(raw.send_as, &path("send_as"), RecordsFormat::LineProtocol)?;
    if send_as == RecordsFormat::Csv {
        let what = "load.request.records.send_as is csv, which records are not sent in";
        checker.report(
            Finding::new(checker.position_of(&path("send_as")), what)
                .with_expected("line-protocol, ndjson or json"),
        );
    }
    refuse_keys_of_others(checker, &raw, format);
    let file = raw.file.clone();
    let table = table(checker, raw);
    Some(RecordsBody {
        file: file?,
        format: format?,
        send_as,
        per_request,
        table: table?,
    })
}

fn refuse_too_many(checker: &mut Checker<'_>, per_request: u32, model: Option<&LoadModel>) {
    let Some(
        LoadModel::Closed {
            connections,
            pipelining,
        }
        | LoadModel::Open {
            connections,
            pipelining,
            ..
        },
    ) = model
    else {
        return;
    };
    let in_flight = u64::from(per_request) * u64::from(*connections) * u64::from(*pipelining);
    if in_flight > MAX_RECORDS_IN_FLIGHT {
        let what = format!(
            "{per_request} records a request × {connections} connections × {pipelining} pipelined are {in_flight} records in flight"
        );
        let expected = format!("at most {MAX_RECORDS_IN_FLIGHT}");
        checker.report(
            Finding::new(checker.position_of(&path("per_request")), what).with_expected(expected),
        );
    }
}

/// Reports keys that the format has no use for: line protocol contains all that a table says, and only CSV has lines.
fn refuse_keys_of_others(
    checker: &mut Checker<'_>,
    raw: &raw::Records,
    format: Option<RecordsFormat>,
) {
    let of_tables = [
        ("measurement", raw.measurement.is_some()),
        ("time", raw.time.is_some()),
        ("tags", raw.tags.is_some()),
        ("fields", raw.fields.is_some()),
        ("leave_out", raw.leave_out.is_some()),
        ("missing", raw.missing.is_some()),
        ("skip_empty", raw.skip_empty.is_some()),
    ];
    let of_csv = [
        ("delimiter", raw.delimiter.is_some()),
        ("decimal", raw.decimal.is_some()),
        ("skip_lines", raw.skip_lines.is_some()),
        ("skip_after_header", raw.skip_after_header.is_some()),
        ("header", raw.header.is_some()),
        ("comment", raw.comment.is_some()),
    ];
    let refused = |keys: &[(&'static str, bool)]| -> Vec<&'static str> {
        let given = keys.iter().filter(|(_, is_given)| *is_given);
        given.map(|(key, _)| *key).collect()
    };
    let (keys, whose, expected) = match format {
        None | Some(RecordsFormat::Csv) => (Vec::new(), "", ""),
        Some(RecordsFormat::Ndjson | RecordsFormat::Json) => {
            (refused(&of_csv), "CSV", "no such key for JSON or NDJSON")
        }
        Some(RecordsFormat::LineProtocol) => (
            [refused(&of_tables), refused(&of_csv)].concat(),
            "CSV, JSON and NDJSON; line protocol has its own",
            "file, format, send_as, per_request, encoding",
        ),
    };
    for key in keys {
        let what = format!("load.request.records.{key} is for {whose}");
        checker.report(Finding::new(checker.key(&path(key)), what).with_expected(expected));
    }
    let others = of_tables[1..].iter().any(|(_, is_given)| *is_given);
    let is_json = matches!(format, Some(RecordsFormat::Json | RecordsFormat::Ndjson));
    let is_needed = format == Some(RecordsFormat::Csv) || (is_json && others);
    if is_needed && raw.measurement.is_none() && !checker.is_invalid(&path("measurement")) {
        let whose = if format == Some(RecordsFormat::Csv) {
            "CSV needs"
        } else {
            "JSON with columns needs"
        };
        let what = format!("load.request.records lacks the key \"measurement\", which {whose}");
        let expected = "measurement: a name, or { column: NAME }";
        checker.report(Finding::new(checker.key(&PATH), what).with_expected(expected));
    }
}

fn table(checker: &mut Checker<'_>, raw: raw::Records) -> Option<Table> {
    // `None` is a delimiter that is reported.
    let delimiter = match &raw.delimiter {
        None => Some(None),
        Some(text) => delimiter(checker, text).map(Some),
    };
    let measurement = match raw.measurement {
        None => None,
        Some(raw::Measurement::Name(name)) => Some(RecordMeasurement::Name(name)),
        Some(raw::Measurement::Column(entry)) => Some(RecordMeasurement::Column(entry.column?)),
    };
    let time = match raw.time {
        None => None,
        Some(raw::Time::Column(column)) => Some(RecordTime {
            columns: vec![column],
            ..RecordTime::default()
        }),
        Some(raw::Time::Columns(columns)) => Some(time(checker, columns)?),
    };
    let table = Table {
        measurement,
        time,
        tags: raw.tags.unwrap_or_default(),
        fields: raw.fields,
        leave_out: raw.leave_out.unwrap_or_default(),
        missing: raw.missing.unwrap_or_default(),
        skip_empty: raw.skip_empty.unwrap_or_default(),
        delimiter: delimiter.flatten(),
        decimal: raw.decimal.map(|decimal| match decimal {
            raw::Decimal::Point => RecordDecimal::Point,
            raw::Decimal::Comma => RecordDecimal::Comma,
        }),
        skip_lines: raw.skip_lines.unwrap_or_default(),
        skip_after_header: raw.skip_after_header.unwrap_or_default(),
        header: raw.header,
        comment: raw.comment.filter(|comment| !comment.is_empty()),
        encoding: raw.encoding,
    };
    if table.header.as_ref().is_some_and(Vec::is_empty) {
        let what = "load.request.records.header is an empty list";
        checker.report(
            Finding::new(checker.position_of(&path("header")), what)
                .with_expected("the names of the columns"),
        );
    }
    refuse_two_roles(checker, &table);
    delimiter.map(|_| table)
}

fn delimiter(checker: &mut Checker<'_>, text: &str) -> Option<char> {
    match text {
        "," | ";" | "\t" | "|" => text.chars().next(),
        _ => {
            let what = format!("load.request.records.delimiter is {text:?}");
            let expected = r#""," ";" "\t" or "|""#;
            checker.report(
                Finding::new(checker.position_of(&path("delimiter")), what).with_expected(expected),
            );
            None
        }
    }
}

fn time(checker: &mut Checker<'_>, raw: raw::TimeColumns) -> Option<RecordTime> {
    if let Some(format) = &raw.format
        && !UNITS.contains(&format.as_str())
        && !format.contains('%')
    {
        let what = format!("load.request.records.time.format is {format:?}");
        let expected = "s, ms, us, ns, or a pattern such as \"%d.%m.%Y %H:%M:%S\"";
        let [load, request, records] = PATH;
        let position = checker.position_of(&[load, request, records, "time", "format"]);
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    Some(RecordTime {
        columns: raw.column?.texts().to_vec(),
        format: raw.format,
        zone: raw.zone,
    })
}

/// Reports a column that is named twice: it has one role.
fn refuse_two_roles(checker: &mut Checker<'_>, table: &Table) {
    let time = table.time.iter().flat_map(|time| &time.columns);
    let measurement = match &table.measurement {
        Some(RecordMeasurement::Column(column)) => Some(column),
        _ => None,
    };
    let roles = time
        .map(|column| ("time", column))
        .chain(measurement.map(|column| ("measurement", column)))
        .chain(table.tags.iter().map(|column| ("tags", column)))
        .chain(
            table
                .fields
                .iter()
                .flatten()
                .map(|column| ("fields", column)),
        )
        .chain(table.leave_out.iter().map(|column| ("leave_out", column)));
    let mut seen: Vec<(&str, &String)> = Vec::new();
    for (role, column) in roles {
        let other = seen
            .iter()
            .find(|(other, known)| *known == column && *other != role);
        if let Some((first, _)) = other {
            let what = format!(
                "column {column:?} is in load.request.records.{first} and in load.request.records.{role}"
            );
            let position = checker.position_of(&path(role));
            checker.report(Finding::new(position, what).with_expected("one role for each column"));
        }
        seen.push((role, column));
    }
}

fn format(checker: &mut Checker<'_>, raw: &raw::Records) -> Option<RecordsFormat> {
    if checker.is_invalid(&path("format")) {
        return None;
    }
    if let Some(format) = raw.format {
        return Some(format);
    }
    let file = raw.file.as_deref()?;
    let format = RecordsFormat::of_file_name(file);
    if format.is_none() {
        let what = format!("the ending of {file:?} does not say its format");
        let expected = format!(
            "{}, or format: line-protocol, ndjson, json or csv",
            RecordsFormat::ENDINGS
        );
        checker
            .report(Finding::new(checker.position_of(&path("file")), what).with_expected(expected));
    }
    format
}
