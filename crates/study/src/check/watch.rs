//! A probe of kind watch: an answer that goes on, and where the next one begins.

use indexmap::IndexMap;

use super::{components::refuse_unknown, path_text, probe::Keys};
use crate::{
    JsonValue, Level, ProbeKind, Watch, WatchBegin, WatchVersions, mistake::Finding, raw,
    substitute::is_secret,
};

const NAME: &str = "${version}";
const BEGIN: &str = "{ at: TEXT } or { get: PATH, version: JSONPATH }";
const VERSION: &str = "the JSONPath of the version, such as $.version";
const VALUE: &str = "a JSONPath such as $.type";

impl Keys<'_, '_, '_> {
    pub(super) fn watch(&mut self, raw: &raw::Probe) -> Option<ProbeKind> {
        self.refuse(&["limit"], raw.limit.is_some(), "watch");
        let raw = raw.watch.as_ref()?;
        let headers = self.watch_headers(raw);
        let conditions = self.json_values("where", raw.conditions.as_ref());
        let gone = self.json_values("gone", raw.gone.as_ref());
        let get = raw.get.as_ref()?;
        let path = self.path(&["watch", "get"]);
        self.refuse_unknown_names(get, &path, &["version"]);
        self.checker.target(get, &path);
        let versions = match get.contains(NAME) {
            true => Some(self.versions(raw)?),
            false => {
                self.refuse_versions(raw);
                None
            }
        };
        Some(ProbeKind::Watch(Box::new(Watch {
            get: get.clone(),
            headers,
            versions,
            conditions,
            gone,
        })))
    }

    fn watch_headers(&mut self, raw: &raw::Watch) -> Vec<(String, String)> {
        let path = self.path(&["watch", "headers"]);
        let headers = self.checker.headers(raw.headers.clone(), &path);
        let parameters = self.parameters;
        for (name, value) in &headers {
            let path = self.path(&["watch", "headers", name]);
            let position = self.checker.position_of(&path);
            refuse_unknown(self.checker, position, value, |name| {
                is_secret(name) || parameters.iter().any(|known| known == name)
            });
        }
        headers
    }

    /// The values that lines are compared with.
    fn json_values(
        &mut self,
        key: &str,
        given: Option<&IndexMap<String, Level>>,
    ) -> Vec<JsonValue> {
        let mut values = Vec::new();
        for (path, level) in given.into_iter().flatten() {
            self.json_path(&["watch", key, path], path, VALUE);
            values.push(JsonValue {
                path: path.clone(),
                text: level.to_string(),
            });
        }
        values
    }

    /// Reports the keys that belong to `${version}`.
    fn refuse_versions(&mut self, raw: &raw::Watch) {
        for (key, is_given) in [
            ("begin", raw.begin.is_some()),
            ("version", raw.version.is_some()),
            ("gone", raw.gone.is_some()),
        ] {
            self.refuse(&["watch", key], is_given, "a get without ${version}");
        }
    }

    fn versions(&mut self, raw: &raw::Watch) -> Option<WatchVersions> {
        let begin = self.require_key(&["watch", "begin"], raw.begin.as_ref(), BEGIN);
        let begin = begin.and_then(|begin| self.watch_begin(begin));
        let path = self.version_path(&["watch", "version"], raw.version.as_ref());
        Some(WatchVersions {
            begin: begin?,
            path: path?,
        })
    }

    fn watch_begin(&mut self, raw: &raw::WatchBegin) -> Option<WatchBegin> {
        let key = |key: &'static str| ["watch", "begin", key];
        match (&raw.at, &raw.get) {
            (Some(start), None) => {
                self.refuse(&key("version"), raw.version.is_some(), "at");
                let path = self.path(&key("at"));
                self.refuse_unknown_names(start, &path, &[]);
                Some(WatchBegin::At(start.clone()))
            }
            (None, Some(get)) => {
                let path = self.path(&key("get"));
                self.refuse_unknown_names(get, &path, &[]);
                self.checker.target(get, &path);
                Some(WatchBegin::Asked {
                    get: get.clone(),
                    path: self.version_path(&key("version"), raw.version.as_ref())?,
                })
            }
            (start, _) => {
                let here = self.path(&["watch", "begin"]);
                let mut keys = ["at", "get"].into_iter();
                if !keys.any(|name| self.checker.is_invalid(&self.path(&key(name)))) {
                    let what = match start {
                        Some(_) => format!("{} has both at and get", path_text(&here)),
                        None => format!("{} has neither at nor get", path_text(&here)),
                    };
                    let position = self.checker.key(&here);
                    self.checker
                        .report(Finding::new(position, what).with_expected(BEGIN));
                }
                None
            }
        }
    }

    fn version_path(&mut self, keys: &[&str], given: Option<&String>) -> Option<String> {
        let text = self.require_key(keys, given, VERSION)?;
        self.json_path(keys, text, VERSION)?;
        Some(text.clone())
    }
}
