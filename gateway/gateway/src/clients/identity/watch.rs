//! Reads the file of clients again when it changes, and at SIGHUP.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::signal::unix::{SignalKind, signal};
use waggle_service::log;

use super::Identities;

/// Interval of looks at the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs until it is dropped. `changed` gets a line for each new version and each mistake.
pub(crate) async fn watch(identities: Arc<Identities>) {
    let hangup = signal(SignalKind::hangup());
    let mut hangup = match hangup {
        Ok(hangup) => hangup,
        Err(error) => {
            return log::warn(format_args!(
                "waiting for SIGHUP: {error}; clients stay as they are"
            ));
        }
    };
    let mut seen = state(&identities.file);
    loop {
        tokio::select! {
            _ = hangup.recv() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {
                if state(&identities.file) == seen {
                    continue;
                }
            }
        }
        seen = state(&identities.file);
        match identities.renew() {
            Ok(count) => log::note(format_args!("clients are read again: {count} tokens")),
            Err(error) => log::warn(format_args!("{error}; what was in force remains")),
        }
    }
}

/// What changes with the content of a file, also if another one takes its place, as in a volume of Kubernetes.
fn state(file: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
