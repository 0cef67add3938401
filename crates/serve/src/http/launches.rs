//! Studies, their plans, and the queue. Without a folder of studies none of it is there.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{RawQuery, State as Shared},
    response::Response,
};
use url::form_urlencoded;

use super::{
    guard::{field, read_form},
    reply::{Problem, Reply, see_other},
    state::{Launching, State, on_thread},
};
use crate::{
    launch::{
        order::{Extent, Order, StudyForm},
        queue::EndedRun,
    },
    pages::{
        queue::{self, EndedRow},
        studies,
    },
    runs::row::RunFacts,
};

fn launching(state: &State) -> Result<&Launching, Problem> {
    let launching = state.launching.as_ref();
    launching.ok_or_else(|| {
        Problem::refusal(
            "this server starts nothing: it needs --allow-run with a folder of studies",
        )
    })
}

pub(super) async fn list(Shared(state): Shared<Arc<State>>) -> Result<Reply, Problem> {
    on_thread(&state, list_page).await
}

fn list_page(state: &State) -> Result<Reply, Problem> {
    let folder = &launching(state)?.studies;
    let entries = (state.backend.studies)(folder).map_err(Problem::unreadable)?;
    let folder = folder.display().to_string();
    Ok(Reply::page(studies::studies(&folder, &entries)))
}

/// What can be chosen of one of the studies of the folder.
fn study_form(state: &State, study: &str) -> Result<StudyForm, Problem> {
    let folder = &launching(state)?.studies;
    let entries = (state.backend.studies)(folder).map_err(Problem::unreadable)?;
    if !entries.iter().any(|entry| entry.file == study) {
        return Err(Problem::not_found(format!(
            "{} has no study {study:?}",
            folder.display()
        )));
    }
    (state.backend.form)(folder, study).map_err(Problem::unreadable)
}

/// A form with what a run had that is to be run again.
pub(super) async fn form(
    Shared(state): Shared<Arc<State>>,
    RawQuery(query): RawQuery,
) -> Result<Reply, Problem> {
    let query = query.unwrap_or_default();
    on_thread(&state, move |state| form_page(state, &query)).await
}

fn form_page(state: &State, query: &str) -> Result<Reply, Problem> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let (again, fields): (Vec<_>, Vec<_>) = pairs.partition(|(key, _)| key == "again");
    // The fields of an order that is to be changed.
    let mut written = form_urlencoded::Serializer::new(String::new());
    written.extend_pairs(fields);
    let order = Order::parse(written.finish().as_bytes());
    let mut order = order.map_err(|why| Problem::mistake(why.0))?;
    let form = study_form(state, &order.study)?;
    if let Some((_, run)) = again.last() {
        order.compare_with = Some(String::from(&**run));
    }
    if let Some((_, run)) = again.last()
        && let Some(facts) = state.row(run)?.run()
    {
        take_choices(&mut order, facts)?;
    }
    check(&form, &order)?;
    Ok(Reply::page(studies::form(&form, &order, &state.form_token)))
}

/// Asks for what a run had.
fn take_choices(order: &mut Order, run: &RunFacts) -> Result<(), Problem> {
    if run.is_duet {
        return Err(Problem::unreadable(
            "the two versions of this run ran at the same time, which no form asks for: run it again by waggle run --against with \
             --design",
        ));
    }
    order.filters = pairs(&run.filters);
    order.against = pairs(&run.changes);
    order.extent = match run.kind.as_deref() {
        Some("quick") => Extent::Quick,
        Some("pilot") => Extent::Pilot,
        _ => Extent::Whole,
    };
    Ok(())
}

/// Of `NAME=LEVEL` the two.
fn pairs(texts: &[String]) -> Vec<(String, String)> {
    let pairs = texts.iter().filter_map(|text| text.split_once('='));
    pairs
        .map(|(name, level)| (name.to_owned(), level.to_owned()))
        .collect()
}

/// An order of a study of the folder, with factors and parameters that it has.
async fn read_order(state: &Arc<State>, body: Body) -> Result<Order, Problem> {
    launching(state)?;
    let body = read_form(state, body).await?;
    let order = Order::parse(&body).map_err(|why| Problem::mistake(why.0))?;
    on_thread(state, move |state| check_order(state, order)).await
}

fn check_order(state: &State, order: Order) -> Result<Order, Problem> {
    let form = study_form(state, &order.study)?;
    check(&form, &order)?;
    if let Some(run) = &order.compare_with {
        state.run_folder(run)?;
    }
    Ok(order)
}

fn check(form: &StudyForm, order: &Order) -> Result<(), Problem> {
    for (factor, level) in &order.filters {
        let mut known = form.factors.iter();
        let Some((_, levels)) = known.find(|(name, _)| name == factor) else {
            let study = &form.name;
            return Err(Problem::mistake(format!(
                "{study} has no factor {factor:?}"
            )));
        };
        if !levels.contains(level) {
            return Err(Problem::mistake(format!(
                "factor {factor}: expected one of its levels {}, and not {level:?}",
                levels.join(", ")
            )));
        }
    }
    for (parameter, _) in &order.against {
        if !form.parameters.iter().any(|known| known.name == *parameter) {
            let (study, system) = (&form.name, &form.system);
            return Err(Problem::mistake(format!(
                "the system {system} of {study} has no parameter {parameter:?}"
            )));
        }
    }
    Ok(())
}

pub(super) async fn plan(Shared(state): Shared<Arc<State>>, body: Body) -> Result<Reply, Problem> {
    let order = read_order(&state, body).await?;
    on_thread(&state, move |state| plan_page(state, &order)).await
}

fn plan_page(state: &State, order: &Order) -> Result<Reply, Problem> {
    let folder = &launching(state)?.studies;
    let text = (state.backend.plan)(folder, &state.folder, order);
    let text = text.map_err(Problem::unreadable)?;
    Ok(Reply::page(studies::plan(order, &text, &state.form_token)))
}

pub(super) async fn start(
    Shared(state): Shared<Arc<State>>,
    body: Body,
) -> Result<Response, Problem> {
    let order = read_order(&state, body).await?;
    let queue = &launching(&state)?.queue;
    queue.add(order).map_err(Problem::conflict)?;
    Ok(see_other("/queue"))
}

pub(super) async fn queue(Shared(state): Shared<Arc<State>>) -> Result<Reply, Problem> {
    on_thread(&state, queue_page).await
}

fn queue_page(state: &State) -> Result<Reply, Problem> {
    let view = launching(state)?.queue.view();
    let ended = view.ended.iter().map(|ended| ended_row(state, ended));
    let ended: Vec<EndedRow<'_>> = ended.collect();
    Ok(Reply::page(queue::queue(&view, &ended, &state.form_token)))
}

fn ended_row<'a>(state: &State, ended: &'a EndedRun) -> EndedRow<'a> {
    let run = ended.run.as_deref();
    let run = run.filter(|run| run.parent() == Some(&state.folder));
    let name = run.and_then(|run| run.file_name());
    let run = name.map(|name| name.to_string_lossy().into_owned());
    EndedRow { ended, run }
}

pub(super) async fn stop(
    Shared(state): Shared<Arc<State>>,
    body: Body,
) -> Result<Response, Problem> {
    let queue = &launching(&state)?.queue;
    let body = read_form(&state, body).await?;
    let pid = field(&body, "pid").and_then(|pid| pid.parse().ok());
    let pid = pid.ok_or_else(|| Problem::mistake("pid: expected the number of a process"))?;
    queue.stop(pid).map_err(Problem::conflict)?;
    Ok(see_other("/queue"))
}

pub(super) async fn drop_waiting(
    Shared(state): Shared<Arc<State>>,
    body: Body,
) -> Result<Response, Problem> {
    let queue = &launching(&state)?.queue;
    read_form(&state, body).await?;
    queue.drop_waiting();
    Ok(see_other("/queue"))
}
