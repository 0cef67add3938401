//! The configuration, the manifest and the indexes of an image as JSON. Keys are in one order, so that the same image has the same digest.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::ImageConfig;
use crate::{
    digest::{Passed, sha256},
    elf::architecture,
    layer::PackedLayer,
};

pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The configuration of an image.
pub(super) fn config_text(config: &ImageConfig, layers: &[PackedLayer], time: u64) -> Vec<u8> {
    let ports = config.ports.iter().map(|port| (port.clone(), json!({})));
    let container = [
        ("User", json!(config.user)),
        ("ExposedPorts", Value::Object(ports.collect())),
        ("Env", json!(config.environment)),
        ("Entrypoint", json!(config.entrypoint)),
        ("Cmd", json!(config.command)),
        ("WorkingDir", json!(config.working_folder)),
        ("Labels", json!(config.labels)),
        ("StopSignal", json!("SIGTERM")),
    ];
    let container = container.into_iter().filter(|(_, value)| !is_empty(value));
    let container = container.map(|(name, value)| (name.to_owned(), value));
    let created = instant_text(time);
    let diff_ids = layers
        .iter()
        .map(|layer| format!("sha256:{}", layer.diff_id));
    let history = layers
        .iter()
        .map(|layer| json!({ "created": created, "created_by": layer.source }));
    let text = json!({
        "created": created,
        "architecture": architecture(),
        "os": "linux",
        "config": container.collect::<Map<_, _>>(),
        "rootfs": { "type": "layers", "diff_ids": diff_ids.collect::<Vec<_>>() },
        "history": history.collect::<Vec<_>>(),
    });
    text.to_string().into_bytes()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(items) => items.is_empty(),
        _ => false,
    }
}

/// The manifest of an image: where its configuration and its layers are.
pub(super) fn manifest_text(config: &[u8], layers: &[PackedLayer]) -> Vec<u8> {
    let layers = layers.iter().map(|layer| {
        let Passed { sha256, size } = &layer.compressed;
        descriptor(LAYER_TYPE, sha256, *size)
    });
    let text = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": descriptor(CONFIG_TYPE, &sha256(config), config.len() as u64),
        "layers": layers.collect::<Vec<_>>(),
    });
    text.to_string().into_bytes()
}

/// The index of an OCI layout with one image. containerd takes the whole name from its own annotation, others the tag from OCI's.
pub(super) fn index_text(manifest: &[u8], name: &str, tag: &str) -> Vec<u8> {
    let mut of_manifest = descriptor(MANIFEST_TYPE, &sha256(manifest), manifest.len() as u64);
    of_manifest["platform"] = json!({ "architecture": architecture(), "os": "linux" });
    of_manifest["annotations"] = json!({
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": tag,
    });
    let text = json!({
        "schemaVersion": 2,
        "mediaType": INDEX_TYPE,
        "manifests": [of_manifest],
    });
    text.to_string().into_bytes()
}

/// What `docker load` reads.
pub(super) fn docker_text(config: &str, layers: &[String], name: &str) -> Vec<u8> {
    let text = json!([{ "Config": config, "RepoTags": [name], "Layers": layers }]);
    text.to_string().into_bytes()
}

fn descriptor(kind: &str, digest: &str, size: u64) -> Value {
    json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": size })
}

/// An instant as RFC 3339 has it, from seconds since 1970.
fn instant_text(time: u64) -> String {
    let seconds = i64::try_from(time).unwrap_or_default();
    Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}
