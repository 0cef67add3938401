//! The method of a request and its path, which each request of a file has.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{TUNNEL_METHOD, TUNNEL_OBJECTION};
use waggle_template::variable::without_variables;

use crate::{
    at::{At, Key},
    check::{Checker, is_token},
    tree::quote,
};

/// One of the seven has the path; or `method` and `path` are both given.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Method {
    /// Path of a GET request.
    pub get: Key<String>,
    /// Path of a PUT request.
    pub put: Key<String>,
    /// Path of a POST request.
    pub post: Key<String>,
    /// Path of a HEAD request.
    pub head: Key<String>,
    /// Path of a DELETE request.
    pub delete: Key<String>,
    /// Path of a PATCH request.
    pub patch: Key<String>,
    /// Path of an OPTIONS request.
    pub options: Key<String>,
    /// Any other method, such as `PURGE`, as it is sent; with `path`. Not `CONNECT`, which opens a tunnel.
    pub method: Key<String>,
    /// Path of a request with `method`.
    pub path: Key<String>,
}

/// A method, and the path of the request that has it.
#[derive(Debug, Clone)]
pub(crate) struct Called<'k> {
    /// As it is sent, such as `GET`.
    pub method: String,
    pub path: &'k At<String>,
}

impl Method {
    /// The keys that a request's path can be under.
    pub(crate) const KEYS: [&str; 8] = [
        "get", "put", "post", "head", "delete", "patch", "options", "path",
    ];

    /// Each with its key.
    fn all_paths(&self) -> [(&'static str, &Key<String>); 8] {
        let paths = [
            &self.get,
            &self.put,
            &self.post,
            &self.head,
            &self.delete,
            &self.patch,
            &self.options,
            &self.path,
        ];
        std::array::from_fn(|index| (Self::KEYS[index], paths[index]))
    }

    /// The paths that are given, each with its key.
    pub(crate) fn paths(&self) -> Vec<(&'static str, &At<String>)> {
        let paths = self.all_paths().into_iter();
        paths
            .filter_map(|(key, path)| Some((key, path.content()?)))
            .collect()
    }

    /// Whether one of its keys is invalid, which was reported.
    pub(crate) fn has_invalid(&self) -> bool {
        self.method.is_invalid() || self.all_paths().iter().any(|(_, path)| path.is_invalid())
    }
}

impl At<Method> {
    /// The one method and its path.
    pub(crate) fn check(&self, checker: &mut Checker<'_>) -> Option<Called<'_>> {
        let called = self.single(checker)?;
        checker.target_of(called.path, &called.path.value)?;
        Some(called)
    }

    /// The same for a path that may have variables, which were checked.
    pub(crate) fn check_template(&self, checker: &mut Checker<'_>) -> Option<Called<'_>> {
        let called = self.single(checker)?;
        let fixed = without_variables(&called.path.value)?;
        checker.target_of(called.path, &fixed)?;
        Some(called)
    }

    /// The method and its path, which is not checked.
    pub(crate) fn single(&self, checker: &mut Checker<'_>) -> Option<Called<'_>> {
        let At { place, value: keys } = self;
        let mistake = match (&keys.paths()[..], keys.method.content()) {
            ([("path", path)], Some(method)) => {
                let method = check_name(checker, method)?;
                return Some(Called { method, path });
            }
            (&[(key, path)], None) if key != "path" => {
                let method = key.to_uppercase();
                return Some(Called { method, path });
            }
            ([_], None) if keys.method.is_invalid() => return None,
            ([_], None) => place.key_mistake("has a path and no method"),
            ([], _) if keys.has_invalid() => return None,
            ([], Some(_)) => place.key_mistake("has a method and no path"),
            ([], None) => place.key_mistake("has no method"),
            ([_], Some(second)) => {
                place.mistake_in(second.place.key, "has a second method: method")
            }
            ([_, (key, second), ..], _) => {
                place.mistake_in(second.place.key, format!("has a second method: {key}"))
            }
        };
        checker.report(mistake.with_expected(
            "one of get, put, post, head, delete, patch, options with a path, or method and path",
        ));
        None
    }
}

/// A method as it is in a request's first line (RFC 9110, 9.1), unless it opens a tunnel.
fn check_name(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<String> {
    let mistake = match &**value {
        TUNNEL_METHOD => place.mistake(format!("is {}: {TUNNEL_OBJECTION}", quote(value))),
        _ if !value.is_empty() && value.bytes().all(is_token) => return Some(value.clone()),
        _ => place.mistake(format!("is {}", quote(value))),
    };
    checker.report(mistake.with_expected("a method such as PURGE"));
    None
}
