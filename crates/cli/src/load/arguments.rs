//! The flags of `waggle load`. Those that people know from wrk, wrk2, oha, hey and curl mean what they mean there; where
//! two of these disagree, docs/design/0011-waggle-load.md says which one won and why.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args};

use super::{
    parse,
    parse::{
        ArrivalsName, CpuChoice, Expectation, FormatName, HeaderText, SoughtName, StageText,
        ThinkText,
    },
    target::ConnectTo,
};

/// One quick load on one URL.
///
/// Exit codes: 0 fine; 2 a mistake in what was asked, or nobody answers at the URL; 3 a --threshold does not hold; 4 the
/// result may not be believed (its verdict is not valid), which wins over 3; 130 interrupted, the result so far is
/// printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Load {
    /// Where requests go: http://… or https://…; without a scheme, http is meant
    #[arg(value_name = "URL", value_parser = parse::url)]
    pub(crate) url: String,
    /// There is no second one; who writes one is told what was meant.
    #[arg(hide = true, value_parser = parse::no_second_url)]
    pub(crate) second: Option<String>,
    #[command(flatten)]
    pub(crate) model: Model,
    #[command(flatten)]
    pub(crate) until: Until,
    #[command(flatten)]
    pub(crate) request: Request,
    #[command(flatten)]
    pub(crate) records: Records,
    #[command(flatten)]
    pub(crate) way: Way,
    #[command(flatten)]
    pub(crate) secure: Secure,
    #[command(flatten)]
    pub(crate) judged: Judged,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How requests come about.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load model (closed unless --rate or --users is given)")]
pub(crate) struct Model {
    /// Connections kept busy (closed), or over which requests go (open); 50 where nothing is said
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: Option<u32>,
    /// Requests under way on each connection at once; 1 where nothing is said
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pipelining: Option<u32>,
    /// Open load: so many requests fall due each second, whatever the answers do (wrk2's -R, oha's and hey's -q)
    #[arg(short = 'R', short_alias = 'q', long, value_name = "PER_SECOND", value_parser = parse::rate)]
    pub(crate) rate: Option<f64>,
    /// Open load: when requests fall due; poisson where nothing is said
    #[arg(long, value_name = "HOW")]
    pub(crate) arrivals: Option<ArrivalsName>,
    /// So many users (the most, with --stages), each with a connection of its own: send, wait for the answer, think
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["connections", "pipelining", "rate"])]
    pub(crate) users: Option<u32>,
    /// How long a user thinks: 1s, exp:1s (exponential, this mean) or uniform:1s..3s; exp:1s where nothing is said
    #[arg(long, value_name = "TIME", value_parser = parse::think)]
    pub(crate) think: Option<ThinkText>,
    /// Load that changes, each stage OVER:TO as in k6: 10s:1000,0s:5000,5s:5000 goes to 1000/s in 10 s, jumps to 5000/s and
    /// stays there for 5 s. Begins at 0; open load, or users with --users
    #[arg(long, alias = "stage", value_name = "OVER:TO,…", value_delimiter = ',', value_parser = StageText::parse,
          conflicts_with_all = ["rate", "duration", "warm_up"])]
    pub(crate) stages: Vec<StageText>,
    /// Decides arrivals and pauses; drawn and told where nothing is said
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Until when.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "How long")]
pub(crate) struct Until {
    /// How long requests are sent, as in wrk (oha's and hey's -z): 30s, 2m; a bare number is seconds; 10s where nothing is said
    #[arg(short, short_alias = 'z', long, value_name = "TIME", value_parser = parse::duration_of_load)]
    pub(crate) duration: Option<Duration>,
    /// Ends after so many requests
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Load before the measured time, left out of every number but the totals
    #[arg(long, value_name = "TIME", value_parser = parse::duration)]
    pub(crate) warm_up: Option<Duration>,
}

/// What is sent.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct Request {
    /// Sessions of several requests in place of one request: a file as `load.scenario` of a study has it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "headers", "content_type", "body_from", "user", "timeout",
          "disable_keepalive", "expect", "http2"])]
    pub(crate) scenario: Option<PathBuf>,
    /// GET; POST with a body, PUT with records (curl's -X, oha's and hey's -m)
    #[arg(short = 'X', short_alias = 'm', long, alias = "request", value_name = "METHOD", value_parser = parse::method)]
    pub(crate) method: Option<String>,
    /// One more line of the head; may be repeated. As in curl, 'NAME:' leaves out a line that is sent by itself, and 'NAME;'
    /// sends one without a value
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse::header)]
    pub(crate) headers: Vec<HeaderText>,
    /// Content-Type of the body (oha's and hey's -T)
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The body as it is: text, @FILE, or @- for the standard input
    #[arg(long, value_name = "TEXT|@FILE", group = "body_from")]
    pub(crate) body: Option<String>,
    /// The file with the body, as it is (oha's and hey's -D)
    #[arg(short = 'D', long, value_name = "FILE", group = "body_from")]
    pub(crate) body_file: Option<PathBuf>,
    /// The body as curl's --data sends it: as a form, line ends of a @FILE left out (-d is the duration, as in wrk)
    #[arg(
        long,
        alias = "data-ascii",
        value_name = "TEXT|@FILE",
        group = "body_from"
    )]
    pub(crate) data: Option<String>,
    /// As --data, but a @FILE is sent as it is
    #[arg(long, value_name = "TEXT|@FILE", group = "body_from")]
    pub(crate) data_binary: Option<String>,
    /// As --data, but an @ at its start means nothing
    #[arg(long, value_name = "TEXT", group = "body_from")]
    pub(crate) data_raw: Option<String>,
    /// Name and password for HTTP Basic (oha's and hey's -a)
    #[arg(short = 'u', short_alias = 'a', long, value_name = "NAME:PASSWORD", value_parser = parse::user)]
    pub(crate) user: Option<String>,
    /// From sent until the answer is whole: 10s where nothing is said; a bare number is seconds (curl's --max-time)
    #[arg(long, alias = "max-time", value_name = "TIME", value_parser = parse::timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Asks the server to close the connection after each answer
    #[arg(long)]
    pub(crate) disable_keepalive: bool,
}

/// Records in the body, each stamped as it is sent.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Records (each gets a key and a time of its own as it is sent)")]
pub(crate) struct Records {
    /// A file of records: line protocol, NDJSON, JSON or CSV
    #[arg(long, value_name = "FILE", group = "body_from")]
    pub(crate) records: Option<String>,
    /// The file's format, where its ending does not say it
    #[arg(long, value_name = "FORMAT", requires = "records")]
    pub(crate) records_format: Option<FormatName>,
    /// The format they are sent in; line-protocol where nothing is said
    #[arg(long, value_name = "FORMAT", requires = "records")]
    pub(crate) records_as: Option<FormatName>,
    /// Records in each request; 1 where nothing is said
    #[arg(long, value_name = "N", requires = "records", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) records_per_request: Option<u32>,
    /// CSV and flat NDJSON: the measurement's name
    #[arg(long, value_name = "NAME", requires = "records")]
    pub(crate) records_measurement: Option<String>,
    /// CSV and flat NDJSON: the column with the time
    #[arg(long, value_name = "COLUMN", requires = "records")]
    pub(crate) records_time: Option<String>,
    /// CSV and flat NDJSON: the columns that are tags
    #[arg(
        long,
        value_name = "COLUMN,…",
        requires = "records",
        value_delimiter = ','
    )]
    pub(crate) records_tags: Vec<String>,
}

/// The way to the server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connections and threads")]
pub(crate) struct Way {
    /// Requests for HOST1:PORT1 go to HOST2:PORT2; an empty part matches or keeps anything (as in curl); may be repeated
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", value_parser = ConnectTo::parse)]
    pub(crate) connect_to: Vec<ConnectTo>,
    /// Threads that make the load; half of the CPUs where nothing is said (wrk's -t)
    #[arg(short = 't', long, alias = "threads", value_name = "N", value_parser = parse::workers)]
    pub(crate) workers: Option<u32>,
    /// Each thread stays on one CPU: of these, or of the first half of all
    #[arg(long, value_name = "CPU,…", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = CpuChoice::parse)]
    pub(crate) pin: Option<CpuChoice>,
    /// Keeps the CPUs from halting, with a loop on each that everything else pushes aside: for virtual machines whose host takes
    /// halted CPUs away. Costs power, and a share of a core that two hardware threads have in common
    #[arg(long)]
    pub(crate) keep_awake: bool,
}

/// HTTP/2 and TLS.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "HTTP/2 and TLS")]
pub(crate) struct Secure {
    /// HTTP/2: --pipelining is the number of streams on each connection; in the clear the server is taken to speak it
    #[arg(long, conflicts_with = "disable_keepalive")]
    pub(crate) http2: bool,
    /// Takes any certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// The certificate authorities to trust (PEM) instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Certificate of this side (PEM)
    #[arg(short = 'E', long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// Its private key (PEM), where it does not stand in the certificate's file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Every TLS handshake is a whole one (as in curl)
    #[arg(long)]
    pub(crate) no_sessionid: bool,
}

/// What the result is held against.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What counts")]
pub(crate) struct Judged {
    /// Which answers are good: STATUS[,STATUS…], body=TEXT or contains=TEXT; may be repeated; any 2xx where nothing is said
    #[arg(long, value_name = "WHAT", value_parser = Expectation::parse)]
    pub(crate) expect: Vec<Expectation>,
    /// A condition on the result, such as 'response_time.p99 < 50ms', or on a step of a scenario, 'login.failed == 0'; may be
    /// repeated; exit code 3 where one does not hold
    #[arg(long = "threshold", value_name = "CONDITION")]
    pub(crate) thresholds: Vec<String>,
}

/// The search for the highest level at which conditions hold.
#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Search (a short load at each level; exit code 3 where no level holds)"
)]
pub(crate) struct Search {
    /// Searches for the highest rate, number of users or number of connections at which every --where holds
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["stages", "requests", "csv", "hdr", "thresholds", "series"])]
    pub(crate) find: Option<SoughtName>,
    /// A condition, such as 'response_time.p99 < 50ms'; may be repeated, all must hold; where none is given: no failures and
    /// 99 % of what fell due answered. A load that is overloaded never holds
    #[arg(long = "where", value_name = "CONDITION", requires = "find")]
    pub(crate) conditions: Vec<String>,
    /// The first level, then doubled or halved: 1000 (a rate) or 10 where nothing is said
    #[arg(long, value_name = "LEVEL", requires = "find", value_parser = parse::rate)]
    pub(crate) from: Option<f64>,
    /// The lowest level to try; a hundredth of --from (a rate) or 1 where nothing is said
    #[arg(long, value_name = "LEVEL", requires = "find", value_parser = parse::rate)]
    pub(crate) at_least: Option<f64>,
    /// The highest level to try; a thousand times --from where nothing is said
    #[arg(long, value_name = "LEVEL", requires = "find", value_parser = parse::rate)]
    pub(crate) at_most: Option<f64>,
    /// How close the two ends of the answer come; 5% where nothing is said
    #[arg(long, value_name = "SHARE", requires = "find", value_parser = parse::share)]
    pub(crate) precision: Option<f64>,
    /// Loads that must hold at the level that is the answer; 3 where nothing is said
    #[arg(long, value_name = "N", requires = "find", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) confirm: Option<u32>,
    /// Loads in all; 30 where nothing is said
    #[arg(long, value_name = "N", requires = "find", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials_at_most: Option<u32>,
}

/// What is shown and written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// The result as one JSON object (schema: waggle schema load) instead of text (oha's -j)
    #[arg(short_alias = 'j', long)]
    pub(crate) json: bool,
    /// With the time series in the JSON
    #[arg(long, requires = "json")]
    pub(crate) series: bool,
    /// Writes the time series to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Writes an HdrHistogram interval log to this file (tags response_time and service_time, µs)
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,
    /// Keeps the run: its study, which `waggle run` runs again, and its results, which `waggle report` opens; in this folder, or in
    /// a new one in runs/
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true)]
    pub(crate) save: Option<Option<PathBuf>>,
    /// Length of a row of the series, of the log and of a line of progress; 1s where nothing is said
    #[arg(long, value_name = "TIME", value_parser = parse::interval)]
    pub(crate) interval: Option<Duration>,
    /// No progress, only the result
    #[arg(short = 's', alias = "silent", long, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    /// Lines of progress at a terminal too, instead of the live view (oha's --no-tui)
    #[arg(long, alias = "no-tui", conflicts_with = "quiet")]
    pub(crate) no_live: bool,
    /// wrk's: prints percentiles, which are printed anyway
    #[arg(long, hide = true)]
    pub(crate) latency: bool,
}
