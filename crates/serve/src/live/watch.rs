//! Follows runs while somebody looks at them: one follower for each run, however many pages show it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::state::LiveState;
use crate::reason::Reason;

/// Follows a run: calls with its state once a second, until it has ended or the call returns false, because nobody looks any more.
///
/// # Errors
/// Why the run cannot be followed, in words.
pub type Follow = fn(&Path, &mut dyn FnMut(LiveState) -> bool) -> Result<(), Reason>;

/// Runs that are followed at the same time.
const RUNS_MAX: usize = 16;
/// A page that was loaded asks for what comes within this time.
const UNWATCHED_MAX: Duration = Duration::from_secs(3);

/// What is known of a run.
#[derive(Debug, Clone, Default)]
pub(crate) enum Seen {
    /// It is being asked.
    #[default]
    Nothing,
    State(Arc<LiveState>),
    Failed(String),
}

/// The runs that are followed.
pub(crate) struct Watched {
    follow: Follow,
    /// What a thread does before it follows.
    lower: fn(),
    runs: Mutex<HashMap<PathBuf, watch::Receiver<Seen>>>,
}

impl Watched {
    pub(crate) fn new(follow: Follow, lower: fn()) -> Self {
        Self {
            follow,
            lower,
            runs: Mutex::default(),
        }
    }

    /// What comes of a run from now on.
    ///
    /// # Errors
    /// Too many are followed, or no thread can be started.
    pub(crate) fn watch(&self, run: &Path) -> Result<watch::Receiver<Seen>, Reason> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, receiver| receiver.has_changed().is_ok());
        if let Some(receiver) = runs.get(run) {
            return Ok(receiver.clone());
        }
        if runs.len() >= RUNS_MAX {
            return Err(Reason(format!(
                "{RUNS_MAX} runs are followed, which is the most"
            )));
        }
        let (sender, receiver) = watch::channel(Seen::Nothing);
        let (path, follow, lower) = (run.to_path_buf(), self.follow, self.lower);
        thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || {
                lower();
                follow_into(follow, &path, &sender);
            })
            .map_err(|why| Reason(format!("cannot start a thread that follows the run: {why}")))?;
        runs.insert(run.to_path_buf(), receiver.clone());
        Ok(receiver)
    }
}

fn follow_into(follow: Follow, run: &Path, sender: &watch::Sender<Seen>) {
    let mut looked = Instant::now();
    let mut show = |state| pass_on(state, sender, &mut looked);
    if let Err(why) = follow(run, &mut show) {
        sender.send_replace(Seen::Failed(why.0));
    }
}

/// Whether somebody looks, or did a short time ago.
fn pass_on(state: LiveState, sender: &watch::Sender<Seen>, looked: &mut Instant) -> bool {
    sender.send_replace(Seen::State(Arc::new(state)));
    // One is of the list of runs that are followed.
    if sender.receiver_count() > 1 {
        *looked = Instant::now();
    }
    looked.elapsed() < UNWATCHED_MAX
}
