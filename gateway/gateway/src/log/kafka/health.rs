//! Availability of the cluster: while it is unavailable, requests are refused at once instead of each waiting for its timeout.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Shortest time between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(1);
/// Older messages do not explain a failure.
const MESSAGE_AGE_MAX: Duration = Duration::from_secs(5);
/// The same of a message that says why cluster and gateway do not accept each other: librdkafka repeats it after half a minute.
const REFUSAL_AGE_MAX: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Health {
    is_away: AtomicBool,
    /// Whether it has answered since the start.
    was_reached: AtomicBool,
    /// Whether its availability should be checked.
    is_doubted: AtomicBool,
    began: Instant,
    /// When a message was last acknowledged; microseconds since `began`.
    heard_us: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Why it is unavailable.
    reason: String,
    /// The last message of librdkafka, with its time.
    message: Option<(String, Instant)>,
    /// The same if cluster and gateway do not accept each other: it explains more than that connections fail.
    refusal: Option<(String, Instant)>,
    warned: Option<Instant>,
    /// The time of the last warning about a refusal, which other messages do not displace.
    warned_of_refusal: Option<Instant>,
    /// The fatal error, after which nothing can be sent.
    fallen: Option<String>,
}

impl Health {
    pub(super) fn new() -> Self {
        Self {
            is_away: AtomicBool::new(false),
            was_reached: AtomicBool::new(false),
            is_doubted: AtomicBool::new(false),
            began: Instant::now(),
            heard_us: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// A message was acknowledged.
    pub(super) fn on_acknowledgement(&self) {
        self.heard_us.store(self.now_us(), Ordering::Relaxed);
    }

    /// Whether a message was acknowledged within this time.
    pub(super) fn heard_within(&self, time: Duration) -> bool {
        let since = self.now_us() - self.heard_us.load(Ordering::Relaxed).min(self.now_us());
        u128::from(since) < time.as_micros()
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Why it is unavailable, if it is.
    pub(super) fn outage_reason(&self) -> Option<String> {
        self.is_away().then(|| self.lock().reason.clone())
    }

    pub(super) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    pub(super) fn set_away(&self, reason: &str) {
        let mut state = self.lock();
        state.reason = match state.recent_message() {
            Some(message) => format!("{reason}; {message}"),
            None => reason.to_owned(),
        };
        if !self.is_away.swap(true, Ordering::Relaxed) {
            waggle_service::log::warn(format_args!("Kafka is unavailable: {}", state.reason));
        }
    }

    pub(super) fn set_back(&self) {
        self.was_reached.store(true, Ordering::Relaxed);
        self.is_doubted.store(false, Ordering::Relaxed);
        let mut state = self.lock();
        (state.message, state.refusal) = (None, None);
        drop(state);
        if self.is_away.swap(false, Ordering::Relaxed) {
            waggle_service::log::note(format_args!("Kafka is available again"));
        }
    }

    /// It may be unavailable: requests a check.
    pub(super) fn doubt(&self) {
        self.is_doubted.store(true, Ordering::Relaxed);
    }

    /// Whether it has answered since the start.
    pub(super) fn was_reached(&self) -> bool {
        self.was_reached.load(Ordering::Relaxed)
    }

    /// Whether to check it now: once for each doubt, while it is unavailable, and until it was reached.
    pub(super) fn is_to_be_seen(&self) -> bool {
        self.is_doubted.swap(false, Ordering::Relaxed) || self.is_away() || !self.was_reached()
    }

    /// Keeps a message of librdkafka as the reason, and logs it at most once per interval.
    pub(super) fn note_message(&self, text: &str) {
        let mut state = self.lock();
        state.message = Some((text.to_owned(), Instant::now()));
        warn(&mut state.warned, text);
    }

    /// The same for a message that says why cluster and gateway do not accept each other.
    pub(super) fn note_refusal(&self, text: &str) {
        let mut state = self.lock();
        state.refusal = Some((text.to_owned(), Instant::now()));
        warn(&mut state.warned_of_refusal, text);
    }

    pub(super) fn fall(&self, reason: &str) {
        self.lock().fallen = Some(reason.to_owned());
        self.set_away(reason);
    }

    pub(super) fn fatal_error(&self) -> Option<String> {
        self.lock().fallen.clone()
    }

    /// The last message of librdkafka, if it is recent.
    pub(super) fn last_message(&self) -> Option<String> {
        self.lock().recent_message().map(str::to_owned)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn recent_message(&self) -> Option<&str> {
        let is_recent = |(_, noted): &&(String, Instant), age_max| noted.elapsed() < age_max;
        let refusal = self.refusal.as_ref();
        let message = self.message.as_ref();
        let (text, _) = refusal
            .filter(|refusal| is_recent(refusal, REFUSAL_AGE_MAX))
            .or(message.filter(|message| is_recent(message, MESSAGE_AGE_MAX)))?;
        Some(text)
    }
}

/// Logs a message, unless it is too early for the next one.
fn warn(warned: &mut Option<Instant>, text: &str) {
    if warned.is_none_or(|instant| instant.elapsed() >= WARN_EVERY) {
        *warned = Some(Instant::now());
        waggle_service::log::warn(format_args!("Kafka: {text}"));
    }
}
