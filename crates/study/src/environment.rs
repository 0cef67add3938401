//! `${env.NAME}` in the values of headers and in secrets: what may not stand in a file comes from the environment.
//!
//! The text keeps the name; the value is put in after the study was checked, and goes nowhere but into requests and to the
//! components that need it.

use std::{fmt, sync::Arc};

use waggle_template::{placeholder::single_name, variable};

use crate::{Action, Scenario, Study, Texts, What};

/// How such a name begins.
pub(crate) const PREFIX: &str = "env.";
/// How a variable begins in a value; after another `$` it is text.
const OPEN: &str = "${env.";
/// Longest value.
const VALUE_MAX_BYTES: usize = 16 * 1024;
/// Longest value of a secret.
const SECRET_MAX_BYTES: usize = 4 * 1024;

/// A secret of the system that the study takes from the environment, in place of a random word.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenSecret {
    pub name: String,
    /// Of the environment.
    pub variable: String,
    /// Line and column at which the study names it, counted from 1.
    pub at: (u32, u32),
    /// Known once it was taken.
    pub value: Option<String>,
}

impl fmt::Debug for GivenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenSecret")
            .field("name", &self.name)
            .field("variable", &self.variable)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// Why a value from the environment cannot be used. Never shows the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error(
        "the header {header} takes its value from the environment variable {name}, which is not set"
    )]
    NotSet { header: String, name: String },
    #[error(
        "the environment variable {name} cannot be the value of a header: it is empty, too long or has a control character"
    )]
    Unusable { name: String },
    #[error(
        "system.secrets.{secret} is the value of the environment variable {name}, which is not set"
    )]
    NoSecret {
        secret: String,
        name: String,
        /// Line and column in the study.
        at: (u32, u32),
    },
    #[error(
        "system.secrets.{secret} is the value of the environment variable {name}; expected 1 to {SECRET_MAX_BYTES} letters, \
         digits and signs of ASCII without quotes, \\ and $, so that it can stand in every file and request"
    )]
    UnusableSecret {
        secret: String,
        name: String,
        at: (u32, u32),
    },
}

impl EnvironmentError {
    /// Line and column in the study, where they are known.
    #[must_use]
    pub fn at(&self) -> Option<(u32, u32)> {
        match self {
            Self::NotSet { .. } | Self::Unusable { .. } => None,
            Self::NoSecret { at, .. } | Self::UnusableSecret { at, .. } => Some(*at),
        }
    }
}

impl Study {
    /// Takes the values of secrets from environment variables, and puts others into the headers of every cell's requests.
    ///
    /// # Errors
    /// A variable that is not set, or whose value cannot be a secret or stand in a header.
    pub fn take_from_environment(
        &mut self,
        value_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), EnvironmentError> {
        for secret in &mut self.secrets {
            secret.take(value_of)?;
        }
        for cell in &mut self.cells {
            match &mut cell.what {
                What::Request(request) => {
                    let receiver = match request.texts {
                        Texts::Plain => Receiver::Text,
                        Texts::Templates(_) => Receiver::Template,
                    };
                    fill(&mut request.headers, value_of, receiver)?;
                }
                What::Scenario(scenario) => {
                    Arc::make_mut(scenario).take_from_environment(value_of)?
                }
            }
        }
        Ok(())
    }
}

impl GivenSecret {
    fn take(&mut self, value_of: &dyn Fn(&str) -> Option<String>) -> Result<(), EnvironmentError> {
        let (secret, name, at) = (self.name.clone(), self.variable.clone(), self.at);
        let Some(value) = value_of(&name) else {
            return Err(EnvironmentError::NoSecret { secret, name, at });
        };
        // Texts into which it is put know nothing of quoting.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'`\\$".contains(&byte);
        let is_usable =
            (1..=SECRET_MAX_BYTES).contains(&value.len()) && value.bytes().all(is_plain);
        if !is_usable {
            return Err(EnvironmentError::UnusableSecret { secret, name, at });
        }
        self.value = Some(value);
        Ok(())
    }
}

impl Scenario {
    /// The same for a scenario that stands alone.
    ///
    /// # Errors
    /// A variable that is not set, or whose value cannot stand in a header.
    pub fn take_from_environment(
        &mut self,
        value_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), EnvironmentError> {
        self.flows
            .iter_mut()
            .try_for_each(|flow| in_actions(&mut flow.actions, value_of))
    }
}

fn in_actions(
    actions: &mut [Action],
    value_of: &dyn Fn(&str) -> Option<String>,
) -> Result<(), EnvironmentError> {
    for action in actions {
        match action {
            Action::Request(step) => fill(&mut step.headers, value_of, Receiver::Template)?,
            Action::Pause(_) => {}
            Action::Repeat { actions, .. } => in_actions(actions, value_of)?,
        }
    }
    Ok(())
}

/// What a value is put into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Text,
    /// Braces in the value are no variable.
    Template,
}

fn fill(
    headers: &mut [(String, String)],
    value_of: &dyn Fn(&str) -> Option<String>,
    receiver: Receiver,
) -> Result<(), EnvironmentError> {
    for (header, value) in headers {
        let mut filled = String::new();
        let mut rest = value.as_str();
        while let Some(at) = rest.find(OPEN) {
            let (before, behind) = (&rest[..at], &rest[at + OPEN.len()..]);
            if let Some(before) = before.strip_suffix('$') {
                filled.push_str(before);
                filled.push_str(OPEN);
                rest = behind;
                continue;
            }
            let Some((name, after)) = behind.split_once('}') else {
                break;
            };
            let found = value_of(name).ok_or_else(|| EnvironmentError::NotSet {
                header: header.clone(),
                name: name.to_owned(),
            })?;
            let is_usable = !found.is_empty()
                && found.len() <= VALUE_MAX_BYTES
                && !found.chars().any(char::is_control);
            if !is_usable {
                return Err(EnvironmentError::Unusable {
                    name: name.to_owned(),
                });
            }
            filled.push_str(before);
            match receiver {
                Receiver::Text => filled.push_str(&found),
                Receiver::Template => filled.push_str(&variable::escaped(&found)),
            }
            rest = after;
        }
        filled.push_str(rest);
        *value = filled;
    }
    Ok(())
}

/// The text so that nothing in it is taken for a variable.
pub(crate) fn escaped(text: &str) -> String {
    text.replace(OPEN, &format!("${OPEN}"))
}

/// The variable of a text that is `${env.NAME}` and nothing else.
pub(crate) fn variable(text: &str) -> Option<&str> {
    let name = single_name(text)?;
    is_of_environment(name).then(|| name.strip_prefix(PREFIX))?
}

/// Whether what stands in `${…}` names an environment variable.
pub(crate) fn is_of_environment(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|name| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::{EnvironmentError, Receiver, fill};

    #[test]
    fn values_come_from_the_environment() {
        let value_of = |name: &str| match name {
            "TOKEN" => Some("abc".to_owned()),
            "BRACES" => Some("{{a".to_owned()),
            "BAD" => Some("a\r\nb".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let check = |value: &str, expected: Result<&str, EnvironmentError>| {
            let mut headers = [("h".to_owned(), value.to_owned())];
            let filled = fill(&mut headers, &value_of, Receiver::Text);
            let [(_, value)] = headers;
            assert_eq!(filled.map(|()| value), expected.map(str::to_owned));
        };
        let unusable = |name: &str| {
            Err(EnvironmentError::Unusable {
                name: name.to_owned(),
            })
        };
        check("plain", Ok("plain"));
        check("Bearer ${env.TOKEN}!", Ok("Bearer abc!"));
        check("${env.TOKEN}${env.TOKEN}", Ok("abcabc"));
        check("a $${env.TOKEN} ${env.TOKEN}", Ok("a ${env.TOKEN} abc"));
        check("${env.BRACES}", Ok("{{a"));
        let mut headers = [("h".to_owned(), "x ${env.BRACES}".to_owned())];
        fill(&mut headers, &value_of, Receiver::Template).unwrap();
        assert_eq!(headers[0].1, "x {{{{a");
        check("$${env.NONE", Ok("${env.NONE"));
        check("${env.BAD}", unusable("BAD"));
        check("${env.EMPTY}", unusable("EMPTY"));
        check(
            "${env.NONE}",
            Err(EnvironmentError::NotSet {
                header: "h".to_owned(),
                name: "NONE".to_owned(),
            }),
        );
    }
}
