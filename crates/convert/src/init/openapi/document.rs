//! The files of an OpenAPI document, and its `$ref`s: within it, and to files below its folder. Nothing else is read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::syntax::parse_file;

/// Most `$ref`s that lead to one another.
const REFERENCES_MAX: usize = 16;
/// Most files of one document.
const FILES_MAX: usize = 5_000;
/// Most bytes of these files.
const FILES_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A document with the files that it refers to, by their paths below its folder.
pub(super) struct Document {
    /// The document itself has the name "".
    files: BTreeMap<String, Result<Value, String>>,
}

impl Document {
    /// Reads the files, too. Without a folder there are none.
    pub(super) fn new(root: Value, folder: Option<&Path>) -> Self {
        let mut loader = Loader {
            folder: folder.and_then(|folder| folder.canonicalize().ok()),
            files: BTreeMap::new(),
            wanted: Vec::new(),
            bytes: 0,
        };
        loader.add("", root);
        while let Some(path) = loader.wanted.pop() {
            if loader.files.contains_key(&path) {
                continue;
            }
            match loader.load(&path) {
                Ok(value) => loader.add(&path, value),
                Err(why) => {
                    loader.files.insert(path, Err(format!("{why:#}")));
                }
            }
        }
        Self {
            files: loader.files,
        }
    }

    pub(super) fn root(&self) -> &Value {
        match &self.files[""] {
            Ok(root) => root,
            Err(_) => &Value::Null,
        }
    }

    /// Follows a `$ref` to what it names.
    pub(super) fn resolve<'a>(&'a self, mut value: &'a Value) -> Result<&'a Value> {
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = value["$ref"].as_str() else {
                return Ok(value);
            };
            value = self.target(reference)?;
        }
        bail!("its $refs lead to one another more than {REFERENCES_MAX} times")
    }

    fn target(&self, reference: &str) -> Result<&Value> {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let shown = if path.is_empty() {
            format!("#{fragment}")
        } else {
            reference.to_owned()
        };
        let file = match self.files.get(path) {
            Some(Ok(file)) => file,
            Some(Err(why)) => bail!("its $ref {shown:?} is not followed: {why}"),
            None => bail!(
                "its $ref {shown:?} is not followed: only files below the document's folder are read"
            ),
        };
        let pointer = percent_decode_str(fragment)
            .decode_utf8()
            .with_context(|| format!("its $ref {shown:?} is not UTF-8"))?;
        file.pointer(&pointer)
            .with_context(|| format!("its $ref {shown:?} names nothing"))
    }
}

struct Loader {
    folder: Option<PathBuf>,
    files: BTreeMap<String, Result<Value, String>>,
    wanted: Vec<String>,
    bytes: u64,
}

impl Loader {
    fn add(&mut self, path: &str, mut value: Value) {
        self.name_references(path, &mut value, Names::Keywords);
        self.files.insert(path.to_owned(), Ok(value));
    }

    fn load(&mut self, path: &str) -> Result<Value> {
        if path.contains(':') || path.starts_with('/') {
            bail!("only files below the document's folder are read");
        }
        let folder = self
            .folder
            .as_deref()
            .context("the document was not read from a file")?;
        if path == ".." || path.starts_with("../") {
            bail!("it is not below the document's folder");
        }
        if self.files.len() > FILES_MAX {
            bail!("the document has more than {FILES_MAX} files");
        }
        let file = folder
            .join(path)
            .canonicalize()
            .with_context(|| format!("cannot read {path}"))?;
        if !file.starts_with(folder) {
            bail!("it is not below the document's folder");
        }
        let length = file
            .metadata()
            .with_context(|| format!("cannot read {path}"))?;
        if !length.is_file() {
            bail!("{path} is not a file");
        }
        self.bytes += length.len();
        if self.bytes > FILES_MAX_BYTES {
            bail!("the document's files are longer than {FILES_MAX_BYTES} bytes");
        }
        parse_file(&file)
    }

    /// Makes each `$ref` relative to the document's folder, and notes the files. Values that are examples have no `$ref`.
    fn name_references(&mut self, base: &str, value: &mut Value, names: Names) {
        match value {
            Value::Array(items) => {
                for item in items {
                    self.name_references(base, item, Names::Keywords);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    match (names, &**key, &mut *member) {
                        (Names::Keywords, "$ref", Value::String(reference)) => {
                            *reference = absolute(base, reference);
                            let path = reference.split('#').next().unwrap_or_default();
                            if !path.is_empty() {
                                self.wanted.push(path.to_owned());
                            }
                        }
                        (
                            Names::Keywords,
                            "example" | "default" | "const" | "enum" | "value",
                            _,
                        ) => {}
                        (
                            Names::Keywords,
                            "properties" | "patternProperties" | "$defs" | "definitions"
                            | "schemas",
                            member,
                        ) => {
                            self.name_references(base, member, Names::Own);
                        }
                        (_, _, member) => self.name_references(base, member, Names::Keywords),
                    }
                }
            }
            _ => {}
        }
    }
}

/// What the keys of an object are.
#[derive(Clone, Copy)]
enum Names {
    Keywords,
    /// Names that the document chose.
    Own,
}

/// The reference by the path from the document's folder. What has a scheme or begins with `/` stays.
fn absolute(base: &str, reference: &str) -> String {
    let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    if path.is_empty() {
        return format!("{base}#{fragment}");
    }
    let path = percent_decode_str(path).decode_utf8_lossy();
    if path.contains(':') || path.starts_with('/') || path.contains('\\') {
        return reference.to_owned();
    }
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("{}#{fragment}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::Document;

    #[test]
    fn references_are_followed_below_the_folder_alone() {
        let workspace = tempfile::tempdir().unwrap();
        let folder = workspace.path().join("api");
        fs::create_dir_all(folder.join("sub dir")).unwrap();
        fs::write(workspace.path().join("outside.yml"), "a: 1").unwrap();
        fs::write(
            folder.join("sub dir/one.yml"),
            "a: { $ref: '../two.json#/b~1c' }\nself: { $ref: '#/self' }\n",
        )
        .unwrap();
        fs::write(folder.join("two.json"), "{\"b/c\": {\"found\": 2}}").unwrap();
        std::os::unix::fs::symlink(
            workspace.path().join("outside.yml"),
            folder.join("link.yml"),
        )
        .unwrap();
        let check = |reference: &str, expected: &str| {
            let root = json!({"x": {"$ref": reference}, "a b": {"found": 1}});
            let document = Document::new(root, Some(&folder));
            let target = document.resolve(&document.root()["x"]);
            let target = target.map_or_else(|why| why.to_string(), |target| target.to_string());
            assert!(target.contains(expected), "{reference}: {target}");
        };
        check("#/a%20b", "{\"found\":1}");
        check("sub%20dir/one.yml#/a", "{\"found\":2}");
        check("./sub dir/../two.json#/b~1c", "{\"found\":2}");
        check("sub dir/one.yml#/self", "lead to one another");
        check("two.json#/d", "names nothing");
        check("none.yml", "cannot read none.yml");
        check("../outside.yml", "not below the document's folder");
        check(
            "sub dir/../../outside.yml",
            "not below the document's folder",
        );
        check("link.yml", "not below the document's folder");
        check("sub dir", "is not a file");
        check("/etc/passwd", "only files below the document's folder");
        check(
            "http://127.0.0.1:1/a.yml",
            "only files below the document's folder",
        );
        check(
            "file:///etc/passwd",
            "only files below the document's folder",
        );
    }
}
