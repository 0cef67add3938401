//! Records of a request: their file, and the roles and layout of a table.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{LoadModel, RecordsFormat};

use crate::{
    RecordDecimal, RecordMeasurement, RecordTime, RecordsBody, Table,
    at::{At, Key, Place},
    check::Checker,
    mistake::Finding,
    parts::load::MAX_IN_FLIGHT,
    raw::{OneOrSeveral, scalar_or_mapping},
};

/// Records from a file, each stamped with a key and a time of its own as it is sent. A file may be compressed by gzip or zstd.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    /// The file, relative to the study's folder.
    #[schemars(required)]
    pub file: Key<String>,
    /// How to read the file; by default from its ending: .lp, .ndjson, .json, .csv, .tsv, also with .gz or .zst.
    pub format: Key<RecordsFormat>,
    /// How to write the body; line-protocol by default.
    pub send_as: Key<RecordsFormat>,
    /// Records in one request; 1 by default.
    #[schemars(range(min = 1, max = 100_000))]
    pub per_request: Key<u32>,
    /// The measurement of records from CSV, JSON or NDJSON: a name, or `{column: NAME}`.
    pub measurement: Key<Measurement>,
    /// The column with the time, in CSV, JSON or NDJSON; or its columns, format and zone.
    pub time: Key<Time>,
    /// The columns that are tags, in CSV, JSON or NDJSON. The columns of an object are its keys, those within it by their path:
    /// `device.id`, `samples.0`.
    pub tags: Key<Vec<String>>,
    /// The columns that are fields, in CSV, JSON or NDJSON; all without another role by default.
    pub fields: Key<Vec<String>>,
    /// The columns that are not used, in CSV, JSON or NDJSON.
    pub leave_out: Key<Vec<String>>,
    /// Texts of cells without a value, such as `NAN`, in CSV, JSON or NDJSON; an empty cell never has one.
    pub missing: Key<Vec<String>>,
    /// Whether rows without the value of any field are left out, in CSV, JSON or NDJSON; they are mistakes by default.
    pub skip_empty: Key<bool>,
    /// What separates cells in CSV: `,`, `;`, a tab (`"\t"`) or `|`; by default what the header row has most of.
    pub delimiter: Key<String>,
    /// What separates the fraction of a number in CSV; point by default.
    pub decimal: Key<Decimal>,
    /// Lines before the header row of CSV; 0 by default.
    #[schemars(range(max = 10_000))]
    pub skip_lines: Key<u32>,
    /// Lines after the header row of CSV that are no rows, such as units; 0 by default.
    #[schemars(range(max = 10_000))]
    pub skip_after_header: Key<u32>,
    /// The names of the columns of CSV without a header row.
    pub header: Key<Vec<String>>,
    /// Lines of CSV that begin with this text are left out.
    pub comment: Key<String>,
    /// The character encoding, such as windows-1252 or utf-16le; UTF-8 by default.
    pub encoding: Key<String>,
}

/// What separates the integer part of a number from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decimal {
    Point,
    Comma,
}

/// `plant` or `{column: line}`.
#[derive(Debug, Clone)]
pub(crate) enum Measurement {
    Name(String),
    Column(MeasurementColumn),
}

/// `time` or `{column: [Date, Time], format: "%d.%m.%Y %H:%M:%S", zone: Europe/Berlin}`.
#[derive(Debug, Clone)]
pub(crate) enum Time {
    Column(String),
    Columns(Box<TimeColumns>),
}

/// The measurement in a column.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasurementColumn {
    /// The name of the column.
    #[schemars(required)]
    pub column: Key<String>,
}

/// Where and how the time of a record is written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeColumns {
    /// The column, or several whose texts are joined by spaces, such as a date and a time of day.
    #[schemars(required)]
    pub column: Key<OneOrSeveral>,
    /// `s`, `ms`, `us` or `ns` since 1970, or a pattern as of strptime: `%d.%m.%Y %H:%M:%S`. By default as in RFC 3339, also with a
    /// space, or nanoseconds.
    pub format: Key<String>,
    /// The zone of times without an offset: a name such as Europe/Berlin, or an offset such as +01:00; UTC by default.
    pub zone: Key<String>,
}

scalar_or_mapping!(
    Measurement,
    Name(String),
    Column(MeasurementColumn),
    "a name or its column"
);

scalar_or_mapping!(
    Time,
    Column(String),
    Columns(Box<TimeColumns>),
    "a column, or column, format and zone"
);

/// Most records in flight at once.
const MAX_RECORDS_IN_FLIGHT: u64 = 10 * MAX_IN_FLIGHT;
/// Units of times since 1970.
const UNITS: [&str; 4] = ["s", "ms", "us", "ns"];

pub(super) fn records(
    checker: &mut Checker<'_>,
    given: &At<Records>,
    model: Option<&LoadModel>,
) -> Option<RecordsBody> {
    let keys = &given.value;
    let format = format(checker, keys);
    let per_request = keys.per_request.or_default(1)?;
    refuse_too_many(checker, &keys.per_request, model);
    let send_as = keys.send_as.or_default(RecordsFormat::LineProtocol)?;
    if let (Some(place), RecordsFormat::Csv) = (keys.send_as.place(), send_as) {
        let mistake = place.mistake("is csv, which records are not sent in");
        checker.report(mistake.with_expected("line-protocol, ndjson or json"));
    }
    refuse_keys_of_others(checker, given, format);
    let table = table(checker, given);
    Some(RecordsBody {
        file: keys.file.value()?.clone(),
        format: format?,
        send_as,
        per_request,
        table: table?,
    })
}

fn refuse_too_many(checker: &mut Checker<'_>, given: &Key<u32>, model: Option<&LoadModel>) {
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
    // A single record in each request is never too many.
    let Some(At { place, value }) = given.content() else {
        return;
    };
    let in_flight = u64::from(*value) * u64::from(*connections) * u64::from(*pipelining);
    if in_flight > MAX_RECORDS_IN_FLIGHT {
        let what = format!(
            "{value} records a request × {connections} connections × {pipelining} pipelined are {in_flight} records in flight"
        );
        let expected = format!("at most {MAX_RECORDS_IN_FLIGHT}");
        checker.report(Finding::new(place.value, what).with_expected(expected));
    }
}

/// Reports keys that the format has no use for: line protocol contains all that a table says, and only CSV has lines.
fn refuse_keys_of_others(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Records>,
    format: Option<RecordsFormat>,
) {
    let of_tables = [
        keys.measurement.place(),
        keys.time.place(),
        keys.tags.place(),
        keys.fields.place(),
        keys.leave_out.place(),
        keys.missing.place(),
        keys.skip_empty.place(),
    ];
    let of_csv = [
        keys.delimiter.place(),
        keys.decimal.place(),
        keys.skip_lines.place(),
        keys.skip_after_header.place(),
        keys.header.place(),
        keys.comment.place(),
    ];
    let (refused, whose, expected) = match format {
        None | Some(RecordsFormat::Csv) => (Vec::new(), "", ""),
        Some(RecordsFormat::Ndjson | RecordsFormat::Json) => {
            (of_csv.to_vec(), "CSV", "no such key for JSON or NDJSON")
        }
        Some(RecordsFormat::LineProtocol) => (
            [&of_tables[..], &of_csv].concat(),
            "CSV, JSON and NDJSON; line protocol has its own",
            "file, format, send_as, per_request, encoding",
        ),
    };
    for key in refused.into_iter().flatten() {
        checker.report(
            key.key_mistake(format!("is for {whose}"))
                .with_expected(expected),
        );
    }
    let whose = match format {
        Some(RecordsFormat::Csv) => "CSV needs",
        Some(RecordsFormat::Json | RecordsFormat::Ndjson)
            if of_tables[1..].iter().any(Option::is_some) =>
        {
            "JSON with columns needs"
        }
        _ => return,
    };
    if matches!(keys.measurement, Key::Missing) {
        let mistake = place.key_mistake(format!("lacks the key \"measurement\", which {whose}"));
        checker.report(mistake.with_expected("measurement: a name, or { column: NAME }"));
    }
}

fn table(checker: &mut Checker<'_>, given: &At<Records>) -> Option<Table> {
    let keys = &given.value;
    // `None` is a delimiter that is reported.
    let delimiter = match keys.delimiter.content() {
        None => Some(None),
        Some(text) => delimiter(checker, text).map(Some),
    };
    let measurement = match keys.measurement.value() {
        None => None,
        Some(Measurement::Name(name)) => Some(RecordMeasurement::Name(name.clone())),
        Some(Measurement::Column(entry)) => {
            Some(RecordMeasurement::Column(entry.column.value()?.clone()))
        }
    };
    let time = match keys.time.value() {
        None => None,
        Some(Time::Column(column)) => Some(RecordTime {
            columns: vec![column.clone()],
            ..RecordTime::default()
        }),
        Some(Time::Columns(columns)) => Some(time(checker, columns)?),
    };
    let decimal = keys.decimal.value().map(|decimal| match decimal {
        Decimal::Point => RecordDecimal::Point,
        Decimal::Comma => RecordDecimal::Comma,
    });
    let texts = |key: &Key<Vec<String>>| key.value().cloned().unwrap_or_default();
    let count = |key: &Key<u32>| key.value().copied().unwrap_or_default();
    let comment = keys.comment.value().filter(|comment| !comment.is_empty());
    let table = Table {
        measurement,
        time,
        tags: texts(&keys.tags),
        fields: keys.fields.value().cloned(),
        leave_out: texts(&keys.leave_out),
        missing: texts(&keys.missing),
        skip_empty: keys.skip_empty.value().copied().unwrap_or_default(),
        delimiter: delimiter.flatten(),
        decimal,
        skip_lines: count(&keys.skip_lines),
        skip_after_header: count(&keys.skip_after_header),
        header: keys.header.value().cloned(),
        comment: comment.cloned(),
        encoding: keys.encoding.value().cloned(),
    };
    if let Some(At { place, value }) = keys.header.content()
        && value.is_empty()
    {
        let mistake = place.mistake("is an empty list");
        checker.report(mistake.with_expected("the names of the columns"));
    }
    refuse_two_roles(checker, given, &table);
    delimiter.map(|_| table)
}

fn delimiter(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<char> {
    match value.as_str() {
        "," | ";" | "\t" | "|" => value.chars().next(),
        text => {
            let mistake = place.mistake(format!("is {text:?}"));
            checker.report(mistake.with_expected(r#""," ";" "\t" or "|""#));
            None
        }
    }
}

fn time(checker: &mut Checker<'_>, keys: &TimeColumns) -> Option<RecordTime> {
    if let Some(At { place, value }) = keys.format.content()
        && !UNITS.contains(&value.as_str())
        && !value.contains('%')
    {
        let expected = "s, ms, us, ns, or a pattern such as \"%d.%m.%Y %H:%M:%S\"";
        let mistake = place.mistake(format!("is {value:?}"));
        checker.report(mistake.with_expected(expected));
    }
    Some(RecordTime {
        columns: keys.column.value()?.texts().to_vec(),
        format: keys.format.value().cloned(),
        zone: keys.zone.value().cloned(),
    })
}

/// Reports a column that is named twice: it has one role.
fn refuse_two_roles(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Records>,
    table: &Table,
) {
    let time = table.time.as_ref().map_or(&[][..], |time| &time.columns);
    let measurement = match &table.measurement {
        Some(RecordMeasurement::Column(column)) => std::slice::from_ref(column),
        _ => &[],
    };
    let fields = table.fields.as_deref().unwrap_or_default();
    let roles: [(&str, Option<&Place>, &[String]); 5] = [
        ("time", keys.time.place(), time),
        ("measurement", keys.measurement.place(), measurement),
        ("tags", keys.tags.place(), &table.tags),
        ("fields", keys.fields.place(), fields),
        ("leave_out", keys.leave_out.place(), &table.leave_out),
    ];
    let around = &place.path;
    for (index, (role, place, columns)) in roles.iter().enumerate() {
        for column in *columns {
            let mut others = roles[..index].iter();
            let other = others.find(|(_, _, columns)| columns.contains(column));
            if let (Some((first, ..)), Some(place)) = (other, place) {
                let what =
                    format!("column {column:?} is in {around}.{first} and in {around}.{role}");
                let finding = Finding::new(place.value, what);
                checker.report(finding.with_expected("one role for each column"));
            }
        }
    }
}

fn format(checker: &mut Checker<'_>, keys: &Records) -> Option<RecordsFormat> {
    match &keys.format {
        Key::Missing => {}
        Key::Invalid => return None,
        Key::Given(format) => return Some(format.value),
    }
    let At { place, value: file } = keys.file.content()?;
    let format = RecordsFormat::of_file_name(file);
    if format.is_none() {
        let what = format!("the ending of {file:?} does not say its format");
        let expected = format!(
            "{}, or format: line-protocol, ndjson, json or csv",
            RecordsFormat::ENDINGS
        );
        checker.report(Finding::new(place.value, what).with_expected(expected));
    }
    format
}
