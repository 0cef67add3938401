//! Values of answers that come again in later calls of a session: the answering call captures them, and the later calls use the
//! variable. So each session has a login of its own, not the recorded one.
//!
//! `values` lists the values of an answer, `uses` those of a request, and `likely` decides which equal ones are no coincidence.

mod likely;
mod uses;
mod values;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    call::{Call, Capture, ImportedCalls},
    names::is_secret,
};
use uses::Use;
use values::Value;

/// Maximum number of values of a source that are looked up.
const VALUES_MAX: usize = 500_000;
/// Maximum number of variables of a session.
const CAPTURES_MAX: usize = 200;

/// Makes captures of the values that come again.
pub(super) fn correlate(imported: &mut ImportedCalls) {
    if !imported.is_session || imported.calls.len() < 2 {
        return;
    }
    let mut correlation = Correlation {
        page_texts: std::mem::take(&mut imported.page_texts),
        ..Correlation::default()
    };
    for index in 0..imported.calls.len() {
        let (before, rest) = imported.calls.split_at_mut(index);
        let Some(call) = rest.first_mut() else { break };
        correlation.sent.push(uses::text(call));
        correlation.use_values(before, call);
        correlation.add_answer(index, call);
    }
    for line in correlation.left_out {
        imported.leave_out(line);
    }
}

/// Removes captures that no later call uses any more.
pub(super) fn drop_unused(imported: &mut ImportedCalls) {
    for index in 0..imported.calls.len() {
        let (calls, later) = imported.calls.split_at_mut(index + 1);
        let Some(call) = calls.last_mut() else { break };
        let is_used = |capture: &Capture| {
            later
                .iter()
                .any(|call| uses::uses_variable(call, &capture.variable))
        };
        call.captures.retain(is_used);
    }
}

/// A value of an answer.
struct Found {
    /// The index of the call that it answers.
    call: usize,
    value: Value,
    variable: Option<String>,
}

#[derive(Default)]
struct Correlation {
    page_texts: Vec<String>,
    /// The texts of the requests so far.
    sent: Vec<String>,
    found: HashMap<String, Found>,
    count: usize,
    /// The values that have variables, which are replaced in every later call, longest first.
    captured: Vec<String>,
    /// How many variables have this name.
    names: BTreeMap<String, usize>,
    /// All names of variables so far.
    given: BTreeSet<String>,
    /// The values that have the variable of the environment with this name, and those with its second name, and so on.
    encoded: BTreeMap<String, Vec<String>>,
    left_out: Vec<String>,
}

impl Correlation {
    /// Puts the variables of earlier answers into a call.
    fn use_values(&mut self, before: &mut [Call], call: &mut Call) {
        let mut chosen: Vec<String> = self
            .captured
            .iter()
            .filter(|text| likely::is_random(text))
            .cloned()
            .collect();
        for used in uses::uses(call) {
            let Some(source) = self.source(&used, before, call) else {
                continue;
            };
            if let Some(encoded) = &used.encoded {
                let name = self.found.get(&used.text).map(|entry| &entry.value.name);
                if let Some(name) = name.filter(|name| is_secret(name)) {
                    let variable = likely::variable_name(name).to_uppercase();
                    let values = self.encoded.entry(variable.clone()).or_default();
                    let place = values.iter().position(|value| *value == used.text);
                    let place = place.unwrap_or_else(|| {
                        values.push(used.text.clone());
                        values.len() - 1
                    });
                    let variable = match place {
                        0 => variable,
                        place => format!("{variable}_{}", place + 1),
                    };
                    uses::replace_encoded(call, encoded, &variable);
                }
                self.left_out.push(format!(
                    "a value of the answer to {} in {}: it is percent-encoded, which a captured value is not",
                    before[source].name, call.name
                ));
                continue;
            }
            if self.capture(&used.text, before) && !chosen.contains(&used.text) {
                chosen.push(used.text);
            }
        }
        chosen.sort_by_key(|text| std::cmp::Reverse(text.len()));
        for text in chosen {
            if let Some(entry) = self.found.get(&text)
                && let Some(variable) = &entry.variable
            {
                uses::replace(call, &entry.value.origin, &text, variable);
            }
        }
    }

    /// The earlier call from whose answer this value comes.
    fn source(&self, used: &Use, before: &[Call], call: &Call) -> Option<usize> {
        let entry = self.found.get(&used.text)?;
        if entry.variable.is_some() {
            return Some(entry.call);
        }
        let is_likely = likely::is_likely(&entry.value, used);
        let answer = before[entry.call].answer.as_ref();
        let is_before = match (answer.and_then(|answer| answer.ended_ms), call.started_ms) {
            (Some(ended), Some(started)) if before[entry.call].started_ms != Some(started) => {
                ended <= started
            }
            _ => true,
        };
        let mut known = self.sent[..=entry.call].iter().chain(&self.page_texts);
        let mut is_new = || known.all(|text| !uses::contains(text, &used.text));
        let is_found =
            || answer.is_some_and(|answer| values::is_found(&entry.value, answer, &call.origin));
        (is_likely && is_before && is_new() && is_found()).then_some(entry.call)
    }

    /// Gives a value its variable; whether it has one.
    fn capture(&mut self, text: &str, before: &mut [Call]) -> bool {
        let Some(entry) = self.found.get_mut(text) else {
            return false;
        };
        if entry.variable.is_some() {
            return true;
        }
        if self.captured.len() == CAPTURES_MAX {
            return false;
        }
        let name = likely::variable_name(&entry.value.name);
        let variable = loop {
            let count = self.names.entry(name.clone()).or_default();
            *count += 1;
            let variable = match *count {
                1 => name.clone(),
                count => format!("{name}_{count}"),
            };
            // A member may have the name of a second one.
            if self.given.insert(variable.clone()) {
                break variable;
            }
        };
        before[entry.call].captures.push(Capture {
            variable: variable.clone(),
            from: entry.value.from.clone(),
        });
        entry.variable = Some(variable);
        self.captured.push(text.to_owned());
        true
    }

    /// Adds the values of an answer; of equal ones the first counts.
    fn add_answer(&mut self, index: usize, call: &mut Call) {
        let Some(answer) = &call.answer else { return };
        for value in values::values(answer, &call.origin) {
            if self.count == VALUES_MAX {
                return;
            }
            self.count += 1;
            self.found.entry(value.text.clone()).or_insert(Found {
                call: index,
                value,
                variable: None,
            });
        }
    }
}

#[cfg(test)]
mod tests;
