//! What an image of a system says about itself, in a file at a fixed place.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Where the file is.
pub const IMAGE_CONTENTS_FILE: &str = "/opt/waggle/image.json";
/// The format that this version writes and reads.
pub const IMAGE_CONTENTS_FORMAT: u32 = 1;

/// What an image of a system has, and where. Paths are absolute, in the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageContents {
    pub format: u32,
    /// The first program of a container: `waggle`, which supervises the others.
    pub waggle: PathBuf,
    /// The version of it.
    pub waggle_version: String,
    /// Name of the system.
    pub system: String,
    /// The folder of its file: `${system_dir}`.
    pub system_folder: PathBuf,
    /// The value of `${program.NAME}`, by name.
    pub programs: BTreeMap<String, PathBuf>,
    /// Version of each artifact, by name.
    pub artifacts: BTreeMap<String, String>,
    /// Artifacts that the system has and the image has not.
    pub left_out: Vec<String>,
}
