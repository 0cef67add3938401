//! Takes secrets out of calls: header values become names of environment variables, parameters go, fields of bodies are
//! marked. What is left holds nothing that must not lie in a file.

use serde_json::Value;

use super::call::{Call, Found, is_own_field, is_secret_field, is_secret_parameter};

/// Stands in a body where a secret was.
const IN_BODY: &str = "REPLACE-ME";

/// Takes them out; gives the environment variables that the study then needs.
pub(crate) fn take_out(found: &mut Found) -> Vec<String> {
    let mut wanted: Vec<String> = Vec::new();
    let is_session = found.is_session;
    let mut left_out = Vec::new();
    for call in &mut found.calls {
        headers(call, is_session, &mut wanted, &mut left_out);
        query(call, &mut left_out);
        body(call, &mut left_out);
    }
    for line in left_out {
        if !found.left_out.contains(&line) {
            found.left_out.push(line);
        }
    }
    wanted
}

fn headers(
    call: &mut Call,
    is_session: bool,
    wanted: &mut Vec<String>,
    left_out: &mut Vec<String>,
) {
    let fields = std::mem::take(&mut call.headers);
    for (name, value) in fields {
        if is_own_field(&name)
            || call
                .headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(&name))
        {
            continue;
        }
        if is_session && name.eq_ignore_ascii_case("cookie") {
            left_out
                .push("cookies: each session gets its own from the server's answers".to_owned());
        } else if is_secret_field(&name) {
            let variable = name.to_ascii_uppercase().replace('-', "_");
            let scheme = value
                .split_once(' ')
                .filter(|_| name.to_ascii_lowercase().ends_with("authorization"))
                .map(|(scheme, _)| format!("{scheme} "))
                .unwrap_or_default();
            call.headers
                .push((name, format!("{scheme}${{env.{variable}}}")));
            let what = if scheme.is_empty() {
                variable
            } else {
                format!("{variable} (what comes after {:?})", scheme.trim_end())
            };
            if !wanted.contains(&what) {
                wanted.push(what);
            }
        } else {
            // A ${ of the source's own is text.
            call.headers.push((name, value.replace("${", "$${")));
        }
    }
}

fn query(call: &mut Call, left_out: &mut Vec<String>) {
    let Some((path, query)) = call.path.split_once('?') else {
        return;
    };
    let name_of = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
    let (secret, kept): (Vec<&str>, Vec<&str>) = query
        .split('&')
        .partition(|pair| is_secret_parameter(&name_of(pair)));
    for pair in &secret {
        left_out.push(format!(
            "the parameter {} of {}: a secret, and secrets go into headers only",
            name_of(pair),
            call.name
        ));
    }
    if !secret.is_empty() {
        let kept = kept.join("&");
        call.path = if kept.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{kept}")
        };
    }
}

fn body(call: &mut Call, left_out: &mut Vec<String>) {
    let Some(text) = &call.body else { return };
    let mut marked = Vec::new();
    let without = match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            mark(&mut value, &mut marked);
            value.to_string()
        }
        Err(_) => form(text, &mut marked),
    };
    if marked.is_empty() {
        return;
    }
    left_out.push(format!(
        "{} in the body of {}: stands there as {IN_BODY}; a feed may give it",
        marked.join(", "),
        call.name
    ));
    call.body = Some(without);
}

fn mark(value: &mut Value, marked: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if is_secret_parameter(name) && (member.is_string() || member.is_number()) {
                    *member = Value::String(IN_BODY.to_owned());
                    marked.push(name.clone());
                } else {
                    mark(member, marked);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, marked)),
        _ => {}
    }
}

/// `a=b&c=d`; anything else comes back as it was.
fn form(text: &str, marked: &mut Vec<String>) -> String {
    let pairs = text.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => {
            marked.push(name.to_owned());
            format!("{name}={IN_BODY}")
        }
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}
