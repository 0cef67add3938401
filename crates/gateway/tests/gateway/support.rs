//! A gateway process and a client that says exactly the bytes it is told; no more than the tests need.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Nothing on loopback takes this long; a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a machine with much else to do comes to within this.
const LONG_PATIENCE: Duration = Duration::from_mins(3);

/// Waits until it is so; panics where it never is.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG_PATIENCE, "waiting until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

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

    /// The same, by a command of its own.
    pub(crate) fn start_by(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .unwrap_or_else(|| panic!("not listening: {line:?}"))
            .parse()
            .unwrap();
        Self { process, address }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it says to operators, where its command has that piped.
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
            offset = answer.field("waggle-next-offset").unwrap();
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
        // Already gone in tests that end it themselves.
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
        .args(["--kafka-brokers", brokers])
        .args(flags)
        .stderr(Stdio::null());
    command
}

/// A folder for a store, gone when dropped, and the store's name in it.
pub(crate) fn store() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    (folder, file)
}

pub(crate) fn put(topic: &str, body: &str) -> String {
    format!(
        "PUT /api/v1/topics/{topic}/records HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next answer; none when the connection ends before it is whole.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        loop {
            if let Some(answer) = self.parse() {
                return Some(answer);
            }
            let mut block = [0; 64 * 1024];
            match self.stream.read(&mut block) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                // A socket with a time limit says so where another would go on by itself (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("reading an answer: {error}"),
            }
        }
    }

    fn parse(&mut self) -> Option<Answer> {
        let end = self
            .received
            .windows(4)
            .position(|window| window == b"\r\n\r\n")?
            + 4;
        let head = String::from_utf8(self.received[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1)?.parse().unwrap();
        let mut answer = Answer {
            status,
            head,
            body: String::new(),
        };
        let length: usize = answer
            .field("content-length")
            .map_or(0, |value| value.parse().unwrap());
        let body = self.received.get(end..end + length)?;
        answer.body = String::from_utf8(body.to_vec()).unwrap();
        self.received.drain(..end + length);
        Some(answer)
    }
}
