//! Runs that go on, and what is new of them, once a second.

use std::{
    convert::Infallible,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Path, State as Shared},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use tokio::sync::watch;

use super::{
    reply::{Problem, Reply},
    state::{State, on_thread},
};
use crate::{
    live::watch::Seen,
    pages::{
        layout::run_address,
        live::{self, LivePage},
    },
};

/// How long the page waits for the first state of the run.
const FIRST_STATE_TIMEOUT: Duration = Duration::from_secs(2);
/// A page that hears nothing for long takes its connection for lost.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A run that is looked at.
struct Looked {
    folder: PathBuf,
    name: String,
    /// Where it is among the runs that are shown.
    run_address: Option<String>,
    events: String,
}

pub(super) async fn run_page(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
) -> Result<Reply, Problem> {
    let looked = on_thread(&state, move |state| of_folder(state, &name)).await?;
    page(&state, &looked).await
}

pub(super) async fn run_events(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let looked = on_thread(&state, move |state| of_folder(state, &name)).await?;
    events(&state, &looked)
}

pub(super) async fn process_page(
    Shared(state): Shared<Arc<State>>,
    Path(pid): Path<u32>,
) -> Result<Reply, Problem> {
    let looked = on_thread(&state, move |state| of_process(state, pid)).await?;
    page(&state, &looked).await
}

pub(super) async fn process_events(
    Shared(state): Shared<Arc<State>>,
    Path(pid): Path<u32>,
) -> Result<Response, Problem> {
    let looked = on_thread(&state, move |state| of_process(state, pid)).await?;
    events(&state, &looked)
}

fn of_folder(state: &State, name: &str) -> Result<Looked, Problem> {
    Ok(Looked {
        folder: state.run_folder(name)?,
        name: name.to_owned(),
        run_address: Some(run_address(name, "")),
        events: run_address(name, "/events"),
    })
}

fn of_process(state: &State, pid: u32) -> Result<Looked, Problem> {
    let running = state.list_running();
    let process = running.into_iter().find(|process| process.pid == pid);
    let process = process.ok_or_else(|| {
        Problem::not_found(format!(
            "no run of process {pid} goes on: it has ended, or never was one"
        ))
    })?;
    let Some(folder) = process.run else {
        return Err(Problem::not_found(format!(
            "{} (process {pid}) keeps no run, or is about to make it: load the page again",
            process.what
        )));
    };
    let name = folder.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let is_shown = folder.parent() == Some(FilePath::new(&state.folder));
    Ok(Looked {
        run_address: is_shown.then(|| run_address(&name, "")),
        events: match is_shown {
            true => run_address(&name, "/events"),
            false => format!("/live/{pid}/events"),
        },
        folder,
        name,
    })
}

async fn page(state: &Arc<State>, looked: &Looked) -> Result<Reply, Problem> {
    let watched = state.watched.watch(&looked.folder);
    let mut receiver = watched.map_err(Problem::conflict)?;
    let is_known = |seen: &Seen| !matches!(seen, Seen::Nothing);
    let first = tokio::time::timeout(FIRST_STATE_TIMEOUT, receiver.wait_for(is_known)).await;
    let seen = first.map_or(Seen::Nothing, |first| {
        first.map_or(Seen::Nothing, |seen| seen.clone())
    });
    Ok(Reply::page(live::page(&LivePage {
        name: &looked.name,
        run_address: looked.run_address.as_deref(),
        events: &looked.events,
        seen: &seen,
        may_run: state.may_run(),
    })))
}

fn events(state: &Arc<State>, looked: &Looked) -> Result<Response, Problem> {
    let watched = state.watched.watch(&looked.folder);
    let receiver = watched.map_err(Problem::conflict)?;
    let events = stream::unfold(Events::new(receiver), Events::next);
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// What is sent to one page.
struct Events {
    receiver: watch::Receiver<Seen>,
    is_first: bool,
    is_over: bool,
}

impl Events {
    fn new(receiver: watch::Receiver<Seen>) -> Self {
        Self {
            receiver,
            is_first: true,
            is_over: false,
        }
    }

    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if self.is_over {
                return None;
            }
            let is_changed = self.is_first || self.receiver.changed().await.is_ok();
            self.is_first = false;
            let seen = self.receiver.borrow_and_update().clone();
            let (name, text) = match (seen, is_changed) {
                (Seen::Nothing, true) => continue,
                (Seen::State(state), true) if state.end.is_none() => {
                    ("state", live::fragment(&state).into_string())
                }
                (Seen::State(state), _) if state.end.is_some() => {
                    self.is_over = true;
                    ("ended", live::fragment(&state).into_string())
                }
                (Seen::Failed(why), _) => {
                    self.is_over = true;
                    ("problem", why)
                }
                (Seen::State(_) | Seen::Nothing, _) => {
                    self.is_over = true;
                    (
                        "problem",
                        "The run is not followed any more: load the page again.".to_owned(),
                    )
                }
            };
            let event = Event::default().event(name).data(text.replace('\r', ""));
            return Some((Ok(event), self));
        }
    }
}
