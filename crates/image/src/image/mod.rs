//! An image: its layers packed, its configuration and its manifest, as OCI defines them.
//! <https://github.com/opencontainers/image-spec>

mod archive;
mod documents;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use self::archive::write_archive;
use self::documents::{config_text, manifest_text};
use crate::{
    digest::sha256,
    error::ImageError,
    layer::{Layer, PackedLayer, pack},
    stop::Stop,
};

/// Seconds since 1970 that all files have instead of 0: <https://reproducible-builds.org/specs/source-date-epoch/>
const TIME_VARIABLE: &str = "SOURCE_DATE_EPOCH";
/// Most of them.
const LAYERS_MAX: usize = 120;

/// How containers of an image start.
#[derive(Debug, Clone, Default)]
pub struct ImageConfig {
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    pub working_folder: String,
    /// `65532:65532`.
    pub user: String,
    /// `8080/tcp`.
    pub ports: Vec<String>,
    pub labels: BTreeMap<String, String>,
}

/// An image as files in a folder.
#[derive(Debug)]
pub struct Image {
    pub(crate) layers: Vec<PackedLayer>,
    pub(crate) config: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
    pub(crate) time: u64,
}

impl Image {
    /// The digest of the manifest, by which the image is known everywhere.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("sha256:{}", sha256(&self.manifest))
    }

    /// Bytes of all layers, compressed.
    #[must_use]
    pub fn size(&self) -> u64 {
        let sizes = self.layers.iter().map(|layer| layer.compressed.size);
        sizes.sum()
    }

    /// What each layer was made of, and its bytes, compressed.
    pub fn layers(&self) -> impl Iterator<Item = (&str, u64)> {
        let layers = self.layers.iter();
        layers.map(|layer| (layer.source.as_str(), layer.compressed.size))
    }
}

/// Packs layers into files of a folder.
///
/// # Errors
/// A file cannot be read or written.
pub fn build(
    config: &ImageConfig,
    layers: &[Layer],
    folder: &Path,
    stop: &Stop,
) -> Result<Image, ImageError> {
    if layers.len() > LAYERS_MAX {
        return Err(ImageError::TooLarge {
            limit: "120 layers",
            path: folder.to_path_buf(),
        });
    }
    let time = time_of_files();
    let mut packed = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        if !layer.tree.is_empty() {
            let file: PathBuf = folder.join(format!("layer-{number}.tar.gz"));
            packed.push(pack(layer, &file, time, stop)?);
        }
    }
    let config = config_text(config, &packed, time);
    let manifest = manifest_text(&config, &packed);
    Ok(Image {
        layers: packed,
        config,
        manifest,
        time,
    })
}

fn time_of_files() -> u64 {
    let text = std::env::var(TIME_VARIABLE).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}
