//! Images: of a program of waggle (`waggle cluster image`), and what all images have in common.

mod place;
mod program;

pub(crate) use place::{Made, place_image};
pub(crate) use program::run as run_program;

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context, Result};
use waggle_image::{Content, Entry, ImageConfig};

use crate::process::folders;

/// Who runs the programs of an image: a number, so that a cluster can see that it is not root.
const USER: &str = "65532:65532";
/// Where programs of waggle are in images.
pub(crate) const PROGRAMS_FOLDER: &str = "/usr/local/bin";
const LICENCE_PLACE: &str = "licenses/LICENSE";
const LICENCE: &str = include_str!("../../../../../LICENSE");

/// Where packages of the base are kept.
pub(crate) fn base_cache() -> Result<PathBuf> {
    let cache = folders::cache().context("no cache folder: set HOME or XDG_CACHE_HOME")?;
    Ok(cache.join("image-base"))
}

/// The configuration of an image that starts a program of waggle.
pub(crate) fn image_config(program: &str, title: &str, description: &str) -> ImageConfig {
    let labels = [
        ("title", title),
        ("description", description),
        ("licenses", env!("CARGO_PKG_LICENSE")),
        ("version", env!("CARGO_PKG_VERSION")),
    ];
    let labels = labels.map(|(name, value)| {
        let name = format!("org.opencontainers.image.{name}");
        (name, value.to_owned())
    });
    ImageConfig {
        entrypoint: vec![format!("{PROGRAMS_FOLDER}/{program}")],
        command: vec!["--help".to_owned()],
        environment: vec![
            "PATH=/usr/local/bin:/usr/bin:/bin".to_owned(),
            "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt".to_owned(),
        ],
        working_folder: "/".to_owned(),
        user: USER.to_owned(),
        ports: Vec::new(),
        labels: BTreeMap::from(labels),
    }
}

/// A program of this machine.
pub(crate) fn program_entry(file: PathBuf) -> Entry {
    Entry::File {
        content: Content::File(file),
        is_executable: true,
    }
}

/// The licence of waggle, and where it is.
pub(crate) fn licence() -> (&'static str, &'static str) {
    (LICENCE_PLACE, LICENCE)
}
