//! What lies below HTTP: which protocol a connection speaks, and TLS. No socket is here.

pub(crate) mod settings;
pub(crate) mod tls;
