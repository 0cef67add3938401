//! A Prometheus that scrapes one address: Debian's package `prometheus`.

use std::{fs, net::SocketAddr};

use tempfile::TempDir;

use crate::{
    Process, http,
    http::Connection,
    program,
    servers::{process::free_port, server_folder::server_folder},
};

/// A running Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Scrapes `http://TARGET/metrics` every two seconds, as soon as it answers.
    pub fn start(target: SocketAddr) -> Self {
        let folder = server_folder("prometheus-");
        let configuration = format!(
            "global: {{ scrape_interval: 2s, scrape_timeout: 2s }}\n\
             scrape_configs: [ {{ job_name: test, static_configs: [ {{ targets: ['{target}'] }} ] }} ]\n"
        );
        fs::write(folder.path().join("prometheus.yml"), configuration).expect("its configuration");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let program = program("prometheus", "prometheus");
        let listen = format!("--web.listen-address={address}");
        let command = [
            program.to_str().expect("a path in UTF-8"),
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            &listen,
        ];
        let mut process = Process::start("prometheus", folder.path(), &command, &[]);
        process.wait_until("be ready", || {
            http::get(address, "/-/ready").is_ok_and(|answer| answer.status == 200)
        });
        Self {
            process,
            address,
            _folder: folder,
        }
    }

    /// The JSON answer of a call of its API, such as `/api/v1/query?query=up`; panics if it is refused.
    pub fn get(&self, path: &str) -> String {
        // Of HTTP/1.0: a long answer is not sent in chunks.
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        let answer = Connection::ask(self.address, &request).expect("an answer");
        let log = || self.process.log_end();
        assert_eq!(answer.status, 200, "{path}: {}\n{}", answer.body, log());
        answer.body
    }
}
