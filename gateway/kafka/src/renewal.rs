//! Renewal of tokens: a thread asks the token endpoint before a token expires, so that librdkafka's callbacks never wait for it but for
//! the first token.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rdkafka::client::OAuthToken;

use crate::{endpoint::Endpoint, error::AccessError, secret_file::read_secret};

pub(crate) const SECRET_FLAG: &str = "--kafka-token-client-secret-file";
/// How long a user of tokens waits for the first.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after an error; it doubles with each further one.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(32);
/// Shortest time between two tokens.
const RENEW_MIN: Duration = Duration::from_secs(1);
/// Longest time between two tokens.
const RENEW_MAX: Duration = Duration::from_hours(24);

/// The latest token, renewed until this is dropped.
pub(crate) struct TokenRenewal {
    url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    token: Option<OAuthToken>,
    /// Why the last request gave none.
    problem: Option<String>,
    /// Requests that failed since the last token.
    failures: u32,
    is_ended: bool,
}

impl TokenRenewal {
    /// Begins to ask.
    ///
    /// # Errors
    /// If the file of the secret has none, or there are no threads.
    pub(crate) fn begin(endpoint: Endpoint, secret: PathBuf) -> Result<Self, AccessError> {
        read_secret(SECRET_FLAG, &secret)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(AccessError::TokenThread)?;
        let state = Arc::<State>::default();
        let (url, noted) = (endpoint.location.to_string(), Arc::clone(&state));
        std::thread::Builder::new()
            .name("tokens".to_owned())
            .spawn(move || {
                let ask = || runtime.block_on(ask(&endpoint, &secret));
                while noted.note_and_wait(ask()) {}
            })
            .map_err(AccessError::TokenThread)?;
        Ok(Self { url, state })
    }

    /// The latest token; waits for the first.
    ///
    /// # Errors
    /// If there is none that is valid.
    pub(crate) fn token(&self) -> Result<OAuthToken, AccessError> {
        let is_nothing_known = |known: &mut Known| known.token.is_none() && known.problem.is_none();
        let (known, _) = self
            .state
            .changed
            .wait_timeout_while(self.state.lock(), FIRST_TIMEOUT, is_nothing_known)
            .unwrap_or_else(PoisonError::into_inner);
        let valid = known
            .token
            .as_ref()
            .filter(|token| !lifetime(token).is_zero());
        valid.map(copy).ok_or_else(|| {
            let problem = known.problem.clone();
            self.error(problem.unwrap_or_else(|| "it has not answered yet".to_owned()))
        })
    }

    /// Why the last request gave no token, while there still is one.
    pub(crate) fn problem(&self) -> Option<AccessError> {
        let known = self.state.lock();
        known.token.as_ref()?;
        known.problem.clone().map(|problem| self.error(problem))
    }

    fn error(&self, problem: String) -> AccessError {
        AccessError::TokenEndpoint {
            url: self.url.clone(),
            problem,
        }
    }
}

impl Drop for TokenRenewal {
    fn drop(&mut self) {
        self.state.lock().is_ended = true;
        self.state.changed.notify_all();
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an answer, and waits until the next request is due; false if there is to be none.
    fn note_and_wait(&self, answer: Result<OAuthToken, String>) -> bool {
        let mut known = self.lock();
        let pause = known.note(answer);
        self.changed.notify_all();
        let (known, _) = self
            .changed
            .wait_timeout_while(known, pause, |known| !known.is_ended)
            .unwrap_or_else(PoisonError::into_inner);
        !known.is_ended
    }
}

impl Known {
    /// Keeps what was answered; returns the time until the next request.
    fn note(&mut self, answer: Result<OAuthToken, String>) -> Duration {
        match answer {
            Ok(token) => {
                // librdkafka asks for the next token after four fifths of the time.
                let pause = lifetime(&token) * 7 / 10;
                (self.token, self.problem, self.failures) = (Some(token), None, 0);
                pause.clamp(RENEW_MIN, RENEW_MAX)
            }
            Err(problem) => {
                let pause = RETRY_AFTER * (1 << self.failures.min(5));
                self.problem = Some(problem);
                self.failures += 1;
                pause.min(RETRY_MAX)
            }
        }
    }
}

async fn ask(endpoint: &Endpoint, secret: &Path) -> Result<OAuthToken, String> {
    let secret = read_secret(SECRET_FLAG, secret).map_err(|error| error.to_string())?;
    let answer = endpoint.fetch(&secret).await;
    answer.map_err(|error| error.to_string())
}

/// How long a token is still valid.
fn lifetime(token: &OAuthToken) -> Duration {
    let expiry = Duration::from_millis(u64::try_from(token.lifetime_ms).unwrap_or(0));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    expiry.saturating_sub(now.unwrap_or_default())
}

fn copy(token: &OAuthToken) -> OAuthToken {
    OAuthToken {
        token: token.token.clone(),
        principal_name: token.principal_name.clone(),
        lifetime_ms: token.lifetime_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(seconds: u64) -> OAuthToken {
        let expiry = SystemTime::now() + Duration::from_secs(seconds);
        let lifetime = expiry.duration_since(UNIX_EPOCH).unwrap();
        OAuthToken {
            token: "t".to_owned(),
            principal_name: "p".to_owned(),
            lifetime_ms: i64::try_from(lifetime.as_millis()).unwrap(),
        }
    }

    #[test]
    fn a_token_is_renewed_before_it_expires_and_errors_are_retried_within_limits() {
        let mut known = Known::default();
        let failure = || Err("no".to_owned());
        let pauses: Vec<u64> = (0..8).map(|_| known.note(failure()).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 32, 32]);
        let pause = known.note(Ok(token(1000)));
        assert!((600..=700).contains(&pause.as_secs()), "{pause:?}");
        assert!(known.problem.is_none());
        assert_eq!(known.note(Ok(token(0))), RENEW_MIN);
        assert_eq!(known.note(Ok(token(1 << 40))), RENEW_MAX);
        // The token before stays.
        assert_eq!(known.note(failure()), RETRY_AFTER);
        assert!(known.token.is_some() && known.problem.is_some());
    }
}
