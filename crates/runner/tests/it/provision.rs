//! Conditions, files, secrets, setup and systems that are kept up, with small real components.

use std::{fs, path::Path};

use waggle_results::{PhaseName, Run, TrialEnd};
use waggle_spec::Restart;

use super::{Bench, example, read, study};

/// A store that is started by a script of the system's folder, and a keeper that exists in one configuration.
fn system() -> String {
    "
system: provided
summary: A store with what it needs.
parameters:
  backend: { summary: where, one_of: [own, kept], default: own }
components:
  store:
    depends_on: [keeper]
    ports: [http]
    files:
      settings.txt: |
        token=${secret.token} $${plain}
    process:
      command: [sh, '${system_dir}/start', STORE, '${port.http}', '${dir}/settings.txt']
      arguments:
        - { when: { backend: kept }, add: ['${keeper.addresses.tcp}'] }
      environment: { TOKEN: '${secret.token}' }
    ready: { http: { port: http, path: /ready } }
    setup:
      - { name: first, port: http, get: /ready, headers: { X-Token: '${secret.token}' }, expect: { status: 200 } }
  keeper:
    when: { backend: kept }
    replicas: 2
    ports: [tcp]
    process: { command: [STORE, '${port.tcp}'] }
    ready: { tcp: { port: tcp } }
endpoints:
  records: { component: store, port: http }
  kept: { component: keeper, port: tcp }
verify:
  - { name: it is ready, endpoint: records, get: /ready, headers: { X-Token: '${secret.token}' }, expect: { status: 200 } }
  - { name: so is the keeper, endpoint: kept, get: /ready, expect: { status: 200 } }
"
    .replace("STORE", &example("store").display().to_string())
}

const START: &str = "
grep -q \"token=$TOKEN\" \"$3\" && echo the token is the same
cat \"$3\"
echo process $$ of a system with $4
exec \"$1\" \"$2\"
";

fn bench(system: &str, study: &str) -> Bench {
    let bench = Bench::new(system, study);
    fs::write(bench.path("system/start"), START).unwrap();
    bench
}

fn log(run: &Run, trial: usize, replica: &str) -> Option<String> {
    let file = run.trials[trial].path.join(format!("logs/{replica}.log"));
    file.exists().then(|| read(&file))
}

/// Whether any file below a folder contains a word with as many hexadecimal digits as a secret.
fn shows_a_secret(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return shows_a_secret(&path);
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        text.split(|c: char| !c.is_ascii_hexdigit())
            .any(|word| word.len() == 40)
    })
}

#[test]
fn a_configuration_has_its_components_and_files_and_shares_a_secret_that_nothing_keeps() {
    let study = study("provided", "").replace(
        "factors: { connections: [2] }",
        "factors: { connections: [2], backend: [own, kept] }",
    );
    let bench = bench(&system(), &study);
    let run = bench.results();
    for (index, trial) in run.trials.iter().enumerate() {
        assert_eq!(trial.info.end, TrialEnd::Completed);
        let is_kept = trial.info.key.cell == 2;
        assert_eq!(log(&run, index, "keeper-1").is_some(), is_kept);
        let text = log(&run, index, "store-0").unwrap();
        assert!(text.contains("the token is the same"), "{text}");
        assert!(text.contains("token=[secret token] ${plain}"), "{text}");
        let addresses = text.matches("127.0.0.1:").count();
        assert_eq!(addresses, if is_kept { 2 } else { 0 }, "{text}");
    }
    assert!(!shows_a_secret(&bench.path("run")));
    assert!(!bench.path("run/.system").exists());
}

#[test]
fn a_setup_that_is_answered_otherwise_fails_the_trial() {
    let system = system().replace(
        "X-Token: '${secret.token}' }, expect: { status: 200",
        "X-Token: a }, expect: { status: 201",
    );
    let run = bench(&system, &study("provided", "")).results();
    let TrialEnd::Failed { phase, reason, .. } = &run.trials[0].info.end else {
        panic!("it did not fail");
    };
    assert_eq!(*phase, PhaseName::Ready);
    assert!(
        reason.contains("setup \"first\" failed: expected status 201, got 200"),
        "{reason}"
    );
}

#[test]
fn a_cell_s_trials_can_follow_one_another_on_one_system() {
    let study = study("provided", "").replace("repeat: 1", "repeat: 2\n  restart: every_cell");
    let study = study.replace("connections: [2]", "connections: [1, 2]");
    let bench = bench(&system(), &study);
    let run = bench.results();
    assert_eq!(run.info.schedule.restart, Restart::EveryCell);
    let process = |trial: usize| {
        let text = log(&run, trial, "store-0").unwrap();
        let line = text.lines().find(|line| line.starts_with("process "));
        line.unwrap().to_owned()
    };
    let of_cell = |cell: u32| -> Vec<usize> {
        (0..4)
            .filter(|trial| run.trials[*trial].info.key.cell == cell)
            .collect()
    };
    for cell in [1, 2] {
        let [first, second] = of_cell(cell)[..] else {
            panic!("two trials")
        };
        assert_eq!(process(first), process(second));
        let info = &run.trials[second].info;
        assert!(info.phase(PhaseName::Up).is_none() && info.phase(PhaseName::Verify).is_some());
        assert!(
            info.remarks
                .iter()
                .any(|remark| remark.contains("was up already"))
        );
        assert!(run.trials[first].info.phase(PhaseName::Down).is_none());
        assert!(info.phase(PhaseName::Down).is_some());
    }
    assert_ne!(process(of_cell(1)[0]), process(of_cell(2)[0]));
    assert!(!shows_a_secret(&bench.path("run")));
    assert!(!bench.path("run/.system").exists());
}

/// What one component writes is known to another that depends on it, and to the load.
fn system_with_key(file: &str) -> String {
    "
system: keyed
summary: A store that writes a key, and a keeper that is told of it.
components:
  store:
    ports: [http]
    secrets: { key: { file: FILE } }
    process: { command: [sh, '${system_dir}/start', STORE, '${port.http}', '${dir}'] }
    ready: { http: { port: http, path: /ready } }
    setup:
      - { name: with the key, port: http, get: /ready, headers: { X-Key: '${secret.key}' }, expect: { status: 200 } }
  keeper:
    depends_on: [store]
    ports: [tcp]
    files: { key.txt: 'key=${secret.key}' }
    process: { command: [sh, '${system_dir}/keep', STORE, '${port.tcp}', '${dir}/key.txt'] }
    ready: { tcp: { port: tcp } }
endpoints:
  records: { component: store, port: http }
verify:
  - { name: it is ready, endpoint: records, get: /ready, headers: { X-Key: '${secret.key}' }, expect: { status: 200 } }
"
    .replace("STORE", &example("store").display().to_string())
    .replace("FILE", file)
}

const KEY: &str = "0123456789abcdef0123456789abcdef01234567";

fn run_with_key(file: &str) -> (Bench, Run) {
    let study = study("keyed", "").replace(
        "    endpoint: records\n",
        "    endpoint: records\n    headers: { X-Key: '${secret.key}' }\n",
    );
    let bench = Bench::new(&system_with_key(file), &study);
    let start = format!("mkdir \"$3/data\"\necho {KEY} > \"$3/data/key\"\nexec \"$1\" \"$2\"\n");
    let keep = format!("grep -q 'key={KEY}' \"$3\" && echo the key is right\nexec \"$1\" \"$2\"\n");
    fs::write(bench.path("system/start"), start).unwrap();
    fs::write(bench.path("system/keep"), keep).unwrap();
    let run = bench.results();
    (bench, run)
}

#[test]
fn a_secret_that_a_component_writes_is_known_to_others_and_to_the_load() {
    let (bench, run) = run_with_key("data/key");
    assert_eq!(run.trials[0].info.end, TrialEnd::Completed);
    assert!(run.trials[0].info.measured.succeeded > 0);
    let text = log(&run, 0, "keeper-0").unwrap();
    assert!(text.contains("the key is right"), "{text}");
    assert!(!shows_a_secret(&bench.path("run")));
}

#[test]
fn a_secret_that_is_not_written_fails_the_trial_with_its_file() {
    let (_, run) = run_with_key("data/other");
    let TrialEnd::Failed { reason, .. } = &run.trials[0].info.end else {
        panic!("it did not fail");
    };
    assert!(
        reason.contains("secret \"key\" is not in data/other: No such file"),
        "{reason}"
    );
}
