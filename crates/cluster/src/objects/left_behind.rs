//! What runs that are over left in clusters, and its removal.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    cordons::{Cordons, uncordon_all},
    notes::{self, Noted, Place},
    removal::{TimeBudget, remove},
};
use crate::access::{Access, AccessError};

/// What one run left behind in a cluster.
#[derive(Debug)]
pub struct LeftBehind {
    /// In which it is noted.
    pub file: PathBuf,
    /// Its process still runs, and removes it.
    pub is_in_use: bool,
    noted: Noted,
}

/// Why it is not known what was left behind.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {problem}", file.display())]
pub struct LeftBehindError {
    file: PathBuf,
    problem: io::Error,
}

/// What runs that measured this system left behind.
///
/// # Errors
/// A file cannot be read.
pub fn left_behind(place: &Place) -> Result<Vec<LeftBehind>, LeftBehindError> {
    let folder = place.of_system();
    let failed = |file: &Path, problem| LeftBehindError {
        file: file.to_owned(),
        problem,
    };
    let files = notes::files(&folder).map_err(|problem| failed(&folder, problem))?;
    let mut all = Vec::new();
    for file in files {
        let read = notes::read(&file).map_err(|problem| failed(&file, problem))?;
        // It may be removed by the process that wrote it.
        if let Some((noted, is_in_use)) = read {
            all.push(LeftBehind {
                file,
                is_in_use,
                noted,
            });
        }
    }
    Ok(all)
}

impl LeftBehind {
    /// ID of the process that made it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.noted.pid
    }

    #[must_use]
    pub fn run(&self) -> &str {
        &self.noted.run
    }

    /// The cluster, for messages: its context and URL.
    #[must_use]
    pub fn cluster(&self) -> String {
        match &self.noted.context {
            Some(context) => format!("{context} ({})", self.noted.server),
            None => self.noted.server.clone(),
        }
    }

    /// A line for each object.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let cordons = self
            .noted
            .has_cordons
            .then(|| "cordons of nodes".to_owned());
        let made = self.noted.made.iter().map(ToString::to_string);
        cordons.into_iter().chain(made).collect()
    }

    /// Removes it with the credentials of its kubeconfig, the last object first, and the file if nothing is left. The limit is for
    /// all objects, and each has some seconds. Returns a sentence for each object that is still there.
    ///
    /// # Errors
    /// The kubeconfig cannot be read, or its context is another cluster by now.
    pub async fn remove(self, limit: Duration) -> Result<Vec<String>, AccessError> {
        let access = self.access().await?;
        let mut noted = self.noted.clone();
        let mut problems = Vec::new();
        let budget = TimeBudget::new(limit);
        if noted.has_cordons {
            match uncordon_all(&access, &noted.run, Cordons::Expected).await {
                Ok(()) => {
                    noted.has_cordons = false;
                    problems.extend(self.note(&noted));
                }
                Err(left) => problems.extend(left.iter().map(ToString::to_string)),
            }
        }
        for place in (0..noted.made.len()).rev() {
            match remove(&access, &noted.run, &noted.made[place], budget.share()).await {
                Ok(()) => drop(noted.made.remove(place)),
                Err(why) => {
                    problems.push(why.to_string());
                    continue;
                }
            }
            problems.extend(self.note(&noted));
        }
        Ok(problems)
    }

    /// Notes what is left, or removes the file; returns why that is not done.
    fn note(&self, noted: &Noted) -> Option<String> {
        let kept = match noted.is_empty() {
            true => fs::remove_file(&self.file),
            false => notes::replace(&self.file, noted).map(drop),
        };
        let why = kept.err()?;
        Some(format!("cannot write {}: {why}", self.file.display()))
    }

    async fn access(&self) -> Result<Access, AccessError> {
        let Noted {
            kubeconfig,
            context,
            server,
            ..
        } = &self.noted;
        let access = match context {
            Some(context) => Access::load(kubeconfig.as_deref(), Some(context)).await?,
            None => Access::in_cluster().await?,
        };
        if access.origin.server == *server {
            return Ok(access);
        }
        let file = kubeconfig.as_deref().unwrap_or(Path::new("KUBECONFIG"));
        Err(AccessError::File {
            place: file.display().to_string(),
            why: format!(
                "context \"{}\" was {server} when the run made objects there, and is {} now",
                context.as_deref().unwrap_or_default(),
                access.origin.server
            ),
        })
    }
}
