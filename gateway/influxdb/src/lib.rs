//! Parts of a client of InfluxDB 2: the server's address, its token, connections with and without TLS, and its annotated CSV. Users build requests and
//! interpret answers.

pub mod annotated_csv;
mod client;
mod tls;
mod token;

pub use client::{Address, AddressError, NoAnswer, Open, form};
pub use tls::TlsError;
pub use token::{TOKEN_VARIABLE, Token, TokenError};
