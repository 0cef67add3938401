//! The flags of `waggle load`. One that wrk, wrk2, oha, hey or curl has, too, has the same meaning here. If two of these tools
//! disagree, docs/design/0011-waggle-load.md says which one is followed and why.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args};
use waggle_spec::Protocol;

use super::{
    parse,
    parse::{
        ArrivalsName, CpuChoice, Expectation, FormatName, HeaderText, HttpVersion, SearchVariable,
        StageText, ThinkText,
    },
    target::ConnectTo,
};

/// The flags of `waggle load`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Load {
    /// The URL that requests are sent to: http://… or https://… [default scheme: http]
    #[arg(value_name = "URL", value_parser = parse::url)]
    pub(crate) url: String,
    /// Always refused, with a hint at what was meant.
    #[arg(hide = true, value_parser = parse::no_second_url)]
    pub(crate) second: Option<String>,
    #[command(flatten)]
    pub(crate) model: Model,
    #[command(flatten)]
    pub(crate) until: Length,
    #[command(flatten)]
    pub(crate) request: Request,
    #[command(flatten)]
    pub(crate) records: Records,
    #[command(flatten)]
    pub(crate) way: ConnectionFlags,
    #[command(flatten)]
    pub(crate) secure: TlsFlags,
    #[command(flatten)]
    pub(crate) judged: SuccessFlags,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What makes the next request due.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load model (closed unless --rate or --users is given)")]
pub(crate) struct Model {
    /// Number of connections. In closed load each is kept busy, in open load they share the requests [default: 50, and not more
    /// than --requests]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: Option<u32>,
    /// Requests in flight on each connection; with --scenario, over HTTP/2, sessions at once on each [default: 1]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pipelining: Option<u32>,
    /// Open load: requests that fall due per second, independent of the answers (wrk2's -R)
    #[arg(short = 'R', long, value_name = "PER_SECOND", value_parser = parse::rate)]
    pub(crate) rate: Option<f64>,
    /// Open load: distribution of arrivals [default: poisson]
    #[arg(long, value_name = "HOW")]
    pub(crate) arrivals: Option<ArrivalsName>,
    /// Number of users (with --stages: the maximum), each with its own connection: send, wait for the answer, think
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["connections", "pipelining", "rate"])]
    pub(crate) users: Option<u32>,
    /// Pause of a user between an answer and the next request: 1s, exp:1s (exponential with this mean) or uniform:1s..3s
    /// [default: exp:1s]
    #[arg(long, value_name = "TIME", value_parser = parse::think_time)]
    pub(crate) think_time: Option<ThinkText>,
    /// Stages of the load, as in k6: 10s:1000,0s:5000,5s:5000 ramps up to 1000/s in 10 s, jumps to 5000/s and holds it for 5 s.
    /// The load starts at 0. Targets are requests per second, or users with --users
    #[arg(long, value_name = "DURATION:TARGET,…", value_delimiter = ',', value_parser = StageText::parse,
          conflicts_with_all = ["rate", "duration", "warm_up"])]
    pub(crate) stages: Vec<StageText>,
    /// Seed of arrivals and think times [default: random, printed with the result]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// How long the load lasts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Duration")]
pub(crate) struct Length {
    /// Length of the measured phase, as in wrk: 30s, 2m; a bare number is seconds [default: 10s,
    /// with --search 5s]
    #[arg(short, long, value_name = "TIME", value_parser = parse::duration_of_load)]
    pub(crate) duration: Option<Duration>,
    /// End the load after this number of requests
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Length of the warm-up before the measured phase; only the totals include it [default: 0s, with --search 1s]
    #[arg(long, value_name = "TIME", value_parser = parse::duration)]
    pub(crate) warm_up: Option<Duration>,
}

/// What is sent.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct Request {
    /// Sessions of several requests instead of one request: a file in the format of `load.scenario` of a study
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "headers", "content_type", "body_from", "user", "timeout",
          "disable_keepalive", "expect"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Method (curl's -X) [default: GET; POST with a body, PUT with records]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = parse::method)]
    pub(crate) method: Option<String>,
    /// A header; may be repeated. As in curl, 'NAME:' removes a header that is sent by default, and 'NAME;' sends one without a
    /// value
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse::header)]
    pub(crate) headers: Vec<HeaderText>,
    /// Content-Type of the body (oha's and hey's -T)
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The body, sent unchanged: text, @FILE, or @- for the standard input
    #[arg(long, value_name = "TEXT|@FILE", group = "body_from")]
    pub(crate) body: Option<String>,
    /// File with the body, sent unchanged (oha's and hey's -D)
    #[arg(short = 'D', long, value_name = "FILE", group = "body_from")]
    pub(crate) body_file: Option<PathBuf>,
    /// The body as curl's --data sends it: as a form, without the line ends of a @FILE (-d is the duration, as in wrk)
    #[arg(long, value_name = "TEXT|@FILE", group = "body_from")]
    pub(crate) data: Option<String>,
    /// As --data, but a @FILE is sent unchanged
    #[arg(long, value_name = "TEXT|@FILE", group = "body_from")]
    pub(crate) data_binary: Option<String>,
    /// As --data, but an @ at the start has no special meaning
    #[arg(long, value_name = "TEXT", group = "body_from")]
    pub(crate) data_raw: Option<String>,
    /// Name and password for HTTP Basic authentication (curl's -u)
    #[arg(short = 'u', long, value_name = "NAME:PASSWORD", value_parser = parse::user)]
    pub(crate) user: Option<String>,
    /// Timeout of a request, from sending to the complete answer (curl's --max-time); a bare number is seconds [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse::timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Use a new connection for each request; over HTTP/1.1 each asks the server to close the connection after its answer
    #[arg(long)]
    pub(crate) disable_keepalive: bool,
}

/// Records in the body, each with its own key and time.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Records (each gets its own key and time when it is sent)")]
pub(crate) struct Records {
    /// File with records: line protocol, NDJSON, JSON or CSV
    #[arg(long, value_name = "FILE", group = "body_from")]
    pub(crate) records: Option<String>,
    /// Format of the file [default: from its extension]
    #[arg(long, value_name = "FORMAT", requires = "records")]
    pub(crate) records_format: Option<FormatName>,
    /// Format in which records are sent [default: line-protocol]
    #[arg(long, value_name = "FORMAT", requires = "records")]
    pub(crate) records_send_as: Option<FormatName>,
    /// Records per request [default: 1]
    #[arg(long, value_name = "N", requires = "records", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) records_per_request: Option<u32>,
    /// CSV, JSON and NDJSON: name of the measurement
    #[arg(long, value_name = "NAME", requires = "records")]
    pub(crate) records_measurement: Option<String>,
    /// CSV, JSON and NDJSON: column with the time, or several, such as a date and a time of day
    #[arg(
        long,
        value_name = "COLUMN,…",
        requires = "records_measurement",
        value_delimiter = ','
    )]
    pub(crate) records_time: Vec<String>,
    /// CSV, JSON and NDJSON: s, ms, us or ns since 1970, or a pattern such as "%d.%m.%Y %H:%M:%S" [default: RFC 3339, or ns]
    #[arg(long, value_name = "FORMAT", requires = "records_time")]
    pub(crate) records_time_format: Option<String>,
    /// CSV, JSON and NDJSON: zone of times without an offset, such as Europe/Berlin or +01:00 [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "records_time")]
    pub(crate) records_time_zone: Option<String>,
    /// CSV, JSON and NDJSON: columns that are tags
    #[arg(
        long,
        value_name = "COLUMN,…",
        requires = "records_measurement",
        value_delimiter = ','
    )]
    pub(crate) records_tags: Vec<String>,
    /// CSV, JSON and NDJSON: columns that are fields [default: all without another role]
    #[arg(
        long,
        value_name = "COLUMN,…",
        requires = "records_measurement",
        value_delimiter = ','
    )]
    pub(crate) records_fields: Vec<String>,
    /// CSV, JSON and NDJSON: columns that are not used
    #[arg(
        long,
        value_name = "COLUMN,…",
        requires = "records_measurement",
        value_delimiter = ','
    )]
    pub(crate) records_leave_out: Vec<String>,
    /// CSV, JSON and NDJSON: texts of cells without a value, such as NAN
    #[arg(
        long,
        value_name = "TEXT,…",
        requires = "records_measurement",
        value_delimiter = ','
    )]
    pub(crate) records_missing: Vec<String>,
    /// CSV, JSON and NDJSON: leave out rows without the value of any field
    #[arg(long, requires = "records_measurement")]
    pub(crate) records_skip_empty: bool,
    /// CSV: what separates cells: , ; | or tab [default: what the header row has most of]
    #[arg(long, value_name = "CHARACTER", requires = "records_measurement", value_parser = parse::delimiter)]
    pub(crate) records_delimiter: Option<char>,
    /// CSV: numbers have a comma before their fraction
    #[arg(long, requires = "records_measurement")]
    pub(crate) records_decimal_comma: bool,
    /// CSV: lines before the header row
    #[arg(long, value_name = "N", requires = "records_measurement", value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) records_skip_lines: Option<u32>,
    /// Character encoding of the file, such as windows-1252 [default: UTF-8]
    #[arg(long, value_name = "NAME", requires = "records")]
    pub(crate) records_encoding: Option<String>,
}

/// Connections and worker threads.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connections and threads")]
pub(crate) struct ConnectionFlags {
    /// Send requests for HOST1:PORT1 to HOST2:PORT2, as in curl: an empty HOST1 or PORT1 matches any, an empty HOST2 or PORT2
    /// keeps the original; may be repeated
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", value_parser = ConnectTo::parse)]
    pub(crate) connect_to: Vec<ConnectTo>,
    /// Largest head of an answer, status line and headers together, from 1KiB to 16MiB; a larger one is a failure [default: 64KiB]
    #[arg(long, value_name = "SIZE", value_parser = parse::header_size)]
    pub(crate) max_header_size: Option<u64>,
    /// Most headers of an answer; an answer with more is a failure [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_headers: Option<u32>,
    /// Worker threads over all generators (wrk's -t) [default: half of the CPUs, at least one for each generator]
    #[arg(short = 't', long, value_name = "N", value_parser = parse::workers)]
    pub(crate) workers: Option<u32>,
    /// Processes that make the load together, each with its share of connections, rate, users and records: 1 to 10 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) generators: Option<u32>,
    /// Pin each worker thread to one CPU: of these, or of the first half of all CPUs
    #[arg(long, value_name = "CPU,…", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = CpuChoice::parse)]
    pub(crate) pin: Option<CpuChoice>,
    /// Keep the CPUs from halting, with a loop of the idle scheduling class on each: for virtual machines whose host takes
    /// halted CPUs away. Costs power, and capacity of cores with two hardware threads
    #[arg(long)]
    pub(crate) idle_poll: bool,
}

/// HTTP/2 and TLS.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "HTTP/2 and TLS")]
pub(crate) struct TlsFlags {
    /// HTTP/2: --pipelining is the number of streams per connection; without TLS the server must support prior knowledge
    #[arg(long, conflicts_with = "http_version")]
    pub(crate) http2: bool,
    /// The version of HTTP (oha's --http-version); --http2 is --http-version 2 [default: 1.1]
    #[arg(long, value_name = "VERSION")]
    pub(crate) http_version: Option<HttpVersion>,
    /// Disable verification of the server's certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// Certificate authorities to trust (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(short = 'E', long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM), if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Disable TLS session resumption (as in curl)
    #[arg(long)]
    pub(crate) no_sessionid: bool,
}

impl TlsFlags {
    /// The protocol of the study.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.http_version {
            _ if self.http2 => Protocol::Http2,
            None | Some(HttpVersion::Http1) => Protocol::Http1,
            Some(HttpVersion::Http2) => Protocol::Http2,
            Some(HttpVersion::Auto) => Protocol::Auto,
        }
    }
}

/// Which answers succeed, and which conditions the result must meet.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Success and thresholds")]
pub(crate) struct SuccessFlags {
    /// Which answers succeed: STATUS[,STATUS…], body_equals=TEXT or body_contains=TEXT; may be repeated [default: any 2xx]
    #[arg(long, value_name = "WHAT", value_parser = Expectation::parse)]
    pub(crate) expect: Vec<Expectation>,
    /// A condition on the result, such as 'response_time.p99 < 50ms', or on a step of a scenario, 'login.failed == 0'; may be
    /// repeated; exit code 3 if one does not hold
    #[arg(long = "threshold", value_name = "CONDITION")]
    pub(crate) thresholds: Vec<String>,
}

/// The search for the highest level at which conditions hold.
#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Capacity search (a short load per level; exit code 3 if no level holds)"
)]
pub(crate) struct Search {
    /// Search for the highest rate, number of users or number of connections at which every --condition holds
    #[arg(long = "search", value_name = "WHAT", conflicts_with_all = ["stages", "requests", "csv", "hdr", "thresholds", "series"])]
    pub(crate) maximize: Option<SearchVariable>,
    /// A condition, such as 'response_time.p99 < 50ms'; may be repeated, all must hold. An overloaded level never holds
    /// [default: no failures, and 99 % of the due requests answered]
    #[arg(long = "condition", value_name = "CONDITION", requires = "maximize")]
    pub(crate) conditions: Vec<String>,
    /// The first level; the next ones are its doubles or halves [default: 1000 (rate), 10 (users, connections)]
    #[arg(long, value_name = "LEVEL", requires = "maximize", value_parser = parse::rate)]
    pub(crate) start: Option<f64>,
    /// The lowest level to try [default: a hundredth of --start (rate), 1 (users, connections)]
    #[arg(long, value_name = "LEVEL", requires = "maximize", value_parser = parse::rate)]
    pub(crate) min: Option<f64>,
    /// The highest level to try [default: a thousand times --start]
    #[arg(long, value_name = "LEVEL", requires = "maximize", value_parser = parse::rate)]
    pub(crate) max: Option<f64>,
    /// How close the highest holding and the lowest failing level must be [default: 5%]
    #[arg(long, value_name = "SHARE", requires = "maximize", value_parser = parse::share)]
    pub(crate) precision: Option<f64>,
    /// Number of loads that must hold at the highest holding level [default: 3]
    #[arg(long, value_name = "N", requires = "maximize", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) confirmations: Option<u32>,
    /// Maximum number of connections of a search for a rate: if --connections are the limit, and not the server, loads are repeated
    /// with more [default: 10000]
    #[arg(long, value_name = "N", requires = "maximize", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: Option<u32>,
    /// Maximum number of loads [default: 30]
    #[arg(long, value_name = "N", requires = "maximize", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_trials: Option<u32>,
}

/// What is printed and written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Print the result as one JSON object (schema: waggle schema load) instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Include the time series in the JSON
    #[arg(long, requires = "json")]
    pub(crate) series: bool,
    /// Write the time series to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write an HdrHistogram interval log to this file (tags response_time and service_time, µs)
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,
    /// Save the run: its study, which `waggle run` repeats, and its results, which `waggle report` reads [default folder: a new
    /// one in runs/]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true)]
    pub(crate) save: Option<Option<PathBuf>>,
    /// Length of a row of the time series, of the log and of a line of progress [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse::interval)]
    pub(crate) interval: Option<Duration>,
    /// Print only the result, no progress
    #[arg(short = 's', long, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    /// Print lines of progress at a terminal too, instead of the live view
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) no_live: bool,
}
