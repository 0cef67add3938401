//! External components: they are used, not started, and not stopped.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use waggle_results::{Run, TrialEnd};
use waggle_testkit::{Kafka, Lines, free_port};

use crate::{
    systems::{gateway, in_project},
    workspace::{Parts, Workspace, output_text},
};

const SECRET: &str = "a-secret-of-the-user";

/// A store outside any study; killed on drop.
struct Store {
    child: Child,
    address: SocketAddr,
}

impl Store {
    fn start() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_waggle")).with_file_name("examples");
        let mut child = Command::new(program.join("faulty_store"))
            .args(["127.0.0.1:0", "none"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = Lines::new(child.stdout.take().unwrap()).wait_for(":");
        let address = line.trim().parse().unwrap();
        Self { child, address }
    }

    #[track_caller]
    fn still_runs(&mut self) {
        assert_eq!(self.child.try_wait().unwrap(), None);
        TcpStream::connect(self.address).unwrap();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A study of store and front with an external store.
fn workspace(store: SocketAddr) -> Workspace {
    let workspace = Workspace::new();
    workspace.system("pair");
    workspace.study(&Parts {
        measure: "1s",
        repeat: 2,
        ..Parts::default()
    });
    let study = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let system = format!(
        "system:\n  use: pair\n  external: {{ store: {{ http: \"{store}\" }} }}\n  \
         secrets: {{ door: \"${{env.PAIR_DOOR}}\" }}\n"
    );
    let text = text.replace("system: { use: faulty, set: { fault: none } }\n", &system);
    let text = text.replace("schedule:\n", "schedule:\n  ready_timeout: 20s\n");
    fs::write(study, text).unwrap();
    workspace
}

/// Whether a file below a folder contains a text.
fn contains_text(folder: &Path, text: &str) -> bool {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            contains_text(&path, text)
        } else {
            let bytes = fs::read(&path).unwrap();
            String::from_utf8_lossy(&bytes).contains(text)
        }
    })
}

#[test]
fn external_store_is_used_named_and_not_stopped() {
    let mut store = Store::start();
    let address = store.address;
    let workspace = workspace(address);
    let plan = workspace.output(&["plan", "study.yaml"]);
    let line = format!("external, not started by waggle: store (http {address})");
    assert!(output_text(&plan).contains(&line), "{}", output_text(&plan));
    let mut run = workspace.waggle(&["run", "study.yaml", "--quiet"]);
    let run = run.env("PAIR_DOOR", SECRET).output().unwrap();
    workspace.report_of(&run);
    let folder = workspace.run_folder();
    let results = Run::read(&folder).unwrap();
    assert_eq!(results.trials.len(), 2);
    for trial in &results.trials {
        let info = &trial.info;
        assert_eq!(info.end, TrialEnd::Completed);
        // The store contains the records of the previous trial too.
        let ledger = info.ledger.as_ref().unwrap();
        assert!(ledger.accepted > 0 && ledger.missing == 0);
        assert_eq!((ledger.duplicates, ledger.unexpected), (0, 0));
        assert!(trial.resources.iter().any(|row| row.component == "front-0"));
        // Its process is found by its socket.
        let mut rows = trial.resources.iter();
        assert!(rows.any(|row| row.component.starts_with("store")));
    }
    store.still_runs();
    let report = fs::read_to_string(folder.join("report.md")).unwrap();
    for text in [
        format!("store (external, not started by waggle: http {address})"),
        "External components: store.".to_owned(),
        "except the external store".to_owned(),
    ] {
        assert!(report.contains(&text), "{text}: {report}");
    }
    let log = format!("door [secret door] of {address} {address}");
    assert!(contains_text(&folder, &log));
    assert!(!contains_text(&folder, SECRET));
}

#[test]
fn missing_secret_and_component_are_named() {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let workspace = workspace(address);
    let study = workspace.path().join("study.yaml");
    let unset = workspace.output(&["run", "study.yaml", "--quiet"]);
    assert_eq!(unset.status.code(), Some(2), "{}", output_text(&unset));
    let expected = "study.yaml:6:20: system.secrets.door is the value of the environment variable PAIR_DOOR, which is not set";
    assert!(
        output_text(&unset).contains(expected),
        "{}",
        output_text(&unset)
    );
    assert!(!workspace.path().join("runs").exists());
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("ready_timeout: 20s", "ready_timeout: 200ms");
    fs::write(&study, text.replace("min: 2", "min: 1")).unwrap();
    let mut run = workspace.waggle(&["run", "study.yaml", "--quiet"]);
    let run = run.env("PAIR_DOOR", SECRET).output().unwrap();
    assert_eq!(run.status.code(), Some(5), "{}", output_text(&run));
    let TrialEnd::Failed { reason, .. } = &Run::read(&workspace.run_folder()).unwrap().trials[0]
        .info
        .end
    else {
        panic!("{}", output_text(&run));
    };
    let expected = format!(
        "store runs already, but its port http at {address} cannot be reached: Connection refused"
    );
    assert!(reason.starts_with(&expected), "{reason}");
    workspace.assert_none_left();
}

#[test]
fn external_broker_receives_records_and_is_not_stopped() {
    gateway();
    let kafka = Kafka::start();
    let workspace = Workspace::new();
    let study = format!(
        "study: own-broker\nquestion: Does every record come to a broker that runs already?\n\
         system:\n  use: ingest\n  set: {{ backend: kafka, writer: none, topic: lab.7, partitions: 2 }}\n  \
         external: {{ kafka: {{ broker: \"{}\" }} }}\n\
         load:\n  model: open\n  rate: 500/s\n  connections: 4\n  request:\n    name: put-readings\n    \
         put: /api/v1/topics/lab.7/records\n    endpoint: records\n    records: {{ file: readings.lp }}\n    expect: {{ status: 204 }}\n\
         schedule:\n  warm_up: 500ms\n  measure: 1s\n  interval: 250ms\n  drain: {{ timeout: 30s }}\n  repeat: 2\n\
         delivery: {{ probes: broker, poll_interval: 50ms }}\n",
        kafka.brokers()
    );
    let file = workspace.path().join("study.yaml");
    fs::write(&file, study).unwrap();
    let runs = workspace.path().join("runs");
    let arguments = [
        "run",
        file.to_str().unwrap(),
        "--quiet",
        "--runs",
        runs.to_str().unwrap(),
    ];
    workspace.report_of(&in_project(&workspace, &arguments).output().unwrap());
    let results = Run::read(&workspace.run_folder()).unwrap();
    for trial in &results.trials {
        assert_eq!(trial.info.end, TrialEnd::Completed);
        let ledger = trial.info.ledger.as_ref().unwrap();
        assert!(ledger.accepted > 0 && ledger.missing == 0, "{ledger:?}");
        // Its process is found by its socket.
        let mut rows = trial.resources.iter();
        assert!(rows.any(|row| row.component.starts_with("kafka")));
    }
    assert_eq!(results.trials.len(), 2);
    let external: Vec<_> = results
        .info
        .components
        .iter()
        .map(|component| &component.external)
        .collect();
    assert_eq!(
        external,
        [&vec![format!("broker {}", kafka.brokers())], &Vec::new()]
    );
    TcpStream::connect(kafka.address()).unwrap();
    workspace.assert_none_left();
}
