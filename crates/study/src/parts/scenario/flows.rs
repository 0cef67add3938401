//! The flows of a scenario while they are checked: what their steps send, and what texts name.

use std::collections::HashMap;

use waggle_spec::OnFailure;

use crate::{
    at::At,
    check::Checker,
    mistake::{Finding, Position},
    parts::request::{
        feeds::NamedFeed,
        variables::{Named, Variables},
    },
};

/// Most steps with a name of their own: each has histograms of its own in every worker.
const MAX_STEPS: usize = 100;

/// What makes two requests the same: method, path, headers, body.
pub(super) type Sends = (String, String, Vec<(String, String)>, String);

/// The variable of a loop in its first round.
pub(super) struct FirstValue {
    pub variable: String,
    pub first: At<String>,
}

/// The flows while they are checked.
pub(super) struct Flows<'c, 'a> {
    pub checker: &'c mut Checker<'a>,
    pub variables: Variables<'c>,
    /// The scenario's own name, which no step may have.
    pub scenario: Option<&'c str>,
    pub on_failure: OnFailure,
    /// Names of steps in their order.
    pub steps: Vec<String>,
    /// What the first step of each name sends.
    pub requests: HashMap<String, Sends>,
    /// Of the variables of loops.
    pub first_values: Vec<FirstValue>,
}

impl<'c, 'a> Flows<'c, 'a> {
    pub(super) fn new(
        checker: &'c mut Checker<'a>,
        feeds: &'c [NamedFeed<'c>],
        scenario: Option<&'c str>,
        on_failure: OnFailure,
    ) -> Self {
        Self {
            checker,
            variables: Variables::new(feeds, Named::Captures),
            scenario,
            on_failure,
            steps: Vec::new(),
            requests: HashMap::new(),
            first_values: Vec::new(),
        }
    }

    /// Checks what only all flows show; returns the names of all steps. `position` is that of the flows.
    pub(super) fn finish(mut self, position: Position) -> Vec<String> {
        self.check_first_values();
        self.variables.refuse_unused(self.checker);
        if self.steps.len() > MAX_STEPS {
            let what = format!("the scenario has {} steps", self.steps.len());
            let finding = Finding::new(position, what);
            self.checker
                .report(finding.with_expected(format!("at most {MAX_STEPS}")));
        }
        self.steps
    }
}
