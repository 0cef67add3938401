//! An InfluxDB 2 with one organisation, one bucket and one token.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
};

use tempfile::TempDir;

use crate::{
    Process,
    http::Connection,
    program,
    servers::{process::free_port, server_folder::server_folder},
};

const ORG: &str = "lab";
const BUCKET: &str = "readings";
const TOKEN: &str = "token-of-a-test";

/// A server that is set up and empty.
#[derive(Debug)]
pub struct Influxdb {
    process: Process,
    folder: TempDir,
    address: SocketAddr,
}

impl Influxdb {
    pub fn start() -> Self {
        let folder = server_folder("influxdb-");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let process = launch(&folder, address);
        let server = Self {
            process,
            folder,
            address,
        };
        let (status, answer) = server.post(
            "/api/v2/setup",
            &format!(
                r#"{{"username":"test","password":"test-password","org":"{ORG}","bucket":"{BUCKET}","token":"{TOKEN}","retentionPeriodSeconds":0}}"#
            ),
        );
        assert_eq!(status, 201, "{answer}");
        server
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn org(&self) -> &'static str {
        ORG
    }

    pub fn bucket(&self) -> &'static str {
        BUCKET
    }

    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Status and body of a POST.
    pub fn post(&self, path: &str, body: &str) -> (u16, String) {
        let content_type = if body.starts_with('{') {
            "application/json"
        } else {
            "application/vnd.flux"
        };
        let head = format!(
            "POST {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Token {TOKEN}\r\nAccept: application/csv\r\n\
             Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        exchange(self.address, &(head + body))
    }

    /// Creates another bucket; it keeps records for `keeps_seconds`, or forever if that is 0.
    pub fn make_bucket(&self, name: &str, keeps_seconds: u64) {
        let answer = self.query("buckets() |> limit(n: 1) |> keep(columns: [\"organizationID\"])");
        let row = answer.lines().nth(1).expect("a row of the first bucket");
        let org = row.rsplit(',').next().expect("a last column").trim();
        let (status, answer) = self.post(
            "/api/v2/buckets",
            &format!(
                r#"{{"orgID":"{org}","name":"{name}","retentionRules":[{{"type":"expire","everySeconds":{keeps_seconds}}}]}}"#
            ),
        );
        assert_eq!(status, 201, "{answer}");
    }

    /// The result of a Flux query as CSV; panics if it is refused.
    pub fn query(&self, flux: &str) -> String {
        let (status, answer) = self.post(&format!("/api/v2/query?org={ORG}"), flux);
        assert_eq!(status, 200, "{flux}: {answer}");
        answer
    }

    /// SIGKILL: the server is down until [`Self::restart`].
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, on the same address, with its data.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = launch(&self.folder, self.address);
    }

    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

fn launch(folder: &TempDir, address: SocketAddr) -> Process {
    let program = program("influxdb", "influxd");
    let program = program.to_str().expect("a path in UTF-8");
    let bind = address.to_string();
    let command = [
        program,
        "--http-bind-address",
        &bind,
        "--bolt-path",
        "influxd.bolt",
        "--sqlite-path",
        "influxd.sqlite",
        "--engine-path",
        "engine",
        "--reporting-disabled",
        "--log-level",
        "warn",
    ];
    // A configuration of the machine is ignored.
    let none = folder.path().join("none.yaml");
    fs::write(&none, "{}\n").expect("an empty configuration");
    let mut process = Process::start(
        "influxdb",
        folder.path(),
        &command,
        &[(
            "INFLUXD_CONFIG_PATH",
            none.to_str().expect("a path in UTF-8"),
        )],
    );
    process.wait_until("be healthy", || {
        TcpStream::connect(address).is_ok()
            && exchange(address, "GET /health HTTP/1.0\r\n\r\n").0 == 200
    });
    process
}

/// Status and body of an answer to a request of HTTP/1.0; status 0 if there was none.
fn exchange(address: SocketAddr, request: &str) -> (u16, String) {
    Connection::ask(address, request)
        .map_or((0, String::new()), |answer| (answer.status, answer.body))
}
