//! A gateway process, and a client that sends exactly the given bytes.

use std::{
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
};

use socket2::{Domain, Socket, Type};
use waggle_testkit::http::Connection;
pub(crate) use waggle_testkit::{
    http::{Answer, put},
    wait_until,
};

/// A running gateway; killed when dropped.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Gateway {
    /// Starts one on a free port and waits until it listens.
    pub(crate) fn start(store: &Path, flags: &[&str]) -> Self {
        Self::start_by(&mut command(store, flags))
    }

    /// The same, with another command.
    pub(crate) fn start_by(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().strip_prefix("listening on ");
        let (_, address) = url
            .and_then(|url| url.split_once("://"))
            .unwrap_or_else(|| panic!("not listening: {line:?}"));
        let address = address.parse().unwrap();
        Self { process, address }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its stderr, if the command pipes it.
    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.process.stderr.take().unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    /// The answer to one request, on its own connection.
    pub(crate) fn ask(&self, request: &str) -> Answer {
        let mut client = self.client();
        client.send(request.as_bytes());
        client.answer().expect("an answer")
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.ask(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"))
    }

    pub(crate) fn put(&self, topic: &str, body: &str) -> Answer {
        self.ask(&put(topic, body))
    }

    /// Every record of a topic, as lines of JSON.
    pub(crate) fn records(&self, topic: &str) -> Vec<String> {
        let (mut lines, mut offset) = (Vec::new(), "0".to_owned());
        loop {
            let answer = self.get(&format!(
                "/api/v1/topics/{topic}/records?limit=100000&offset={offset}"
            ));
            assert_eq!(answer.status, 200, "{}", answer.body);
            if answer.body.is_empty() {
                return lines;
            }
            lines.extend(answer.body.lines().map(str::to_owned));
            offset = answer.header("waggle-next-offset").unwrap().to_owned();
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let status = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status()
            .unwrap();
        assert!(status.success());
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Kills it; returns what it has said on stderr, which the command pipes.
    pub(crate) fn end(&mut self) -> String {
        let mut said = self.stderr();
        self.kill();
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        text
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut ended = None;
        wait_until("the gateway ends", || {
            ended = self.process.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It has ended already in tests that stop it themselves.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command that starts a gateway, for tests that expect it not to start.
pub(crate) fn command(store: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
    command
        .args(["serve", "--listen=127.0.0.1:0", "--store"])
        .arg(store)
        .args(flags)
        .stderr(Stdio::null());
    command
}

/// The command that starts a gateway on a Kafka cluster.
pub(crate) fn kafka_command(brokers: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
    command
        .args(["serve", "--listen=127.0.0.1:0", "--backend=kafka"])
        .args(["--kafka-brokers", brokers, "--kafka-create-topics"])
        .args(flags)
        .stderr(Stdio::null());
    command
}

/// A temporary folder for a store, and the store's path in it.
pub(crate) fn store() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    (folder, file)
}

/// One connection; unexpected errors panic.
pub(crate) struct Client(Connection);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Self> {
        Connection::open(address).map(Self)
    }

    /// The same from another address of this host, such as 127.0.0.2.
    pub(crate) fn connect_from(local: Ipv4Addr, address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((local, 0)).into()).unwrap();
        socket.connect(&address.into()).unwrap();
        Self(Connection::with_stream(socket.into()))
    }

    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        self.0.socket()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.send(bytes).unwrap();
    }

    /// The next answer; `None` if the connection ends before it is complete.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        self.0.answer_or_end().expect("an answer in time")
    }
}
