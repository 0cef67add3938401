//! What runs that are over left in systems that run already, and its removal.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use waggle_study::{Study, System};

use crate::{
    components::created::{HIDDEN, Made, Noted},
    http::{address::find_address, peer::Peer, transport::tls_of_ports},
    secrets::words::Secrets,
};

/// Longest file that is read.
const FILE_MAX_BYTES: u64 = 1024 * 1024;
/// Its process replaces a file a few times in a trial.
const REPLACED_AT_MOST: u32 = 100;

/// What one system that was up left behind.
#[derive(Debug)]
pub struct LeftBehind {
    /// In which it is noted.
    pub file: PathBuf,
    /// The study, which says who one is there.
    pub study: PathBuf,
    /// ID of the process that made it.
    pub pid: u32,
    /// That process uses it.
    pub is_in_use: bool,
    made: Vec<Made>,
}

/// Why it is not known what was left behind.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {problem}", file.display())]
pub struct LeftBehindError {
    file: PathBuf,
    problem: io::Error,
}

/// What runs left behind in a system, by its name. `folder` is where runs keep what they created.
///
/// # Errors
/// A file cannot be read.
pub fn left_behind(folder: &Path, system: &str) -> Result<Vec<LeftBehind>, LeftBehindError> {
    let folder = folder.join(system);
    let failed = |file: &Path, problem| LeftBehindError {
        file: file.to_path_buf(),
        problem,
    };
    let entries = match fs::read_dir(&folder) {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|problem| failed(&folder, problem))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.map_err(|problem| failed(&folder, problem))?.path());
    }
    files.retain(|file| !is_hidden(file));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        // It may be removed by the process that wrote it.
        if let Some(left) = read(&file).map_err(|problem| failed(&file, problem))? {
            all.push(left);
        }
    }
    leave_to_their_runs(&mut all);
    Ok(all)
}

/// A file that its process has not written to the end.
fn is_hidden(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(HIDDEN)
}

/// What a run has made again under the same name is that run's.
fn leave_to_their_runs(all: &mut [LeftBehind]) {
    let place = |made: &Made| (made.at.clone(), made.method.clone(), made.path.clone());
    let in_use = all.iter().filter(|left| left.is_in_use);
    let theirs: Vec<_> = in_use
        .flat_map(|left| left.made.iter().map(place))
        .collect();
    for left in all.iter_mut().filter(|left| !left.is_in_use) {
        left.made.retain(|made| !theirs.contains(&place(made)));
    }
}

/// The file, and whether a process uses it. That process replaces it now and then, so what was opened may be its predecessor.
fn open(path: &Path) -> io::Result<Option<(File, bool)>> {
    for _ in 0..REPLACED_AT_MOST {
        let file = match File::open(path) {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Some((file, true))),
            Err(TryLockError::Error(problem)) => return Err(problem),
        }
        let inode = file.metadata()?.ino();
        if fs::metadata(path).is_ok_and(|entry| entry.ino() == inode) {
            return Ok(Some((file, false)));
        }
    }
    Err(io::Error::other("it is replaced again and again"))
}

/// `None`: it is not there any more.
fn read(path: &Path) -> io::Result<Option<LeftBehind>> {
    let Some((file, is_in_use)) = open(path)? else {
        return Ok(None);
    };
    if file.metadata()?.len() > FILE_MAX_BYTES {
        let why = format!("it is longer than {FILE_MAX_BYTES} bytes");
        return Err(io::Error::other(why));
    }
    let noted: Noted = serde_json::from_str(&io::read_to_string(file)?)?;
    Ok(Some(LeftBehind {
        file: path.to_path_buf(),
        study: noted.study,
        pid: noted.pid,
        is_in_use,
        made: noted.made,
    }))
}

impl LeftBehind {
    /// What it is, and where: a line for each part.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.made.iter().map(line).collect()
    }

    /// Removes it, the last part first, and the file if nothing is left. The study has its values from outside; `system` is the
    /// whole system, with the components of the study that run already. Returns a sentence for each part that is still there.
    pub async fn remove(self, study: &Study, system: &System) -> Vec<String> {
        let folder = self.study.parent().unwrap_or(Path::new(""));
        let tls = match tls_of_ports(system, folder) {
            Ok(tls) => tls,
            Err(problem) => return vec![problem.to_string()],
        };
        let secrets = Secrets::from_given(&study.secrets, &study.taken);
        let (mut problems, mut kept) = (Vec::new(), self.made.clone());
        for (place, made) in self.made.iter().enumerate().rev() {
            let removed = async {
                let filled = made.fill_secrets(|text| secrets.fill(text));
                let filled = filled.map_err(|why| why.to_string())?;
                let mut peer = peer(system, made).await?;
                let port = (made.component.clone(), made.port.clone());
                peer.tls = tls.get(&port).cloned();
                filled.remove(&peer).await
            };
            match removed.await {
                Ok(()) => drop(kept.remove(place)),
                Err(why) => {
                    problems.push(secrets.redact(&why.to_string()));
                    continue;
                }
            }
            if let Err(problem) = self.keep(&system.name, &kept) {
                problems.push(format!("cannot write {}: {problem}", self.file.display()));
            }
        }
        problems
    }

    /// Writes what is still there, or removes the file if that is nothing.
    fn keep(&self, system: &str, made: &[Made]) -> io::Result<()> {
        if made.is_empty() {
            return fs::remove_file(&self.file);
        }
        let noted = Noted {
            system: system.to_owned(),
            study: self.study.clone(),
            pid: self.pid,
            made: made.to_vec(),
        };
        noted.write(&self.file).map(drop)
    }
}

fn line(made: &Made) -> String {
    let Made {
        name,
        component,
        at,
        method,
        path,
        ..
    } = made;
    format!("setup \"{name}\" in {component} at {at} ({method} {path})")
}

/// Where it was made, without TLS.
async fn peer(system: &System, made: &Made) -> Result<Peer, String> {
    let (component, port) = (&made.component, &made.port);
    let mut components = system.components.iter();
    let entry = components.find(|known| known.name == *component);
    let mut ports = entry
        .into_iter()
        .flat_map(|owner| owner.external.iter().flatten());
    let entry = ports.find(|known| known.name == *port);
    let entry = entry.and_then(|port| Some((port.at.first()?, port.authorization.clone())));
    let Some((place, authorization)) = entry else {
        return Err(format!(
            "the study does not say any more where {component} is; it was at {}",
            made.at
        ));
    };
    let address = find_address(place).await;
    let address =
        address.map_err(|why| format!("{component} at {place} cannot be reached: {why}"))?;
    Ok(Peer {
        address,
        tls: None,
        authorization,
    })
}
