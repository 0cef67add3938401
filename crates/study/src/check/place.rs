//! Places of a system that are watched: of which kind each is, and whether it has the keys of that kind.

use waggle_template::placeholder::{Part, parts};

use super::{
    Called, Checker,
    provision::{Conditions, refuse_unknown},
    system_text::Names,
};
use crate::{
    Metric, Probe, ProbeAsk, ProbeKind, Rows, Watch, WatchKind, mistake::Finding, raw,
    texts::secret, tree::quote,
};

const PROBE_KINDS: [&str; 3] = ["get", "by_time", "kafka"];
const WATCH_KINDS: [&str; 3] = ["metric", "json", "kafka_lag"];

pub(super) fn probe(
    checker: &mut Checker<'_>,
    (names, conditions): (&Names, &Conditions<'_>),
    name: String,
    raw: raw::Probe,
) -> Option<Probe> {
    let when = conditions.read(checker, raw.when.as_ref(), &["probes", &name, "when"]);
    let mut keys = Keys {
        checker,
        path: ["probes", &name],
        parameters: conditions.names,
    };
    let place = names.port_of(
        keys.checker,
        &keys.path,
        raw.component.clone(),
        raw.port.clone(),
    );
    let given = [
        raw.get.is_some(),
        raw.by_time.is_some(),
        raw.kafka.is_some(),
    ];
    let shows = keys.shows(names, raw.shows.as_deref().unwrap_or_default());
    let kind = keys.one_of(PROBE_KINDS, given)?;
    keys.no_empty_marks(&raw);
    let rows = keys.rows(kind, &raw);
    let kind = match kind {
        "get" => keys.offset(&raw),
        "by_time" => keys.by_time(&raw),
        _ => keys.kafka(&raw),
    };
    let (component, port) = place?;
    Some(Probe {
        when,
        component,
        port,
        shows,
        kind: kind?,
        rows: rows?,
        name,
    })
}

pub(super) fn watch(
    checker: &mut Checker<'_>,
    (names, conditions): (&Names, &Conditions<'_>),
    name: String,
    raw: raw::Watch,
) -> Option<Watch> {
    let when = conditions.read(checker, raw.when.as_ref(), &["watch", &name, "when"]);
    let mut keys = Keys {
        checker,
        path: ["watch", &name],
        parameters: conditions.names,
    };
    let place = names.port_of(keys.checker, &keys.path, raw.component, raw.port);
    let given = [
        raw.metric.is_some(),
        raw.json.is_some(),
        raw.kafka_lag.is_some(),
    ];
    let kind = keys.one_of(WATCH_KINDS, given)?;
    let get = if kind == "kafka_lag" {
        keys.refuse("get", raw.get.is_some(), kind);
        None
    } else {
        let get = keys.require_key("get", raw.get, "a path such as /metrics");
        get.and_then(|get| {
            let path = keys.path("get");
            keys.known_in(&get, &path, &[]);
            keys.checker.target(&get, &path)
        })
    };
    let kind = match (raw.metric, raw.json, raw.kafka_lag) {
        (Some(text), ..) => keys
            .metric(&text)
            .zip(get)
            .map(|(metric, get)| WatchKind::Metric { get, metric }),
        (_, Some(text), _) => keys
            .json_path(text)
            .zip(get)
            .map(|(path, get)| WatchKind::Json { get, path }),
        (.., lag) => lag.and_then(|lag| keys.kafka_lag(lag)),
    };
    let (component, port) = place?;
    Some(Watch {
        when,
        summary: raw.summary?,
        component,
        port,
        kind: kind?,
        per_second: raw.per_second.unwrap_or(false),
        name,
    })
}

/// The keys of one place.
struct Keys<'c, 'a, 'n> {
    checker: &'c mut Checker<'a>,
    path: [&'n str; 2],
    /// Names of the system's parameters, which can be put into its texts.
    parameters: &'n [String],
}

impl<'n> Keys<'_, '_, 'n> {
    fn path<'k>(&self, key: &'k str) -> [&'k str; 3]
    where
        'n: 'k,
    {
        [self.path[0], self.path[1], key]
    }

    fn path_text(&self) -> String {
        self.path.join(".")
    }

    /// The one of three keys that is given.
    fn one_of(&mut self, keys: [&'static str; 3], given: [bool; 3]) -> Option<&'static str> {
        let mut found = keys.iter().zip(given).filter(|(_, given)| *given);
        if let (Some((key, _)), None) = (found.next(), found.next()) {
            return Some(*key);
        }
        if !keys.iter().any(|key| self.checker.is_wild(&self.path(key))) {
            let count = given.iter().filter(|given| **given).count();
            let what = format!("{} has {count} kinds", self.path_text());
            let expected = format!("exactly one of {}", keys.join(", "));
            self.checker
                .report(Finding::new(self.checker.key(&self.path), what).with_expected(expected));
        }
        None
    }

    /// The value of a key that this kind needs.
    fn require_key<T>(&mut self, key: &str, given: Option<T>, expected: &str) -> Option<T> {
        if given.is_none() && !self.checker.is_wild(&self.path(key)) {
            let what = format!("{} lacks the key {key:?}", self.path_text());
            self.checker.report(
                Finding::new(self.checker.key(&self.path), what)
                    .with_expected(format!("{key}: {expected}")),
            );
        }
        given
    }

    fn refuse(&mut self, key: &str, is_given: bool, kind: &str) {
        if is_given {
            let what = format!("{}.{key} means nothing beside {kind}", self.path_text());
            let place = self.checker.key(&self.path(key));
            self.checker
                .report(Finding::new(place, what).with_expected("the key to be left out"));
        }
    }

    fn no_empty_marks(&mut self, raw: &raw::Probe) {
        let marks = [
            ("offset_after", &raw.offset_after),
            ("key_after", &raw.key_after),
            ("run_after", &raw.run_after),
            ("time_after", &raw.time_after),
        ];
        for (key, _) in marks
            .into_iter()
            .filter(|(_, mark)| mark.as_deref() == Some(""))
        {
            let what = format!("{}.{key} is empty", self.path_text());
            let place = self.checker.position_of(&self.path(key));
            self.checker
                .report(Finding::new(place, what).with_expected("the text right before it"));
        }
    }

    /// The components whose data is shown, beside the one that is asked.
    fn shows(&mut self, names: &Names, given: &[String]) -> Vec<String> {
        let path = self.path("shows");
        for (index, name) in given.iter().enumerate() {
            let index = index.to_string();
            let place = self
                .checker
                .position_of(&[&path[..], &[index.as_str()]].concat());
            names.require_component(self.checker, place, name);
        }
        given.to_vec()
    }

    /// How a line says what it says of its record.
    fn rows(&mut self, kind: &str, raw: &raw::Probe) -> Option<Rows> {
        if let Some(csv) = raw.csv.as_ref().filter(|_| kind == "by_time") {
            for (key, is_given) in [
                ("key_after", raw.key_after.is_some()),
                ("run_after", raw.run_after.is_some()),
                ("time_after", raw.time_after.is_some()),
            ] {
                self.refuse(key, is_given, "csv");
            }
            return Some(Rows::Csv {
                key: csv.key.clone()?,
                time: csv.time.clone()?,
                run: csv.run.clone(),
            });
        }
        self.refuse("csv", raw.csv.is_some(), kind);
        let key_after = self.require_key("key_after", raw.key_after.clone(), "text");
        let run_after = match kind {
            "by_time" => Some(raw.run_after.clone()),
            _ => self
                .require_key("run_after", raw.run_after.clone(), "text")
                .map(Some),
        };
        let time_after = match kind {
            "get" => self
                .require_key("time_after", raw.time_after.clone(), "text")
                .map(Some),
            _ => Some(raw.time_after.clone()),
        };
        Some(Rows::Marked {
            key_after: key_after?,
            run_after: run_after?,
            time_after: time_after?,
        })
    }

    fn offset(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        let get = raw.get.clone()?;
        let path = self.path("get");
        for needed in ["${offset}", "${limit}"]
            .into_iter()
            .filter(|needed| !get.contains(needed))
        {
            let what = format!("{}.get lacks {needed}", self.path_text());
            let place = self.checker.position_of(&path);
            self.checker.report(
                Finding::new(place, what).with_expected("a path with ${offset} and ${limit}"),
            );
        }
        self.known_in(&get, &path, &["offset", "limit"]);
        self.checker.target(&get, &path);
        let offset_after = self.require_key("offset_after", raw.offset_after.clone(), "text");
        let limit = self.require_key("limit", raw.limit, "a whole number from 1 to 1000000");
        Some(ProbeKind::Offset {
            get,
            offset_after: offset_after?,
            limit: limit?,
        })
    }

    fn by_time(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        self.refuse("offset_after", raw.offset_after.is_some(), "by_time");
        let limit = self.require_key("limit", raw.limit, "a whole number from 1 to 1000000");
        let asked = raw.by_time.as_ref()?;
        let here = self.path("by_time");
        let method = self.checker.method_and_path(&asked.method, &here);
        let headers_path = [&here[..], &["headers"]].concat();
        let headers = self.checker.headers(asked.headers.clone(), &headers_path);
        let Called { method, path, .. } = method?;
        let ask = ProbeAsk {
            method,
            path,
            headers,
            body: asked.body.clone().unwrap_or_default(),
        };
        self.names_of_ask(&ask);
        Some(ProbeKind::Time { ask, limit: limit? })
    }

    /// Every `${…}` of a question has a meaning, and it asks for a stretch of time.
    fn names_of_ask(&mut self, ask: &ProbeAsk) {
        let texts = [&ask.path, &ask.body]
            .into_iter()
            .chain(ask.headers.iter().map(|(_, value)| value));
        let place = self.checker.position_of(&self.path("by_time"));
        let mut named: Vec<String> = Vec::new();
        for text in texts {
            let Some(parts) = parts(text) else {
                let what = format!("a ${{ without its }} in {}.by_time", self.path_text());
                self.checker
                    .report(Finding::new(place, what).with_expected("${name}"));
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
                || secret(name).is_some()
                || parameters.contains(name)
        };
        for name in named.iter().filter(|name| !is_known(name)) {
            let what = format!("${{{name}}} means nothing in {}.by_time", self.path_text());
            let expected = "from, to, run, secret.NAME or a parameter";
            self.checker
                .report(Finding::new(place, what).with_expected(expected));
        }
        for needed in ["from", "to"]
            .into_iter()
            .filter(|needed| !named.iter().any(|name| name == needed))
        {
            let what = format!("{}.by_time lacks ${{{needed}}}", self.path_text());
            self.checker.report(
                Finding::new(place, what)
                    .with_expected("${from} and ${to} in its path or its body"),
            );
        }
    }

    fn kafka(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        self.refuse("offset_after", raw.offset_after.is_some(), "kafka");
        self.refuse("limit", raw.limit.is_some(), "kafka");
        let topic = raw.kafka.as_ref()?.topic.clone()?;
        let path = self.path("kafka");
        self.known_in(&topic, &[&path[..], &["topic"]].concat(), &[]);
        Some(ProbeKind::Kafka { topic })
    }

    fn kafka_lag(&mut self, lag: raw::KafkaLag) -> Option<WatchKind> {
        let (group, topic) = (lag.group?, lag.topic?);
        let path = self.path("kafka_lag");
        for (key, text) in [("group", &group), ("topic", &topic)] {
            self.known_in(text, &[&path[..], &[key]].concat(), &[]);
        }
        Some(WatchKind::KafkaLag { group, topic })
    }

    /// Every `${…}` of a text is a parameter or one of `own`.
    fn known_in(&mut self, text: &str, path: &[&str], own: &[&str]) {
        let place = self.checker.position_of(path);
        let parameters = self.parameters;
        refuse_unknown(self.checker, place, text, |name| {
            own.contains(&name) || parameters.iter().any(|known| known == name)
        });
    }

    fn metric(&mut self, text: &str) -> Option<Metric> {
        let metric = Metric::read(text);
        if metric.is_none() {
            let what = format!("{}.metric is {}", self.path_text(), quote(text));
            let place = self.checker.position_of(&self.path("metric"));
            self.checker
                .report(Finding::new(place, what).with_expected("name or name{label=\"value\"}"));
        }
        metric
    }

    fn json_path(&mut self, text: String) -> Option<String> {
        match serde_json_path::JsonPath::parse(&text) {
            Ok(_) => Some(text),
            Err(problem) => {
                let what = format!("{}.json is {}: {problem}", self.path_text(), quote(&text));
                let place = self.checker.position_of(&self.path("json"));
                self.checker.report(
                    Finding::new(place, what).with_expected("a JSONPath such as $.queue.depth"),
                );
                None
            }
        }
    }
}
