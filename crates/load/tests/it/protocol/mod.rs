//! What goes over connections: answers of all kinds, HTTP/2, TLS, and how connections end.

mod answers;
mod auto;
mod foreign;
mod hostile;
mod http2;
mod idle;
mod inspection;
mod resend;
mod tls;
