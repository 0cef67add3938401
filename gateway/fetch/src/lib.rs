//! What the settings of gateway and sink name: files of certificates and secrets, and the answers of identity providers to one request
//! by HTTP, over TLS unless it is on this host. Both are limited in size, answers in time too. What they mean is up to the users. No
//! error has a content: it may be secret.

mod authorities;
mod exchange;
mod file;
mod location;

pub use authorities::{AuthoritiesError, trusted_roots};
pub use exchange::{Answer, Ask, FetchError};
pub use file::{read_file, read_text};
pub use location::{Location, LocationError};
