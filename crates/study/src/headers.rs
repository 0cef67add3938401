//! The headers of the requests of loads, wherever they are.

use std::sync::Arc;

use crate::{Action, Cell, PrepareLoad, Request, Scenario, Texts, What};

/// Names and values.
pub(crate) type Headers = Vec<(String, String)>;

/// The kind of text that a value of a header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    Text,
    /// Braces in the value are no variable.
    Template,
}

impl Cell {
    /// Passes the headers of each request of its preparation, its background loads and its load to `change`, with the endpoint that gets the request.
    pub(crate) fn change_headers<E>(
        &mut self,
        change: &mut dyn FnMut(&str, Receiver, &mut Headers) -> Result<(), E>,
    ) -> Result<(), E> {
        let loads = self.preparation.iter_mut().flat_map(|one| &mut one.loads);
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
                scenario.change_headers(&mut |kind, headers| change(endpoint, kind, headers))?;
            }
        }
        for load in &mut self.background {
            let request = &mut load.request;
            change(&load.endpoint, request.receiver(), &mut request.headers)?;
        }
        let endpoint = &self.endpoint;
        let mut change = |kind: Receiver, headers: &mut Headers| change(endpoint, kind, headers);
        match &mut self.what {
            What::Request(request) => change(request.receiver(), &mut request.headers),
            What::Scenario(scenario) => Arc::make_mut(scenario).change_headers(&mut change),
        }
    }
}

impl Request {
    /// What the values of its headers are.
    pub(crate) fn receiver(&self) -> Receiver {
        match self.texts {
            Texts::Plain => Receiver::Text,
            Texts::Templates(_) => Receiver::Template,
        }
    }
}

impl Scenario {
    /// Passes the headers of each step to `change`.
    pub(crate) fn change_headers<E>(
        &mut self,
        change: &mut dyn FnMut(Receiver, &mut Headers) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut flows = self.flows.iter_mut();
        flows.try_for_each(|flow| change_in_actions(&mut flow.actions, change))
    }
}

fn change_in_actions<E>(
    actions: &mut [Action],
    change: &mut dyn FnMut(Receiver, &mut Headers) -> Result<(), E>,
) -> Result<(), E> {
    for action in actions {
        match action {
            Action::Request(step) => change(Receiver::Template, &mut step.headers)?,
            Action::Pause(_) => {}
            Action::Repeat { actions, .. } => change_in_actions(actions, change)?,
        }
    }
    Ok(())
}
