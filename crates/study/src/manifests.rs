//! A system that is the user's own manifests or chart: what is applied, what is changed in it, and what is waited for.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use waggle_template::placeholder::{Part, parts, single_name};
use waggle_units::parse_size;

use crate::{Level, Parameter, ParameterKind};

/// How long it may take until an object and its pods are gone.
pub(crate) const REMOVAL_TIMEOUT: Duration = Duration::from_secs(120);
/// Most steps of the path of a field.
const STEPS_MAX: usize = 32;

/// What is applied in a cluster, and removed again.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifests {
    pub source: ManifestSource,
    /// `None`: that of the run.
    pub namespace: Option<String>,
    pub patches: Vec<Patch>,
    /// Objects of kinds that Kubernetes itself does not have, each with the condition that must be true.
    pub conditions: Vec<(ObjectName, String)>,
}

/// Where the manifests are from. Paths are relative to the folder of the system's file.
#[derive(Debug, Clone, PartialEq)]
pub enum ManifestSource {
    /// Files and folders.
    Files(Vec<String>),
    Chart(Chart),
}

/// A chart that helm renders.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub chart: String,
    pub release: String,
    pub values: Option<String>,
    /// Paths of values, as helm writes them, with what they are set to; texts may hold `${parameter}`.
    pub set: Vec<(String, Level)>,
}

/// Changed fields of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    pub object: ObjectName,
    /// Texts may hold `${parameter}`.
    pub fields: Vec<(FieldPath, Level)>,
}

/// An object, as kubectl names it: `deployment/shop`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// In lower case.
    pub kind: String,
    pub name: String,
}

/// A component that is a workload of the manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    pub object: ObjectName,
    /// By which its ports are reached; `None`: each pod by its own address.
    pub service: Option<String>,
}

/// The way to a field of an object: `spec.template.spec.containers[name=shop].image`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(pub Vec<FieldStep>);

/// A step of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldStep {
    /// A key of a mapping.
    Key(String),
    /// The element of a list whose key has this value.
    Element { key: String, value: String },
    /// An element of a list by its number from 0.
    Index(usize),
}

/// Why a text is no path of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FieldPathError {
    #[error("a key is empty")]
    EmptyKey,
    #[error("a [ has no ]")]
    NotClosed,
    #[error("after a ] comes . or [")]
    AfterBracket,
    #[error("[] holds a number, NAME=VALUE or a quoted key")]
    Selector,
    #[error("it begins with a key")]
    Begin,
    #[error("it has too many steps")]
    TooLong,
}

impl Manifests {
    /// The same with the levels of the system's parameters in place of their names. A level that is a size is the number of its bytes,
    /// because Kubernetes writes units in another way.
    #[must_use]
    pub fn fill(&self, parameters: &[Parameter], levels: &BTreeMap<String, Level>) -> Self {
        let filling = Filling { parameters, levels };
        let mut filled = self.clone();
        for (_, value) in filled
            .patches
            .iter_mut()
            .flat_map(|patch| &mut patch.fields)
        {
            *value = filling.fill(value);
        }
        if let ManifestSource::Chart(chart) = &mut filled.source {
            for (_, value) in &mut chart.set {
                *value = filling.fill(value);
            }
        }
        filled
    }
}

/// Parameters with their levels.
struct Filling<'a> {
    parameters: &'a [Parameter],
    levels: &'a BTreeMap<String, Level>,
}

impl Filling<'_> {
    fn fill(&self, value: &Level) -> Level {
        let Level::Text(text) = value else {
            return value.clone();
        };
        // A value that is nothing but a name has the type of the level.
        if let Some(level) = single_name(text).and_then(|name| self.level(name)) {
            return level;
        }
        let filled = parts(text).into_iter().flatten().map(|part| match part {
            Part::Literal(literal) => literal.to_string(),
            Part::Name(name) => self
                .level(name)
                .map_or_else(String::new, |level| level.to_string()),
        });
        Level::Text(filled.collect())
    }

    fn level(&self, name: &str) -> Option<Level> {
        let level = self.levels.get(name)?;
        let parameter = self.parameters.iter().find(|known| known.name == name)?;
        if let (ParameterKind::Size { .. }, Level::Text(text)) = (&parameter.kind, level)
            && let Some(bytes) = parse_size(text)
            && let Ok(bytes) = i64::try_from(bytes)
        {
            return Some(Level::Integer(bytes));
        }
        Some(level.clone())
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl ObjectName {
    /// Reads `KIND/NAME`; `None`: it is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        let is_kind = !kind.is_empty() && kind.bytes().all(|letter| letter.is_ascii_alphanumeric());
        let is_letter = |letter: u8| {
            letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"-.".contains(&letter)
        };
        let is_name = (1..=253).contains(&name.len()) && name.bytes().all(is_letter);
        (is_kind && is_name).then(|| Self {
            kind: kind.to_ascii_lowercase(),
            name: name.to_owned(),
        })
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, FieldPathError> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if steps.len() == STEPS_MAX {
                return Err(FieldPathError::TooLong);
            }
            let (step, after) = match rest.strip_prefix('[') {
                Some(_) if steps.is_empty() => return Err(FieldPathError::Begin),
                Some(inner) => bracket(inner)?,
                None => key(rest)?,
            };
            steps.push(step);
            rest = next_step(after)?;
        }
        match steps.is_empty() {
            true => Err(FieldPathError::EmptyKey),
            false => Ok(Self(steps)),
        }
    }
}

fn key(text: &str) -> Result<(FieldStep, &str), FieldPathError> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    match &text[..end] {
        "" => Err(FieldPathError::EmptyKey),
        key => Ok((FieldStep::Key(key.to_owned()), &text[end..])),
    }
}

/// What is in brackets: the text behind the `[`.
fn bracket(text: &str) -> Result<(FieldStep, &str), FieldPathError> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (key, after) = quoted.split_once("\"]").ok_or(FieldPathError::NotClosed)?;
        if key.is_empty() {
            return Err(FieldPathError::EmptyKey);
        }
        return Ok((FieldStep::Key(key.to_owned()), after));
    }
    let (inner, after) = text.split_once(']').ok_or(FieldPathError::NotClosed)?;
    let step = match inner.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => FieldStep::Element {
            key: key.to_owned(),
            value: value.to_owned(),
        },
        Some(_) => return Err(FieldPathError::Selector),
        None => FieldStep::Index(inner.parse().map_err(|_| FieldPathError::Selector)?),
    };
    Ok((step, after))
}

/// What comes after a step, without its dot.
fn next_step(after: &str) -> Result<&str, FieldPathError> {
    match after.strip_prefix('.') {
        Some("") => Err(FieldPathError::EmptyKey),
        Some(rest) if rest.starts_with('[') => Err(FieldPathError::EmptyKey),
        Some(rest) => Ok(rest),
        None if after.is_empty() || after.starts_with('[') => Ok(after),
        None => Err(FieldPathError::AfterBracket),
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                FieldStep::Key(key) if key.contains(['.', '[']) => write!(f, "[\"{key}\"]")?,
                FieldStep::Key(key) if place == 0 => f.write_str(key)?,
                FieldStep::Key(key) => write!(f, ".{key}")?,
                FieldStep::Element { key, value } => write!(f, "[{key}={value}]")?,
                FieldStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_fields() {
        let check = |text: &str, expected: Result<&str, FieldPathError>| {
            let path = text.parse::<FieldPath>();
            let shown = path.as_ref().map(ToString::to_string).map_err(|why| *why);
            assert_eq!(shown, expected.map(str::to_owned), "{text}");
        };
        for path in [
            "spec",
            "spec.replicas",
            "spec.template.spec.containers[name=shop].image",
            "spec.containers[0].env[name=MODE].value",
            "metadata.annotations[\"example.com/mode\"]",
            "data[\"shop.properties\"]",
        ] {
            check(path, Ok(path));
        }
        check("", Err(FieldPathError::EmptyKey));
        check("spec..replicas", Err(FieldPathError::EmptyKey));
        check("spec.", Err(FieldPathError::EmptyKey));
        check("spec.[0]", Err(FieldPathError::EmptyKey));
        check("[0]", Err(FieldPathError::Begin));
        check("spec[0", Err(FieldPathError::NotClosed));
        check("spec[\"a]", Err(FieldPathError::NotClosed));
        check("spec[name=]", Err(FieldPathError::Selector));
        check("spec[shop]", Err(FieldPathError::Selector));
        check("spec[0]image", Err(FieldPathError::AfterBracket));
        check(&"a.".repeat(40), Err(FieldPathError::TooLong));
    }

    #[test]
    fn names_of_objects() {
        let check = |text: &str, expected: Option<&str>| {
            let name = ObjectName::parse(text).map(|name| name.to_string());
            assert_eq!(name.as_deref(), expected, "{text}");
        };
        check("deployment/shop", Some("deployment/shop"));
        check("StatefulSet/kafka-0.a", Some("statefulset/kafka-0.a"));
        check("shop", None);
        check("deployment/", None);
        check("/shop", None);
        check("deployment/Shop", None);
        check("a/b/c", None);
    }

    #[test]
    fn levels_take_the_place_of_parameters() {
        let parameter = |name: &str, kind: ParameterKind| Parameter {
            name: name.to_owned(),
            summary: String::new(),
            kind,
            is_optional: false,
            default: Level::Integer(1),
        };
        let parameters = [
            parameter("replicas", ParameterKind::Integer { min: 1, max: 9 }),
            parameter(
                "memory",
                ParameterKind::Size {
                    min: 1,
                    max: 1 << 40,
                },
            ),
            parameter("tag", ParameterKind::Text),
        ];
        let levels = BTreeMap::from([
            ("replicas".to_owned(), Level::Integer(3)),
            ("memory".to_owned(), Level::Text("64MiB".to_owned())),
            ("tag".to_owned(), Level::Text("1.2".to_owned())),
        ]);
        let filling = Filling {
            parameters: &parameters,
            levels: &levels,
        };
        let text = |text: &str| Level::Text(text.to_owned());
        let check = |value: &str, expected: Level| assert_eq!(filling.fill(&text(value)), expected);
        check("${replicas}", Level::Integer(3));
        check("${memory}", Level::Integer(64 << 20));
        check("shop:${tag}-${replicas}", text("shop:1.2-3"));
        check("$${kept}", text("${kept}"));
        assert_eq!(filling.fill(&Level::Boolean(true)), Level::Boolean(true));
    }
}
