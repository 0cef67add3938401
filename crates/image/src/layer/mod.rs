//! Layers: what is where, found on this machine, and packed.

mod pack;
mod script;
mod tree;
mod walk;

pub(crate) use pack::{PackedLayer, pack};
pub(crate) use script::{interpreter, references};
pub use tree::{Content, Entry, Tree};
pub(crate) use tree::{normal, resolve};
pub(crate) use walk::file;
pub use walk::{LinkOut, OutsideLink, Walk};

/// Files that change together.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    pub tree: Tree,
    /// Where they come from, for the history of the image.
    pub source: String,
}
