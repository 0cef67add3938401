//! What all requests share.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Semaphore;
use waggle_report::Site;

use super::reply::Problem;
use crate::{
    launch::{
        order::{Order, StudyEntry, StudyForm},
        queue::Queue,
    },
    live::watch::{Follow, Watched},
    reason::Reason,
    runs::{index::Index, row::Row, running::RunningRun},
};

/// Pages that read results at the same time: each may take all CPUs that nobody else wants.
const READING_MAX: usize = 1;

/// What pages are made of, by functions of the caller. Errors are sentences for the reader of the page.
#[derive(Debug, Clone)]
pub struct Backend {
    /// The report of the run in a folder, as a page.
    pub report: fn(&Path, Site) -> Result<String, Reason>,
    /// The second run against the first one.
    pub compare: fn([&Path; 2], Site) -> Result<String, Reason>,
    pub history: fn(&[PathBuf], HistoryScope, Site) -> Result<String, Reason>,
    /// The runs that go on on this machine.
    pub running: fn() -> Vec<RunningRun>,
    pub follow: Follow,
    /// Keeps a thread out of the way of what is measured.
    pub lower_priority: fn(),
    /// The studies in a folder.
    pub studies: fn(&Path) -> Result<Vec<StudyEntry>, Reason>,
    /// What can be chosen of a study in it.
    pub form: fn(&Path, &str) -> Result<StudyForm, Reason>,
    /// What would run: the folder of studies, that of runs, and what is asked for.
    pub plan: fn(&Path, &Path, &Order) -> Result<String, Reason>,
}

/// Which runs are one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryScope {
    EachHost,
    AllHosts,
}

/// Runs that are started from here.
#[derive(Debug, Clone)]
pub struct Launching {
    /// The folder of studies.
    pub studies: PathBuf,
    pub queue: Arc<Queue>,
}

/// What all requests share.
pub(crate) struct State {
    pub(crate) folder: PathBuf,
    pub(crate) backend: Backend,
    pub(crate) index: Index,
    pub(crate) watched: Watched,
    /// `None`: the server only reads.
    pub(crate) launching: Option<Launching>,
    pub(crate) may_note: bool,
    /// `None`: everybody who reaches the server may read.
    pub(crate) access_token: Option<String>,
    /// Names by which the server is reached, beside its addresses.
    pub(crate) host_names: Vec<String>,
    /// In every form: what is not from a page of this process changes nothing.
    pub(crate) form_token: String,
    /// The cookie of who has shown the token.
    pub(crate) session: String,
    reading: Semaphore,
    running: Mutex<()>,
}

/// The parts of it that the caller decides.
pub(crate) struct Parts {
    pub(crate) folder: PathBuf,
    pub(crate) index: Index,
    pub(crate) launching: Option<Launching>,
    pub(crate) may_note: bool,
    pub(crate) access_token: Option<String>,
    pub(crate) host_names: Vec<String>,
}

impl State {
    pub(crate) fn new(parts: Parts, backend: Backend) -> Self {
        let watched = Watched::new(backend.follow, backend.lower_priority);
        Self {
            folder: parts.folder,
            backend,
            index: parts.index,
            watched,
            launching: parts.launching,
            may_note: parts.may_note,
            access_token: parts.access_token,
            host_names: parts.host_names,
            form_token: random_word(),
            session: random_word(),
            reading: Semaphore::new(READING_MAX),
            running: Mutex::default(),
        }
    }

    pub(crate) fn may_run(&self) -> bool {
        self.launching.is_some()
    }

    /// Pages beside each other, of which this one leads to that address.
    pub(crate) fn site(&self, home: &str) -> Site {
        Site {
            home: Some(home.to_owned()),
            has_notes: self.may_note,
        }
    }

    /// The runs that go on on this machine.
    pub(crate) fn list_running(&self) -> Vec<RunningRun> {
        // Two that look at the same time would see each other's locks.
        let _alone = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        (self.backend.running)()
    }

    /// The rows of the folder, and the runs that go on.
    pub(crate) fn rows(&self) -> Result<(Arc<Vec<Row>>, Vec<RunningRun>), Problem> {
        let running = self.list_running();
        let rows = self.index.rows(&running);
        let rows = rows.map_err(|why| {
            Problem::broken(format!("cannot read {}: {why}", self.folder.display()))
        })?;
        Ok((rows, running))
    }

    /// The row of a run.
    pub(crate) fn row(&self, name: &str) -> Result<Row, Problem> {
        let (rows, _) = self.rows()?;
        let row = rows.iter().find(|row| row.name == name);
        row.cloned().ok_or_else(|| {
            Problem::not_found(format!("{} has no entry {name:?}", self.folder.display()))
        })
    }

    /// The folder of a run that is one. A link is no row of a run, so none is followed.
    pub(crate) fn run_folder(&self, name: &str) -> Result<PathBuf, Problem> {
        let row = self.row(name)?;
        match &row.content {
            crate::runs::row::Content::Run(_) => Ok(self.folder.join(name)),
            crate::runs::row::Content::Refused(why) => {
                Err(Problem::unreadable(format!("{name}: {why}")))
            }
        }
    }
}

/// Does what reads files on a thread for that.
pub(crate) async fn on_thread<T: Send + 'static>(
    state: &Arc<State>,
    task: impl FnOnce(&State) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let state = Arc::clone(state);
    let done = tokio::task::spawn_blocking(move || task(&state)).await;
    done.unwrap_or_else(|why| Err(Problem::broken(format!("this page has failed: {why}"))))
}

/// The same of what reads the results of runs: one at a time.
pub(crate) async fn reading<T: Send + 'static>(
    state: &Arc<State>,
    task: impl FnOnce(&State) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let permit = state.reading.acquire().await;
    let done = on_thread(state, task).await;
    drop(permit);
    done
}

/// 128 bits that nobody guesses, as hexadecimal digits.
fn random_word() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
