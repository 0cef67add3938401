//! Puts values from outside into a checked study. They go only into requests and to the components that need them.

use std::fmt;

use waggle_template::{
    placeholder,
    variable::{self, Part},
};

use crate::{
    Files, GivenSecret, Origin, Request, Scenario, Source, Study, TakenValue,
    headers::Receiver,
    origin::{OPENINGS, SECRET_OPENINGS, next_opening},
    place::{Place, first_place},
};

/// Longest value.
const VALUE_MAX_BYTES: usize = 16 * 1024;
/// Longest value of a secret.
const SECRET_MAX_BYTES: usize = 4 * 1024;

/// The sources of such values: environment variables by name, and files next to the study.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub file: Files<'a>,
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}

impl Values<'_> {
    /// The value, or why there is none.
    pub(crate) fn value(self, origin: &Origin) -> Result<String, String> {
        match origin {
            Origin::Variable(name) => (self.variable)(name).ok_or_else(|| "is not set".to_owned()),
            Origin::File(name) => {
                let text = (self.file)(name).map(|source| source.text);
                let mut text = text.map_err(|why| format!("cannot be had: {why}"))?;
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
                Ok(text)
            }
            Origin::Secret(_) | Origin::Token => {
                Err("is known only when the system is up".to_owned())
            }
        }
    }
}

/// Why a value from outside cannot be used. Never shows the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error("the header {header} takes its value from {origin}, which {why}")]
    NotThere {
        header: String,
        origin: Origin,
        why: String,
    },
    #[error(
        "{origin} cannot be the value of a header: it is empty, too long or has a control character"
    )]
    Unusable { origin: Origin },
    #[error(
        "the header {header} has \"{scheme}\" twice: before the value, and at the start of {origin}; expected there what comes after \
         \"{scheme}\""
    )]
    SchemeTwice {
        header: String,
        origin: Origin,
        /// The text before the value.
        scheme: String,
    },
    #[error("system.secrets.{secret} is the value of {origin}, which {why}")]
    NoSecret {
        secret: String,
        origin: Origin,
        why: String,
        /// Line and column in the study.
        at: (u32, u32),
    },
    #[error(
        "system.secrets.{secret} is the value of {origin}; expected 1 to {SECRET_MAX_BYTES} letters, \
         digits and signs of ASCII without quotes, \\ and $, so that it can be used in every file and request"
    )]
    UnusableSecret {
        secret: String,
        origin: Origin,
        at: (u32, u32),
    },
    #[error("system.oauth2.{key} is the value of {origin}, which {why}")]
    NoCredential {
        key: &'static str,
        origin: Origin,
        why: String,
        at: (u32, u32),
    },
    #[error(
        "system.oauth2.{key} is the value of {origin}; expected a text of one line, not longer than 4 KiB"
    )]
    UnusableCredential {
        key: &'static str,
        origin: Origin,
        at: (u32, u32),
    },
    /// `why` names the file and the place in it.
    #[error("system.kubeconfig: {why}")]
    Kubeconfig { why: String, at: (u32, u32) },
}

impl EnvironmentError {
    /// The place in this study, or scenario in a file of its own, if it is known. `files` are those beside it.
    #[must_use]
    pub fn place(&self, source: &Source, files: Files<'_>) -> Option<Place> {
        match self {
            Self::NotThere { origin, .. }
            | Self::Unusable { origin }
            | Self::SchemeTwice { origin, .. } => header_place(origin, source, files),
            Self::NoSecret { at, .. }
            | Self::UnusableSecret { at, .. }
            | Self::NoCredential { at, .. }
            | Self::UnusableCredential { at, .. }
            | Self::Kubeconfig { at, .. } => Some(Place {
                file: source.name.clone(),
                line: at.0,
                column: at.1,
            }),
        }
    }
}

/// The first header that has this value.
fn header_place(origin: &Origin, source: &Source, files: Files<'_>) -> Option<Place> {
    let name = origin.name();
    first_place(source, files, &|text, path| {
        let is_header = path.iter().rev().nth(1).is_some_and(|key| key == "headers");
        let names = is_header.then(|| placeholder::parts(text)).flatten();
        let mut names = names.into_iter().flatten();
        names.any(|part| part == placeholder::Part::Name(&name))
    })
}

impl Study {
    /// Reads the values of secrets and of the client of OAuth 2, puts the other values into the headers of every cell's requests,
    /// and reads the kubeconfig. Then [`crate::System::with_external`] knows where its component is.
    ///
    /// # Errors
    /// A value is missing, or cannot be a secret or in a header; the kubeconfig has a mistake.
    pub fn take_from_environment(&mut self, values: Values<'_>) -> Result<(), EnvironmentError> {
        for secret in &mut self.secrets {
            secret.resolve(values)?;
        }
        let value = |origin: &Origin| values.value(origin);
        let mut filling = Filling::new(OPENINGS, &value);
        for cell in &mut self.cells {
            cell.change_headers(&mut |_, receiver, headers| filling.fill(headers, receiver))?;
        }
        self.taken = filling.taken;
        self.read_client(values)?;
        self.read_kubeconfig(values)
    }
}

impl GivenSecret {
    fn resolve(&mut self, values: Values<'_>) -> Result<(), EnvironmentError> {
        let (secret, origin, at) = (self.name.clone(), self.origin.clone(), self.at);
        let value = match values.value(&origin) {
            Ok(value) => value,
            Err(why) => {
                return Err(EnvironmentError::NoSecret {
                    secret,
                    origin,
                    why,
                    at,
                });
            }
        };
        // The texts into which it is put have no quoting.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'`\\$".contains(&byte);
        let is_usable =
            (1..=SECRET_MAX_BYTES).contains(&value.len()) && value.bytes().all(is_plain);
        if !is_usable {
            return Err(EnvironmentError::UnusableSecret { secret, origin, at });
        }
        self.value = Some(value);
        Ok(())
    }
}

impl Scenario {
    /// The same for a scenario without a study; returns the values, which may be secrets.
    ///
    /// # Errors
    /// A value is missing, or cannot be in a header.
    pub fn take_from_environment(
        &mut self,
        values: Values<'_>,
    ) -> Result<Vec<TakenValue>, EnvironmentError> {
        let value = |origin: &Origin| values.value(origin);
        let mut filling = Filling::new(OPENINGS, &value);
        self.change_headers(&mut |receiver, headers| filling.fill(headers, receiver))?;
        Ok(filling.taken)
    }

    /// The same with the secrets of a system that is up, and its token, in its headers; `value` returns that of `${secret.NAME}`
    /// and of `${oauth2.token}` by its name.
    ///
    /// # Errors
    /// There is no such value, or it cannot be in a header.
    pub fn with_secrets(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EnvironmentError> {
        let mut scenario = self.clone();
        let value = |origin: &Origin| secret_value(origin, value);
        let mut filling = Filling::new(SECRET_OPENINGS, &value);
        scenario.change_headers(&mut |receiver, headers| filling.fill(headers, receiver))?;
        Ok(scenario)
    }
}

impl Request {
    /// The same with the secrets of a system that is up, and its token, in its headers; `value` returns that of `${secret.NAME}`
    /// and of `${oauth2.token}` by its name.
    ///
    /// # Errors
    /// There is no such value, or it cannot be in a header.
    pub fn with_secrets(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EnvironmentError> {
        let mut request = self.clone();
        let value = |origin: &Origin| secret_value(origin, value);
        let receiver = request.receiver();
        Filling::new(SECRET_OPENINGS, &value).fill(&mut request.headers, receiver)?;
        Ok(request)
    }
}

fn secret_value(origin: &Origin, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    value(&origin.name()).ok_or_else(|| "the system does not have".to_owned())
}

/// Puts values into headers, and keeps them.
struct Filling<'a> {
    /// How the values begin that are put in; everything else stays.
    openings: &'static [&'static str],
    value: &'a dyn Fn(&Origin) -> Result<String, String>,
    /// Each once.
    taken: Vec<TakenValue>,
}

impl<'a> Filling<'a> {
    fn new(
        openings: &'static [&'static str],
        value: &'a dyn Fn(&Origin) -> Result<String, String>,
    ) -> Self {
        Self {
            openings,
            value,
            taken: Vec::new(),
        }
    }

    fn fill(
        &mut self,
        headers: &mut [(String, String)],
        receiver: Receiver,
    ) -> Result<(), EnvironmentError> {
        for (header, value) in headers {
            *value = match receiver {
                Receiver::Text => self.fill_header(header, value)?,
                Receiver::Template => self.filled_template(header, value)?,
            };
        }
        Ok(())
    }

    /// Fills in the values in the texts between the variables of a template. Each text is escaped as a whole: two braces may come
    /// from two values, or from a value and the text next to it.
    fn filled_template(
        &mut self,
        header: &str,
        template: &str,
    ) -> Result<String, EnvironmentError> {
        let parts =
            variable::parts(template).expect("a checked request's variables are written right");
        let (mut whole, mut text) = (String::new(), String::new());
        for part in parts {
            match part {
                Part::Text(more) => text.push_str(more),
                Part::Variable(name) => {
                    whole.push_str(&variable::escape(&self.fill_header(header, &text)?));
                    whole.extend(["{{", name, "}}"]);
                    text.clear();
                }
            }
        }
        whole.push_str(&variable::escape(&self.fill_header(header, &text)?));
        Ok(whole)
    }

    fn fill_header(&mut self, header: &str, text: &str) -> Result<String, EnvironmentError> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((at, opening)) = next_opening(rest, self.openings) {
            let (before, behind) = (&rest[..at], &rest[at + opening.len()..]);
            if let Some(before) = before.strip_suffix('$') {
                filled.push_str(before);
                filled.push_str(opening);
                rest = behind;
                continue;
            }
            let Some(end) = behind.find('}') else {
                break;
            };
            let name = &rest[at + 2..at + opening.len() + end];
            let Some(origin) = Origin::parse(name) else {
                break;
            };
            filled.push_str(before);
            let value = self.usable_value(header, &origin)?;
            if has_scheme_twice(header, &filled, &value) {
                return Err(EnvironmentError::SchemeTwice {
                    header: header.to_owned(),
                    origin,
                    scheme: filled.trim().to_owned(),
                });
            }
            filled.push_str(&value);
            rest = &behind[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// The value, if it can be in a header.
    fn usable_value(&mut self, header: &str, origin: &Origin) -> Result<String, EnvironmentError> {
        let found = (self.value)(origin);
        let value = found.map_err(|why| EnvironmentError::NotThere {
            header: header.to_owned(),
            origin: origin.clone(),
            why,
        })?;
        let is_usable = !value.is_empty()
            && value.len() <= VALUE_MAX_BYTES
            && !value.chars().any(char::is_control);
        if !is_usable {
            return Err(EnvironmentError::Unusable {
                origin: origin.clone(),
            });
        }
        if self.taken.iter().all(|known| known.origin != *origin) {
            let (origin, value) = (origin.clone(), value.clone());
            self.taken.push(TakenValue { origin, value });
        }
        Ok(value)
    }
}

/// Whether credentials begin with the authentication scheme that the study has before them: `Bearer ${env.TOKEN}`, and the value
/// `Bearer …`.
fn has_scheme_twice(header: &str, before: &str, value: &str) -> bool {
    let scheme = before.trim();
    let names = ["authorization", "proxy-authorization"];
    let has_credentials = names.iter().any(|name| header.eq_ignore_ascii_case(name));
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let first = value.split_once(' ').map(|(first, _)| first);
    has_credentials && is_scheme && first.is_some_and(|first| first.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests;
