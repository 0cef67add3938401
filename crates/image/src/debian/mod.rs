//! Debian's packages: the base of images, by digests that this crate has, and what belongs to a program that is installed.

mod base;
mod commands;
mod installed;
mod pinned;
mod program;
mod runtime;

use std::path::Path;

pub use base::base_layer;
pub use installed::Installed;
pub use runtime::Runtime;

use crate::{error::ImageError, layer::normal};

/// The place of a file of this machine.
fn place(path: &Path) -> Result<String, ImageError> {
    normal(&path.to_string_lossy())
}
