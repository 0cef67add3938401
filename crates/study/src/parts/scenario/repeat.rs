//! Steps that are repeated: so many times, or as long as they leave something in a variable.

use super::{
    flows::{FirstValue, Flows},
    step::{Step, captured_names},
};
use crate::{
    Action, Rounds, WhileCaptured,
    at::{At, Key},
    mistake::Finding,
    parts::request::variables::Known,
    raw::Name,
};

const MAX_ROUNDS: u32 = 10_000;

impl Flows<'_, '_> {
    pub(super) fn repeat(&mut self, given: &At<Step>, known: &mut Known) -> Option<Action> {
        self.check_keys(given);
        let keys = &given.value;
        let offset_step = keys.offset_step.value();
        let condition = self.while_captured(given, known);
        known.enter_repetition(offset_step.is_some());
        let actions = self.actions(keys.steps.value()?, known);
        known.leave_repetition();
        let actions = actions?;
        let rounds = match keys.while_captured.is_some() {
            true => Rounds::While(condition?),
            false => Rounds::Times(*keys.repeat.value()?),
        };
        Some(Action::Repeat {
            rounds,
            offset_step: offset_step.map_or(0, |step| u64::from(*step)),
            actions,
        })
    }

    fn while_captured(
        &mut self,
        At { place, value: keys }: &At<Step>,
        known: &mut Known,
    ) -> Option<WhileCaptured> {
        let variable = keys.while_captured.content()?;
        self.check_variable(variable, keys.steps_within());
        let first = keys.first.content();
        let first = At {
            place: first.map_or(place, |first| &first.place).clone(),
            value: first.map_or_else(String::new, |first| first.value.to_string()),
        };
        let is_right = self.template(&first, known).is_some();
        let Name(variable) = &variable.value;
        known.capture(variable);
        let condition = is_right.then(|| WhileCaptured {
            variable: variable.clone(),
            first: first.value.clone(),
            max_rounds: keys.max_rounds.value().copied().unwrap_or(MAX_ROUNDS),
            on_limit: keys.on_limit.value().copied().unwrap_or_default(),
        });
        self.first_values.push(FirstValue {
            variable: variable.clone(),
            first,
        });
        condition
    }

    fn check_keys(&mut self, At { place, value: keys }: &At<Step>) {
        let given_while = keys.while_captured.place();
        let lacks = [
            (
                "repeat",
                matches!(
                    (&keys.repeat, &keys.while_captured),
                    (Key::Missing, Key::Missing)
                ),
            ),
            ("steps", matches!(keys.steps, Key::Missing)),
        ];
        for (key, _) in lacks.into_iter().filter(|(_, is_missing)| *is_missing) {
            let mistake = place.mistake(format!("lacks the key {key:?}"));
            let expected = "repeat: how often, or while: a variable, and steps: a list";
            self.checker.report(mistake.with_expected(expected));
        }
        if let Some(second) = given_while.filter(|_| keys.repeat.is_some()) {
            let mistake = place.mistake_in(second.key, "has both repeat and while");
            self.checker.report(mistake.with_expected("one of the two"));
        }
        let of_while = [
            keys.first.place(),
            keys.max_rounds.place(),
            keys.on_limit.place(),
        ];
        let of_while = of_while.into_iter().flatten();
        for key in of_while.filter(|_| given_while.is_none()) {
            let mistake = key.key_mistake("is for while");
            self.checker
                .report(mistake.with_expected("while: a variable"));
        }
    }

    /// Reports a variable that is the load's own, or that no step of the loop captures.
    fn check_variable(&mut self, At { place, value }: &At<Name>, steps: &[At<Step>]) {
        let Name(variable) = value;
        self.refuse_reserved_capture(variable, place);
        let is_captured = captured_names(steps).contains(variable);
        let (what, expected) = if !is_captured {
            (
                format!("no step of this loop captures {variable:?}"),
                format!(
                    "capture: {{ {variable}: {{ …, optional: true }} }} in one of the steps: the loop ends if nothing is captured"
                ),
            )
        } else if is_never_empty(steps, variable) {
            (
                format!("no capture of {variable:?} in this loop is optional"),
                "optional: true at one of them: null would be captured as a text, and the loop would go on".to_owned(),
            )
        } else {
            return;
        };
        self.checker
            .report(Finding::new(place.value, what).with_expected(expected));
    }

    /// Reports a first value that is no path although a path begins with the variable; for use after all flows.
    pub(super) fn check_first_values(&mut self) {
        for FirstValue { variable, first } in std::mem::take(&mut self.first_values) {
            let At {
                place,
                value: first,
            } = first;
            let begins = format!("{{{{{variable}}}}}");
            let mut targets = self.requests.values().map(|(_, target, ..)| target);
            let is_right =
                (first.starts_with('/') || first.starts_with("{{")) && !first.contains([' ', '#']);
            if !is_right && targets.any(|target| target.starts_with(&begins)) {
                let what = format!("a path begins with {begins}, and its first value is {first:?}");
                let expected = "first: the path of the first page, starting with / or a variable";
                self.checker
                    .report(Finding::new(place.value, what).with_expected(expected));
            }
        }
    }
}

/// Whether the only values that steps capture as a variable are of JSON, and none of them is optional.
fn is_never_empty(steps: &[At<Step>], variable: &str) -> bool {
    let mut below = steps.iter().map(|step| step.value.steps_within());
    let captures = steps.iter().flat_map(|step| step.value.captures());
    let mut captures = captures.filter(|(name, _)| *name == variable);
    captures.all(|(_, from)| from.is_of_json() && from.optional.value() != Some(&true))
        && below.all(|steps| is_never_empty(steps, variable))
}
