//! Puts values from outside into the texts of a request, and keeps them.

use waggle_template::variable;

use super::{
    EnvironmentError, Part,
    escape::{Position, Syntax},
};
use crate::{
    Origin, Problem, TakenValue,
    origin::next_opening,
    request_texts::{Receiver, RequestTexts},
};

/// Longest value.
const VALUE_MAX_BYTES: usize = 16 * 1024;

pub(super) struct Filling<'a> {
    /// How the values begin that are put in; everything else stays.
    openings: &'static [&'static str],
    value: &'a dyn Fn(&Origin) -> Result<String, Problem>,
    /// Each once.
    pub(super) taken: Vec<TakenValue>,
}

/// A text that is being filled.
struct Text<'t> {
    part: &'t Part,
    position: Position,
    /// The names of the values that were put in.
    names: &'t mut Vec<String>,
}

impl<'t> Text<'t> {
    fn new(part: &'t Part, syntax: Syntax, names: &'t mut Vec<String>) -> Self {
        Self {
            part,
            position: Position::new(syntax),
            names,
        }
    }
}

impl<'a> Filling<'a> {
    pub(super) fn new(
        openings: &'static [&'static str],
        value: &'a dyn Fn(&Origin) -> Result<String, Problem>,
    ) -> Self {
        Self {
            openings,
            value,
            taken: Vec::new(),
        }
    }

    /// Fills the texts of a request.
    pub(super) fn fill(&mut self, texts: RequestTexts<'_>) -> Result<(), EnvironmentError> {
        let RequestTexts {
            receiver,
            path,
            headers,
            body,
            from_outside,
        } = texts;
        let into = Text::new(&Part::Path, Syntax::Url, from_outside);
        self.fill_text(path, receiver, into)?;
        let mut media_type = None;
        for (name, value) in headers {
            let part = Part::Header(name.clone());
            let into = Text::new(&part, Syntax::Header, from_outside);
            self.fill_text(value, receiver, into)?;
            if name.eq_ignore_ascii_case("content-type") {
                media_type = Some(value.clone());
            }
        }
        match body {
            Some(body) => {
                let syntax = Syntax::from_body(media_type.as_deref(), body);
                let into = Text::new(&Part::Body, syntax, from_outside);
                self.fill_text(body, receiver, into)
            }
            None => Ok(()),
        }
    }

    fn fill_text(
        &mut self,
        text: &mut String,
        receiver: Receiver,
        mut into: Text<'_>,
    ) -> Result<(), EnvironmentError> {
        if next_opening(text, self.openings).is_some() {
            *text = match receiver {
                Receiver::Text => self.fill_between_variables(text, &mut into)?,
                Receiver::Template => self.fill_template(text, &mut into)?,
            };
        }
        Ok(())
    }

    /// Fills in the values in the texts between the variables of a template. Each text is escaped as a whole: two braces may come
    /// from two values, or from a value and the text next to it.
    fn fill_template(
        &mut self,
        template: &str,
        into: &mut Text<'_>,
    ) -> Result<String, EnvironmentError> {
        let parts =
            variable::parts(template).expect("a checked request's variables are written right");
        let (mut whole, mut text) = (String::new(), String::new());
        for part in parts {
            match part {
                variable::Part::Text(more) => text.push_str(more),
                variable::Part::Variable(name) => {
                    whole.push_str(&variable::escape(
                        &self.fill_between_variables(&text, into)?,
                    ));
                    whole.extend(["{{", name, "}}"]);
                    text.clear();
                }
            }
        }
        whole.push_str(&variable::escape(
            &self.fill_between_variables(&text, into)?,
        ));
        Ok(whole)
    }

    fn fill_between_variables(
        &mut self,
        text: &str,
        into: &mut Text<'_>,
    ) -> Result<String, EnvironmentError> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((start, opening)) = next_opening(rest, self.openings) {
            let (before, behind) = (&rest[..start], &rest[start + opening.len()..]);
            if let Some(before) = before.strip_suffix('$') {
                filled.push_str(before);
                filled.push_str(opening);
                into.position.pass(before);
                into.position.pass(opening);
                rest = behind;
                continue;
            }
            let Some(end) = behind.find('}') else {
                break;
            };
            let name = &rest[start + 2..start + opening.len() + end];
            let Some(origin) = Origin::parse(name) else {
                break;
            };
            filled.push_str(before);
            into.position.pass(before);
            let value = self.value(&origin, into.part)?;
            refuse_second_scheme(into.part, &filled, &origin, &value)?;
            let Some(written) = into.position.escape(&value) else {
                let why = "is outside of quotes in JSON, and no number, true, false or null";
                return Err(unusable(into.part, &origin, why));
            };
            filled.push_str(&written);
            if !into.names.iter().any(|known| known == name) {
                into.names.push(name.to_owned());
            }
            rest = &behind[end + 1..];
        }
        filled.push_str(rest);
        into.position.pass(rest);
        Ok(filled)
    }

    /// The value, if it is not empty and not too long.
    fn value(&mut self, origin: &Origin, part: &Part) -> Result<String, EnvironmentError> {
        let answer = (self.value)(origin);
        let value = answer.map_err(|Problem(why)| EnvironmentError::NotThere {
            part: part.clone(),
            origin: origin.clone(),
            why,
        })?;
        if value.is_empty() || value.len() > VALUE_MAX_BYTES {
            return Err(unusable(part, origin, "is empty or too long"));
        }
        if self.taken.iter().all(|known| known.origin != *origin) {
            let (origin, value) = (origin.clone(), value.clone());
            self.taken.push(TakenValue { origin, value });
        }
        Ok(value)
    }
}

/// `why` is said of path and body; of a header the same is said for all reasons.
fn unusable(part: &Part, origin: &Origin, why: &'static str) -> EnvironmentError {
    EnvironmentError::Unusable {
        part: part.clone(),
        origin: origin.clone(),
        why: match part {
            Part::Header(_) => "is empty, too long or has a control character",
            Part::Path | Part::Body => why,
        },
    }
}

/// Refuses credentials that begin with the authentication scheme that the study has before them: `Bearer ${env.TOKEN}`, and the
/// value `Bearer …`.
fn refuse_second_scheme(
    part: &Part,
    before: &str,
    origin: &Origin,
    value: &str,
) -> Result<(), EnvironmentError> {
    let Part::Header(header) = part else {
        return Ok(());
    };
    let scheme = before.trim();
    let names = ["authorization", "proxy-authorization"];
    let has_credentials = names.iter().any(|name| header.eq_ignore_ascii_case(name));
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let first = value.split_once(' ').map(|(first, _)| first);
    let is_twice = first.is_some_and(|first| first.eq_ignore_ascii_case(scheme));
    if has_credentials && is_scheme && is_twice {
        return Err(EnvironmentError::SchemeTwice {
            header: header.clone(),
            origin: origin.clone(),
            scheme: scheme.to_owned(),
        });
    }
    Ok(())
}
