//! A temporary folder with a study, in which a test runs the program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use waggle_analysis::Model;
use waggle_results::Run;
use waggle_testkit::wait_until;

use crate::exit_codes::run_code;

pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

/// The parts of a study of the faulty system that differ between tests.
pub(crate) struct Parts<'a> {
    pub(crate) fault: &'a str,
    pub(crate) load: &'a str,
    pub(crate) measure: &'a str,
    pub(crate) repeat: u32,
    /// The keys of a search, which replaces `repeat`.
    pub(crate) search: Option<&'a str>,
}

impl Default for Parts<'_> {
    fn default() -> Self {
        Self {
            fault: "none",
            load: "model: open, rate: 1000/s, arrivals: uniform, connections: 8",
            measure: "3s",
            repeat: 1,
            search: None,
        }
    }
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let workspace = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let readings: String = (0..500)
            .map(|n| {
                format!(
                    "boiler,line=l{} temperature={}.5 {}\n",
                    n % 7,
                    n % 90,
                    n + 1
                )
            })
            .collect();
        fs::write(workspace.path().join("readings.lp"), readings).unwrap();
        workspace.system("faulty");
        workspace
    }

    /// Copies a system of the tests to the folder.
    pub(crate) fn system(&self, name: &str) {
        let system = self.path().join("systems").join(name);
        fs::create_dir_all(&system).unwrap();
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems");
        fs::copy(
            all.join(name).join("system.yaml"),
            system.join("system.yaml"),
        )
        .unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes `study.yaml`, a study of the faulty system.
    pub(crate) fn study(&self, parts: &Parts<'_>) {
        let Parts {
            fault,
            load,
            measure,
            repeat,
            search,
        } = parts;
        let (repeat, search) = match search {
            Some(search) => (
                "{ max_ci_width: 1000% }".to_owned(),
                format!("search: {{ {search} }}\n"),
            ),
            None => (repeat.to_string(), String::new()),
        };
        let text = format!(
            "study: faults\n\
             question: Does the report say what went wrong?\n\
             system: {{ use: faulty, set: {{ fault: {fault} }} }}\n\
             load:\n  {}\n  request:\n    name: put-readings\n    put: /records\n    \
             records: {{ file: readings.lp, per_request: 1 }}\n    expect: {{ status: 204 }}\n\
             schedule:\n  warm_up: 1s\n  measure: {measure}\n  interval: 250ms\n  sampling_interval: 250ms\n  \
             drain: {{ timeout: 10s }}\n  repeat: {repeat}\n{search}\
             delivery: {{ probes: store, poll_interval: 50ms, late_threshold: 3s }}\n",
            load.split(", ").collect::<Vec<_>>().join("\n  ")
        );
        fs::write(self.path().join("study.yaml"), text).unwrap();
    }

    /// The command of the program in this folder, with the examples on its PATH.
    pub(crate) fn waggle(&self, arguments: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_waggle"));
        let examples = program.parent().unwrap().join("examples");
        let path = std::env::join_paths(std::iter::once(examples).chain(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        )));
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path())
            .env("PATH", path.unwrap())
            .env("XDG_CACHE_HOME", calibration_cache())
            // Other tests measure at the same time.
            .env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.waggle(arguments).output().unwrap()
    }

    /// The only run folder below `runs`.
    pub(crate) fn run_folder(&self) -> PathBuf {
        let mut runs: Vec<PathBuf> = fs::read_dir(self.path().join("runs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.pop().unwrap()
    }

    /// The socket at which a run can be followed.
    pub(crate) fn stream_socket(&self) -> Option<PathBuf> {
        let runs = fs::read_dir(self.path().join("runs")).ok()?;
        let mut sockets = runs.map(|run| run.unwrap().path().join("events.sock"));
        sockets.find(|socket| socket.exists())
    }

    pub(crate) fn model(&self) -> Model {
        waggle_analysis::model(&Run::read(&self.run_folder()).unwrap())
    }

    /// Runs `study.yaml` to its end.
    #[track_caller]
    pub(crate) fn run(&self) -> Model {
        self.report_of(&self.output(&["run", "study.yaml", "--quiet"]))
    }

    /// The model of a run; checks that the exit code matches it, and that no process is left.
    #[track_caller]
    pub(crate) fn report_of(&self, output: &Output) -> Model {
        self.assert_none_left();
        assert!(self.path().join("runs").exists(), "{}", output_text(output));
        let model = self.model();
        let code = output.status.code();
        assert_eq!(code, Some(run_code(&model)), "{}", output_text(output));
        model
    }

    /// Checks that no process that was started in this folder is left.
    #[track_caller]
    pub(crate) fn assert_none_left(&self) {
        let left = self.processes_left();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Waits until a run that lost its parent has ended as by Ctrl-C: nothing of it is left, and it has removed the file that it locked.
    #[track_caller]
    pub(crate) fn wait_for_orderly_end(&self) {
        wait_until("all processes are gone", || {
            self.processes_left().is_empty()
        });
        let measuring = fs::read_dir(self.path().join("state/waggle/measuring"));
        let left: Vec<_> = measuring.unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Command lines of processes in this folder.
    pub(crate) fn processes_left(&self) -> Vec<String> {
        let mine = self.path().to_string_lossy().into_owned();
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        processes
            .filter(|process| {
                process
                    .file_name()
                    .to_string_lossy()
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
            })
            .filter(|process| {
                fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&mine))
            })
            .filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok())
            .filter(|command| !command.is_empty())
            .collect()
    }
}

/// The calibration cache of all tests, so each shape of load is calibrated once, outside the user's folder.
fn calibration_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

pub(crate) fn output_text(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
