//! What a form asks for: a study, the part of it, and what the changed version has. Values that no shell sees.

use url::form_urlencoded;

use crate::reason::Reason;

/// Longest value of a field.
const VALUE_MAX_LETTERS: usize = 300;
/// Factors and parameters that an order names.
const CHOICES_MAX: usize = 64;

/// A study in the folder of studies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyEntry {
    /// Below the folder.
    pub file: String,
    /// Its name and its question, or why it cannot be read.
    pub content: Result<(String, String), Reason>,
}

/// What can be chosen of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudyForm {
    pub name: String,
    pub question: String,
    pub cells: usize,
    /// Each with its levels.
    pub factors: Vec<(String, Vec<String>)>,
    pub system: String,
    pub parameters: Vec<StudyParameter>,
    /// It searches for a level: there is no pilot of it.
    pub is_search: bool,
}

/// A parameter of its system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyParameter {
    pub name: String,
    pub summary: String,
    /// `an integer from 1 to 8`.
    pub kind: String,
    /// Its values, if they are words; empty: any of the kind.
    pub values: Vec<String>,
    /// Of the system.
    pub default: String,
    /// What the study has, and so what holds if no level is given: `4`; of cells that differ `2 or 4`.
    pub unchanged: String,
}

/// How much of each trial is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extent {
    #[default]
    Whole,
    Quick,
    Pilot,
}

/// A run that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Order {
    /// Below the folder of studies.
    pub study: String,
    /// Factors with the level to which each is restricted.
    pub filters: Vec<(String, String)>,
    /// Parameters with the level that the changed version has.
    pub against: Vec<(String, String)>,
    pub extent: Extent,
    pub seed: Option<u64>,
    /// The run with which the new one is compared when it has ended.
    pub compare_with: Option<String>,
}

impl Order {
    /// Reads the fields of a form.
    ///
    /// # Errors
    /// A field is not known, too long, or not what it must be.
    pub fn parse(body: &[u8]) -> Result<Self, Reason> {
        let mut order = Self::default();
        for (key, value) in form_urlencoded::parse(body) {
            if value.chars().count() > VALUE_MAX_LETTERS || value.contains(char::is_control) {
                return Err(Reason(format!(
                    "{key}: expected at most {VALUE_MAX_LETTERS} letters in one line"
                )));
            }
            order.set(&key, value.trim())?;
        }
        if order.filters.len() + order.against.len() > CHOICES_MAX {
            return Err(Reason(format!(
                "expected at most {CHOICES_MAX} factors and parameters"
            )));
        }
        Ok(order)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Reason> {
        match (key, key.split_once('.')) {
            (_, Some(("factor" | "parameter", _))) if value.is_empty() => {}
            (_, Some(("factor", name))) => self.filters.push((name.to_owned(), value.to_owned())),
            (_, Some(("parameter", name))) => {
                self.against.push((name.to_owned(), value.to_owned()));
            }
            ("study", _) => value.clone_into(&mut self.study),
            ("compare_with", _) => {
                self.compare_with = Some(value.to_owned()).filter(|run| !run.is_empty());
            }
            ("extent", _) => {
                self.extent = match value {
                    "whole" => Extent::Whole,
                    "quick" => Extent::Quick,
                    "pilot" => Extent::Pilot,
                    other => {
                        return Err(Reason(format!(
                            "extent: expected whole, quick or pilot, and not {other:?}"
                        )));
                    }
                }
            }
            ("seed", _) if value.is_empty() => {}
            ("seed", _) => {
                let seed = value.parse();
                self.seed = Some(seed.map_err(|_| {
                    Reason(format!(
                        "seed: expected a whole number up to {}, and not {value:?}",
                        u64::MAX
                    ))
                })?);
            }
            ("token", _) => {}
            (other, _) => return Err(Reason(format!("there is no field {other:?}"))),
        }
        Ok(())
    }

    /// What it asks for beside the study, for people: `users=5, quick`; empty: all of it.
    pub(crate) fn choices(&self) -> String {
        let filters = self.filters.iter();
        let mut choices: Vec<String> = filters
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let against = self.against.iter();
        choices.extend(against.map(|(name, level)| format!("against {name}={level}")));
        choices.extend(match self.extent {
            Extent::Whole => None,
            Extent::Quick => Some("quick".to_owned()),
            Extent::Pilot => Some("pilot".to_owned()),
        });
        choices.extend(self.seed.map(|seed| format!("seed {seed}")));
        let compared = self.compare_with.as_ref();
        choices.extend(compared.map(|run| format!("compared with {run}")));
        choices.join(", ")
    }

    /// The fields of the form that asks for it again.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        let mut fields = vec![("study".to_owned(), self.study.clone())];
        for (kind, pairs) in [("factor", &self.filters), ("parameter", &self.against)] {
            let pairs = pairs.iter();
            fields.extend(pairs.map(|(name, level)| (format!("{kind}.{name}"), level.clone())));
        }
        let extent = match self.extent {
            Extent::Whole => "whole",
            Extent::Quick => "quick",
            Extent::Pilot => "pilot",
        };
        fields.push(("extent".to_owned(), extent.to_owned()));
        fields.extend(self.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
        let compared = self.compare_with.clone();
        fields.extend(compared.map(|run| ("compare_with".to_owned(), run)));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_they_are_written() {
        let body = "study=a%2Fb.yaml&factor.users=5&factor.store=&parameter.workers=2&extent=quick&seed=7&compare_with=r-1&token=x";
        let order = Order::parse(body.as_bytes()).unwrap();
        let expected = Order {
            study: "a/b.yaml".to_owned(),
            filters: vec![("users".to_owned(), "5".to_owned())],
            against: vec![("workers".to_owned(), "2".to_owned())],
            extent: Extent::Quick,
            seed: Some(7),
            compare_with: Some("r-1".to_owned()),
        };
        assert_eq!(order, expected);
        let choices = "users=5, against workers=2, quick, seed 7, compared with r-1";
        assert_eq!(order.choices(), choices);
        let mut again = form_urlencoded::Serializer::new(String::new());
        again.extend_pairs(order.fields());
        assert_eq!(Order::parse(again.finish().as_bytes()), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        let check = |body: &str, expected: &str| {
            let error = Order::parse(body.as_bytes()).unwrap_err().0;
            assert!(error.starts_with(expected), "{error}");
        };
        check("extent=huge", "extent: expected whole, quick or pilot");
        check(
            "seed=-1",
            "seed: expected a whole number up to 18446744073709551615",
        );
        check("runs=/etc", "there is no field \"runs\"");
        check(
            "study=a%0Ab",
            "study: expected at most 300 letters in one line",
        );
    }
}
