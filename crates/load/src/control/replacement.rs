//! Replaces what a running load sends by other texts of the same shape, such as requests with a new token.
//!
//! Each worker gets a copy of its own, made by the thread that replaces, and exchanges it for what it has. So a worker allocates
//! and frees nothing, and reads one number in each turn of its loop.

use std::{
    io, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use waggle_spec::FeedOrder;

use super::{
    shared::Shared,
    validate::{self, StartError},
};
use crate::{
    inspection::Inspect,
    job::{Job, What},
    requests::{
        expect::Expect,
        prepared::{Prepared, Stamp},
        writer::Requests,
    },
    scenario::model::{Action, Feed, Scenario},
    sessions::{
        compile::{ScenarioError, compile},
        program::Program,
    },
    transport::settings::Transport,
};

/// Why what a load sends was not replaced. Everything is sent as before then.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("a load cannot send something of another shape: {0}")]
    Shape(String),
    #[error(transparent)]
    Content(#[from] StartError),
    #[error("cannot encode it for the generators: {0}")]
    Encode(#[source] io::Error),
    #[error("generator {number} of {of} takes no more orders")]
    NotTaken { number: usize, of: usize },
}

/// What one worker sends.
#[derive(Debug)]
pub(crate) enum Content {
    Requests(Requests),
    Program(Box<Program>),
}

/// The replacements of a run, for its workers.
#[derive(Debug, Default)]
pub(crate) struct Replacements {
    /// How many there were.
    generation: AtomicU64,
    /// By worker: what it sends next, or what it has sent before; empty without a replacement.
    contents: Mutex<Vec<Content>>,
}

impl Replacements {
    /// Another number than before: there is something to exchange.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Passes its content to a worker that has not seen this generation; returns the generation.
    pub(crate) fn exchange(&self, worker: usize, exchange: impl FnOnce(&mut Content)) -> u64 {
        let mut contents = self.contents();
        exchange(&mut contents[worker]);
        self.generation()
    }

    fn put(&self, new: Vec<Content>) {
        let mut contents = self.contents();
        let before = mem::replace(&mut *contents, new);
        self.generation.fetch_add(1, Ordering::Relaxed);
        drop(contents);
        drop(before);
    }

    fn contents(&self) -> MutexGuard<'_, Vec<Content>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces what a run sends, from any thread.
#[derive(Debug, Clone)]
pub struct Replace {
    shared: Arc<Shared>,
    shape: Arc<Shape>,
    workers: usize,
}

impl Replace {
    /// For the workers that share their state.
    pub(crate) fn new(job: &Job, shared: Arc<Shared>, workers: usize) -> Self {
        Self {
            shared,
            shape: Arc::new(Shape::new(job)),
            workers,
        }
    }

    /// Sends this from now on: as many requests, or the same steps, with other texts. Requests that were sent are answered, and
    /// sessions under way go on.
    ///
    /// # Errors
    /// It has another shape, or cannot be sent.
    pub fn replace(&self, what: &What) -> Result<(), ReplaceError> {
        self.shape.check(what)?;
        let contents = (0..self.workers).map(|_| content(what, &self.shape.transport));
        let contents: Result<Vec<Content>, ScenarioError> = contents.collect();
        self.shared
            .replacements
            .put(contents.map_err(StartError::from)?);
        Ok(())
    }
}

fn content(what: &What, transport: &Transport) -> Result<Content, ScenarioError> {
    Ok(match what {
        What::Requests { requests, .. } => {
            Content::Requests(Requests::new(requests.clone(), transport))
        }
        What::Scenario(scenario) => Content::Program(Box::new(compile(scenario)?)),
    })
}

/// What a replacement has in common with what it replaces.
#[derive(Debug)]
pub(crate) struct Shape {
    transport: Transport,
    of: ShapeOf,
}

#[derive(Debug)]
enum ShapeOf {
    Requests {
        requests: Vec<RequestShape>,
        expect: Expect,
        inspect: Option<Inspect>,
    },
    Scenario(Arc<Scenario>),
}

/// What is the same in a request with other texts.
#[derive(Debug, PartialEq, Eq)]
struct RequestShape {
    stamps: Vec<Stamp>,
    records: u32,
    is_head: bool,
    asks_to_close: bool,
}

impl RequestShape {
    fn new(request: &Prepared) -> Self {
        Self {
            stamps: request.slots.iter().map(|slot| slot.stamp).collect(),
            records: request.records,
            is_head: request.is_head,
            asks_to_close: request.asks_to_close(),
        }
    }
}

impl Shape {
    pub(crate) fn new(job: &Job) -> Self {
        let shape = match &job.what {
            What::Requests {
                requests,
                expect,
                inspect,
            } => ShapeOf::Requests {
                requests: requests.iter().map(RequestShape::new).collect(),
                expect: expect.clone(),
                inspect: inspect.clone(),
            },
            What::Scenario(scenario) => ShapeOf::Scenario(Arc::clone(scenario)),
        };
        Self {
            transport: job.transport.clone(),
            of: shape,
        }
    }

    /// That of a load which sends nothing.
    #[cfg(test)]
    pub(crate) fn of_no_request() -> Self {
        Self {
            transport: Transport::default(),
            of: ShapeOf::Requests {
                requests: Vec::new(),
                expect: Expect::default(),
                inspect: None,
            },
        }
    }

    /// Whether this can be sent from now on.
    pub(crate) fn check(&self, what: &What) -> Result<(), ReplaceError> {
        validate::check_content(&self.transport, what)?;
        let difference = match (&self.of, what) {
            (ShapeOf::Scenario(before), What::Scenario(after)) => difference(before, after)?,
            (
                ShapeOf::Requests {
                    requests: before,
                    expect: expected,
                    inspect: inspected,
                },
                What::Requests {
                    requests,
                    expect,
                    inspect,
                },
            ) => {
                let mut pairs = before.iter().zip(requests);
                let is_other = |(before, after): (&RequestShape, &Prepared)| {
                    *before != RequestShape::new(after)
                };
                match pairs.position(is_other) {
                    _ if before.len() != requests.len() => Some(format!(
                        "{} requests in place of {}",
                        requests.len(),
                        before.len()
                    )),
                    Some(request) => Some(format!(
                        "request {request} has other slots or records, or another form of answer"
                    )),
                    None if (expected, inspected) != (expect, inspect) => {
                        Some("other answers are expected".to_owned())
                    }
                    None => None,
                }
            }
            (ShapeOf::Requests { .. }, What::Scenario(_)) => {
                Some("a scenario in place of requests".to_owned())
            }
            (ShapeOf::Scenario(_), What::Requests { .. }) => {
                Some("requests in place of a scenario".to_owned())
            }
        };
        difference.map_or(Ok(()), |difference| Err(ReplaceError::Shape(difference)))
    }
}

/// What sessions under way would not find again; `None`: nothing.
fn difference(before: &Scenario, after: &Scenario) -> Result<Option<String>, StartError> {
    let different = if before.steps != after.steps {
        "other steps"
    } else if !before
        .feeds
        .iter()
        .map(shape)
        .eq(after.feeds.iter().map(shape))
    {
        "other feeds"
    } else if (&before.run, &before.preparation) != (&after.run, &after.preparation) {
        "another run or preparation"
    } else if expectations(before) != expectations(after) {
        "other answers are expected"
    } else if !compile(after)?.has_shape_of(&compile(before)?) {
        "other flows, requests or variables"
    } else {
        return Ok(None);
    };
    Ok(Some(different.to_owned()))
}

/// What must stay of a feed: its name and columns, the number of its rows and their order.
fn shape(feed: &Feed) -> (&str, &[String], usize, FeedOrder) {
    (&feed.name, &feed.columns, feed.rows.len(), feed.order)
}

/// What the steps of a scenario expect, in their order.
fn expectations(scenario: &Scenario) -> Vec<&Expect> {
    let mut expectations = Vec::new();
    for flow in &scenario.flows {
        add_expectations(&flow.actions, &mut expectations);
    }
    expectations
}

fn add_expectations<'a>(actions: &'a [Action], expectations: &mut Vec<&'a Expect>) {
    for action in actions {
        match action {
            Action::Request(request) => expectations.push(&request.expect),
            Action::Pause(_) => {}
            Action::Repeat(repeat) => add_expectations(&repeat.actions, expectations),
        }
    }
}
