//! Servers that a system uses: where they are, and fetching those that are missing.
//!
//! A server is fetched by a script of its system into a folder beside its place, and moved there when it is whole. The script
//! runs below a supervisor, as components do: it ends when waggle does, in whatever way.

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
use waggle_study::{Level, Server, System};

use crate::{
    driver::{Child, Deaths, Launch, Search, distinct, folder_name, log_tail, names, server_of},
    events::Shutdown,
};

/// The longest that a server may take to be fetched.
const FETCH_AT_MOST: Duration = Duration::from_secs(3600);
/// Between asking a script to end and killing it.
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// How long another process's fetch of the same server is awaited, and how often it is looked for.
const OTHER_AT_MOST: Duration = FETCH_AT_MOST;
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How a script ends whose work is done.
const DONE: &str = "with exit code 0";

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Its programs, on PATH or beside waggle.
    Installed(Vec<PathBuf>),
    /// Its programs, in the folder of fetched servers.
    Fetched(Vec<PathBuf>),
    Missing,
}

/// Where things lie that are needed to fetch a server.
#[derive(Debug, Clone)]
pub struct Fetching {
    /// Of the system's file.
    pub system_folder: PathBuf,
    /// Of all fetched servers.
    pub servers_folder: PathBuf,
    /// Where installed programs are looked for before `PATH`.
    pub program_folders: Vec<PathBuf>,
    /// A program that calls [`crate::supervise()`] with its arguments when its first one is `__supervise`.
    pub supervisor: PathBuf,
}

impl Fetching {
    /// Where programs are looked for before `PATH`; a system may bring some in its own folder.
    fn folders(&self) -> Vec<PathBuf> {
        let own = std::iter::once(&self.system_folder);
        self.program_folders.iter().chain(own).cloned().collect()
    }
}

/// Why a server could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{server} cannot be fetched without {}: install it and try again", programs.join(", "))]
    Needs {
        server: String,
        programs: Vec<String>,
    },
    #[error("cannot {attempt} {}: {problem}", path.display())]
    Folder {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error("{server} could not be fetched: {why}; the end of {}:\n{}", log.display(), log_end.join("\n"))]
    Failed {
        server: String,
        why: String,
        log: PathBuf,
        log_end: Vec<String>,
    },
    #[error("interrupted; nothing of {server} was kept")]
    Interrupted { server: String },
}

/// The servers whose programs a system's components run, and where they are; with `parameters`, only those of that configuration.
#[must_use]
pub fn servers(
    system: &System,
    parameters: Option<&BTreeMap<String, Level>>,
    fetching: &Fetching,
) -> Vec<(Server, Place)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = fetching.folders();
    let search = |servers| Search {
        folders: &folders,
        path: &path,
        servers,
    };
    let used = |server: &&Server| match parameters {
        None => true,
        Some(parameters) => is_used(system, parameters, server),
    };
    let place = |server: &Server| {
        if let Some(programs) = search(None).of_server(server) {
            return Place::Installed(programs);
        }
        let fetched = search(Some(&fetching.servers_folder)).of_server(server);
        fetched.map_or(Place::Missing, Place::Fetched)
    };
    let servers = system.servers.iter().filter(used);
    servers
        .map(|server| (server.clone(), place(server)))
        .collect()
}

fn is_used(system: &System, parameters: &BTreeMap<String, Level>, server: &Server) -> bool {
    let configured = distinct(system, std::iter::once(parameters));
    let components = configured.iter().flat_map(|system| &system.components);
    components
        .filter_map(|component| names(component).ok())
        .flatten()
        .any(|program| server_of(system, &program) == Some(server))
}

/// Fetches a server; gives where its programs are. What was begun is removed where it does not come to its end.
///
/// # Errors
/// A program that it needs is missing, its script fails, a folder cannot be written, or `shutdown` asks for an end.
pub async fn fetch(
    server: &Server,
    fetching: &Fetching,
    shutdown: watch::Receiver<bool>,
) -> Result<Vec<PathBuf>, FetchError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = fetching.folders();
    let search = Search {
        folders: &folders,
        path: &path,
        servers: Some(&fetching.servers_folder),
    };
    let is_missing = |name: &&String| search.find_installed(name).is_none();
    let missing: Vec<String> = server.needs.iter().filter(is_missing).cloned().collect();
    if !missing.is_empty() {
        return Err(FetchError::Needs {
            server: server.name.clone(),
            programs: missing,
        });
    }
    let folder = absolute(&fetching.servers_folder)?;
    fs::create_dir_all(&folder).map_err(|problem| io_error("create", &folder, problem))?;
    let name = folder_name(server);
    let mut shutdown = Shutdown::new(shutdown);
    let _lock = lock(&folder.join(format!(".{name}.lock")), server, &mut shutdown).await?;
    // Another process may have done it meanwhile.
    if let Some(programs) = search.of_server(server) {
        return Ok(programs);
    }
    let part = folder.join(format!(".{name}.part"));
    // What is there is of a fetch that was killed, for the lock is ours.
    remove(&part)?;
    let log = folder.join(format!("{name}.log"));
    let ended = run(server, fetching, (&part, &log), &mut shutdown).await;
    let placed = match ended {
        Ok(()) => put_in_place(server, &part, &folder.join(&name), &log),
        Err(problem) => Err(problem),
    };
    remove(&part)?;
    placed?;
    fs::remove_file(&log).map_err(|problem| io_error("remove", &log, problem))?;
    search
        .of_server(server)
        .ok_or_else(|| fetch_error(server, "its programs are not where they were put", &log))
}

async fn run(
    server: &Server,
    fetching: &Fetching,
    (part, log): (&Path, &Path),
    shutdown: &mut Shutdown,
) -> Result<(), FetchError> {
    let (whole, temporary) = (part.join("server"), part.join("tmp"));
    for folder in [&whole, &temporary] {
        fs::create_dir_all(folder).map_err(|problem| io_error("create", folder, problem))?;
    }
    // A log goes on where one of that name ended; that one tells of an earlier attempt.
    if let Err(problem) = fs::remove_file(log)
        && problem.kind() != io::ErrorKind::NotFound
    {
        return Err(io_error("remove", log, problem));
    }
    let script = absolute(&fetching.system_folder)?.join(&server.fetch);
    let launch = Launch {
        replica: format!("the script {}", server.fetch),
        supervisor: fetching.supervisor.clone(),
        log: log.to_path_buf(),
        cpus: String::new(),
        command: vec![script.into(), server.version.clone().into(), whole.into()],
        // So that nothing of a script that is killed is left elsewhere.
        environment: vec![("TMPDIR".to_owned(), temporary.display().to_string())],
        folder: part.to_path_buf(),
    };
    let (deaths, died) = watch::channel(Vec::new());
    let child = Child::start(launch, deaths).await;
    let mut child = child.map_err(|why| fetch_error(server, &why, log))?;
    let mut died = Deaths(died);
    let stopped = tokio::select! {
        death = died.next_death() => {
            child.wait_or_kill(Instant::now(), STOP_WITHIN).await;
            return if death.how == DONE {
                Ok(())
            } else {
                Err(fetch_error(server, &format!("{} ended {}", death.replica, death.how), log))
            };
        }
        () = sleep(FETCH_AT_MOST) => {
            fetch_error(server, &format!("it took longer than {} s", FETCH_AT_MOST.as_secs()), log)
        }
        () = shutdown.wait_for_stop() => FetchError::Interrupted { server: server.name.clone() },
    };
    child.ask_to_stop().await;
    child.wait_or_kill(Instant::now(), STOP_WITHIN).await;
    if matches!(stopped, FetchError::Interrupted { .. }) {
        // Nobody asks for the log of what was given up.
        fs::remove_file(log).ok();
    }
    Err(stopped)
}

/// Moves a whole server from `part` to its place, and what was there before out of the way.
fn put_in_place(server: &Server, part: &Path, place: &Path, log: &Path) -> Result<(), FetchError> {
    let whole = part.join("server");
    for program in &server.programs {
        let file = whole.join("bin").join(program);
        if !file.is_file() {
            let why = format!("{} did not make bin/{program}", server.fetch);
            return Err(fetch_error(server, &why, log));
        }
    }
    if place.exists() {
        let old = part.join("old");
        fs::rename(place, &old).map_err(|problem| io_error("move", place, problem))?;
    }
    fs::rename(&whole, place).map_err(|problem| io_error("move", &whole, problem))
}

/// Waits while another process fetches the same.
async fn lock(path: &Path, server: &Server, shutdown: &mut Shutdown) -> Result<File, FetchError> {
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
            Err(_) => Err(fetch_error(server, "another process is fetching it and does not end", path)),
        },
        () = shutdown.wait_for_stop() => Err(FetchError::Interrupted { server: server.name.clone() }),
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

fn fetch_error(server: &Server, why: &str, log: &Path) -> FetchError {
    FetchError::Failed {
        server: server.name.clone(),
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
