//! Setup requests: they are sent once when a component is ready.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use waggle_study::SetupStep;

use crate::{
    http::{
        answer::Answer,
        client::{Connection, HttpConnector, Network, Request},
        json::text_in,
        peer::Peer,
    },
    placeholder::{PlaceholderError, fill_content},
};

/// Pause before a request is sent again.
const RETRY_EVERY: Duration = Duration::from_millis(100);

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

/// Sends one request; `fill` replaces every `${…}` in its texts. It is repeated only after the statuses that the step names, because it
/// may not be idempotent. Returns what it captured.
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
    let time_left = step
        .timeout
        .min(deadline.saturating_duration_since(Instant::now()));
    let until = Instant::now() + time_left;
    let mut connection = Network.connection(peer);
    // The status of the attempt before.
    let mut repeated_after = None;
    let (status, answer) = loop {
        let mut answer = Vec::new();
        let mut keep = |chunk: &[u8]| {
            let room = BODY_MAX_BYTES - answer.len();
            answer.extend_from_slice(&chunk[..chunk.len().min(room)]);
        };
        let status = match timeout_at(until, connection.send(&request, &mut keep)).await {
            Ok(Ok(status)) => status,
            Ok(Err(problem)) => return Err(failed(problem.to_string())),
            Err(_) => return Err(failed(no_answer(time_left, repeated_after))),
        };
        if !step.retry_on.contains(&status) || Instant::now() + RETRY_EVERY >= until {
            break (status, answer);
        }
        repeated_after = Some(status);
        sleep(RETRY_EVERY).await;
    };
    let answer = Answer {
        status,
        body: &String::from_utf8_lossy(&answer),
    };
    if let Some(why) = answer.mismatch(&step.expect) {
        // An earlier attempt may have made what this one was refused for.
        let was_refused = repeated_after.is_none() && (400..500).contains(&status);
        return Err(failure(why, was_refused));
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

fn no_answer(time_left: Duration, repeated_after: Option<u16>) -> String {
    let before = repeated_after.map(|status| format!("; the last answer had status {status}"));
    format!(
        "no answer within {} s{}",
        time_left.as_secs_f64(),
        before.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use waggle_study::{BodyExpect, Expect, When};
    use waggle_testkit::http::{Reply, Server, answer};

    use super::*;

    /// Carries out a step at a server that refuses the first requests; returns why it failed, and how many were sent.
    async fn carried_out(retry_on: &[u16], refusals: u64) -> (Option<String>, u64) {
        let sent = AtomicU64::new(0);
        let server = Server::start(move |_| {
            let status = match sent.fetch_add(1, Ordering::SeqCst) < refusals {
                true => 503,
                false => 204,
            };
            Reply::Answer(answer(status, "", ""))
        });
        let step = SetupStep {
            name: "topic".to_owned(),
            when: When::default(),
            port: "http".to_owned(),
            method: "PUT".to_owned(),
            path: "/topic".to_owned(),
            headers: Vec::new(),
            body: String::new(),
            expect: Expect {
                status: vec![204],
                body: BodyExpect::Any,
            },
            captures: Vec::new(),
            retry_on: retry_on.to_vec(),
            timeout: Duration::from_secs(600),
            undo: None,
        };
        let deadline = Instant::now() + Duration::from_secs(600);
        let fill = |text: &str| Ok(text.to_owned());
        let ended = carry_out(&step, &server.address.into(), deadline, fill).await;
        (
            ended.err().map(|failure| failure.why),
            server.received_count(),
        )
    }

    #[tokio::test]
    async fn a_request_is_sent_again_after_the_statuses_of_its_step_alone() {
        let why = Some("setup \"topic\" failed: expected status 204, got 503 with \"\"".to_owned());
        assert_eq!(carried_out(&[], 1).await, (why.clone(), 1));
        assert_eq!(carried_out(&[429], 1).await, (why, 1));
        assert_eq!(carried_out(&[429, 503], 2).await, (None, 3));
    }
}
