//! The texts of the requests of loads, wherever they are: paths, values of headers and bodies.

use std::sync::Arc;

use crate::{
    Action, Body, Cell, PrepareLoad, Request, Scenario, Step, Texts, What, parts::request::Method,
};

/// Names and values.
pub(crate) type Headers = Vec<(String, String)>;

/// The kind of text that the texts of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    Text,
    /// Braces in the text begin a variable, and those of a value do not.
    Template,
}

/// The texts of one request.
#[derive(Debug)]
pub(crate) struct RequestTexts<'a> {
    pub receiver: Receiver,
    pub path: &'a mut String,
    pub headers: &'a mut Headers,
    /// `None`: no body, or none of text.
    pub body: Option<&'a mut String>,
    /// The names of the values from outside that it has.
    pub from_outside: &'a mut Vec<String>,
}

/// Changes the texts of a request.
pub(crate) type Change<'a, E> = dyn FnMut(RequestTexts<'_>) -> Result<(), E> + 'a;
/// The same with the endpoint that gets the request.
pub(crate) type ChangeAt<'a, E> = dyn FnMut(&str, RequestTexts<'_>) -> Result<(), E> + 'a;

/// Whether the keys from the root of a study or scenario lead to a text of a request, which may have values from outside.
pub(crate) fn is_request_text<T: AsRef<str>>(path: &[T]) -> bool {
    let mut place = Place::Other;
    for key in path {
        place = place.child(key.as_ref());
    }
    matches!(place, Place::Header | Place::Text)
}

/// A part of a study, as a key leads from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Other,
    /// A request, or steps of a scenario.
    Request,
    /// A path or a body.
    Text,
    Headers,
    Header,
}

impl Place {
    pub(crate) fn child(self, key: &str) -> Self {
        match self {
            Self::Headers | Self::Header => Self::Header,
            _ if key == "headers" => Self::Headers,
            Self::Request if key == "body" || Method::KEYS.contains(&key) => Self::Text,
            _ if ["request", "steps", "verify"].contains(&key) => Self::Request,
            _ => Self::Other,
        }
    }
}

impl Cell {
    /// Passes the texts of each request of its preparation, its background loads and its load to `change`, with the endpoint that
    /// gets the request.
    pub(crate) fn change_requests<E>(&mut self, change: &mut ChangeAt<'_, E>) -> Result<(), E> {
        let loads = self
            .preparation
            .iter_mut()
            .flat_map(|preparation| &mut preparation.loads);
        for load in loads {
            let PrepareLoad {
                scenario,
                verify,
                endpoint,
                ..
            } = load;
            let endpoint: &str = endpoint;
            for scenario in std::iter::once(scenario).chain(verify) {
                let scenario = Arc::make_mut(scenario);
                scenario.change_requests(&mut |texts| change(endpoint, texts))?;
            }
        }
        for load in &mut self.background {
            change(&load.endpoint, load.request.texts_mut())?;
        }
        let endpoint = &self.endpoint;
        match &mut self.what {
            What::Request(request) => change(endpoint, request.texts_mut()),
            What::Scenario(scenario) => {
                let scenario = Arc::make_mut(scenario);
                scenario.change_requests(&mut |texts| change(endpoint, texts))
            }
        }
    }
}

impl Request {
    pub(crate) fn texts_mut(&mut self) -> RequestTexts<'_> {
        RequestTexts {
            receiver: match self.texts {
                Texts::Plain => Receiver::Text,
                Texts::Templates(_) => Receiver::Template,
            },
            path: &mut self.path,
            headers: &mut self.headers,
            body: match &mut self.body {
                Body::Text(text) => Some(text),
                Body::None | Body::File(_) | Body::Random(_) | Body::Records(_) => None,
            },
            from_outside: &mut self.from_outside,
        }
    }
}

impl Step {
    fn texts_mut(&mut self) -> RequestTexts<'_> {
        RequestTexts {
            receiver: Receiver::Template,
            path: &mut self.path,
            headers: &mut self.headers,
            body: Some(&mut self.body),
            from_outside: &mut self.from_outside,
        }
    }
}

impl Scenario {
    /// Passes the texts of each step to `change`.
    pub(crate) fn change_requests<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        let mut flows = self.flows.iter_mut();
        flows.try_for_each(|flow| change_in_actions(&mut flow.actions, change))
    }

    /// The names of the values from outside that a step has, such as `env.TOKEN`.
    #[must_use]
    pub fn values_from_outside(&self, step: usize) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for flow in &self.flows {
            add_names(&flow.actions, step, &mut names);
        }
        names
    }
}

fn add_names<'a>(actions: &'a [Action], index: usize, names: &mut Vec<&'a str>) {
    for action in actions {
        match action {
            Action::Request(step) if step.step == index => {
                for name in &step.from_outside {
                    if !names.contains(&name.as_str()) {
                        names.push(name);
                    }
                }
            }
            Action::Request(_) | Action::Pause(_) => {}
            Action::Repeat { actions, .. } => add_names(actions, index, names),
        }
    }
}

fn change_in_actions<E>(actions: &mut [Action], change: &mut Change<'_, E>) -> Result<(), E> {
    for action in actions {
        match action {
            Action::Request(step) => change(step.texts_mut())?,
            Action::Pause(_) => {}
            Action::Repeat { actions, .. } => change_in_actions(actions, change)?,
        }
    }
    Ok(())
}
