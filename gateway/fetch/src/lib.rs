//! What gateway and sink ask of identity providers: one request by HTTP, over TLS unless it is on this host, limited in time and
//! size. What the answer means is up to the users. No error has a body, of a request or an answer: they have secrets.

mod authorities;
mod exchange;
mod location;

pub use exchange::{Answer, Ask, FetchError};
pub use location::{Location, LocationError};
