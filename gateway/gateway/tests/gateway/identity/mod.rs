//! Who clients are, and what they may hold: tokens, tokens of OpenID providers, certificates; and TLS.

mod jwt;
mod lab;
mod memory;
mod tls;
mod tokens;
