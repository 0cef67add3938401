//! Steps that are repeated: so many times, or as long as they leave something in a variable.

use super::{Flows, captured_names};
use crate::{
    Action, Rounds, WhileCaptured,
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
        let condition = self.while_captured(&raw, path, known);
        known.enter_repetition(offset_step.is_some());
        let actions = self.actions(raw.steps?, &path.child("steps"), known);
        known.leave_repetition();
        let actions = actions?;
        let rounds = match (raw.while_captured, raw.repeat) {
            (Some(_), _) => Rounds::While(condition?),
            (None, times) => Rounds::Times(times?),
        };
        Some(Action::Repeat {
            rounds,
            offset_step: offset_step.map_or(0, u64::from),
            actions,
        })
    }

    fn while_captured(
        &mut self,
        raw: &raw::Step,
        path: &Path,
        known: &mut Known,
    ) -> Option<WhileCaptured> {
        let raw::Name(variable) = raw.while_captured.as_ref()?;
        let steps = raw.steps.as_deref().unwrap_or_default();
        self.check_variable(variable, steps, path);
        let here = path.child("first");
        let first = raw.first.as_ref().map(ToString::to_string);
        let first = first.unwrap_or_default();
        let is_right = self.template(&first, &here, known).is_some();
        known.capture(variable);
        self.first_values.push(FirstValue {
            variable: variable.clone(),
            first: first.clone(),
            path: here,
        });
        is_right.then(|| WhileCaptured {
            variable: variable.clone(),
            first,
            max_rounds: raw.max_rounds.unwrap_or(MAX_ROUNDS),
            on_limit: raw.on_limit.unwrap_or_default(),
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
            if is_never_empty(steps, variable) {
                let what = format!("no capture of {variable:?} in this loop is optional");
                let position = self.checker.position_of(&here.steps());
                let expected = "optional: true at one of them: null would be captured as a text, and the loop would go on";
                self.checker
                    .report(Finding::new(position, what).with_expected(expected));
            }
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

    /// Reports a first value that is no path although a path begins with the variable; for use after all flows.
    pub(super) fn check_first_values(&mut self) {
        for value in std::mem::take(&mut self.first_values) {
            let FirstValue {
                variable,
                first,
                path,
            } = value;
            let begins = format!("{{{{{variable}}}}}");
            let mut targets = self.requests.values().map(|(_, target, ..)| target);
            let is_right =
                (first.starts_with('/') || first.starts_with("{{")) && !first.contains([' ', '#']);
            if !is_right && targets.any(|target| target.starts_with(&begins)) {
                let what = format!("a path begins with {begins}, and its first value is {first:?}");
                let position = self.checker.position_of(&path.steps());
                let expected = "first: the path of the first page, starting with / or a variable";
                self.checker
                    .report(Finding::new(position, what).with_expected(expected));
            }
        }
    }
}

/// The variable of a loop in its first round.
pub(super) struct FirstValue {
    variable: String,
    first: String,
    /// Of `first`.
    path: Path,
}

/// Whether the only values that steps capture as a variable are of JSON, and none of them is optional.
fn is_never_empty(steps: &[raw::Step], variable: &str) -> bool {
    let mut below = steps.iter().filter_map(|step| step.steps.as_deref());
    let captures = steps.iter().flat_map(|step| step.capture.iter().flatten());
    let mut captures = captures.filter(|(name, _)| *name == variable);
    captures.all(|(_, from)| from.json.is_some() && from.optional != Some(true))
        && below.all(|steps| is_never_empty(steps, variable))
}
