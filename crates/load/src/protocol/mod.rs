//! *How*: connections, what is kept of answers, HTTP/2 (`http2`), and the layers between a socket and its answers (`stack`). The rules of
//! HTTP are those of `waggle_wire`.

pub(crate) mod answer_matcher;
pub(crate) mod answer_state;
pub(crate) mod connection;
pub(crate) mod flight;
pub(crate) mod http2;
pub(crate) mod stack;
