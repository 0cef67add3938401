//! A sink process, with its metrics and readiness.

use std::{net::SocketAddr, path::Path};

use tempfile::TempDir;
use waggle_testkit::{DEADLINE, Process, http::get, try_for};

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
        let mut command = vec![
            env!("CARGO_BIN_EXE_waggle-sink"),
            "--admin-listen=127.0.0.1:0",
        ];
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

    /// SIGHUP.
    pub(crate) fn hang_up(&self) {
        self.process.hang_up();
    }

    /// SIGTERM, and waits for its end.
    pub(crate) fn stop(&mut self) {
        self.process.stop();
    }

    /// Its stderr.
    pub(crate) fn stderr_text(&self) -> String {
        std::fs::read_to_string(self.log.path().join("sink.log")).unwrap()
    }

    /// Status and body of a GET.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let answer = get(self.address, path).unwrap();
        (answer.status, answer.body)
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

    /// Number of series of a metric.
    pub(crate) fn series(&self, name: &str) -> usize {
        let (_, page) = self.get("/metrics");
        page.lines()
            .filter(|line| line.starts_with(&format!("{name}{{")))
            .count()
    }

    /// Waits until `/readyz` has this status and reason.
    pub(crate) fn wait_for_readyz(&self, status: u16, reason: &str) {
        let mut last = (0, String::new());
        let outcome = try_for(DEADLINE, || {
            last = self.get("/readyz");
            (last.0 == status && last.1.contains(reason)).then_some(())
        });
        assert!(
            outcome.is_some(),
            "{last:?} and not {status} {reason:?}:\n{}",
            self.stderr_text()
        );
    }
}

fn said_address(folder: &Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(folder.join("sink.log")).ok()?;
    let address = text
        .lines()
        .find_map(|line| line.strip_prefix("listening on http://"))?;
    address.parse().ok()
}
