//! One Kafka broker that is its own controller (KRaft).

use std::{
    ffi::OsString, fmt::Write, fs, net::SocketAddr, path::Path, process::Command, sync::OnceLock,
};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::{
    Process, SmallDisk, program,
    servers::{process::free_port, server_folder::server_folder},
};

const HEAP: &str = "-Xms256m -Xmx256m";
/// Most of a start is JIT compilation: with the quick compiler alone it needs 5 s of CPU instead of 8, and tests send little.
const OPTIONS: &str = "-XX:TieredStopAtLevel=1";

/// The files of a formatted folder: they are the same for every broker, and making them takes seconds.
static FORMATTED: OnceLock<Vec<(OsString, Vec<u8>)>> = OnceLock::new();

/// A broker with an empty log; auto-creation of topics is off.
#[derive(Debug)]
pub struct Kafka {
    process: Process,
    folder: TempDir,
    address: SocketAddr,
    /// Addresses of its further listeners, in their order.
    further: Vec<SocketAddr>,
    /// Prefix of its command.
    before: Vec<String>,
}

/// What a broker has besides one listener without protection.
#[derive(Debug, Clone, Copy, Default)]
struct Configuration<'a> {
    /// Name and protocol of each further listener.
    listeners: &'a [(&'a str, &'a str)],
    settings: &'a [(&'a str, &'a str)],
}

impl Kafka {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts it with further settings of the broker, e.g. `("num.partitions", "3")`.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_with_listeners(&[], settings)
    }

    /// Starts it with further listeners, each by its name and protocol, e.g. `("SASL", "SASL_SSL")`, and with further settings.
    pub fn start_with_listeners(listeners: &[(&str, &str)], settings: &[(&str, &str)]) -> Self {
        let configuration = Configuration {
            listeners,
            settings,
        };
        let folder = server_folder("kafka-");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a folder for its log");
        write_formatted(&data);
        Self::begin(folder, &data, Vec::new(), configuration)
    }

    /// Starts it with its log on a disk that may become full.
    pub fn start_on(disk: &SmallDisk, settings: &[(&str, &str)]) -> Self {
        let folder = server_folder("kafka-");
        write_formatted(&disk.host_path());
        let configuration = Configuration {
            listeners: &[],
            settings,
        };
        Self::begin(folder, disk.path(), disk.enter(), configuration)
    }

    fn begin(
        folder: TempDir,
        data: &Path,
        before: Vec<String>,
        configuration: Configuration<'_>,
    ) -> Self {
        let (port, controller) = (free_port(), free_port());
        let (mut urls, mut protocols, mut further) = (String::new(), String::new(), Vec::new());
        for (name, protocol) in configuration.listeners {
            let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
            further.push(address);
            write!(urls, ",{name}://{address}").expect("a text grows");
            write!(protocols, ",{name}:{protocol}").expect("a text grows");
        }
        let mut properties = format!(
            "process.roles=broker,controller\n\
             node.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{urls}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}{urls}\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT{protocols}\n\
             inter.broker.listener.name=PLAINTEXT\n\
             controller.listener.names=CONTROLLER\n\
             log.dirs={}\n\
             offsets.topic.replication.factor=1\n\
             offsets.topic.num.partitions=1\n\
             transaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\n\
             transaction.state.log.num.partitions=1\n\
             share.coordinator.state.topic.replication.factor=1\n\
             share.coordinator.state.topic.min.isr=1\n\
             group.initial.rebalance.delay.ms=0\n\
             auto.create.topics.enable=false\n",
            data.display()
        );
        // Of a duplicate setting the last one counts.
        for (name, value) in configuration.settings {
            writeln!(properties, "{name}={value}").expect("a text grows");
        }
        let file = folder.path().join("server.properties");
        fs::write(&file, properties).expect("its settings");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let process = launch(&folder, &before, address);
        Self {
            process,
            folder,
            address,
            further,
            before,
        }
    }

    /// The address of a further listener.
    pub fn further_address(&self, index: usize) -> SocketAddr {
        self.further[index]
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// For `bootstrap.servers`.
    pub fn brokers(&self) -> String {
        self.address.to_string()
    }

    /// SIGKILL: the broker is down until [`Self::restart`].
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, on the same address, with its log.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = launch(&self.folder, &self.before, self.address);
    }

    /// SIGSTOP: connections stay open, nothing is answered until [`Self::resume`].
    pub fn suspend(&self) {
        self.process.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }

    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

fn write_formatted(data: &Path) {
    for (name, bytes) in FORMATTED.get_or_init(formatted_storage) {
        fs::write(data.join(name), bytes).expect("a formatted folder");
    }
}

fn formatted_storage() -> Vec<(OsString, Vec<u8>)> {
    let folder = server_folder("kafka-format-");
    let (file, data) = (
        folder.path().join("format.properties"),
        folder.path().join("data"),
    );
    let properties = format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:1\n\
         listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\n\
         listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
         controller.listener.names=CONTROLLER\n\
         log.dirs={}\n",
        data.display()
    );
    fs::write(&file, properties).expect("its settings");
    let format = Command::new(program("kafka", "kafka-storage.sh"))
        .args([
            "format",
            "--cluster-id",
            "AAAAAAAAAAAAAAAAAAAAAA",
            "--config",
        ])
        .arg(&file)
        .env("KAFKA_OPTS", OPTIONS)
        .output()
        .expect("Kafka's storage tool");
    assert!(format.status.success(), "{format:?}");
    let entries = fs::read_dir(&data).expect("a formatted folder");
    entries
        .map(|entry| {
            let entry = entry.expect("a file of it");
            let bytes = fs::read(entry.path()).expect("a file of it");
            (entry.file_name(), bytes)
        })
        .collect()
}

fn launch(folder: &TempDir, before: &[String], address: SocketAddr) -> Process {
    let program = program("kafka", "kafka-server-start.sh");
    let settings = folder.path().join("server.properties");
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let arguments = [text(&program), text(&settings)];
    let command: Vec<&str> = before
        .iter()
        .chain(&arguments)
        .map(String::as_str)
        .collect();
    let mut process = Process::start(
        "kafka",
        folder.path(),
        &command,
        &[("KAFKA_HEAP_OPTS", HEAP), ("KAFKA_OPTS", OPTIONS)],
    );
    process.wait_for(address);
    process
}
