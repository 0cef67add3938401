//! The functional check of a server that has none of its own: the load's own requests, once, over one connection.

use std::time::Duration;

use waggle_load::{Job, Model, Outcome, What};

use crate::{
    driver::Failure,
    load::{Load, LoadRun},
};

/// How long it may take.
pub(crate) const AT_MOST: Duration = Duration::from_secs(30);

/// Sends each request of the job once, or as many as a session has steps; every answer must be as expected.
pub(crate) async fn rehearse<L: Load>(load: &mut L, job: Job) -> Result<(), Failure> {
    let requests = match &job.what {
        // One of them stands for all: they differ in their records only.
        What::Requests { .. } => 1,
        What::Scenario(scenario) => scenario.steps.len().max(1) as u64,
    };
    let run = load.start(Job {
        model: Model::Closed {
            connections: 1,
            pipelining: 1,
        },
        workers: job.workers[..1].to_vec(),
        requests_at_most: Some(requests),
        account_at_most: None,
        at_most: AT_MOST,
        ..job
    });
    let failed = |why: String| Failure::new(format!("the load's requests, tried once: {why}"));
    let mut run = run.map_err(failed)?;
    while run.next_interval().await.is_some() {}
    let outcome = run.join().await.map_err(failed)?;
    match wrong(&outcome) {
        Some(why) => Err(failed(why)),
        None => Ok(()),
    }
}

fn wrong(outcome: &Outcome) -> Option<String> {
    let totals = &outcome.totals;
    let kinds = totals
        .failures
        .0
        .iter()
        .map(|(failure, count)| format!("{count} × {}", failure.name()));
    let kinds: Vec<String> = kinds.collect();
    if !kinds.is_empty() {
        return Some(kinds.join(", "));
    }
    (totals.succeeded == 0).then(|| "none was answered".to_owned())
}
