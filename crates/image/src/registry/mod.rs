//! Sending an image to a registry.

mod credentials;
mod destination;
mod push;

pub use credentials::Credentials;
pub use destination::Destination;
pub use push::{Pushed, push};
