//! What setup made in components that run already. It is noted in a file before it is made, and removed at the end; if waggle was killed,
//! by `waggle system down`. The file has no secret: who one is there is read from the study again.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};
use waggle_results::private_file;
use waggle_study::{SetupStep, Undo};

use crate::{
    http::{
        client::{Connection, HttpConnector, Network, Request},
        peer::Peer,
    },
    placeholder::{PlaceholderError, fill_content},
    problem::Problem,
};

/// Pause between two requests.
const REPEAT_EVERY: Duration = Duration::from_millis(500);
/// Statuses that do not change if a request is repeated: nobody knows who one is, or one may not.
const REFUSALS: [u16; 2] = [401, 403];

/// How the names of files begin that are not written yet.
pub const HIDDEN: char = '.';

/// Where the files of a run are.
#[derive(Debug, Clone)]
pub struct Place {
    /// Of this system.
    pub folder: PathBuf,
    pub system: String,
    /// Absolute.
    pub study: PathBuf,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    pub system: String,
    pub study: PathBuf,
    /// ID of the process that made it.
    pub pid: u32,
    pub made: Vec<Made>,
}

/// What one step of a setup made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// Of the step.
    pub name: String,
    pub component: String,
    pub port: String,
    /// Where that was, for messages.
    pub at: String,
    pub method: String,
    pub path: String,
    /// With the names of secrets.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// That it is gone.
    pub status: Vec<u16>,
    pub timeout_ms: u64,
    /// The step's request was answered as expected. If not, it may be another's, and is not removed.
    pub is_certain: bool,
}

impl Made {
    pub fn new(step: &SetupStep, undo: &Undo, component: &str, peer: &Peer) -> Self {
        Self {
            name: step.name.clone(),
            component: component.to_owned(),
            port: step.port.clone(),
            at: peer.address.to_string(),
            method: undo.method.clone(),
            path: undo.path.clone(),
            headers: undo.headers.clone(),
            body: undo.body.clone(),
            status: undo.status.clone(),
            timeout_ms: u64::try_from(undo.timeout.as_millis()).unwrap_or(u64::MAX),
            is_certain: false,
        }
    }

    /// The same with every `${secret.NAME}` filled.
    pub fn fill_secrets(
        &self,
        fill: impl Fn(&str) -> Result<String, PlaceholderError>,
    ) -> Result<Self, PlaceholderError> {
        let (headers, body) = fill_content(&self.headers, &self.body, fill)?;
        Ok(Self {
            headers,
            body,
            ..self.clone()
        })
    }

    /// Sends the request until its answer says that it is gone. An error is a sentence with what helps. A DELETE that was accepted is
    /// not sent again: what has the name after that may be another's.
    pub async fn remove(&self, peer: &Peer) -> Result<(), Problem> {
        let Self {
            name,
            component,
            at,
            method,
            path,
            ..
        } = self;
        if !self.is_certain {
            return Err(Problem(format!(
                "it is not known whether setup \"{name}\" made something in {component} at {at}, so nothing is removed there; \
                 look, and remove what is left of it: {method} {path}"
            )));
        }
        let why = self.repeat(peer).await;
        why.map_err(|why| {
            Problem(format!(
                "what setup \"{name}\" made in {component} at {at} is still there: {why}; remove it yourself: {method} {path}"
            ))
        })
    }

    async fn repeat(&self, peer: &Peer) -> Result<(), Problem> {
        let mut request = Request {
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
        };
        let deadline = Instant::now() + Duration::from_millis(self.timeout_ms);
        let mut connection = Network.connection(peer);
        loop {
            let time_left = deadline.saturating_duration_since(Instant::now());
            let sent = timeout(time_left, connection.send(&request, &mut |_| {})).await;
            let why = match sent {
                Ok(Ok(status)) if self.status.contains(&status) => return Ok(()),
                Ok(Ok(status)) if REFUSALS.contains(&status) => {
                    let why = format!("the request was refused with status {status}");
                    return Err(Problem(why));
                }
                Ok(Ok(status)) => {
                    if self.method == "DELETE" && (200..300).contains(&status) {
                        (request.method, request.body) = ("GET", "");
                    }
                    format!("the last answer had status {status}")
                }
                Ok(Err(problem)) => problem.to_string(),
                Err(_) => "there was no answer in time".to_owned(),
            };
            if Instant::now() + REPEAT_EVERY >= deadline {
                return Err(Problem(why));
            }
            sleep(REPEAT_EVERY).await;
        }
    }
}

/// What a system that is up has made, in the order in which it was made.
#[derive(Debug, Default)]
pub struct Ledger {
    place: Option<Place>,
    /// Its lock is held as long as it is open.
    file: Option<(PathBuf, File)>,
    entries: Vec<Entry>,
}

struct Entry {
    /// As it is noted.
    made: Made,
    /// With secrets.
    filled: Made,
    peer: Peer,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry")
            .field(&self.made)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    pub fn new(place: Option<Place>) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    /// Notes what is about to be made; `filled` is the same with its secrets.
    pub fn begin(&mut self, made: Made, filled: Made, peer: Peer) -> Result<(), Problem> {
        self.entries.push(Entry { made, filled, peer });
        self.write().map_err(|problem| {
            Problem(format!(
                "cannot note what is made in a component that runs already: {problem}"
            ))
        })
    }

    /// Notes whether the last one was made; `None`: that is not known.
    pub fn end(&mut self, was_made: Option<bool>) -> Result<(), Problem> {
        match was_made {
            Some(true) => {
                if let Some(last) = self.entries.last_mut() {
                    last.made.is_certain = true;
                    last.filled.is_certain = true;
                }
            }
            Some(false) => drop(self.entries.pop()),
            None => return Ok(()),
        }
        self.write().map_err(|problem| {
            Problem(format!(
                "cannot note what was made in a component that runs already: {problem}"
            ))
        })
    }

    /// Removes all, the last first. Returns a sentence for each that could not be removed; these stay noted, and so does what is not
    /// removed yet if this is abandoned.
    pub async fn remove_all(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        for place in (0..self.entries.len()).rev() {
            let entry = &self.entries[place];
            if let Err(why) = entry.filled.remove(&entry.peer).await {
                problems.push(why.to_string());
                continue;
            }
            self.entries.remove(place);
            if let Err(problem) = self.write() {
                problems.push(format!("cannot note what is still there: {problem}"));
            }
        }
        // What is left is told to the user, and is not this system's any more.
        self.entries.clear();
        self.file = None;
        problems
    }

    /// Writes the file anew, or removes it if nothing is noted.
    fn write(&mut self) -> io::Result<()> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        if self.entries.is_empty() {
            return match self.file.take() {
                Some((path, _)) => fs::remove_file(path),
                None => Ok(()),
            };
        }
        let noted = Noted {
            system: place.system.clone(),
            study: place.study.clone(),
            pid: std::process::id(),
            made: self
                .entries
                .iter()
                .map(|entry| entry.made.clone())
                .collect(),
        };
        let path = match self.file.take() {
            Some((path, _)) => path,
            None => new_path(&place.folder)?,
        };
        let file = noted.write(&path)?;
        self.file = Some((path, file));
        Ok(())
    }
}

impl Noted {
    /// Replaces the file in one step; the new one is locked by this process.
    pub fn write(&self, path: &Path) -> io::Result<File> {
        let text = serde_json::to_string_pretty(self)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let hidden = path.with_file_name(format!("{HIDDEN}{name}"));
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&hidden)?;
        file.try_lock()?;
        file.write_all(text.as_bytes())?;
        fs::rename(&hidden, path)?;
        Ok(file)
    }
}

/// Where a new file goes.
fn new_path(folder: &Path) -> io::Result<PathBuf> {
    private_file::create_folder(folder)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    Ok(folder.join(format!("{}-{now:x}.json", std::process::id())))
}
