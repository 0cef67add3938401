//! Images for containers without a container engine: files of this machine and of Debian's packages become layers, layers an image, and an
//! image an archive or the content of a registry.
//!
//! It knows neither studies, systems nor clusters. The same files make the same image: entries are sorted, belong to root and have one
//! time. Nothing is written before all that goes in was looked at.
//!
//! The rooms, of which each imports only those before it: what all need (the files at the top), `layer`, `elf`, `debian`, `image`,
//! `registry`.

mod debian;
mod digest;
mod elf;
mod error;
mod image;
mod layer;
mod registry;
mod stop;

pub use debian::{Installed, Runtime, base_layer};
pub use elf::{LeftAlone, Libraries, complete_libraries};
pub use error::ImageError;
pub use image::{Image, ImageConfig, build, write_archive};
pub use layer::{Content, Entry, Layer, LinkOut, OutsideLink, Tree, Walk};
pub use registry::{Credentials, Destination, Pushed, push};
pub use stop::Stop;
