//! `${env.NAME}`, `${file:PATH}`, `${secret.NAME}` and `${oauth2.token}` in the texts of requests, and the first two in secrets: what
//! may not be in a study comes from the environment, from a file, from the system that is up, or from a token server. The
//! text keeps the name; the value is read after the study was checked.

use std::fmt;

use waggle_template::placeholder::single_name;

use crate::substitute::secret;

/// How such names begin.
const PREFIXES: [&str; 4] = ["env.", "file:", "secret.", "oauth2."];
/// The name of the token that `system.oauth2` brings.
pub(crate) const TOKEN: &str = "oauth2.token";
/// How a value from the environment or a file begins in a text; after another `$` it is text.
pub(crate) const OPENINGS: &[&str] = &["${env.", "${file:"];
/// How what is known only in a trial begins, a secret of the system or a token; after another `$` it is text.
pub(crate) const SECRET_OPENINGS: &[&str] = &["${secret.", "${oauth2."];
/// Where a value that is in no study comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An environment variable.
    Variable(String),
    /// A file, relative to the study's folder; the end of its last line is no part of the value.
    File(String),
    /// A secret of the system.
    Secret(String),
    /// The newest token of `system.oauth2`.
    Token,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the environment variable {name}"),
            Self::File(name) => write!(f, "the file {name}"),
            Self::Secret(name) => write!(f, "the system's secret {name}"),
            Self::Token => f.write_str("the token of system.oauth2"),
        }
    }
}

impl Origin {
    /// Whether it is known before the system is up.
    pub(crate) fn is_outside_system(&self) -> bool {
        matches!(self, Self::Variable(_) | Self::File(_))
    }

    /// How it is written in `${…}`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Variable(name) => format!("{}{name}", PREFIXES[0]),
            Self::File(name) => format!("{}{name}", PREFIXES[1]),
            Self::Secret(name) => format!("{}{name}", PREFIXES[2]),
            Self::Token => TOKEN.to_owned(),
        }
    }

    /// Parses the inside of a `${…}`; `None`: it is no value from outside.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if let Some(variable) = name.strip_prefix(PREFIXES[0]) {
            let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let is_name = !variable.is_empty() && variable.bytes().all(of_name);
            return is_name.then(|| Self::Variable(variable.to_owned()));
        }
        if let Some(secret) = secret(name) {
            return Some(Self::Secret(secret.to_owned()));
        }
        if name == TOKEN {
            return Some(Self::Token);
        }
        let file = name.strip_prefix(PREFIXES[1])?;
        (!file.trim().is_empty()).then(|| Self::File(file.to_owned()))
    }

    /// Parses a text that is exactly one such `${…}`.
    pub(crate) fn parse_single(text: &str) -> Option<Self> {
        Self::parse(single_name(text)?)
    }
}

/// A secret of the system that the study takes from outside, in place of a random word.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenSecret {
    pub name: String,
    pub origin: Origin,
    /// Line and column at which the study names it, counted from 1.
    pub at: (u32, u32),
    /// Filled by [`crate::Study::take_from_environment`].
    pub value: Option<String>,
}

impl fmt::Debug for GivenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenSecret")
            .field("name", &self.name)
            .field("origin", &self.origin)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// A value from outside in the load's requests.
#[derive(Clone, PartialEq, Eq)]
pub struct TakenValue {
    pub origin: Origin,
    pub value: String,
}

impl fmt::Debug for TakenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TakenValue")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// The position at which the first of these openings is, and which it is.
pub(crate) fn next_opening(
    text: &str,
    openings: &'static [&'static str],
) -> Option<(usize, &'static str)> {
    let places = openings.iter();
    let places = places.filter_map(|opening| Some((text.find(opening)?, *opening)));
    places.min()
}

/// Escapes the text, so that nothing in it is read as a value from outside.
pub(crate) fn escape(text: &str) -> String {
    let openings = OPENINGS.iter().chain(SECRET_OPENINGS);
    openings.fold(text.to_owned(), |text, opening| {
        text.replace(opening, &format!("${opening}"))
    })
}

/// Whether the inside of a `${…}` is meant as a value from outside, even if it has a mistake.
pub(crate) fn is_meant_from_outside(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the inside of a `${…}` is a value from outside.
pub(crate) fn is_from_outside(name: &str) -> bool {
    Origin::parse(name).is_some()
}
