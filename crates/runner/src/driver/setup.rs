//! Setup requests: they are sent once when a component is ready.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use waggle_study::SetupStep;

use crate::{
    answer::Answer,
    http::{Connection, HttpConnector, Network, Request},
    json::text_in,
    peer::Peer,
    placeholder::{PlaceholderError, fill_content},
};

/// Bytes of an answer that are read.
const BODY_MAX_BYTES: usize = 64 * 1024;

/// Why a step was not carried out.
#[derive(Debug)]
pub(super) struct SetupFailure {
    pub(super) why: String,
    /// The request was not accepted: nothing was made. False: that is not known.
    pub(super) was_refused: bool,
}

/// The secrets that a step captured, by name.
pub(super) type Captured = Vec<(String, String)>;

/// Sends one request; `fill` replaces every `${…}` in its texts. It is never repeated, because it may not be idempotent. Returns what it
/// captured.
pub(super) async fn carry_out(
    step: &SetupStep,
    peer: &Peer,
    deadline: Instant,
    fill: impl Fn(&str) -> Result<String, PlaceholderError>,
) -> Result<Captured, SetupFailure> {
    let failure = |why: String, was_refused| SetupFailure {
        why: format!("setup \"{}\" failed: {why}", step.name),
        was_refused,
    };
    let failed = |why: String| failure(why, false);
    let filled = fill_content(&step.headers, &step.body, fill);
    let (headers, body) = filled.map_err(|why| failure(why.to_string(), true))?;
    let request = Request {
        method: &step.method,
        path: &step.path,
        headers: &headers,
        body: &body,
    };
    let mut answer = Vec::new();
    let mut keep = |chunk: &[u8]| {
        let room = BODY_MAX_BYTES - answer.len();
        answer.extend_from_slice(&chunk[..chunk.len().min(room)]);
    };
    let time_left = step
        .timeout
        .min(deadline.saturating_duration_since(Instant::now()));
    let mut connection = Network.connection(peer);
    let status = match timeout(time_left, connection.send(&request, &mut keep)).await {
        Ok(Ok(status)) => status,
        Ok(Err(problem)) => return Err(failed(problem.to_string())),
        Err(_) => return Err(failed(no_answer(time_left))),
    };
    let answer = Answer {
        status,
        body: &String::from_utf8_lossy(&answer),
    };
    if let Some(why) = answer.mismatch(&step.expect) {
        return Err(failure(why, (400..500).contains(&status)));
    }
    // An answer with secrets is not shown.
    let capture = |(name, path): &(String, String)| match text_in(answer.body, path) {
        Some(value) => Ok((name.clone(), value)),
        None => Err(failed(format!(
            "there is no text or number at {path} in its answer"
        ))),
    };
    step.captures.iter().map(capture).collect()
}

fn no_answer(time_left: Duration) -> String {
    format!("no answer within {} s", time_left.as_secs_f64())
}
