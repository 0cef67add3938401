//! The expressions of a workflow that the action uses; any other is a mistake of the test or of the action.

use std::collections::BTreeMap;

/// What an expression can name: `inputs.study`, `steps.sides.outputs.folder`, `github.token`.
pub(super) type Contexts = BTreeMap<String, String>;

/// Whether a step before has failed, and whether the job was cancelled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Status {
    pub(super) has_failed: bool,
    pub(super) is_cancelled: bool,
}

/// The text with the values of its expressions.
pub(super) fn fill(text: &str, contexts: &Contexts) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").expect("an expression has an end");
        filled += before;
        filled += &value(expression, contexts);
        rest = after;
    }
    filled + rest
}

/// `a || b` is the first value that is not empty.
fn value(expression: &str, contexts: &Contexts) -> String {
    let mut values = expression
        .split("||")
        .map(|name| term(name.trim(), contexts));
    values.find(|value| !value.is_empty()).unwrap_or_default()
}

fn term(term: &str, contexts: &Contexts) -> String {
    if let Some(text) = term.strip_prefix('\'') {
        return text
            .strip_suffix('\'')
            .expect("a text has an end")
            .to_owned();
    }
    let known = ["inputs.", "steps.", "github."];
    assert!(known.iter().any(|start| term.starts_with(start)), "{term}");
    // What no step has set is empty; an input that is not declared is a mistake.
    assert!(
        !term.starts_with("inputs.") || contexts.contains_key(term),
        "{term}"
    );
    contexts.get(term).cloned().unwrap_or_default()
}

/// Whether a step runs. Without a status function it does not after a failure.
pub(super) fn holds(condition: Option<&str>, contexts: &Contexts, status: Status) -> bool {
    let goes_on = !status.has_failed && !status.is_cancelled;
    let Some(condition) = condition else {
        return goes_on;
    };
    let inner = condition.trim();
    let inner = inner
        .strip_prefix("${{")
        .and_then(|inner| inner.strip_suffix("}}"));
    let terms = inner.unwrap_or(condition).split("&&").map(str::trim);
    let mut has_status = false;
    let mut all = true;
    for part in terms {
        all &= match part {
            "always()" => true,
            "!cancelled()" => !status.is_cancelled,
            "success()" => goes_on,
            "failure()" => status.has_failed,
            _ => {
                let (left, right) = part.split_once("==").expect("a comparison");
                term(left.trim(), contexts) == term(right.trim(), contexts)
            }
        };
        has_status |= part.ends_with("()");
    }
    all && (has_status || goes_on)
}

#[test]
fn expressions_are_those_of_workflows() {
    let contexts = [
        ("inputs.a", "x"),
        ("inputs.b", ""),
        ("steps.s.outputs.o", "y"),
    ];
    let contexts = contexts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let contexts = Contexts::from(contexts);
    let check = |text: &str, expected: &str| assert_eq!(fill(text, &contexts), expected);
    check("${{ inputs.a }}-${{ steps.s.outputs.o }}", "x-y");
    check("${{ inputs.b || steps.t.outputs.o || inputs.a }}", "x");
    let failed = Status {
        has_failed: true,
        is_cancelled: false,
    };
    let check = |condition: &str, expected: [bool; 2]| {
        let holds = [Status::default(), failed];
        let holds = holds.map(|status| holds_in(condition, &contexts, status));
        assert_eq!(holds, expected, "{condition}");
    };
    fn holds_in(condition: &str, contexts: &Contexts, status: Status) -> bool {
        holds(Some(condition), contexts, status)
    }
    check("${{ !cancelled() && inputs.a == 'x' }}", [true, true]);
    check("${{ inputs.a == 'x' }}", [true, false]);
    check("${{ !cancelled() && inputs.b == 'x' }}", [false, false]);
    check("${{ always() }}", [true, true]);
}
