//! Changes fields of manifests before they are applied.

use serde_json::{Map, Value, json};
use waggle_cluster::Manifest;
use waggle_study::{FieldPath, FieldStep, Level, Patch};

/// Why a field cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("patches: there is no {object} among the objects; there are {known}")]
    NoObject { object: String, known: String },
    #[error("patches.{object}: {path} cannot be set: {why}")]
    NoField {
        object: String,
        path: String,
        why: String,
    },
}

/// Most objects that a message names.
const NAMED_MAX: usize = 20;

/// Sets every field of the patches.
pub(super) fn apply_patches(
    manifests: &mut [Manifest],
    patches: &[Patch],
) -> Result<(), PatchError> {
    for Patch { object, fields } in patches {
        let place = manifests
            .iter()
            .position(|known| known.is_named(&object.kind, &object.name));
        let Some(place) = place else {
            return Err(PatchError::NoObject {
                object: object.to_string(),
                known: names(manifests),
            });
        };
        for (path, level) in fields {
            let set = set(&mut manifests[place].object, path, json_value(level));
            set.map_err(|why| PatchError::NoField {
                object: object.to_string(),
                path: path.to_string(),
                why,
            })?;
        }
    }
    Ok(())
}

/// As kubectl names them.
pub(super) fn names(manifests: &[Manifest]) -> String {
    let mut names: Vec<String> = manifests
        .iter()
        .take(NAMED_MAX)
        .map(|known| format!("{}/{}", known.kind.to_ascii_lowercase(), known.name))
        .collect();
    if manifests.len() > NAMED_MAX {
        names.push(format!("{} more", manifests.len() - NAMED_MAX));
    }
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// A level as JSON.
pub(super) fn json_value(level: &Level) -> Value {
    match level {
        Level::Integer(value) => json!(value),
        Level::Float(value) => json!(value),
        Level::Boolean(value) => json!(value),
        Level::Text(value) => json!(value),
    }
}

/// Sets one field. Mappings on the way are made, elements of lists are not: a misspelt name would change nothing.
fn set(object: &mut Value, FieldPath(steps): &FieldPath, value: Value) -> Result<(), String> {
    let mut place = object;
    for step in steps {
        place = match step {
            FieldStep::Key(key) => enter(place, key)?,
            FieldStep::Element { key, value } => element(place, key, value)?,
            FieldStep::Index(index) => {
                let count = place.as_array().map_or(0, Vec::len);
                place
                    .get_mut(*index)
                    .ok_or_else(|| format!("there is no element [{index}], the list has {count}"))?
            }
        };
    }
    if place.is_object() || place.is_array() {
        return Err("it is no single value".to_owned());
    }
    *place = value;
    Ok(())
}

fn enter<'v>(place: &'v mut Value, key: &str) -> Result<&'v mut Value, String> {
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
    match place {
        Value::Object(entries) => Ok(entries.entry(key).or_insert(Value::Null)),
        Value::Array(_) => Err(format!(
            "before {key} is a list: choose an element, [name=…]"
        )),
        _ => Err(format!("before {key} is a single value")),
    }
}

fn element<'v>(place: &'v mut Value, key: &str, value: &str) -> Result<&'v mut Value, String> {
    let Value::Array(elements) = place else {
        return Err(format!("before [{key}={value}] is no list"));
    };
    let text = |element: &Value| match &element[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let known: Vec<String> = elements.iter().map(text).collect();
    match known.iter().position(|known| known == value) {
        Some(index) => Ok(&mut elements[index]),
        None => Err(format!(
            "no element has {key} {value}; there are {}",
            known.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use waggle_cluster::read_manifests;
    use waggle_study::ObjectName;

    use super::*;

    const SHOP: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  replicas: 1
  template:
    spec:
      containers:
        - { name: proxy, image: "proxy:1" }
        - name: shop
          image: shop:1
          env: [{ name: MODE, value: slow }]
"#;

    fn patch_shop(object: &str, path: &str, level: Level) -> Result<Value, String> {
        let mut manifests = read_manifests(SHOP).unwrap();
        let patch = Patch {
            object: ObjectName::parse(object).unwrap(),
            fields: vec![(path.parse().unwrap(), level)],
        };
        apply_patches(&mut manifests, &[patch]).map_err(|why| why.to_string())?;
        Ok(manifests.remove(0).object)
    }

    #[test]
    fn fields_are_set_where_their_paths_lead() {
        let check = |path: &str, level: Level, pointer: &str, expected: Value| {
            let object = patch_shop("deployment/shop", path, level).unwrap();
            assert_eq!(object.pointer(pointer), Some(&expected), "{path}");
        };
        let text = |text: &str| Level::Text(text.to_owned());
        check(
            "spec.replicas",
            Level::Integer(3),
            "/spec/replicas",
            json!(3),
        );
        check(
            "spec.template.spec.containers[name=shop].image",
            text("shop:2"),
            "/spec/template/spec/containers/1/image",
            json!("shop:2"),
        );
        check(
            "spec.template.spec.containers[name=shop].env[name=MODE].value",
            text("fast"),
            "/spec/template/spec/containers/1/env/0/value",
            json!("fast"),
        );
        check(
            "spec.template.spec.containers[0].resources.limits.cpu",
            Level::Float(0.5),
            "/spec/template/spec/containers/0/resources/limits/cpu",
            json!(0.5),
        );
        check(
            "metadata.annotations[\"a.b/c\"]",
            text("d"),
            "/metadata/annotations/a.b~1c",
            json!("d"),
        );
        check(
            "spec.paused",
            Level::Boolean(true),
            "/spec/paused",
            json!(true),
        );
    }

    #[test]
    fn what_is_not_there_is_named() {
        let check = |object: &str, path: &str, expected: &str| {
            let why = patch_shop(object, path, Level::Integer(1)).unwrap_err();
            assert_eq!(why, expected);
        };
        check(
            "deployment/shp",
            "spec.replicas",
            "patches: there is no deployment/shp among the objects; there are deployment/shop",
        );
        check(
            "deployment/shop",
            "spec.template.spec.containers[name=shp].image",
            "patches.deployment/shop: spec.template.spec.containers[name=shp].image cannot be set: no element has name shp; there are \
             proxy, shop",
        );
        let begin = "patches.deployment/shop: ";
        check(
            "deployment/shop",
            "spec.template.spec.containers.image",
            &format!(
                "{begin}spec.template.spec.containers.image cannot be set: before image is a list: choose an element, [name=…]"
            ),
        );
        check(
            "deployment/shop",
            "spec.template.spec.containers[7].image",
            &format!(
                "{begin}spec.template.spec.containers[7].image cannot be set: there is no element [7], the list has 2"
            ),
        );
        check(
            "deployment/shop",
            "spec.replicas.x",
            &format!("{begin}spec.replicas.x cannot be set: before x is a single value"),
        );
        check(
            "deployment/shop",
            "spec.template",
            &format!("{begin}spec.template cannot be set: it is no single value"),
        );
        check(
            "deployment/shop",
            "spec[a=b]",
            &format!("{begin}spec[a=b] cannot be set: before [a=b] is no list"),
        );
    }
}
