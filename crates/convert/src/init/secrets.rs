//! Removes secrets from calls, so the study can be shared: in headers, paths and bodies environment variables take their place.

use super::{
    call::{Call, ImportedCalls, header},
    mask::Masking,
    names::is_secret,
    shell, slot,
};

/// Words before the secret in the value of a header; any other word counts as part of the secret.
const SCHEMES: [&str; 8] = [
    "basic", "bearer", "token", "apikey", "jwt", "oauth", "key", "digest",
];

/// Maximum length of the name of a variable, without a number.
const VARIABLE_MAX: usize = 60;

/// Removes secrets; returns the environment variables that the study needs.
pub(super) fn remove_secrets(imported: &mut ImportedCalls) -> Vec<String> {
    let mut removal = Removal::default();
    for call in &imported.calls {
        let headers = call.headers.iter().map(|(_, value)| value);
        for text in headers.chain([&call.path]).chain(&call.body) {
            let names = slot::environment_names(text).into_iter();
            names.for_each(|name| removal.want(name.to_owned()));
        }
    }
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
                let masked = self.mask(|masking| masking.text(&value));
                self.expand(&masked)
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
        if has_slots_alone(secret) {
            return value.to_owned();
        }
        let name = self.variable(field, value);
        let what = if scheme.is_empty() {
            name.clone()
        } else {
            format!("{name} (what comes after {:?})", scheme.trim_end())
        };
        self.want(what);
        format!("{scheme}{}", slot::environment(&name))
    }

    /// The variable of a name and value: AUTHORIZATION, AUTHORIZATION_2.
    fn variable(&mut self, field: &str, value: &str) -> String {
        let field = field.to_ascii_lowercase();
        let mut of_field = self.variables.iter();
        if let Some(known) = of_field.find(|known| known.field == field && known.value == value) {
            return known.name.clone();
        }
        let mut letters = String::new();
        for letter in field.chars().take(VARIABLE_MAX) {
            match letter.to_ascii_uppercase() {
                letter @ ('A'..='Z' | '0'..='9') => letters.push(letter),
                _ if letters.ends_with('_') => {}
                _ => letters.push('_'),
            }
        }
        let first = match letters.trim_matches('_') {
            "" => "SECRET",
            letters => letters,
        };
        // A variable of the shell has a value of its own.
        let is_taken = |name: &str| {
            let mut wanted = self.wanted.iter();
            self.variables.iter().any(|known| known.name == name)
                || wanted.any(|what| what.split(' ').next() == Some(name))
        };
        let mut name = first.to_owned();
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

    /// Masks by variables.
    fn mask<T>(&mut self, mask: impl FnOnce(&mut Masking<'_>) -> T) -> T {
        let mut replace = |name: &str, value: &str| {
            let variable = self.variable(name, value);
            self.want(variable.clone());
            slot::environment(&variable)
        };
        mask(&mut Masking::new(&mut replace))
    }

    fn path(&mut self, call: &mut Call) {
        let (path, query) = match call.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&*call.path, None),
        };
        let mut whole = self.mask(|masking| masking.text(path));
        if let Some(query) = query {
            let pairs = query.split('&').map(|pair| match pair.split_once('=') {
                Some((name, value)) => {
                    let value = self.mask(|masking| masking.parameter(name, value));
                    format!("{name}={value}")
                }
                None => pair.to_owned(),
            });
            let pairs: Vec<String> = pairs.collect();
            whole.push_str(&format!("?{}", pairs.join("&")));
        }
        call.set_path(whole);
    }

    fn body(&mut self, call: &mut Call) {
        let Some(text) = call.body.take() else { return };
        let kind = header(&call.headers, "content-type").unwrap_or_default();
        let masked = self.mask(|masking| masked_body(masking, &text, kind));
        let why = match masked {
            Ok(masked) => {
                call.body = Some(masked);
                return;
            }
            Err(why) => why,
        };
        self.left_out
            .push(format!("the body of {}: {why}", call.name));
        call.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
}

/// The body of this media type without its secrets, or why there is none.
pub(super) fn masked_body(
    masking: &mut Masking<'_>,
    text: &str,
    media_type: &str,
) -> Result<String, &'static str> {
    let is_multipart = media_type.to_ascii_lowercase().starts_with("multipart/")
        || (text.starts_with("--") && text.to_ascii_lowercase().contains("content-disposition"));
    match is_multipart {
        true => masking
            .multipart(text, media_type)
            .ok_or("a multipart form that is not text, or names secrets in an unknown format"),
        false => masking
            .body(text)
            .ok_or("it names secrets, and is neither JSON nor a form"),
    }
}

/// Whether all values of credentials are slots: `…` or `token="…", id="…"`.
fn has_slots_alone(credentials: &str) -> bool {
    let mut parts = credentials.split([',', ';']).map(str::trim);
    parts.all(is_slots_with_name)
}

fn is_slots_with_name(part: &str) -> bool {
    let (name, value) = part.split_once('=').unwrap_or(("", part));
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte));
    is_name && slot::is_slots(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::{Call, ImportedCalls, remove_secrets, slot};

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
        let taken: Vec<String> = imported
            .calls
            .iter()
            .map(|call| slot::study_text(&call.headers[0].1))
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
