//! What a client of InfluxDB 2 needs: the server's address, its token, connections, and its annotated CSV. What is asked or
//! written, and what an answer means, is the user's.

pub mod annotated_csv;
mod client;
mod token;

pub use client::{Address, AddressError, NoAnswer, Open, form};
pub use token::{TOKEN_VARIABLE, Token, TokenError};
