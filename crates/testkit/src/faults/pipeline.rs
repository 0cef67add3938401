//! The whole pipeline: gateway, Kafka, sink and Telegraf in parallel, InfluxDB with a bucket for each of the two.

use std::{net::SocketAddr, path::Path};

use tempfile::TempDir;

use super::Target;
use crate::{
    Influxdb, Kafka, Process, Telegraf, free_port,
    http::{Connection, put},
    servers::server_folder::server_folder,
    writers::Load,
};

pub(super) const TOPIC: &str = "plant";
const PARTITIONS: u32 = 3;
pub(super) const TELEGRAF_BUCKET: &str = "telegraf";

/// All programs that can be killed. Fields are dropped in this order: writers before their targets.
pub(super) struct Pipeline {
    pub(super) load: Load,
    gateway: Option<Process>,
    sink: Option<Process>,
    telegraf: Telegraf,
    pub(super) kafka: Kafka,
    pub(super) influxdb: Influxdb,
    gateway_command: Vec<String>,
    sink_command: Vec<String>,
    sink_address: SocketAddr,
    folder: TempDir,
}

impl Pipeline {
    pub(super) fn start(program: &Path) -> Self {
        let (kafka, influxdb) = (Kafka::start(), Influxdb::start());
        influxdb.make_bucket(TELEGRAF_BUCKET, 0);
        let gateway = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let sink = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let program = program.to_str().expect("a path in UTF-8");
        let telegraf = telegraf(&kafka, &influxdb);
        let mut pipeline = Self {
            load: Load {
                gateway,
                topic: TOPIC.to_owned(),
                writers: 4,
                pipelined: 8,
                filling: 0,
            },
            gateway: None,
            sink: None,
            gateway_command: gateway_command(program, gateway, &kafka),
            sink_command: sink_command(program, sink, &kafka, &influxdb),
            sink_address: sink,
            telegraf: Telegraf::start(&telegraf),
            kafka,
            influxdb,
            folder: server_folder("faults-"),
        };
        pipeline.restart(Target::Gateway);
        pipeline.make_topic();
        pipeline.restart(Target::Sink);
        // It may have looked up the topic before it existed.
        pipeline.telegraf.restart();
        pipeline
    }

    /// The first record creates the topic; it belongs to no writer.
    fn make_topic(&self) {
        let request = put(TOPIC, "setup value=1 1700000000000000000");
        let begun = std::time::Instant::now();
        loop {
            let answer = Connection::ask(self.load.gateway, &request);
            let answer = answer.expect("an answer of the gateway");
            if answer.status == 204 {
                return;
            }
            assert!(begun.elapsed() < super::BACK_WITHIN, "{answer:?}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    pub(super) fn kill(&mut self, target: Target) {
        match target {
            Target::Gateway => self.gateway = None,
            Target::Sink => self.sink = None,
            Target::Telegraf => self.telegraf.kill(),
            Target::Kafka => self.kafka.kill(),
            Target::Influxdb => self.influxdb.kill(),
        }
    }

    /// Returns when it accepts connections; Telegraf accepts none.
    pub(super) fn restart(&mut self, target: Target) {
        match target {
            Target::Gateway => {
                self.gateway =
                    Some(self.start_process("gateway", &self.gateway_command, self.load.gateway));
            }
            Target::Sink => {
                self.sink = Some(self.start_process("sink", &self.sink_command, self.sink_address));
            }
            Target::Telegraf => self.telegraf.restart(),
            Target::Kafka => self.kafka.restart(),
            Target::Influxdb => self.influxdb.restart(),
        }
    }

    fn start_process(&self, name: &str, command: &[String], address: SocketAddr) -> Process {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let token = [("INFLUX_TOKEN", self.influxdb.token())];
        let mut process = Process::start(name, self.folder.path(), &command, &token);
        process.wait_for(address);
        process
    }

    /// The ends of all logs.
    pub(super) fn log_ends(&self) -> String {
        let said = |process: &Option<Process>| process.as_ref().map(Process::log_end);
        format!(
            "gateway: {}\nsink: {}\ntelegraf: {}\nkafka: {}\ninfluxdb: {}",
            said(&self.gateway).unwrap_or_default(),
            said(&self.sink).unwrap_or_default(),
            self.telegraf.log_end(),
            self.kafka.log_end(),
            self.influxdb.log_end()
        )
    }
}

fn gateway_command(program: &str, listen: SocketAddr, kafka: &Kafka) -> Vec<String> {
    [
        program.to_owned(),
        "serve".to_owned(),
        format!("--listen={listen}"),
        "--backend=kafka".to_owned(),
        format!("--kafka-brokers={}", kafka.brokers()),
        format!("--kafka-partitions={PARTITIONS}"),
        "--kafka-create-topics".to_owned(),
    ]
    .into()
}

fn sink_command(
    program: &str,
    listen: SocketAddr,
    kafka: &Kafka,
    influxdb: &Influxdb,
) -> Vec<String> {
    [
        program.to_owned(),
        "sink".to_owned(),
        format!("--admin-listen={listen}"),
        format!("--kafka-brokers={}", kafka.brokers()),
        format!("--topic={TOPIC}"),
        "--group-instance-id=one".to_owned(),
        format!("--influxdb-url={}", influxdb.url()),
        format!("--influxdb-org={}", influxdb.org()),
        format!("--influxdb-bucket={}", influxdb.bucket()),
    ]
    .into()
}

/// Configured so that it loses nothing silently: see docs/reference/systems.md, `ingest`.
fn telegraf(kafka: &Kafka, influxdb: &Influxdb) -> String {
    format!(
        "[agent]\n  interval = \"1s\"\n  flush_interval = \"500ms\"\n  flush_jitter = \"0s\"\n  metric_batch_size = 5000\n\
         \x20 metric_buffer_limit = 10000000\n  omit_hostname = true\n\
         [[inputs.kafka_consumer]]\n  brokers = [\"{}\"]\n  topics = [\"{TOPIC}\"]\n  consumer_group = \"telegraf\"\n\
         \x20 kafka_version = \"2.8.0\"\n  offset = \"oldest\"\n  max_undelivered_messages = 20000\n  data_format = \"influx\"\n\
         [[outputs.influxdb_v2]]\n  urls = [\"{}\"]\n  organization = \"{}\"\n  bucket = \"{TELEGRAF_BUCKET}\"\n  token = \"{}\"\n",
        kafka.brokers(),
        influxdb.url(),
        influxdb.org(),
        influxdb.token()
    )
}
