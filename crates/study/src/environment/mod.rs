//! Puts values from outside into a checked study. They go only into requests and to the components that need them.

mod escape;
mod filling;

use std::fmt;

use waggle_template::placeholder;

use crate::{
    Files, GivenSecret, Origin, Problem, Request, Scenario, Source, Study, TakenValue,
    origin::{OPENINGS, SECRET_OPENINGS},
    parts::request::Method,
    place::{Place, first_place},
    request_texts::is_request_text,
};
pub use escape::{percent_encoded, xml_escaped};
use filling::Filling;

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
    pub(crate) fn value(self, origin: &Origin) -> Result<String, Problem> {
        match origin {
            Origin::Variable(name) => {
                (self.variable)(name).ok_or_else(|| Problem("is not set".to_owned()))
            }
            Origin::File(name) => {
                let text = (self.file)(name).map(|source| source.text);
                let mut text = text.map_err(|why| Problem(format!("cannot be had: {why}")))?;
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
                Ok(text)
            }
            Origin::Secret(_) | Origin::Token => {
                Err(Problem("is known only when the system is up".to_owned()))
            }
        }
    }
}

/// Why a value from outside cannot be used. Never shows the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error("{part} takes its value from {origin}, which {why}")]
    NotThere {
        part: Part,
        origin: Origin,
        why: String,
    },
    #[error("{origin} cannot be the value of {part}: it {why}")]
    Unusable {
        part: Part,
        origin: Origin,
        why: &'static str,
    },
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
            Self::NotThere { origin, part, .. } | Self::Unusable { origin, part, .. } => {
                text_place(origin, part, source, files)
            }
            Self::SchemeTwice { origin, header, .. } => {
                text_place(origin, &Part::Header(header.clone()), source, files)
            }
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

/// The part of a request that has a value from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Path,
    /// Its name.
    Header(String),
    Body,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("the path"),
            Self::Header(name) => write!(f, "the header {name}"),
            Self::Body => f.write_str("the body"),
        }
    }
}

/// The first such part that has this value.
fn text_place(origin: &Origin, part: &Part, source: &Source, files: Files<'_>) -> Option<Place> {
    let name = origin.name();
    first_place(source, files, &|text, path| {
        part.is_at(path) && has_name(text, &name)
    })
}

impl Part {
    /// Whether the keys lead to such a part of a request.
    fn is_at(&self, path: &[String]) -> bool {
        let mut keys = path.iter().rev().map(String::as_str);
        let (key, around) = (keys.next(), keys.next());
        is_request_text(path)
            && match self {
                Self::Header(name) => key == Some(name) && around == Some("headers"),
                Self::Body => key == Some("body"),
                Self::Path => key.is_some_and(|key| Method::KEYS.contains(&key)),
            }
    }
}

/// Whether a text has `${name}`.
fn has_name(text: &str, name: &str) -> bool {
    let mut parts = placeholder::parts(text).into_iter().flatten();
    parts.any(|part| part == placeholder::Part::Name(name))
}

impl Study {
    /// Reads the values of secrets and of the client of OAuth 2, puts the other values into the texts of every cell's requests,
    /// and reads the kubeconfig. Then [`crate::System::with_external`] knows where its component is.
    ///
    /// # Errors
    /// A value is missing, or cannot be a secret or at its place in a request; the kubeconfig has a mistake.
    pub fn take_from_environment(&mut self, values: Values<'_>) -> Result<(), EnvironmentError> {
        for secret in &mut self.secrets {
            secret.resolve(values)?;
        }
        let value = |origin: &Origin| values.value(origin);
        let mut filling = Filling::new(OPENINGS, &value);
        for cell in &mut self.cells {
            cell.change_requests(&mut |_, texts| filling.fill(texts))?;
        }
        self.taken = filling.taken;
        self.read_client(values)?;
        self.read_kubeconfig(values)
    }
}

impl GivenSecret {
    fn resolve(&mut self, values: Values<'_>) -> Result<(), EnvironmentError> {
        let (secret, origin, position) = (self.name.clone(), self.origin.clone(), self.at);
        let value = match values.value(&origin) {
            Ok(value) => value,
            Err(Problem(why)) => {
                return Err(EnvironmentError::NoSecret {
                    secret,
                    origin,
                    why,
                    at: position,
                });
            }
        };
        // The texts into which it is put have no quoting.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'`\\$".contains(&byte);
        let is_usable =
            (1..=SECRET_MAX_BYTES).contains(&value.len()) && value.bytes().all(is_plain);
        if !is_usable {
            return Err(EnvironmentError::UnusableSecret {
                secret,
                origin,
                at: position,
            });
        }
        self.value = Some(value);
        Ok(())
    }
}

impl Scenario {
    /// The same for a scenario without a study; returns the values, which may be secrets.
    ///
    /// # Errors
    /// A value is missing, or cannot be at its place in a request.
    pub fn take_from_environment(
        &mut self,
        values: Values<'_>,
    ) -> Result<Vec<TakenValue>, EnvironmentError> {
        let value = |origin: &Origin| values.value(origin);
        let mut filling = Filling::new(OPENINGS, &value);
        self.change_requests(&mut |texts| filling.fill(texts))?;
        Ok(filling.taken)
    }

    /// The same with the secrets of a system that is up, and its token, in its texts; `value` returns that of `${secret.NAME}`
    /// and of `${oauth2.token}` by its name.
    ///
    /// # Errors
    /// There is no such value, or it cannot be at its place in a request.
    pub fn with_secrets(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EnvironmentError> {
        let mut scenario = self.clone();
        let value = |origin: &Origin| secret_value(origin, value);
        let mut filling = Filling::new(SECRET_OPENINGS, &value);
        scenario.change_requests(&mut |texts| filling.fill(texts))?;
        Ok(scenario)
    }
}

impl Request {
    /// The same with the secrets of a system that is up, and its token, in its texts; `value` returns that of `${secret.NAME}`
    /// and of `${oauth2.token}` by its name.
    ///
    /// # Errors
    /// There is no such value, or it cannot be at its place in a request.
    pub fn with_secrets(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EnvironmentError> {
        let mut request = self.clone();
        let value = |origin: &Origin| secret_value(origin, value);
        Filling::new(SECRET_OPENINGS, &value).fill(request.texts_mut())?;
        Ok(request)
    }
}

fn secret_value(
    origin: &Origin,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Problem> {
    value(&origin.name()).ok_or_else(|| Problem("the system does not have".to_owned()))
}

#[cfg(test)]
mod tests;
