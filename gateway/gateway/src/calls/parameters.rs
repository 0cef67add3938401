//! The query part of a request, parsed strictly: an unknown or repeated parameter is an error.

use std::time::Duration;

use axum::extract::Query;
use http::Uri;
use waggle_flags::duration;

use crate::answers::problem::Problem;

/// Parameters that no caller has taken yet.
#[derive(Debug)]
pub(crate) struct Parameters {
    left: Vec<(String, String)>,
    /// Names that callers have asked for.
    known: Vec<String>,
}

impl Parameters {
    pub(crate) fn parse(uri: &Uri) -> Result<Self, Problem> {
        Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map(|Query(left)| Self {
                left,
                known: Vec::new(),
            })
            .map_err(|rejection| Problem::new(400, rejection.body_text()))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        self.known.push(name.to_owned());
        let mut parameter = None;
        while let Some(index) = self.left.iter().position(|(key, _)| key == name) {
            let (_, value) = self.left.swap_remove(index);
            if parameter.replace(value).is_some() {
                return Err(Problem::new(400, format!("{name} is given twice")));
            }
        }
        Ok(parameter)
    }

    pub(crate) fn take_required(&mut self, name: &str) -> Result<String, Problem> {
        self.text(name)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| Problem::new(400, format!("{name} is required")))
    }

    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, Problem> {
        self.text(name)?
            .map(|value| {
                value.parse().map_err(|_| {
                    Problem::new(400, format!("{name} must be an integer, not {value:?}"))
                })
            })
            .transpose()
    }

    /// `true` or `false`, the default.
    pub(crate) fn boolean(&mut self, name: &str) -> Result<bool, Problem> {
        match self.text(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(value) => Err(Problem::new(
                400,
                format!("{name} must be true or false, not {value:?}"),
            )),
        }
    }

    /// A count from 1; values above `max` become `max`.
    pub(crate) fn limit(&mut self, default: usize, max: usize) -> Result<usize, Problem> {
        let Some(asked) = self.integer("limit")? else {
            return Ok(default.min(max));
        };
        if asked < 1 {
            return Err(Problem::new(400, "limit must be at least 1"));
        }
        Ok(usize::try_from(asked).unwrap_or(max).min(max))
    }

    /// Requested earliest and latest time, both included.
    pub(crate) fn times(&mut self) -> Result<(i64, i64), Problem> {
        let from = self.integer("from")?.unwrap_or(i64::MIN);
        let until = self
            .integer("to")?
            .map_or(i64::MAX, |to| to.saturating_sub(1));
        Ok((from, until))
    }

    /// Names separated by commas; empty if the parameter is missing.
    pub(crate) fn names(&mut self, name: &str) -> Result<Vec<String>, Problem> {
        let Some(value) = self.text(name)? else {
            return Ok(Vec::new());
        };
        let names: Vec<String> = value.split(',').map(str::to_owned).collect();
        if names.iter().any(String::is_empty) {
            return Err(Problem::new(
                400,
                format!("{name} must be a list of names separated by commas, not {value:?}"),
            ));
        }
        Ok(names)
    }

    pub(crate) fn duration(&mut self, name: &str) -> Result<Option<Duration>, Problem> {
        let Some(value) = self.text(name)? else {
            return Ok(None);
        };
        let length =
            duration(&value).map_err(|problem| Problem::new(400, format!("{name}: {problem}")))?;
        if length.is_zero() {
            return Err(Problem::new(400, format!("{name} must be more than 0")));
        }
        Ok(Some(length))
    }

    /// Every `prefix.NAME=value`.
    pub(crate) fn take_prefixed(&mut self, prefix: &str) -> Vec<(String, String)> {
        self.known.push(format!("{prefix}NAME"));
        let (matches, rest) = std::mem::take(&mut self.left)
            .into_iter()
            .partition::<Vec<_>, _>(|(key, _)| {
                key.strip_prefix(prefix)
                    .is_some_and(|name| !name.is_empty())
            });
        self.left = rest;
        matches
            .into_iter()
            .map(|(key, value)| (key[prefix.len()..].to_owned(), value))
            .collect()
    }

    /// Refuses parameters that are left; called after all known ones are taken.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        let Some((name, _)) = self.left.first() else {
            return Ok(());
        };
        let known = self.known.iter().map(String::as_str);
        let hint = match waggle_units::nearest_word(name, known) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("expected {}", self.known.join(", ")),
        };
        Err(Problem::new(
            400,
            format!("unknown parameter {name:?}; {hint}"),
        ))
    }
}
