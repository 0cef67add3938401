//! A probe of a system: of which kind it is, and whether it has the keys of that kind.

use waggle_template::placeholder::{Part, parts};

use super::{
    Checker, MethodAndPath,
    components::{Definitions, refuse_unknown},
    path_text,
    system_text::Names,
};
use crate::{
    Extract, Probe, ProbeKind, ProbeQuery, mistake::Finding, raw, substitute::is_secret,
    tree::quote,
};

const KINDS: [&str; 4] = ["tail", "query", "kafka", "watch"];
const LIMIT: &str = "a whole number from 1 to 1000000";
const LIMIT_OF_ITEMS: &str = "a whole number from 2 to 1000000";

pub(super) fn probe(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    name: String,
    raw: raw::Probe,
) -> Option<Probe> {
    let when = conditions.read(checker, &raw.when);
    let mut keys = Keys {
        checker,
        path: ["probes", &name],
        parameters: conditions.names,
    };
    let port = names.port_of(keys.checker, &raw.component, &raw.port);
    let given = [
        raw.tail.is_some(),
        raw.query.is_some(),
        raw.kafka.is_some(),
        raw.watch.is_some(),
    ];
    let backed_by = keys.backed_by(names, raw.backed_by.as_deref().unwrap_or_default());
    let kind = keys.one_of(KINDS, given)?;
    let has_items = raw.tail.as_ref().is_some_and(|tail| tail.items.is_some());
    let layout = match (kind, has_items) {
        ("tail", true) => "tail.items",
        _ => kind,
    };
    let extracted = raw
        .extract
        .as_ref()
        .and_then(|raw| keys.extract(layout, raw));
    let kind = match kind {
        "tail" => keys.tail(&raw),
        "query" => keys.query(&raw),
        "watch" => keys.watch(&raw),
        _ => keys.kafka(&raw),
    };
    let (component, port) = port?;
    Some(Probe {
        when,
        component,
        port,
        backed_by,
        kind: kind?,
        extract: extracted?,
        name,
    })
}

/// The keys of one probe or metric.
pub(super) struct Keys<'c, 'a, 'n> {
    pub(super) checker: &'c mut Checker<'a>,
    pub(super) path: [&'n str; 2],
    /// Names of the system's parameters, which can be put into its texts.
    pub(super) parameters: &'n [String],
}

impl<'n> Keys<'_, '_, 'n> {
    /// The path of a key below this one.
    pub(super) fn path<'k>(&self, keys: &[&'k str]) -> Vec<&'k str>
    where
        'n: 'k,
    {
        [&self.path, keys].concat()
    }

    pub(super) fn path_text(&self) -> String {
        self.path.join(".")
    }

    /// The one of several keys that is given.
    pub(super) fn one_of<const N: usize>(
        &mut self,
        keys: [&'static str; N],
        given: [bool; N],
    ) -> Option<&'static str> {
        let mut matches = keys.iter().zip(given).filter(|(_, given)| *given);
        if let (Some((key, _)), None) = (matches.next(), matches.next()) {
            return Some(*key);
        }
        if !keys
            .iter()
            .any(|key| self.checker.is_invalid(&self.path(&[key])))
        {
            let count = given.iter().filter(|given| **given).count();
            let what = format!("{} has {count} kinds", self.path_text());
            let expected = format!("exactly one of {}", keys.join(", "));
            self.checker
                .report(Finding::new(self.checker.key(&self.path), what).with_expected(expected));
        }
        None
    }

    /// The value of a key that this kind needs.
    pub(super) fn require_key<T>(
        &mut self,
        keys: &[&str],
        given: Option<T>,
        expected: &str,
    ) -> Option<T> {
        let path = self.path(keys);
        if given.is_none()
            && !self.checker.is_invalid(&path)
            && let Some((key, around)) = path.split_last()
        {
            let what = format!("{} lacks the key {key:?}", path_text(around));
            let position = self.checker.key(around);
            self.checker
                .report(Finding::new(position, what).with_expected(format!("{key}: {expected}")));
        }
        given
    }

    pub(super) fn refuse(&mut self, keys: &[&str], is_given: bool, kind: &str) {
        if is_given {
            let path = self.path(keys);
            let what = format!("{} is not used with {kind}", path_text(&path));
            let position = self.checker.key(&path);
            self.checker
                .report(Finding::new(position, what).with_expected("the key to be left out"));
        }
    }

    /// The other components that hold the data.
    fn backed_by(&mut self, names: &Names, given: &[String]) -> Vec<String> {
        for (index, name) in given.iter().enumerate() {
            let index = index.to_string();
            let position = self.checker.position_of(&self.path(&["backed_by", &index]));
            names.require_component(self.checker, position, name);
        }
        given.to_vec()
    }

    /// How the parts of a record are extracted from its line.
    fn extract(&mut self, kind: &str, raw: &raw::Extract) -> Option<Extract> {
        let values = [&raw.offset, &raw.key, &raw.run, &raw.time];
        let is_column = |value: &raw::ValueAt| value.column.is_some();
        let has_columns = kind == "query" && values.into_iter().flatten().any(is_column);
        let expected = match has_columns {
            true => "{ column: NAME }",
            false => "{ after: TEXT }",
        };
        match kind {
            "tail" => drop(self.require_key(&["extract", "offset"], raw.offset.as_ref(), expected)),
            _ => {
                self.refuse(&["extract", "offset"], raw.offset.is_some(), kind);
                self.refuse(&["extract", "arrival"], raw.arrival.is_some(), kind);
            }
        }
        if kind != "query" {
            self.require_key(&["extract", "run"], raw.run.as_ref(), expected);
        }
        if matches!(kind, "tail" | "tail.items" | "watch") || has_columns {
            self.require_key(&["extract", "time"], raw.time.as_ref(), expected);
        }
        let mut text = |name, value: &Option<raw::ValueAt>| match has_columns {
            true => self.column_name(name, value.as_ref()),
            false => self.text_before(name, value.as_ref(), kind),
        };
        if kind == "tail" {
            text("offset", &raw.offset);
            text("arrival", &raw.arrival);
        }
        let (key, run, time) = (
            text("key", &raw.key),
            text("run", &raw.run),
            text("time", &raw.time),
        );
        Some(match has_columns {
            true => Extract::Columns {
                key: key?,
                time: time?,
                run,
            },
            false => Extract::After {
                key: key?,
                run,
                time,
            },
        })
    }

    /// The text immediately before a value.
    fn text_before(
        &mut self,
        name: &str,
        value: Option<&raw::ValueAt>,
        kind: &str,
    ) -> Option<String> {
        let value = value?;
        let column = ["extract", name, "column"];
        if value.after.is_none() && value.column.is_some() {
            self.refuse(&column, true, kind);
            return None;
        }
        self.refuse(&column, value.column.is_some(), "after");
        self.require_text(&["extract", name, "after"], value.after.as_ref())
    }

    /// The column of a value.
    fn column_name(&mut self, name: &str, value: Option<&raw::ValueAt>) -> Option<String> {
        let value = value?;
        self.refuse(&["extract", name, "after"], value.after.is_some(), "column");
        self.require_text(&["extract", name, "column"], value.column.as_ref())
    }

    /// A text that is given and not empty.
    fn require_text(&mut self, keys: &[&str], text: Option<&String>) -> Option<String> {
        let text = self.require_key(keys, text, "text")?;
        if text.is_empty() {
            let path = self.path(keys);
            let what = format!("{} is empty", path_text(&path));
            let position = self.checker.position_of(&path);
            self.checker
                .report(Finding::new(position, what).with_expected("a text"));
        }
        Some(text.clone())
    }

    fn tail(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        let get = raw.tail.as_ref().and_then(|tail| tail.get.clone());
        let path = self.path(&["tail", "get"]);
        for needed in ["${offset}", "${limit}"] {
            if get.as_ref().is_some_and(|get| !get.contains(needed)) {
                let what = format!("{} lacks {needed}", path_text(&path));
                let position = self.checker.position_of(&path);
                let expected = "a path with ${offset} and ${limit}";
                self.checker
                    .report(Finding::new(position, what).with_expected(expected));
            }
        }
        if let Some(get) = &get {
            self.refuse_unknown_names(get, &path, &["offset", "limit"]);
            self.checker.target(get, &path);
        }
        let limit = self.require_key(&["limit"], raw.limit, LIMIT);
        if let Some(items) = raw.tail.as_ref().and_then(|tail| tail.items.clone()) {
            return self.items(get, items, limit);
        }
        let extract = raw.extract.as_ref()?;
        let (offset, arrival) = (extract.offset.as_ref(), extract.arrival.as_ref());
        Some(ProbeKind::Tail {
            get: get?,
            offset_after: offset?.after.clone()?,
            arrival_after: arrival.and_then(|arrival| arrival.after.clone()),
            limit: limit?,
        })
    }

    /// A tail whose answers are JSON documents.
    fn items(
        &mut self,
        get: Option<String>,
        items: String,
        limit: Option<u32>,
    ) -> Option<ProbeKind> {
        let expected = "the JSONPath of an array, such as $.versions";
        self.json_path(&["tail", "items"], &items, expected)?;
        // Each page repeats the last element of the one before.
        if limit == Some(1) {
            let path = self.path(&["limit"]);
            let what = format!("{} is 1", path_text(&path));
            let position = self.checker.position_of(&path);
            self.checker
                .report(Finding::new(position, what).with_expected(LIMIT_OF_ITEMS));
        }
        Some(ProbeKind::Items {
            get: get?,
            items,
            limit: limit?,
        })
    }

    /// Reports a text that is no JSONPath.
    pub(super) fn json_path(&mut self, keys: &[&str], text: &str, expected: &str) -> Option<()> {
        let problem = match serde_json_path::JsonPath::parse(text) {
            Ok(_) => return Some(()),
            Err(problem) => problem,
        };
        let path = self.path(keys);
        let what = format!("{} is {}: {problem}", path_text(&path), quote(text));
        let position = self.checker.position_of(&path);
        self.checker
            .report(Finding::new(position, what).with_expected(expected));
        None
    }

    fn query(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        let limit = self.require_key(&["limit"], raw.limit, LIMIT);
        let query = raw.query.as_ref()?;
        let here = self.path(&["query"]);
        let method = self.checker.method_and_path(&query.method, &here);
        let headers_path = [&here[..], &["headers"]].concat();
        let headers = self.checker.headers(query.headers.clone(), &headers_path);
        let MethodAndPath { method, path, .. } = method?;
        let query = ProbeQuery {
            method,
            path,
            headers,
            body: query.body.clone().unwrap_or_default(),
        };
        self.names_of_query(&query);
        Some(ProbeKind::Query {
            query,
            limit: limit?,
        })
    }

    /// Reports unknown `${…}` of a query, and a query without a time range.
    fn names_of_query(&mut self, query: &ProbeQuery) {
        let texts = [&query.path, &query.body]
            .into_iter()
            .chain(query.headers.iter().map(|(_, value)| value));
        let position = self.checker.position_of(&self.path(&["query"]));
        let mut named: Vec<String> = Vec::new();
        for text in texts {
            let Some(parts) = parts(text) else {
                let what = format!("a ${{ without its }} in {}.query", self.path_text());
                self.checker
                    .report(Finding::new(position, what).with_expected("${name}"));
                return;
            };
            named.extend(parts.iter().filter_map(|part| match part {
                Part::Name(name) => Some((*name).to_owned()),
                Part::Literal(_) => None,
            }));
        }
        let parameters = self.parameters;
        let is_known = |name: &String| {
            matches!(name.as_str(), "from" | "to" | "run")
                || is_secret(name)
                || parameters.contains(name)
        };
        for name in named.iter().filter(|name| !is_known(name)) {
            let what = format!("${{{name}}} is not defined in {}.query", self.path_text());
            let expected = "from, to, run, secret.NAME, oauth2.token or a parameter";
            self.checker
                .report(Finding::new(position, what).with_expected(expected));
        }
        for needed in ["from", "to"]
            .into_iter()
            .filter(|needed| !named.iter().any(|name| name == needed))
        {
            let what = format!("{}.query lacks ${{{needed}}}", self.path_text());
            self.checker.report(
                Finding::new(position, what)
                    .with_expected("${from} and ${to} in its path or its body"),
            );
        }
    }

    fn kafka(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        self.refuse(&["limit"], raw.limit.is_some(), "kafka");
        let topic = raw.kafka.as_ref()?.topic.clone()?;
        let path = self.path(&["kafka", "topic"]);
        self.refuse_unknown_names(&topic, &path, &[]);
        Some(ProbeKind::Kafka { topic })
    }

    /// Reports each `${…}` of a text that is neither a parameter nor in `names`.
    pub(super) fn refuse_unknown_names(&mut self, text: &str, path: &[&str], names: &[&str]) {
        let position = self.checker.position_of(path);
        let parameters = self.parameters;
        refuse_unknown(self.checker, position, text, |name| {
            names.contains(&name) || parameters.iter().any(|known| known == name)
        });
    }
}
