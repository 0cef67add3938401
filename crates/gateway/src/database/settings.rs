//! Flags of queries on InfluxDB.

use std::path::PathBuf;
use std::time::Duration;

use waggle_flags::positive_duration;

/// Where queries go with `--backend kafka`: to the database to which a sink writes the records.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Queries on InfluxDB")]
pub struct DatabaseSettings {
    /// With --backend kafka: the InfluxDB 2 that answers queries, e.g. <http://influxdb:8086>
    #[arg(
        long,
        value_name = "URL",
        group = "queries",
        requires_all = ["influxdb_org", "influxdb_bucket", "kafka_brokers"]
    )]
    pub influxdb_url: Option<String>,
    /// Organisation in the database
    #[arg(long, value_name = "ORG", requires = "influxdb_url")]
    pub influxdb_org: Option<String>,
    /// Bucket in the database; `{topic}` is replaced by the topic of the query
    #[arg(long, value_name = "BUCKET", requires = "influxdb_url")]
    pub influxdb_bucket: Option<String>,
    /// File with a token that may read; it is read again when the database refuses the token [default: the environment variable
    /// INFLUX_TOKEN]
    #[arg(long, value_name = "FILE", requires = "influxdb_url")]
    pub influxdb_token_file: Option<PathBuf>,
    /// Pass queries in Flux and InfluxQL on to the database (POST /api/v1/query). Every client that reaches the gateway then has
    /// all permissions of the token
    #[arg(long, requires = "influxdb_url")]
    pub query_pass_through: bool,
    /// Time for a connection to the database
    #[arg(long, default_value = "2s", value_parser = positive_duration, requires = "influxdb_url")]
    pub influxdb_connect_timeout: Duration,
    /// Time for a query, from the request to the end of the answer; after it 504
    #[arg(long, default_value = "30s", value_parser = positive_duration, requires = "influxdb_url")]
    pub query_timeout: Duration,
}
