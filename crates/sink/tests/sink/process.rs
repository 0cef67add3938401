//! A sink process, and what it says of itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use waggle_testkit::Process;

/// Whatever is waited for comes within this time, on a machine with much else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A running sink; killed when dropped.
pub(crate) struct Sink {
    process: Process,
    address: SocketAddr,
    log: TempDir,
}

impl Sink {
    /// Starts one with these flags and the token in its environment, and waits until it listens.
    pub(crate) fn start(flags: &[String], token: &str) -> Self {
        let log = TempDir::with_prefix("sink-").unwrap();
        let mut command = vec![env!("CARGO_BIN_EXE_waggle-sink"), "--listen=127.0.0.1:0"];
        command.extend(flags.iter().map(String::as_str));
        let mut process = Process::start("sink", log.path(), &command, &[("INFLUX_TOKEN", token)]);
        let mut address = None;
        process.wait_until("listen", || {
            address = said_address(log.path());
            address.is_some()
        });
        Self {
            process,
            address: address.unwrap(),
            log,
        }
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGTERM, and waits for its end.
    pub(crate) fn stop(&mut self) {
        self.process.stop();
    }

    /// All that it said to operators.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.log.path().join("sink.log")).unwrap()
    }

    /// Status and body of a GET.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        get(self.address, path)
    }

    /// The sum of a metric over its labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let (status, page) = self.get("/metrics");
        assert_eq!(status, 200, "{page}");
        let values: Vec<f64> = page
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter(|(series, _)| series.split('{').next() == Some(name))
            .map(|(_, value)| value.parse().unwrap())
            .collect();
        values.iter().sum()
    }

    /// How many series a metric has.
    pub(crate) fn series(&self, name: &str) -> usize {
        let (_, page) = self.get("/metrics");
        page.lines()
            .filter(|line| line.starts_with(&format!("{name}{{")))
            .count()
    }

    /// Until it says that it is ready, or not, for that reason.
    pub(crate) fn wait_for_readyz(&self, status: u16, reason: &str) {
        let begun = Instant::now();
        loop {
            let last = self.get("/readyz");
            if last.0 == status && last.1.contains(reason) {
                return;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{last:?} and not {status} {reason:?}:\n{}",
                self.said()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Waits until it is so; panics when time is up.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn said_address(folder: &Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(folder.join("sink.log")).ok()?;
    let address = text
        .lines()
        .find_map(|line| line.strip_prefix("listening on http://"))?;
    address.parse().ok()
}

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}
