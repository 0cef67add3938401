//! The method of a request and its path, which each request of a file has.

use schemars::JsonSchema;
use serde::Deserialize;

/// One of the seven has the path; or `method` and `path` are both given.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct Method {
    /// Path of a GET request.
    pub get: Option<String>,
    /// Path of a PUT request.
    pub put: Option<String>,
    /// Path of a POST request.
    pub post: Option<String>,
    /// Path of a HEAD request.
    pub head: Option<String>,
    /// Path of a DELETE request.
    pub delete: Option<String>,
    /// Path of a PATCH request.
    pub patch: Option<String>,
    /// Path of an OPTIONS request.
    pub options: Option<String>,
    /// Any other method, such as `PURGE`, as it is sent; with `path`.
    pub method: Option<String>,
    /// Path of a request with `method`.
    pub path: Option<String>,
}

impl Method {
    /// The keys that a request's path can be under.
    pub(crate) const KEYS: [&str; 8] = [
        "get", "put", "post", "head", "delete", "patch", "options", "path",
    ];

    /// The paths that are given, each with its key.
    pub(crate) fn paths(&self) -> Vec<(&'static str, &String)> {
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
        let paths = Self::KEYS.into_iter().zip(paths);
        paths
            .filter_map(|(key, path)| Some((key, path.as_ref()?)))
            .collect()
    }
}
