//! What a write asks for: the topic that a database or bucket stands for, and the unit of times.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use waggle_record::Precision;

use super::Protocol;
use crate::{
    answers::problem::Problem,
    ingest::{self, Unit},
};

/// The retention policy that a database of version 1 has by default.
const DEFAULT_POLICY: &str = "autogen";

/// What a write asks for.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) topic: Cow<'a, str>,
    pub(crate) unit: Unit,
}

/// Reads the parameters of a write. Others are ignored, as InfluxDB does: its clients send some that belong to another version.
///
/// # Errors
/// One is missing, given twice, or has a value that is not served.
pub(crate) fn read_write(protocol: Protocol, query: &str) -> Result<Write<'_>, Problem> {
    let known = match protocol {
        Protocol::V1 => ["db", "rp", "precision", "consistency", "u", "p"].as_slice(),
        Protocol::V2 => &["bucket", "precision", "consistency"],
        Protocol::V3 => &["db", "precision", "accept_partial", "no_sync"],
    };
    let parameters = Parameters::parse(query, known)?;
    for name in ["accept_partial", "no_sync"] {
        parameters.check_one_of(name, &["true", "false"])?;
    }
    parameters.check_one_of("consistency", &["all", "any", "one", "quorum"])?;
    Ok(Write {
        topic: parameters.topic(protocol)?,
        unit: parameters.unit(protocol)?,
    })
}

/// The first value of a name in a query or a form.
pub(crate) fn form_value<'a>(form: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let pairs = form.split('&');
    let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let (_, value) = pairs.find(|(key, _)| decode(key).as_deref() == Some(name))?;
    decode(value)
}

/// A text of a query or form without its escapes; `None` if it is not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('+') {
        return percent_decode_str(text).decode_utf8().ok();
    }
    let text = text.replace('+', " ");
    let text = percent_decode_str(&text).decode_utf8().ok()?;
    Some(Cow::Owned(text.into_owned()))
}

/// Names and values of a query.
struct Parameters<'a>(Vec<(&'static str, Cow<'a, str>)>);

impl<'a> Parameters<'a> {
    fn parse(query: &'a str, known: &[&'static str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(&'static str, Cow<'a, str>)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name);
            let name = known.iter().find(|known| name.as_deref() == Some(known));
            let Some(&name) = name else {
                continue;
            };
            let Some(value) = decode(value) else {
                return Err(Problem::new(400, format!("{name} is not UTF-8")));
            };
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(Problem::new(400, format!("{name} is given twice")));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// The value of a name, unless it is empty.
    fn value(&self, name: &str) -> Option<&Cow<'a, str>> {
        let pair = self.0.iter().find(|(key, _)| *key == name);
        pair.map(|(_, value)| value)
            .filter(|value| !value.is_empty())
    }

    fn check_one_of(&self, name: &str, allowed: &[&str]) -> Result<(), Problem> {
        match self.value(name) {
            Some(value) if !allowed.contains(&&**value) => {
                let expected = allowed.join(", ");
                let problem = format!("{name} is one of {expected}, not {value:?}");
                Err(Problem::new(400, problem))
            }
            _ => Ok(()),
        }
    }

    /// The topic: the database or bucket, and `.policy` behind it if a retention policy other than the default is named.
    fn topic(&self, protocol: Protocol) -> Result<Cow<'a, str>, Problem> {
        let (name, noun) = match protocol {
            Protocol::V1 | Protocol::V3 => ("db", "database"),
            Protocol::V2 => ("bucket", "bucket"),
        };
        let Some(value) = self.value(name) else {
            return Err(Problem::new(400, format!("{noun} is required ({name}=)")));
        };
        let (database, policy) = match value.split_once('/') {
            Some((database, policy)) => (Cow::Owned(database.to_owned()), policy),
            None => (value.clone(), ""),
        };
        let policy = match self.value("rp") {
            Some(_) if !policy.is_empty() => {
                let problem = "the retention policy is given twice, in db and in rp";
                return Err(Problem::new(400, problem));
            }
            Some(policy) => policy,
            None => policy,
        };
        let topic = match policy {
            "" | DEFAULT_POLICY => database,
            policy => Cow::Owned(format!("{database}.{policy}")),
        };
        ingest::check_topic(&topic).map_err(|problem| {
            let detail = format!("{noun} {value:?} stands for no topic: {}", problem.detail);
            Problem { detail, ..problem }
        })?;
        Ok(topic)
    }

    fn unit(&self, protocol: Protocol) -> Result<Unit, Problem> {
        let (default, read, names): (_, fn(&str) -> Option<Unit>, _) = match protocol {
            Protocol::V1 => (
                Unit::Precision(Precision::Nanoseconds),
                Unit::from_v1_name,
                "n, ns, u, us, ms, s, m or h",
            ),
            Protocol::V2 => (
                Unit::Precision(Precision::Nanoseconds),
                Unit::from_v2_name,
                "ns, us, ms or s",
            ),
            Protocol::V3 => (
                Unit::Guessed,
                Unit::from_v3_name,
                "auto, nanosecond, microsecond, millisecond or second",
            ),
        };
        match self.value("precision") {
            None => Ok(default),
            Some(name) => read(name).ok_or_else(|| {
                Problem::new(400, format!("invalid precision {name:?} (use {names})"))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn topic(protocol: Protocol, query: &str) -> Result<String, String> {
        let write = read_write(protocol, query).map_err(|problem| problem.detail)?;
        Ok(write.topic.into_owned())
    }

    #[test]
    fn a_database_or_bucket_stands_for_a_topic() {
        let check = |protocol, query: &str, expected: &str| {
            assert_eq!(topic(protocol, query), Ok(expected.to_owned()), "{query}");
        };
        check(Protocol::V1, "db=plant", "plant");
        check(Protocol::V1, "u=a&p=b&db=plant&rp=&precision=", "plant");
        check(Protocol::V1, "db=plant&rp=autogen&consistency=any", "plant");
        check(Protocol::V1, "db=plant&rp=week", "plant.week");
        check(Protocol::V1, "d%62=pl%61nt", "plant");
        check(Protocol::V2, "org=a+b&bucket=plant", "plant");
        check(Protocol::V2, "orgID=0&bucket=plant%2Fautogen", "plant");
        check(Protocol::V2, "bucket=plant/week", "plant.week");
        check(
            Protocol::V3,
            "db=plant&no_sync=true&accept_partial=false&org=",
            "plant",
        );
        check(Protocol::V2, "bucket=plant&db=other&db=%ff", "plant");
    }

    #[test]
    fn other_parameters_are_refused() {
        let check = |protocol, query: &str, expected: &str| {
            let problem = topic(protocol, query).unwrap_err();
            assert!(problem.contains(expected), "{query}: {problem}");
        };
        check(Protocol::V1, "", "database is required");
        check(Protocol::V1, "db=", "database is required");
        check(Protocol::V2, "db=plant", "bucket is required");
        check(Protocol::V2, "org=a", "bucket is required");
        check(
            Protocol::V1,
            "db=a b",
            "database \"a b\" stands for no topic",
        );
        check(Protocol::V1, "db=a/b/c", "stands for no topic");
        check(Protocol::V1, "db=a/b&rp=c", "given twice");
        check(Protocol::V1, "db=a&db=b", "db is given twice");
        check(Protocol::V1, "db=a&p=b&p=c", "p is given twice");
        check(Protocol::V1, "db=%ff", "db is not UTF-8");
        check(
            Protocol::V1,
            "db=a&precision=d",
            "use n, ns, u, us, ms, s, m or h",
        );
        check(Protocol::V2, "bucket=a&precision=m", "use ns, us, ms or s");
        check(Protocol::V3, "db=a&precision=ns", "use auto, nanosecond");
        check(
            Protocol::V3,
            "db=a&accept_partial=1",
            "accept_partial is one of",
        );
        check(
            Protocol::V1,
            "db=a&consistency=two",
            "consistency is one of",
        );
    }

    #[test]
    fn values_of_forms_are_decode() {
        let value = |form, name| form_value(form, name).map(Cow::into_owned);
        assert_eq!(value("q=a+b%20c&p=d", "q"), Some("a b c".to_owned()));
        assert_eq!(value("q&p=d", "q"), Some(String::new()));
        assert_eq!(value("p=%ff", "p"), None);
        assert_eq!(value("", "p"), None);
    }
}
