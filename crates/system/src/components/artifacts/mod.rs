//! Artifacts that a system uses: their folders, and how missing ones are fetched.
//!
//! A script of the system fetches an artifact into a temporary folder next to the final one. The folder is renamed when it is
//! complete. The script runs below a supervisor, as components do, so it ends when waggle ends for any reason.

pub mod fetch_failure;

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use waggle_study::{Artifact, Level, System};

use crate::{
    components::{
        artifacts::fetch_failure::FetchFailure,
        driver::{
            Child, Deaths, Launch, Search, artifact_of, distinct, folder_name, log_tail, names,
        },
    },
    host::orphans::kill_processes_of,
    shutdown::Shutdown,
};

/// Timeout of one fetch.
const FETCH_AT_MOST: Duration = Duration::from_secs(3600);
/// What apt-get, npm, Maven, pip, Cargo, Go and Hex write if a name cannot be resolved or a server cannot be connected to.
const UNREACHABLE: [&str; 15] = [
    "Temporary failure resolving",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Could not resolve host",
    "Could not connect to",
    "Unknown host",
    "Network is unreachable",
    "network is unreachable",
    "no such host",
    "dial tcp",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ECONNREFUSED",
    "nxdomain",
    "is not reached here",
];
/// Characters of it that are shown.
const UNREACHABLE_SHOWN: usize = 120;
/// How long a script may take to stop before it is killed.
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait for another process that fetches the same artifact, and how often to look.
const OTHER_AT_MOST: Duration = FETCH_AT_MOST;
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How a script ends if it succeeded.
const DONE: &str = "with exit code 0";

/// Where an artifact is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Its programs, on PATH or next to waggle.
    Installed(Vec<PathBuf>),
    /// Its programs, in the folder of fetched artifacts.
    Fetched(Vec<PathBuf>),
    Missing,
}

/// The folders and programs that a fetch needs.
#[derive(Debug, Clone)]
pub struct Fetching {
    /// The folder of the system's file.
    pub system_folder: PathBuf,
    /// The folder of all fetched artifacts.
    pub artifacts_folder: PathBuf,
    /// Folders of installed programs, searched before `PATH`.
    pub program_folders: Vec<PathBuf>,
    /// A program that calls [`crate::supervise()`] with its arguments when its first one is `__supervise`.
    pub supervisor: PathBuf,
}

impl Fetching {
    /// Folders that are searched before `PATH`; a system may bring programs in its own folder.
    pub(in crate::components) fn folders(&self) -> Vec<PathBuf> {
        let system_folder = std::iter::once(&self.system_folder);
        self.program_folders
            .iter()
            .chain(system_folder)
            .cloned()
            .collect()
    }

    /// The programs that a fetch of the artifact requires and that are not installed.
    #[must_use]
    pub fn missing_programs(&self, artifact: &Artifact) -> Vec<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = self.folders();
        let search = Search {
            folders: &folders,
            path: &path,
            artifacts: None,
        };
        let required = artifact.requires.iter();
        let missing = required.filter(|name| search.find_installed(name).is_none());
        missing.cloned().collect()
    }
}

/// Why an artifact could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{artifact} cannot be fetched without {}: install it and try again", programs.join(", "))]
    Requires {
        artifact: String,
        programs: Vec<String>,
    },
    #[error("cannot {attempt} {}: {problem}", path.display())]
    Folder {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error("{artifact} could not be fetched: {why}; the end of {}:\n{}", log.display(), log_end.join("\n"))]
    Failed {
        artifact: String,
        why: String,
        log: PathBuf,
        log_end: Vec<String>,
    },
    #[error("{artifact} could not be fetched: the network, or a server in it, cannot be reached ({problem}); all output is in {}", log.display())]
    Unreachable {
        artifact: String,
        /// As the script says it.
        problem: String,
        log: PathBuf,
    },
    #[error("interrupted; nothing of {artifact} was kept")]
    Interrupted { artifact: String },
}

impl FetchError {
    /// The same in one line, without the name of the artifact: why, and the last line of the script.
    #[must_use]
    pub fn in_short(&self) -> String {
        match self {
            Self::Requires { programs, .. } => {
                format!("cannot be fetched without {}", programs.join(", "))
            }
            Self::Failed { why, log_end, .. } => {
                let mut lines = log_end.iter().rev().map(|line| line.trim());
                match lines.find(|line| !line.is_empty()) {
                    Some(last) => format!("{why}: {last}"),
                    None => why.clone(),
                }
            }
            Self::Unreachable { problem, log, .. } => format!(
                "the network, or a server in it, cannot be reached: {problem}; all output is in {}",
                log.display()
            ),
            Self::Folder { .. } | Self::Interrupted { .. } => self.to_string(),
        }
    }
}

/// The artifacts whose programs the components of a system run, and where they are. With `parameters`, only those of that
/// configuration.
#[must_use]
pub fn artifacts(
    system: &System,
    parameters: Option<&BTreeMap<String, Level>>,
    fetching: &Fetching,
) -> Vec<(Artifact, Location)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = fetching.folders();
    let installed = Search {
        folders: &folders,
        path: &path,
        artifacts: None,
    };
    let used = |artifact: &&Artifact| match parameters {
        None => true,
        Some(parameters) => is_used(system, parameters, artifact),
    };
    let location =
        |artifact: &Artifact| location_of(artifact, installed, &fetching.artifacts_folder);
    let artifacts = system.artifacts.iter().filter(used);
    artifacts
        .map(|artifact| (artifact.clone(), location(artifact)))
        .collect()
}

fn location_of(artifact: &Artifact, installed: Search<'_>, artifacts: &Path) -> Location {
    if let Some(programs) = installed.of_artifact(artifact) {
        return Location::Installed(programs);
    }
    let fetched = Search {
        artifacts: Some(artifacts),
        ..installed
    };
    let programs = fetched.of_artifact(artifact);
    programs.map_or(Location::Missing, Location::Fetched)
}

fn is_used(system: &System, parameters: &BTreeMap<String, Level>, artifact: &Artifact) -> bool {
    let configured = distinct(system, std::iter::once(parameters));
    let components = configured.iter().flat_map(|system| &system.components);
    components
        .filter_map(|component| names(component).ok())
        .flatten()
        .any(|program| artifact_of(system, &program) == Some(artifact))
}

/// Fetches an artifact and returns the paths of its programs. An incomplete fetch is removed. If the script fails, a file beside
/// the folders of artifacts says so until the next attempt.
///
/// # Errors
/// A program that it needs is missing, its script fails, a folder cannot be written, or `shutdown` asks for an end.
pub async fn fetch(
    artifact: &Artifact,
    fetching: &Fetching,
    shutdown: watch::Receiver<bool>,
) -> Result<Vec<PathBuf>, FetchError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = fetching.folders();
    let search = Search {
        folders: &folders,
        path: &path,
        artifacts: Some(&fetching.artifacts_folder),
    };
    let missing = fetching.missing_programs(artifact);
    if !missing.is_empty() {
        return Err(FetchError::Requires {
            artifact: artifact.name.clone(),
            programs: missing,
        });
    }
    let folder = absolute(&fetching.artifacts_folder)?;
    fs::create_dir_all(&folder).map_err(|problem| io_error("create", &folder, problem))?;
    let name = folder_name(artifact);
    let mut shutdown = Shutdown::new(shutdown);
    let _lock = lock(
        &folder.join(format!(".{name}.lock")),
        artifact,
        &mut shutdown,
    )
    .await?;
    // Another process may have fetched it meanwhile.
    if let Some(programs) = search.of_artifact(artifact) {
        return Ok(programs);
    }
    let part = folder.join(format!(".{name}.part"));
    // We hold the lock, so what is here is left over from a fetch that was killed, maybe together with its supervisor.
    let _killed = kill_processes_of(&part);
    remove(&part)?;
    FetchFailure::remove(&folder, artifact).map_err(|problem| {
        let file = fetch_failure::file(&folder, artifact);
        io_error("remove", &file, problem)
    })?;
    let log = folder.join(format!("{name}.log"));
    let attempt = Attempt {
        part: &part,
        log: &log,
    };
    let ended = run(artifact, fetching, attempt, &mut shutdown).await;
    let placed = match ended {
        Ok(()) => install(artifact, attempt, &folder.join(&name)),
        Err(problem) => Err(problem),
    };
    remove(&part)?;
    if let Err(problem @ (FetchError::Failed { .. } | FetchError::Unreachable { .. })) = &placed {
        let written = FetchFailure::write(&folder, artifact, problem.in_short());
        written.map_err(|problem| {
            let file = fetch_failure::file(&folder, artifact);
            io_error("write", &file, problem)
        })?;
    }
    placed?;
    fs::remove_file(&log).map_err(|problem| io_error("remove", &log, problem))?;
    search
        .of_artifact(artifact)
        .ok_or_else(|| fetch_error(artifact, "its programs are missing after the move", &log))
}

/// What an attempt to fetch writes.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    /// The folder of what is not complete yet.
    part: &'a Path,
    log: &'a Path,
}

async fn run(
    artifact: &Artifact,
    fetching: &Fetching,
    Attempt { part, log }: Attempt<'_>,
    shutdown: &mut Shutdown,
) -> Result<(), FetchError> {
    let (whole, temporary) = (part.join("server"), part.join("tmp"));
    for folder in [&whole, &temporary] {
        fs::create_dir_all(folder).map_err(|problem| io_error("create", folder, problem))?;
    }
    // A log is appended to an existing one, and that one belongs to an earlier attempt.
    if let Err(problem) = fs::remove_file(log)
        && problem.kind() != io::ErrorKind::NotFound
    {
        return Err(io_error("remove", log, problem));
    }
    let script = absolute(&fetching.system_folder)?.join(&artifact.fetch);
    let launch = Launch {
        replica: format!("the script {}", artifact.fetch),
        supervisor: fetching.supervisor.clone(),
        log: log.to_path_buf(),
        cpus: String::new(),
        group: None,
        command: vec![script.into(), artifact.version.clone().into(), whole.into()],
        // A script that is killed leaves no temporary files elsewhere.
        environment: vec![("TMPDIR".to_owned(), temporary.display().to_string())],
        environment_from: artifact.environment_from.clone(),
        folder: part.to_path_buf(),
    };
    let (deaths, died) = watch::channel(Vec::new());
    let child = Child::start(launch, &[], deaths).await;
    let mut child = child.map_err(|why| fetch_error(artifact, &why.to_string(), log))?;
    let mut died = Deaths(died);
    let stopped = tokio::select! {
        death = died.next_death() => {
            child.wait_or_kill(Instant::now(), STOP_WITHIN).await;
            return if death.how == DONE {
                Ok(())
            } else {
                let why = format!("{} ended {}", death.replica, death.how);
                Err(unreachable(artifact, log).unwrap_or_else(|| fetch_error(artifact, &why, log)))
            };
        }
        () = sleep(FETCH_AT_MOST) => {
            fetch_error(artifact, &format!("it took longer than {} s", FETCH_AT_MOST.as_secs()), log)
        }
        () = shutdown.wait_for_stop() => FetchError::Interrupted { artifact: artifact.name.clone() },
    };
    child.ask_to_stop().await;
    child.wait_or_kill(Instant::now(), STOP_WITHIN).await;
    if matches!(stopped, FetchError::Interrupted { .. }) {
        // The log of an interrupted fetch is not needed.
        fs::remove_file(log).ok();
    }
    Err(stopped)
}

/// Renames the complete folder `part` to its final name, and moves away what was there before.
fn install(
    artifact: &Artifact,
    Attempt { part, log }: Attempt<'_>,
    target: &Path,
) -> Result<(), FetchError> {
    let whole = part.join("server");
    for program in &artifact.programs {
        let file = whole.join("bin").join(program);
        if !file.is_file() {
            let why = format!("{} did not make bin/{program}", artifact.fetch);
            return Err(fetch_error(artifact, &why, log));
        }
    }
    if target.exists() {
        let old = part.join("old");
        fs::rename(target, &old).map_err(|problem| io_error("move", target, problem))?;
    }
    fs::rename(&whole, target).map_err(|problem| io_error("move", &whole, problem))
}

/// Waits while another process fetches the same artifact.
async fn lock(
    path: &Path,
    artifact: &Artifact,
    shutdown: &mut Shutdown,
) -> Result<File, FetchError> {
    let file = File::create(path).map_err(|problem| io_error("create", path, problem))?;
    let wait = async {
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => sleep(LOOK_EVERY).await,
                Err(TryLockError::Error(problem)) => return Err(io_error("lock", path, problem)),
            }
        }
    };
    tokio::select! {
        waited = timeout(OTHER_AT_MOST, wait) => match waited {
            Ok(locked) => locked.map(|()| file),
            Err(_) => Err(fetch_error(artifact, "another process is fetching it and does not end", path)),
        },
        () = shutdown.wait_for_stop() => Err(FetchError::Interrupted { artifact: artifact.name.clone() }),
    }
}

fn remove(folder: &Path) -> Result<(), FetchError> {
    match fs::remove_dir_all(folder) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => {
            Err(io_error("remove", folder, problem))
        }
        _ => Ok(()),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, FetchError> {
    std::path::absolute(path).map_err(|problem| io_error("find", path, problem))
}

/// If the end of a script's log says that nothing could be reached.
fn unreachable(artifact: &Artifact, log: &Path) -> Option<FetchError> {
    let lines = log_tail(log);
    let problems = lines.iter().filter_map(|line| unreachable_server(line));
    // The longest one names the server.
    let problem = problems.max_by_key(String::len)?;
    Some(FetchError::Unreachable {
        artifact: artifact.name.clone(),
        problem,
        log: log.to_path_buf(),
    })
}

/// The part of a line that says that a server could not be reached.
fn unreachable_server(line: &str) -> Option<String> {
    let position = UNREACHABLE
        .iter()
        .filter_map(|words| line.find(words))
        .min()?;
    Some(
        line[position..]
            .trim_end()
            .chars()
            .take(UNREACHABLE_SHOWN)
            .collect(),
    )
}

fn fetch_error(artifact: &Artifact, why: &str, log: &Path) -> FetchError {
    FetchError::Failed {
        artifact: artifact.name.clone(),
        why: why.to_owned(),
        log: log.to_path_buf(),
        log_end: log_tail(log),
    }
}

fn io_error(attempt: &'static str, path: &Path, problem: io::Error) -> FetchError {
    FetchError::Folder {
        attempt,
        path: path.to_path_buf(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::unreachable_server;

    #[test]
    fn lines_say_that_a_server_cannot_be_reached() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(unreachable_server(line).as_deref(), expected, "{line}");
        };
        check(
            "E: Failed to fetch http://deb.test/a.deb  Temporary failure resolving 'deb.test'\n",
            Some("Temporary failure resolving 'deb.test'"),
        );
        check(
            "npm error request to https://npm.test/a failed, reason: getaddrinfo EAI_AGAIN npm.test",
            Some("EAI_AGAIN npm.test"),
        );
        check(
            "go: a.test/b@v1.0.0: Get \"https://go.test/a\": dial tcp: lookup go.test: no such host",
            Some("dial tcp: lookup go.test: no such host"),
        );
        check("E: Unable to locate package erlang", None);
        let long = format!("ENOTFOUND {}", "x".repeat(200));
        check(&long, Some(&long[..120]));
    }
}
