//! The null server in its own process, for `bench/engine`: `null_server ADDRESS [stall AFTER LENGTH EVERY]`.
//!
//! Times are in seconds: it stalls for LENGTH, first AFTER its first request, then once per EVERY. It prints its address and runs
//! until it is killed.

#![expect(
    clippy::print_stdout,
    reason = "a program for the bench scripts, which read its output"
)]

use std::{error::Error, time::Duration};

use waggle_load::{NullServer, Stall};

// ab keeps a connection only if the answer says so.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 15\r\n\r\nHello, everyone";
const USAGE: &str = "usage: null_server ADDRESS [stall AFTER LENGTH EVERY]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = match arguments.as_slice() {
        [address] => NullServer::start(address.parse()?, ANSWER)?,
        [address, "stall", after, length, every] => {
            let stall = Stall {
                after: seconds(after)?,
                length: seconds(length)?,
                every: seconds(every)?,
            };
            NullServer::with_stalls(address.parse()?, ANSWER, stall)?
        }
        _ => return Err(USAGE.into()),
    };
    println!("{}", server.address());
    server.wait();
    Ok(())
}

fn seconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from_secs_f64(text.parse()?)?)
}
