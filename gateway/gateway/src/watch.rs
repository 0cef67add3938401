//! Reads files again when they change, and at SIGHUP. After a mistake what was in force remains.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::signal::unix::{SignalKind, signal};
use waggle_service::log;

/// Interval of looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is made of files.
pub(crate) trait Watched: Send + Sync {
    fn files(&self) -> Vec<PathBuf>;

    /// Reads the files again; returns what to say about them, also after a mistake.
    fn renew(&self) -> Result<String, String>;
}

/// Looks at the files until it is dropped.
pub(crate) async fn watch(all: Vec<Arc<dyn Watched>>) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => {
            return log::warn(format_args!(
                "waiting for SIGHUP: {error}; files are not read again"
            ));
        }
    };
    let mut seen: Vec<_> = all.iter().map(|watched| state(&**watched)).collect();
    loop {
        let is_asked = tokio::select! {
            _ = hangup.recv() => true,
            () = tokio::time::sleep(LOOK_EVERY) => false,
        };
        for (watched, seen) in all.iter().zip(&mut seen) {
            let now = state(&**watched);
            if !is_asked && now == *seen {
                continue;
            }
            *seen = now;
            match watched.renew() {
                Ok(said) => log::note(format_args!("{said}")),
                Err(error) => log::warn(format_args!("{error}; what was in force remains")),
            }
        }
    }
}

type State = Vec<Option<(SystemTime, u64)>>;

fn state(watched: &dyn Watched) -> State {
    watched.files().iter().map(|file| state_of(file)).collect()
}

/// What changes with the content of a file, also if another one takes its place, as in a volume of Kubernetes.
fn state_of(file: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
