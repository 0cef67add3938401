//! Flags of queries on InfluxDB.

use std::path::PathBuf;
use std::time::Duration;

use waggle_flags::positive_duration;

/// Where queries go with `--backend kafka`, whose records a sink writes to a database.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Queries on InfluxDB")]
pub struct DatabaseSettings {
    /// With --backend kafka: the InfluxDB 2 that queries are asked of, e.g. <http://influxdb:8086>
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
    /// Bucket in the database; `{topic}` stands for the topic that is asked for
    #[arg(long, value_name = "BUCKET", requires = "influxdb_url")]
    pub influxdb_bucket: Option<String>,
    /// File with a token that may read; it is read again when the database refuses the token. Without it, `INFLUX_TOKEN` is
    /// taken from the environment
    #[arg(long, value_name = "FILE", requires = "influxdb_url")]
    pub influxdb_token_file: Option<PathBuf>,
    /// Pass queries in Flux and InfluxQL on to the database (POST /api/v1/query). Whoever can reach the gateway can then do all
    /// that the token may, and more than read this bucket if it may more
    #[arg(long, requires = "influxdb_url")]
    pub query_pass_through: bool,
    /// Time for a connection to the database
    #[arg(long, default_value = "2s", value_parser = positive_duration, requires = "influxdb_url")]
    pub influxdb_connect_timeout: Duration,
    /// Time for a query, from being asked to the end of the answer; then 504
    #[arg(long, default_value = "30s", value_parser = positive_duration, requires = "influxdb_url")]
    pub query_timeout: Duration,
}
