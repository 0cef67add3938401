//! Who clients are: tokens, tokens of OpenID providers, certificates; and TLS.

mod jwt;
mod tls;
mod tokens;
