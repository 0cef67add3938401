//! *How*: connections, and answers as pure functions of bytes: HTTP/1.1 (`http1`), HTTP/2 (`http2`), and the layers between a
//! socket and its answers (`stack`).

pub(crate) mod answer_matcher;
pub(crate) mod answer_state;
pub(crate) mod connection;
pub(crate) mod flight;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod stack;
