//! Studies on small real systems, run by a whole process of their own (`examples/run_study`).

mod external;
mod faults;
mod faulty_stores;
mod generators;
mod http2;
mod identity;
mod idle_poll;
mod limits;
mod orphans;
mod preparation;
mod provision;
mod replicas;
mod sampling;
mod systems;
mod tls;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tempfile::TempDir;
use waggle_results::Run;

/// A program of this package's `examples`, which `cargo test` builds.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let file = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        file.exists(),
        "{} is missing: cargo build -p waggle-runner --examples",
        file.display()
    );
    file
}

/// A folder with a study, its system and its records.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new(system: &str, study: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("system")).unwrap();
        fs::write(folder.path().join("system/system.yaml"), system).unwrap();
        fs::write(folder.path().join("study.yaml"), study).unwrap();
        fs::write(
            folder.path().join("records.lp"),
            "m,host=a value=1 1\nm,host=b value=2 2\n",
        )
        .unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(example("run_study"));
        command
            .arg(self.path("study.yaml"))
            .arg(self.path("system"))
            .arg(self.path("run"))
            .args(more);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    fn start(&self) -> Child {
        self.command(&[]).spawn().unwrap()
    }

    /// Runs the study, which must succeed.
    fn results(&self) -> Run {
        self.results_in(&[])
    }

    fn results_in(&self, modes: &[&str]) -> Run {
        let output = self.run(modes);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        Run::read(&self.path("run")).unwrap()
    }
}

/// A system, `one-store`, of a store in memory whose records can be read. `command` is a YAML list, with the store's program as
/// STORE.
fn one_store(command: &str) -> String {
    let command = command.replace("STORE", &example("store").display().to_string());
    format!(
        "
system: one-store
summary: A store in memory.
components:
  store:
    ports: [http]
    process: {{ command: {command} }}
    ready: {{ http: {{ port: http, path: /ready }} }}
    stop_timeout: 5s
endpoints:
  records: {{ component: store, port: http }}
probes:
  store:
    component: store
    port: http
    tail:
      get: /store/${{offset}}/${{limit}}
    limit: 5000
    extract:
      offset: {{ after: '\"offset\":' }}
      time: {{ after: '\"time\":' }}
      run: {{ after: '\"run\":\"' }}
      key: {{ after: '\"key\":' }}
verify:
  - {{ name: it is ready, endpoint: records, get: /ready, expect: {{ status: 200 }} }}
"
    )
}

/// A study of two seconds of load on `system`.
fn study(system: &str, more: &str) -> String {
    format!(
        "
study: trial
question: Does it work?
system: {{ use: {system} }}
factors: {{ connections: [2] }}
load:
  model: closed
  connections: ${{connections}}
  pipelining: 4
  request:
    name: put
    put: /records
    endpoint: records
    records: {{ file: records.lp, per_request: 20 }}
schedule:
  warm_up: 200ms
  measure: 2s
  interval: 100ms
  sampling_interval: 100ms
  drain: {{ timeout: 6s }}
  ready_timeout: 20s
  cool_down: 100ms
  repeat: 1
{more}"
    )
}

const DELIVERY: &str = "delivery: { probes: store, poll_interval: 50ms, late_threshold: 1s }\n";

/// The log of a component's replica in a run's first trial.
fn log(run: &Run, replica: &str) -> String {
    read(
        &run.trials[0]
            .path
            .join("logs")
            .join(format!("{replica}.log")),
    )
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}
