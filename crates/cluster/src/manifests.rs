//! Manifests of others, as YAML: which objects they are, and the order in which they are applied.

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde_json::{Value, json};

/// Longest text that is read.
const TEXT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Most objects.
const OBJECTS_MAX: usize = 2_000;
/// In this order, then all others: what pods need comes before what makes them. It is that of helm.
const ORDER: [&str; 16] = [
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicaSet",
    "Deployment",
    "StatefulSet",
];

/// An object of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    /// As it is written.
    pub namespace: Option<String>,
    pub object: Value,
}

/// Why a text is no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error("it is longer than {TEXT_MAX_BYTES} bytes")]
    TooLong,
    #[error("it has more than {OBJECTS_MAX} objects")]
    TooMany,
    #[error("it is no YAML: {0}")]
    NotYaml(String),
    #[error("document {document} has no {key}")]
    Lacks { document: usize, key: &'static str },
}

impl Manifest {
    /// As messages name it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// Whether `kind`, in lower case, and `name` are its own.
    #[must_use]
    pub fn is_named(&self, kind: &str, name: &str) -> bool {
        self.name == name && self.kind.eq_ignore_ascii_case(kind)
    }

    /// Where it stands among others when they are applied.
    #[must_use]
    pub fn rank(&self) -> usize {
        let place = ORDER.iter().position(|kind| *kind == self.kind);
        place.unwrap_or(ORDER.len())
    }

    /// The values of a secret, as pods see them.
    #[must_use]
    pub fn secret_values(&self) -> Vec<String> {
        if self.kind != "Secret" {
            return Vec::new();
        }
        let encoded = self.texts("data");
        let mut values = self.texts("stringData");
        values.extend(encoded.iter().filter_map(|text| decode(text)));
        values.extend(encoded);
        values
    }

    /// The texts of a mapping.
    fn texts(&self, key: &str) -> Vec<String> {
        let values = self.object[key].as_object().into_iter().flatten();
        let texts = values.filter_map(|(_, value)| value.as_str());
        texts.map(str::to_owned).collect()
    }

    /// The text without the values of secrets.
    #[must_use]
    pub fn yaml(&self) -> String {
        let mut object = self.object.clone();
        if self.kind == "Secret" {
            for key in ["data", "stringData"] {
                let values = object[key].as_object_mut();
                for (_, value) in values.into_iter().flatten() {
                    *value = json!("(removed)");
                }
            }
        }
        serde_saphyr::to_string(&object).unwrap_or_else(|_| object.to_string())
    }
}

/// Reads all documents of a text; lists are taken apart. They come in the order in which they are applied.
///
/// # Errors
/// It is no YAML, or a document is no object.
pub fn read_manifests(text: &str) -> Result<Vec<Manifest>, ManifestError> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(ManifestError::TooLong);
    }
    let options = serde_saphyr::options! {
        // As kubectl reads it: `defaultMode: 0644`.
        legacy_octal_numbers: true,
    };
    let documents: Result<Vec<Value>, _> = serde_saphyr::from_multiple_with_options(text, options);
    let documents =
        documents.map_err(|why| ManifestError::NotYaml(first_line(&why.to_string())))?;
    let mut manifests = Vec::new();
    for (document, value) in (1..).zip(documents) {
        add(&mut manifests, document, value)?;
    }
    // The sort is stable: alike ones stay as they are written.
    manifests.sort_by_key(Manifest::rank);
    Ok(manifests)
}

fn add(
    manifests: &mut Vec<Manifest>,
    document: usize,
    mut value: Value,
) -> Result<(), ManifestError> {
    if value.is_null() {
        return Ok(());
    }
    if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
        for item in std::mem::take(items) {
            add(manifests, document, item)?;
        }
        return Ok(());
    }
    if manifests.len() == OBJECTS_MAX {
        return Err(ManifestError::TooMany);
    }
    let part = |pointer: &str, key: &'static str| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
        text.ok_or(ManifestError::Lacks { document, key })
    };
    manifests.push(Manifest {
        api_version: part("/apiVersion", "apiVersion")?,
        kind: part("/kind", "kind")?,
        name: part("/metadata/name", "metadata.name")?,
        namespace: part("/metadata/namespace", "").ok(),
        object: value,
    });
    Ok(())
}

fn decode(text: &str) -> Option<String> {
    let bytes = BASE64.decode(text.trim()).ok()?;
    String::from_utf8(bytes).ok()
}

/// Further lines of a message show the text, which may be a secret.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec: { template: { spec: { volumes: [{ secret: { defaultMode: 0644 } }] } } }
---
# nothing
---
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: Service, metadata: { name: shop } }
  - { apiVersion: v1, kind: Secret, metadata: { name: token }, stringData: { token: hush } }
---
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata: { name: events, namespace: lab }
";

    #[test]
    fn objects_come_in_the_order_in_which_they_are_applied() {
        let manifests = read_manifests(TEXT).unwrap();
        let titles: Vec<String> = manifests.iter().map(Manifest::title).collect();
        assert_eq!(
            titles,
            [
                "Secret token",
                "Service shop",
                "Deployment shop",
                "Kafka events"
            ]
        );
        assert_eq!(manifests[3].namespace.as_deref(), Some("lab"));
        let mode = "/spec/template/spec/volumes/0/secret/defaultMode";
        assert_eq!(manifests[2].object.pointer(mode), Some(&json!(0o644)));
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        let manifests = read_manifests(TEXT).unwrap();
        let text = manifests[0].yaml();
        assert!(text.contains("token: (removed)"), "{text}");
        assert!(!text.contains("hush"), "{text}");
        assert_eq!(manifests[0].secret_values(), ["hush"]);
        let text = "{ apiVersion: v1, kind: Secret, metadata: { name: x }, data: { a: aHVzaA== } }";
        let manifests = read_manifests(text).unwrap();
        assert_eq!(manifests[0].secret_values(), ["hush", "aHVzaA=="]);
    }

    #[test]
    fn what_is_no_manifest() {
        let check = |text: &str, expected: &str| {
            let why = read_manifests(text).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        };
        check("a: [", "it is no YAML");
        check("kind: Pod", "document 1 has no apiVersion");
        check(
            "{ apiVersion: v1, kind: Pod, metadata: { name: x } }\n---\napiVersion: v1",
            "document 2 has no kind",
        );
        check("{ apiVersion: v1, kind: Pod }", "no metadata.name");
    }
}
