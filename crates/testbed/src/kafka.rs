//! One Kafka broker that is its own controller (KRaft).

use std::{fmt::Write, fs, net::SocketAddr, process::Command};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::{process::free_port, Process, program};

const HEAP: &str = "-Xms256m -Xmx256m";

/// A broker with an empty log; auto-creation of topics is off.
#[derive(Debug)]
pub struct Kafka {
    process: Process,
    folder: TempDir,
    address: SocketAddr,
}

impl Kafka {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// With further settings of the broker, e.g. `("num.partitions", "3")`.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        let folder = TempDir::with_prefix("kafka-").expect("a folder");
        let (port, controller) = (free_port(), free_port());
        let data = folder.path().join("data");
        let mut properties = format!(
            "process.roles=broker,controller\n\
             node.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
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
        for (name, value) in settings {
            writeln!(properties, "{name}={value}").expect("a text grows");
        }
        let file = folder.path().join("server.properties");
        fs::write(&file, properties).expect("its settings");
        let format = Command::new(program("kafka", "kafka-storage.sh"))
            .args(["format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config"])
            .arg(&file)
            .output()
            .expect("Kafka's storage tool");
        assert!(format.status.success(), "{format:?}");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let process = launch(&folder, address);
        Self {
            process,
            folder,
            address,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// For `bootstrap.servers`.
    pub fn brokers(&self) -> String {
        self.address.to_string()
    }

    /// SIGKILL: the broker is gone until [`Self::restart`].
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, on the same address, with what its log held.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = launch(&self.folder, self.address);
    }

    /// Stands still (connections stay open, nothing is answered) until [`Self::go_on`].
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.process.signal(Signal::CONT);
    }

    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

fn launch(folder: &TempDir, address: SocketAddr) -> Process {
    let program = program("kafka", "kafka-server-start.sh");
    let program = program.to_str().expect("a path in UTF-8");
    let mut process = Process::start(
        "kafka",
        folder.path(),
        &[program, "server.properties"],
        &[("KAFKA_HEAP_OPTS", HEAP)],
    );
    process.wait_for(address);
    process
}
