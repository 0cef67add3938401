//! Removes secrets from calls, so the study can be shared: header values become environment variables, query parameters are
//! removed, and fields of bodies are replaced by a mark.

use super::{
    call::{Call, ImportedCalls, header},
    mask::{self, MARK, Masked},
    names::{is_secret, percent_decoded},
    shell,
};

/// Words before the secret in the value of a header; any other word counts as part of the secret.
const SCHEMES: [&str; 8] = [
    "basic", "bearer", "token", "apikey", "jwt", "oauth", "key", "digest",
];

/// Removes secrets; returns the environment variables that the study needs.
pub(super) fn remove_secrets(imported: &mut ImportedCalls) -> Vec<String> {
    let mut removal = Removal::default();
    for call in &mut imported.calls {
        removal.headers(call);
        removal.path(call);
        removal.body(call);
    }
    for line in removal.left_out {
        imported.leave_out(line);
    }
    removal.wanted
}

/// A secret in a header, and the variable that replaces it.
struct Variable {
    /// In lower case.
    field: String,
    value: String,
    name: String,
}

#[derive(Default)]
struct Removal {
    variables: Vec<Variable>,
    wanted: Vec<String>,
    left_out: Vec<String>,
}

impl Removal {
    fn headers(&mut self, call: &mut Call) {
        for (name, value) in std::mem::take(&mut call.headers) {
            let is_named = is_secret(&name) || call.secret_fields.contains(&name);
            let text = if is_named && !value.is_empty() {
                self.secret(&name, &value)
            } else {
                let masked = mask::text(&value);
                self.mark(&masked.names, &format!("the header {name}"), call);
                self.expand(&masked.text)
            };
            call.headers.push((name, text));
        }
    }

    /// Replaces a secret in a header.
    fn secret(&mut self, field: &str, value: &str) -> String {
        let (scheme, secret) = value
            .split_once(' ')
            .filter(|(scheme, _)| SCHEMES.contains(&&*scheme.to_ascii_lowercase()))
            .map_or((String::new(), value), |(scheme, secret)| {
                (format!("{scheme} "), secret.trim())
            });
        if shell::is_expansions(secret) {
            return self.expand(value);
        }
        let name = self.variable(field, value);
        let what = if scheme.is_empty() {
            name.clone()
        } else {
            format!("{name} (what comes after {:?})", scheme.trim_end())
        };
        self.want(what);
        format!("{scheme}${{env.{name}}}")
    }

    /// The variable of a header and value: AUTHORIZATION, AUTHORIZATION_2.
    fn variable(&mut self, field: &str, value: &str) -> String {
        let field = field.to_ascii_lowercase();
        let mut of_field = self.variables.iter();
        if let Some(known) = of_field.find(|known| known.field == field && known.value == value) {
            return known.name.clone();
        }
        let letters = field.chars().map(|letter| {
            let is_letter = letter.is_ascii_alphanumeric();
            if is_letter {
                letter.to_ascii_uppercase()
            } else {
                '_'
            }
        });
        let first: String = letters.collect();
        let is_taken = |name: &String| self.variables.iter().any(|known| known.name == *name);
        let mut name = first.clone();
        let mut count = 1;
        while is_taken(&name) {
            count += 1;
            name = format!("{first}_{count}");
        }
        self.variables.push(Variable {
            field,
            value: value.to_owned(),
            name: name.clone(),
        });
        name
    }

    /// Shell variables of a value become environment variables of the study.
    fn expand(&mut self, value: &str) -> String {
        let (text, names) = shell::expand(value);
        names.into_iter().for_each(|name| self.want(name));
        text
    }

    fn want(&mut self, what: String) {
        if !self.wanted.contains(&what) {
            self.wanted.push(what);
        }
    }

    fn mark(&mut self, names: &[String], part: &str, call: &Call) {
        if !names.is_empty() {
            self.left_out.push(format!(
                "{} in {part} of {}: replaced by {MARK}; a feed can set it",
                names.join(", "),
                call.name
            ));
        }
    }

    fn path(&mut self, call: &mut Call) {
        let (path, query) = match call.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&*call.path, None),
        };
        let Masked { text, mut names } = mask::text(path);
        let mut kept = Vec::new();
        for pair in query.iter().flat_map(|query| query.split('&')) {
            match pair.split_once('=') {
                Some((name, _)) if is_secret(name) => self.left_out.push(format!(
                    "the parameter {} of {}: a secret, and studies have secrets in headers only",
                    percent_decoded(name),
                    call.name
                )),
                Some((name, value)) => {
                    let mut masked = mask::parameter(value);
                    names.append(&mut masked.names);
                    kept.push(format!("{name}={}", masked.text));
                }
                None => kept.push(pair.to_owned()),
            }
        }
        let kept = kept.join("&");
        let path = if query.is_none() || (kept.is_empty() && query != Some("")) {
            text
        } else {
            format!("{text}?{kept}")
        };
        self.mark(&names, "the path", call);
        call.path = path;
    }

    fn body(&mut self, call: &mut Call) {
        let Some(text) = call.body.take() else { return };
        let kind = header(&call.headers, "content-type").unwrap_or_default();
        let is_multipart = kind.to_ascii_lowercase().starts_with("multipart/")
            || (text.starts_with("--")
                && text.to_ascii_lowercase().contains("content-disposition"));
        let masked = match is_multipart {
            true => mask::multipart(&text, kind),
            false => mask::body(&text),
        };
        let why = if let Some(masked) = masked {
            self.mark(&masked.names, "the body", call);
            call.body = Some(masked.text);
            return;
        } else if is_multipart {
            "a multipart form that is not text, or names secrets in an unknown format"
        } else {
            "it names secrets, and is neither JSON nor a form"
        };
        self.left_out
            .push(format!("the body of {}: {why}", call.name));
        call.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, ImportedCalls, remove_secrets};

    #[test]
    fn each_secret_has_its_own_variable() {
        let value_of = |value: &str| {
            let headers = vec![("Authorization".to_owned(), value.to_owned())];
            Call {
                headers,
                ..Call::default()
            }
        };
        let values = [
            "Basic a",
            "Bearer b",
            "Basic a",
            "c d",
            "Bearer \0TOKEN",
            "\0{A}\0B",
        ];
        let mut imported = ImportedCalls {
            calls: values.map(value_of).into(),
            ..ImportedCalls::default()
        };
        let wanted = remove_secrets(&mut imported);
        let taken: Vec<&str> = imported
            .calls
            .iter()
            .map(|call| &*call.headers[0].1)
            .collect();
        assert_eq!(
            taken,
            [
                "Basic ${env.AUTHORIZATION}",
                "Bearer ${env.AUTHORIZATION_2}",
                "Basic ${env.AUTHORIZATION}",
                "${env.AUTHORIZATION_3}",
                "Bearer ${env.TOKEN}",
                "${env.A}${env.B}",
            ]
        );
        assert_eq!(wanted[2..], ["AUTHORIZATION_3", "TOKEN", "A", "B"]);
    }
}
