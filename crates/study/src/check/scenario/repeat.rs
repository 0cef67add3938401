//! Steps that are repeated: so many times, or as long as they leave something in a variable.

use super::{Flows, captured_names, step};
use crate::{
    Action, OnFailure, Rounds, WhileCaptured,
    check::{path::Path, variables::Known},
    mistake::Finding,
    raw,
};

/// Keys of a repetition besides those that make a step one.
pub(super) const KEYS: [&str; 4] = ["first", "max_rounds", "on_limit", "offset_step"];
/// Those that only `while` has.
const OF_WHILE: [&str; 3] = ["first", "max_rounds", "on_limit"];
const MAX_ROUNDS: u32 = 10_000;

impl Flows<'_, '_> {
    pub(super) fn repeat(
        &mut self,
        raw: raw::Step,
        path: &Path,
        known: &mut Known,
    ) -> Option<Action> {
        self.check_keys(&raw, path);
        let offset_step = raw.offset_step;
        let condition = raw.while_captured.as_ref().and_then(|raw::Name(variable)| {
            let steps = raw.steps.as_deref().unwrap_or_default();
            self.check_variable(variable, steps, path);
            let here = path.child("first");
            let first = raw.first.as_ref().map(ToString::to_string);
            let first = first.unwrap_or_default();
            let is_right = self.template(&first, &here, known).is_some();
            known.capture(variable);
            is_right.then(|| WhileCaptured {
                variable: variable.clone(),
                first,
                max_rounds: raw.max_rounds.unwrap_or(MAX_ROUNDS),
                on_limit: raw.on_limit.map_or(OnFailure::EndSession, step::on_failure),
            })
        });
        known.enter_repetition(offset_step.is_some());
        let actions = self.actions(raw.steps?, &path.child("steps"), known);
        known.leave_repetition();
        let actions = actions?;
        let rounds = match (raw.while_captured, raw.repeat) {
            (Some(_), _) => {
                let condition = condition?;
                self.check_first(&condition, &actions, path)?;
                Rounds::While(condition)
            }
            (None, times) => Rounds::Times(times?),
        };
        Some(Action::Repeat {
            rounds,
            offset_step: offset_step.map_or(0, u64::from),
            actions,
        })
    }

    fn check_keys(&mut self, raw: &raw::Step, path: &Path) {
        let is_while = raw.while_captured.is_some();
        let has_rounds = is_while || raw.repeat.is_some();
        let has_wrong = |key| self.checker.is_invalid(&path.child(key).steps());
        let lacks = [
            (
                "repeat",
                has_rounds || has_wrong("repeat") || has_wrong("while"),
            ),
            ("steps", raw.steps.is_some() || has_wrong("steps")),
        ];
        for (key, _) in lacks.into_iter().filter(|(_, is_there)| !is_there) {
            let what = format!("{} lacks the key {key:?}", path.to_text(""));
            let position = self.checker.position_of(&path.steps());
            let expected = "repeat: how often, or while: a variable, and steps: a list";
            self.checker
                .report(Finding::new(position, what).with_expected(expected));
        }
        if is_while && raw.repeat.is_some() {
            let what = format!("{} has both repeat and while", path.to_text(""));
            let position = self.checker.key(&path.child("while").steps());
            self.checker
                .report(Finding::new(position, what).with_expected("one of the two"));
        }
        let given = [
            raw.first.is_some(),
            raw.max_rounds.is_some(),
            raw.on_limit.is_some(),
        ];
        for (key, _) in OF_WHILE
            .into_iter()
            .zip(given)
            .filter(|(_, given)| *given && !is_while)
        {
            let here = path.child(key);
            let what = format!("{} is for while", here.to_text(""));
            let position = self.checker.key(&here.steps());
            self.checker
                .report(Finding::new(position, what).with_expected("while: a variable"));
        }
    }

    /// Reports a variable that is the load's own, or that no step of the loop captures.
    fn check_variable(&mut self, variable: &str, steps: &[raw::Step], path: &Path) {
        let here = path.child("while");
        self.refuse_reserved_capture(variable, &here);
        if captured_names(steps).iter().any(|name| name == variable) {
            return;
        }
        let what = format!("no step of this loop captures {variable:?}");
        let position = self.checker.position_of(&here.steps());
        let expected = format!(
            "capture: {{ {variable}: {{ …, optional: true }} }} in one of the steps: the loop ends if nothing is captured"
        );
        self.checker
            .report(Finding::new(position, what).with_expected(expected));
    }

    /// Reports a first value that is no path although a path begins with the variable.
    fn check_first(
        &mut self,
        condition: &WhileCaptured,
        actions: &[Action],
        path: &Path,
    ) -> Option<()> {
        let WhileCaptured {
            variable, first, ..
        } = condition;
        let may_be_path = ["/", "{{", "http://", "https://"];
        let begins = format!("{{{{{variable}}}}}");
        if !may_be_path.iter().any(|start| first.starts_with(start))
            && any_path_begins(actions, &begins)
        {
            let what = format!("a path begins with {begins}, and its first value is {first:?}");
            let here = path.child("first");
            let position = self.checker.position_of(&here.steps());
            self.checker.report(
                Finding::new(position, what).with_expected("first: the path of the first page"),
            );
            return None;
        }
        Some(())
    }
}

fn any_path_begins(actions: &[Action], with: &str) -> bool {
    actions.iter().any(|action| match action {
        Action::Request(step) => step.path.starts_with(with),
        Action::Pause(_) => false,
        Action::Repeat { actions, .. } => any_path_begins(actions, with),
    })
}
