//! A server that answers after a delay: a side of a comparison in tests.
//!
//! `delaying LISTEN MILLISECONDS`

#![expect(
    clippy::unwrap_used,
    reason = "a test's program: any surprise should end it, loudly"
)]

use std::time::Duration;

use waggle_testkit::http::{Reply, Server, ok};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, delay] = &arguments[..] else {
        panic!("usage: delaying LISTEN MILLISECONDS");
    };
    let delay = Duration::from_millis(delay.parse().unwrap());
    Server::start_at(listen.parse().unwrap(), move |_| {
        Reply::After(delay, ok("{}"))
    })
    .serve_forever()
}
