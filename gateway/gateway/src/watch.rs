//! Reads files again when they change, and at SIGHUP. After a mistake what was in force remains, and they are read again every minute:
//! a certificate that is not valid yet is taken when it is.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::signal::unix::{SignalKind, signal};
use waggle_service::log;

/// Interval of looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The files are read again after a mistake, even if they have not changed.
const RETRY_EVERY: Duration = Duration::from_mins(1);

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
    let mut seen: Vec<_> = all.iter().map(|watched| Seen::new(&**watched)).collect();
    loop {
        let is_asked = tokio::select! {
            _ = hangup.recv() => true,
            () = tokio::time::sleep(LOOK_EVERY) => false,
        };
        for (watched, seen) in all.iter().zip(&mut seen) {
            seen.look(&**watched, is_asked);
        }
    }
}

/// The files as they were when they were read last.
struct Seen {
    state: State,
    mistake: Option<Mistake>,
}

/// Why they could not be used.
struct Mistake {
    said: String,
    retry: Instant,
}

impl Seen {
    fn new(watched: &dyn Watched) -> Self {
        Self {
            state: state(watched),
            mistake: None,
        }
    }

    /// Reads the files again if that is asked for, if they have changed, or if it is time to try once more.
    fn look(&mut self, watched: &dyn Watched, is_asked: bool) {
        let now = state(watched);
        let is_new = is_asked || now != self.state;
        let retry = self.mistake.as_ref().map(|mistake| mistake.retry);
        if !is_new && retry.is_none_or(|retry| Instant::now() < retry) {
            return;
        }
        self.state = now;
        match watched.renew() {
            Ok(said) => {
                log::note(format_args!("{said}"));
                self.mistake = None;
            }
            Err(said) => {
                let before = self.mistake.take();
                if is_new || before.is_none_or(|before| before.said != said) {
                    log::warn(format_args!("{said}; what was in force remains"));
                }
                let retry = Instant::now() + RETRY_EVERY;
                self.mistake = Some(Mistake { said, retry });
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Answers of `renew` in turn.
    struct Answers(Mutex<Vec<Result<String, String>>>);

    impl Watched for Answers {
        fn files(&self) -> Vec<PathBuf> {
            Vec::new()
        }

        fn renew(&self) -> Result<String, String> {
            self.0.lock().unwrap().remove(0)
        }
    }

    #[test]
    fn files_with_a_mistake_are_read_again_until_they_have_none() {
        let mistake = || Err("not valid yet".to_owned());
        let answers = [mistake(), mistake(), Ok("read".to_owned())];
        let watched = Answers(Mutex::new(answers.into()));
        let left = || watched.0.lock().unwrap().len();
        let mut seen = Seen::new(&watched);
        seen.look(&watched, false);
        assert_eq!(left(), 3, "nothing has changed");
        seen.look(&watched, true);
        assert_eq!(left(), 2);
        seen.look(&watched, false);
        assert_eq!(left(), 2, "it is not time yet");
        for expected in [1, 0] {
            let mistake = seen.mistake.as_mut().unwrap();
            mistake.retry = Instant::now();
            seen.look(&watched, false);
            assert_eq!(left(), expected);
        }
        assert!(seen.mistake.is_none());
        seen.look(&watched, false);
    }
}
