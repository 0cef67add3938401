//! Flags of queries on InfluxDB.

use std::{path::PathBuf, time::Duration};

use waggle_flags::positive_duration;

/// The database that answers queries with `--backend kafka`; a sink writes the records to it.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Queries on InfluxDB")]
pub struct DatabaseSettings {
    /// With --backend kafka: the InfluxDB 2 that answers queries, e.g. <http://influxdb:8086> or <https://influxdb.example>
    #[arg(
        long,
        value_name = "URL",
        group = "queries",
        requires_all = ["influxdb_org", "influxdb_bucket", "kafka_brokers"]
    )]
    pub influxdb_url: Option<String>,
    /// File with the certificates of authorities that sign an InfluxDB with https, in PEM; read at the start [default: the system's]
    #[arg(long, value_name = "FILE", requires = "influxdb_url")]
    pub influxdb_ca: Option<PathBuf>,
    /// Organization in InfluxDB
    #[arg(long, value_name = "ORG", requires = "influxdb_url")]
    pub influxdb_org: Option<String>,
    /// Bucket in InfluxDB; `{topic}` is replaced by the topic of the query
    #[arg(long, value_name = "BUCKET", requires = "influxdb_url")]
    pub influxdb_bucket: Option<String>,
    /// File with a token with read permission; it is read again if InfluxDB refuses the token [default: the environment variable
    /// INFLUX_TOKEN]
    #[arg(long, value_name = "FILE", requires = "influxdb_url")]
    pub influxdb_token_file: Option<PathBuf>,
    /// Forward queries in Flux and InfluxQL to InfluxDB (POST /api/v1/query). Every client that reaches the gateway then has all
    /// permissions of the token
    #[arg(long, requires = "influxdb_url")]
    pub query_pass_through: bool,
    /// Timeout of a connection to InfluxDB
    #[arg(long, default_value = "2s", value_parser = positive_duration, requires = "influxdb_url")]
    pub influxdb_connect_timeout: Duration,
    /// Timeout of a query, from the request to the end of the answer; after it 504
    #[arg(long, default_value = "30s", value_parser = positive_duration, requires = "influxdb_url")]
    pub query_timeout: Duration,
}
